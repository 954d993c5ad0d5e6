// The census: thousands of trainings, the loss that each ended with against the accuracy that it reached.
import { get, newest } from "../api.js";
import { bytes, floats, numbers } from "../decode.js";
import { el, replace } from "../dom.js";
import { field, notice, waiting } from "../parts.js";
import { Scatter } from "../pictures/scatter.js";
import { LINES } from "../colours.js";
import { VERDICTS, count, figure, percent } from "../words.js";

class CensusView {
  constructor(app) {
    this.app = app;
    this.family = this.choice("Family");
    this.modulus = this.choice("Modulus");
    this.text = el("p", { className: "soft" });
    this.detail = el("p", { className: "readout number", role: "status" }, " ");
    this.legend = el("p", { className: "cell-legend small soft" });
    this.scatter = new Scatter({ onhover: (at) => this.tell(at), onpick: (at) => this.visit(at) });
    this.status = el("div");
    this.ask = newest((question, signal) => get("census", question, signal));
    this.element = el("div", { className: "stack" }, el("header", { className: "stack tight" }, el("h2", { className: "title" }, "The census"), this.text),
      el("div", { className: "fields" }, this.family.element, this.modulus.element), this.legend, this.status, this.scatter.element, this.detail,
      el("p", { className: "soft small" }, "Each dot is one training. Losses compare within a modulus: choose one, and see that networks that end with a small loss are right on cells that they never saw. A click opens a dot's function."));
  }

  choice(name) {
    const select = el("select", { onchange: () => this.app.go({ [name.toLowerCase()]: select.value }, { fresh: false }) });
    return { select, element: field(name, select), fill: (values, chosen) => { replace(select, el("option", { value: "" }, "all"), values.map((value) => el("option", { value }, String(value)))); select.value = chosen ?? ""; } };
  }

  update(app) {
    const { family = "", modulus = "" } = app.state;
    const key = `${family}/${modulus}`;
    if (key === this.key) return;
    this.key = key;
    this.load({ family, modulus });
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
    this.points = { loss: floats(found.loss), accuracy: floats(found.accuracy), family: bytes(found.family), modulus: numbers(found.modulus), fraction: floats(found.fraction), verdict: bytes(found.verdict) };
    this.scatter.show({ x: this.points.loss, y: this.points.accuracy, kind: this.points.verdict, label: `Scatter of ${count(found.shown)} trainings: training loss, on a logarithmic scale, against test accuracy.` });
    replace(this.legend, found.verdicts.map((name, at) => el("span", {}, el("i", { className: `swatch line-${LINES[at % LINES.length]}` }), VERDICTS[name] ?? name)));
  }

  tell(at) {
    if (at === null) { this.detail.textContent = " "; return; }
    const { points, found } = this;
    const what = found.expression[at] ?? "a table";
    this.detail.textContent = `${what} mod ${points.modulus[at]} · ${found.families[points.family[at]]} · trained on ${percent(points.fraction[at])} · loss ${figure(points.loss[at])} · test accuracy ${percent(points.accuracy[at])}`;
  }

  visit(at) {
    const expression = this.found.expression[at];
    if (expression) this.app.go({ expression, mod: this.points.modulus[at], table: "", view: "verdict", family: "", modulus: "" }, { subject: true });
  }
}

export const create = (app) => new CensusView(app);
