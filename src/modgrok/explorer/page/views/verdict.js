// The verdict: a sentence, its witness or its proof, the accuracy to expect, and a probe.
import { post } from "../api.js";
import { el, debounced, replace } from "../dom.js";
import { prose } from "../maths.js";
import { button, facts, into, notice, segmented, slider, waiting } from "../parts.js";
import { residuePlot } from "../pictures/residues.js";
import { interval } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { VERDICTS, percent, whole } from "../words.js";
import { isFlat, reader, valuePixels } from "../pictures/values.js";
import { sharer } from "./sharing.js";

const ASKING = "asking what networks learn of it …";

class VerdictView {
  constructor(app) {
    this.app = app;
    this.fraction = 0.5;
    this.answer = el("section", { className: "answer", "aria-label": "Answer", "aria-live": "polite" });
    this.expected = el("section", { className: "stack tight", "aria-label": "Accuracy to expect" });
    this.evidence = el("section", { className: "stack", "aria-label": "Evidence" });
    this.rest = el("section", { className: "stack tight", "aria-label": "More" });
    this.probe = el("div", { className: "probe stack tight", role: "status" });
    this.asked = slider("Share of the table to train on", {
      min: 0.05, max: 0.95, step: 0.05, value: 0.5, show: percent,
      oninput: (value) => { this.fraction = value; this.later(); },
    });
    this.later = debounced(() => this.ask(), 150);
    this.probeButton = button("Probe: train a small network", () => this.probing());
    const asking = app.shared ? null : [this.asked.element, el("div", { className: "stack tight" }, this.probeButton, this.probe)];
    const side = el("div", { className: "stack" }, this.expected, asking, this.rest);
    this.element = el("div", { className: "stack wide" }, this.answer, el("div", { className: "split" }, this.evidence, side));
    addEventListener("themechange", () => this.found && this.draw(this.found));
  }

  update(app) {
    this.probeButton.disabled = !app.current;
    if (!app.current || this.info === app.current.info) return;
    this.info = app.current.info;
    replace(this.probe);
    this.ask();
  }

  ask() {
    if (!this.app.current) return;  // update asks when there is a function
    const { info, fraction, app } = this;
    const first = app.verdict(fraction, app.shared ? "" : "verdict"), whole = app.verdict(fraction);
    const isCurrent = () => info === this.info && fraction === this.fraction;
    const shown = (found) => {
      if (isCurrent()) this.draw(found);
      return this.sentences(found);
    };
    const refused = (error) => {
      if (error.name === "AbortError" || !isCurrent()) return;
      this.found = null;
      for (const place of [this.evidence, this.expected, this.rest]) replace(place);  // nothing of the function before
      replace(this.answer, notice(error.message));
    };
    into(this.answer, first, shown, "deciding …")
      .then(() => whole)
      .then((found) => { if (isCurrent() && !app.shared) replace(this.answer, shown(found)); })
      .catch(refused);
  }

  recipe() { return this.app.current && this.app.verdict(this.fraction).then(({ recipe }) => recipe); }

  sentences(found) {
    return [
      el("span", { className: `badge ${found.verdict}`, title: "The class: functions of the form h(g1(n1) + g2(n2)), sums and products in disguise" }, VERDICTS[found.verdict]),
      el("h2", {}, prose(found.answer[0])),
      found.expects ? el("p", {}, prose(found.answer[1])) : waiting(ASKING),
    ];
  }

  draw(found) {
    this.found = found;
    const { value, reason } = found.expected_accuracy;
    replace(this.expected, el("h3", {}, "Test accuracy to expect"), !found.expects ? waiting(ASKING) :
      value === null ? el("p", { className: "soft small" }, `${found.expected_text[0].toUpperCase()}${found.expected_text.slice(1)}: ${found.outlook.because}.`) : [el("p", { className: "large number" }, whole(value)), interval(found.expected_accuracy), el("p", { className: "soft small" }, reason)]);
    replace(this.evidence, found.witness ? this.witness(found) : this.proofs(found));
    const { expected, probe, advice = "", ...others } = found.facts;
    if (!advice.includes("--probe")) others.advice = advice;  // here it is a button
    replace(this.rest, facts(others, "facts wrapped"), this.app.shared ? null : sharer(() => this.app.current.question), el("details", {}, el("summary", {}, "The whole answer"), el("pre", { className: "small" }, found.explain)));
  }

