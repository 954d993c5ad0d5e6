// The census: thousands of trainings, the loss that each ended with against the accuracy that it reached.
import { get, newest } from "../api.js";
import { bytes, floats, numbers } from "../decode.js";
import { el, replace } from "../dom.js";
import { field, notice, waiting } from "../parts.js";
import { Scatter } from "../pictures/scatter.js";
import { LINES } from "../colours.js";
import { VERDICTS, count, figure, percent } from "../words.js";

/** A share as it was meant: 0.3, not 0.30000001. */
const tidy = (share) => Number(share.toFixed(3));

class CensusView {
  constructor(app) {
    this.app = app;
    this.family = this.choice("Family", "family");
    this.modulus = this.choice("Modulus", "modulus");
    this.share = this.choice("Trained on", "share", percent);
    this.text = el("p", { className: "soft" });
    this.detail = el("p", { className: "readout number", role: "status" }, " ");
    this.legend = el("p", { className: "cell-legend small soft" });
    this.scatter = new Scatter({ onhover: (at) => this.tell(at), onpick: (at) => this.visit(at) });
    this.status = el("div");
    this.ask = newest((question, signal) => get("census", question, signal));
    this.element = el("div", { className: "stack" }, el("header", { className: "stack tight" }, el("h2", { className: "title" }, "The census"), this.text),
      el("div", { className: "fields" }, this.family.element, this.modulus.element, this.share.element, this.legend), this.status, el("div", { className: "stack tight" }, this.detail, this.scatter.element),
      el("p", { className: "soft small" }, "Each dot is one training. Losses compare at one modulus and one share of the table: there, the lower the loss of the training cells, the more of the others tend to be right. A click opens a dot's function."));
  }

  /** A filter: its label, its name in the address, and how its values are written. */
  choice(label, name, show = String) {
    const select = el("select", { onchange: () => this.app.go({ [name]: select.value }, { fresh: false }) });
    const fill = (values, chosen) => { replace(select, el("option", { value: "" }, "all"), values.map((value) => el("option", { value }, show(value)))); select.value = chosen ?? ""; };
    return { element: field(label, select), fill };
  }

  update(app) {
    const { family = "", modulus = "", share = "" } = app.state;
    const key = `${family}/${modulus}`;
    if (key !== this.key) this.load({ family, modulus });
    else if (share !== this.shared) this.draw();
    this.key = key;
  }

  async load(question) {
    if (!this.found) replace(this.status, waiting("reading the census …"));
    try {
      this.show(await this.ask(question), question);
      replace(this.status);
    } catch (error) {
      if (error.name !== "AbortError") { this.key = null; replace(this.status, notice(error.message)); }
    }
  }

  show(found, { family, modulus }) {
    this.found = found;
    this.family.fill(found.families, family);
    this.modulus.fill(found.moduli, modulus);
    this.text.textContent = found.text || `${count(found.shown)} of ${count(found.rows)} trainings.`;
    const fractions = floats(found.fraction);
    this.share.fill([...new Set(Array.from(fractions, tidy))].sort(), this.app.state.share);
    this.points = { loss: floats(found.loss), accuracy: floats(found.accuracy), family: bytes(found.family), modulus: numbers(found.modulus), fraction: fractions, verdict: bytes(found.verdict) };
    this.draw();
    replace(this.legend, found.verdicts.map((name, at) => el("span", {}, el("i", { className: `swatch line-${LINES[at % LINES.length]}` }), VERDICTS[name] ?? name)));
  }

  /** The points of the chosen share of the table, or all of them. */
  draw() {
    const { share = "" } = this.app.state, { points } = this;
    if (!points) return;
    this.shared = share;
    this.chosen = Array.from(points.loss.keys()).filter((at) => !share || String(tidy(points.fraction[at])) === share);
    const picked = (column) => this.chosen.map((at) => column[at]);
    this.scatter.show({ x: picked(points.loss), y: picked(points.accuracy), kind: picked(points.verdict), label: `Scatter of ${count(this.chosen.length)} trainings: training loss, on a logarithmic scale, against test accuracy.` });
  }

  tell(place) {
    if (place === null) { this.detail.textContent = " "; return; }
    const at = this.chosen[place];
    const { points, found } = this;
    const what = found.expression[at] ?? "a table";
    this.detail.textContent = `${what} mod ${points.modulus[at]} · ${found.families[points.family[at]]} · trained on ${percent(points.fraction[at])} · loss ${figure(points.loss[at])} · test accuracy ${percent(points.accuracy[at])}`;
  }

  async visit(place) {
    const at = this.chosen[place];
    const { found, points } = this;
    const open = (subject) => this.app.go({ ...subject, view: "verdict", family: "", modulus: "", share: "" }, { subject: true });
    if (found.expression[at]) { open({ expression: found.expression[at], mod: points.modulus[at], table: "" }); return; }
    try {
      const { table } = await get("census/table", { family: found.families[points.family[at]], modulus: points.modulus[at], seed: found.seed[at] });
      open({ expression: "", mod: "", table });
    } catch (error) {
      replace(this.status, notice(error.message));
    }
  }
}

export const create = (app) => new CensusView(app);
