// The census: thousands of trainings, the loss that each ended with against the accuracy that it reached.
import { get, newest } from "../api.js";
import { bytes, floats, numbers } from "../decode.js";
import { el, replace } from "../dom.js";
import { field, notice, segmented, waiting } from "../parts.js";
import { Scatter } from "../pictures/scatter.js";
import { LINES } from "../colours.js";
import { VERDICTS, count, lossText, percent } from "../words.js";

const HINT = "Point at a dot, or walk through them with the arrow keys; a click or Enter opens its function.";
const ACROSS = { ratio: "against a random table", loss: "as it is" };
const ABOUT = {
  ratio: { title: "training loss against that of a random table (a ratio of odds): 0 all explained, 1 only memorised", linear: true,
    text: "Each dot is one training. A random table can only be memorised; how far below its loss a training ends tells how much structure the network has found, and with it how many unseen cells are right: the line is the law that modgrok reads an accuracy from. Trainings from a tenth of a table are left out, and so are those of tables so small that even a random one is memorised without any loss." },
  loss: { title: "training loss at the end, logarithmic", linear: false,
    text: "Each dot is one training. Losses compare at one modulus and one share of the table: there, the lower the loss of the training cells, the more of the others tend to be right." },
};

class CensusView {
  constructor(app) {
    this.app = app;
    this.family = this.choice("Family", "family");
    this.modulus = this.choice("Modulus", "modulus");
    this.share = this.choice("Trained on", "share", percent);
    this.across = segmented("Training loss", ACROSS, "ratio", (across) => app.go({ across }, { fresh: false }));
    this.text = el("p", { className: "soft" });
    this.detail = el("p", { className: "readout number", role: "status" }, HINT);
    this.legend = el("p", { className: "cell-legend small soft" });
    this.about = el("p", { className: "soft small" });
    this.scatter = new Scatter({ onhover: (at) => this.tell(at), onpick: (at) => this.visit(at) });
    this.status = el("div");
    this.ask = newest((question, signal) => get("census", question, signal));
    this.element = el("div", { className: "stack" }, el("header", { className: "stack tight" }, el("h2", { className: "title" }, "The census"), this.text),
      el("div", { className: "fields" }, this.family.element, this.modulus.element, this.share.element, el("div", { className: "field" }, el("span", { className: "soft" }, "Training loss"), this.across.element)), this.status,
      el("div", { className: "stack tight" }, this.legend, this.scatter.element, this.detail), this.about);
  }

  /** A filter: its label, its name in the address, and how its values are written. */
  choice(label, name, show = String) {
    const select = el("select", { onchange: () => this.app.go({ [name]: select.value }, { fresh: false }) });
    const fill = (values, chosen) => { replace(select, el("option", { value: "" }, "all"), values.map((value) => el("option", { value }, show(value)))); select.value = chosen ?? ""; };
    return { element: field(label, select), fill };
  }

  update(app) {
    const { family = "", modulus = "", share = "", across = "ratio" } = app.state;
    const key = `${family}/${modulus}/${share}/${across}`;
    if (key !== this.key) this.load({ family, modulus, share, across });
    this.key = key;
  }

  recipe() { return this.found?.recipe; }

  async load(question) {
    if (!this.found) replace(this.status, waiting("reading the census …"));
    try {
      this.show(await this.ask(question), question);
      replace(this.status);
    } catch (error) {
      if (error.name !== "AbortError") { this.key = null; replace(this.status, notice(error.message)); }
    }
  }

  show(found, { family, modulus, share }) {
    this.found = found;
    this.family.fill(found.families, family);
    this.modulus.fill(found.moduli, modulus);
    this.share.fill(found.shares, share);
    this.across.select(found.across);
    this.text.textContent = found.text;
    this.points = { loss: floats(found.loss), accuracy: floats(found.accuracy), family: bytes(found.family), modulus: numbers(found.modulus), fraction: floats(found.fraction), verdict: bytes(found.verdict) };
    const { title, linear, text } = ABOUT[found.across];
    this.about.textContent = text;
    this.scatter.show({ x: floats(found.x), y: this.points.accuracy, kind: this.points.verdict, title, linear, law: found.law, label: `Scatter of ${count(found.shown)} trainings: ${title}, against test accuracy.` });
    replace(this.legend, found.verdicts.map((name, at) => el("span", {}, el("i", { className: `swatch round line-${LINES[at % LINES.length]}` }), VERDICTS[name] ?? name)),
      found.law ? el("span", {}, el("i", { className: "key law" }), "the loss law") : null);
    this.tell(null);
  }

  tell(at) {
    this.detail.classList.toggle("soft", at === null);
    if (at === null) { this.detail.textContent = HINT; return; }
    const { points, found } = this;
    const what = found.expression[at] ?? "a table";
    this.detail.textContent = `${what} mod ${points.modulus[at]} · ${found.families[points.family[at]]} · trained on ${percent(points.fraction[at])} · loss ${lossText(points.loss[at])} · test accuracy ${percent(points.accuracy[at])}`;
  }

  async visit(at) {
    const { found, points } = this;
    const open = (subject) => this.app.go({ ...subject, view: "verdict", family: "", modulus: "", share: "", across: "" }, { subject: true });
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