  /** g1, g2 and h, and the table in their order. */
  witness(found) {
    const [first, second] = this.info.variables;
    const absorbing = found.witness.h_absorbing !== null && found.witness.h_absorbing !== undefined;
    const { products, group_name: called } = found.witness;
    const parts = Object.entries(found.witness).filter(([name, values]) => Array.isArray(values) && /^(g\d+|h)$/.test(name));
    const reads = (name) => name === "h" ? "u" : this.info.variables[Number(name.slice(1)) - 1] ?? name;
    const head = (name) => el("span", { className: "maths" }, el("i", {}, name.replace(/\d/, "")), name.length > 1 ? el("sub", {}, name.slice(1)) : null, "(", prose(reads(name)), ")");
    const plots = parts.map(([name, values]) => residuePlot(values, { name, variable: reads(name), head: head(name), none: absorbing ? "∞ (absorbing)" : "none" }));
    const over = products ? `a product in ${called ? `the group ${called}` : "a group"} of order ${found.group_order}` : `a sum over ${found.witness.moduli ? found.witness.moduli.map((m) => `Z_${m}`).join(" × ") : `the integers modulo ${found.group_order}`}`;
    const how = `${this.info.title} is h(${parts.slice(0, -1).map(([name]) => `${name}(${reads(name)})`).join(products ? " · " : " + ")}), with ${over}${absorbing ? ` and an absorbing element, whose value is ${found.witness.h_absorbing}` : ""}.`;
    return [el("h3", {}, "The witness"), el("p", { className: "small soft" }, prose(how)), el("div", { className: "witness" }, plots),
      isFlat(this.info) && found.order ? this.picture(found.order, null, products ? "Table in the order of the witness: elements by the cosets of a chain of subgroups." : `Table in the order of the witness: stripes of equal value, one for each value of ${first} and ${second} added in the group.`) : null];
  }

  /** For each family, the rows and columns that refute it, drawn into the table. */
  proofs(found) {
    if (!found.proof.length) return [el("h3", {}, "No proof, and no witness"), el("p", { className: "soft" }, found.notes.join("; ") || "The search ended at its limit.")];
    const place = el("div", { className: "stack tight" });
    const show = (family) => {
      const proof = found.proof.find((each) => each.family === family);
      const lines = proof.rows.length + proof.columns.length;
      replace(place, el("p", { className: "small" }, prose(`${proof.text[0].toUpperCase()}${proof.text.slice(1)}.`)),
        isFlat(this.info) ? this.picture(null, lines ? proof : null, `The table${proof.note ? `. Marked: ${proof.note}` : ""}.`) : null,
        proof.note && isFlat(this.info) ? el("p", { className: "soft small" }, prose(`Marked: ${proof.note}.`)) : null);
    };
    const names = Object.fromEntries(found.proof.map(({ family }) => [family, family]));
    const first = found.proof[0].family;
    show(first);
    return [el("h3", {}, "The proof"), found.proof.length > 1 ? segmented("Family", names, first, show).element : null, place];
  }

  picture(order, marked, label) {
    const { info } = this;
    const picture = new TablePicture({ label, largest: 460, describe: reader(info) });
    picture.show({ pixels: valuePixels(info, undefined, order), rows: info.sizes[0], columns: info.sizes[1], rowOrder: order?.rows, columnOrder: order?.columns, names: info.variables });
    if (marked) picture.mark(marked);
    return picture.element;
  }

  async probing() {
    this.probeButton.disabled = true;
    const info = this.info;
    replace(this.probe, waiting("waiting for the worker …"));
    try {
      const { job } = await post("probe", { ...this.app.current.question, fraction: this.fraction });
      const result = await this.app.events.job(job, ({ text, done, total }) => {
        if (info === this.info) replace(this.probe, waiting(text || "training"), total ? el("progress", { max: total, value: done, "aria-label": "Probe" }) : null);
      });
      if (info === this.info) replace(this.probe, result.value === null || result.value === undefined ? null : interval(result), el("p", { className: "small" }, result.text || result.reason));
    } catch (error) {
      replace(this.probe, notice(error.message));
    } finally {
      this.probeButton.disabled = !this.app.current;
    }
  }
}

export const create = (app) => new VerdictView(app);
