// Several runs on one axis: accuracies together, losses apart by what they measure, and a table of what differs.
import { href } from "../address.js";
import { get, newest } from "../api.js";
import { LINES } from "../colours.js";
import { debounced, el, replace } from "../dom.js";
import { prose } from "../maths.js";
import { grid, into, notice } from "../parts.js";
import { Curves } from "../pictures/curves.js";

const LOSSES = { mse: "mean squared error", "cross-entropy": "cross-entropy" };
const SETS = ["training", "test"];

/** Curves that say the last value up to the pointer: runs are measured at different steps. */
class SharedCurves extends Curves {
  value(index, at) { return this.data[index + 1].slice(0, at + 1).findLast((value) => value !== null); }
}

/** What runs are called beside their curves: A, B, C. */
const letter = (at) => String.fromCharCode(65 + at);

/** One axis of steps for all runs, and for each run its values there; null between its measurements. */
function joined(runs, names) {
  const steps = [...new Set(runs.flatMap(({ curves }) => curves.step))].sort((a, b) => a - b);
  const place = new Map(steps.map((step, at) => [step, at]));
  const row = ({ curves }, name) => {
    const values = Array(steps.length).fill(null);
    curves.step.forEach((step, at) => { values[place.get(step)] = curves[name][at]; });
    return values;
  };
  return [steps, ...runs.flatMap((run) => names.map((name) => row(run, name)))];
}

export class Overlay {
  constructor(app) {
    this.app = app;
    this.place = el("div", { className: "stack" });
    this.element = el("section", { className: "stack overlay", "aria-label": "Runs on one axis", hidden: true }, this.place);
    this.ask = newest((compared, signal) => get("compared", { compared }, signal));
    const again = debounced(() => this.load(), 1000);
    for (const name of ["point", "end"]) app.events.on(name, ({ run }) => { if (this.runs?.includes(run)) again(); });
  }

  show(runs) {
    this.element.hidden = runs.length < 2;
    if (runs.join("\n") === this.runs?.join("\n")) return;
    Object.assign(this, { runs, found: null });
    if (runs.length > 1) into(this.place, this.ask(runs.join("\n")), (found) => this.draw(found), "reading the runs …");
  }

  async load() {
    if (this.runs.length < 2) return;
    try {
      replace(this.place, this.draw(await this.ask(this.runs.join("\n"))));
    } catch (error) {
      if (error.name !== "AbortError") replace(this.place, notice(error.message));
    }
  }

  draw(found) {
    this.found = found;
    const { runs } = found, kinds = [...new Set(runs.map(({ loss }) => loss))];
    const legend = runs.map(({ run, label }, at) => el("span", {}, el("i", { className: `swatch line-${LINES[at]}` }), el("b", {}, letter(at)), " ", el("a", { href: href({ ...this.app.state, run, compared: "" }) }, prose(label))));
    const losses = kinds.map((kind) => this.curves(kinds.length > 1 ? `Loss: ${LOSSES[kind] ?? kind}` : "Loss", "log", runs.filter(({ loss }) => loss === kind), ["train_loss", "test_loss"]));
    return [
      el("header", { className: "stack tight" }, el("h2", {}, `${runs.length} runs on one axis`), el("p", { className: "soft small" }, found.text, ". Training is dashed, test is solid.", kinds.length > 1 ? " Losses of different kinds have an axis each: their numbers do not compare." : "")),
      el("p", { className: "cell-legend small" }, legend),
      el("div", { className: "pair" }, this.curves("Accuracy", "share", runs, ["train_accuracy", "test_accuracy"]), losses, this.ipr(runs)),
      grid(["setting or number", ...runs.map(({ label }, at) => `${letter(at)}: ${label}`)], found.rows, { caption: "What differs, and the last numbers", numeric: new Set(runs.map((_, at) => at + 1)) }),
    ];
  }

  curves(title, scale, runs, names) {
    const places = runs.map((run) => this.found.runs.indexOf(run));
    const series = places.flatMap((at) => SETS.map((set) => `${letter(at)} ${set}`));
    const colours = places.flatMap((at) => SETS.map(() => at));
    const picture = new SharedCurves({ title, series, scale, height: 230, dashed: series.filter((_, at) => at % 2 === 0), colours });
    picture.set(joined(runs, names));
    return picture.element;
  }

  ipr(runs) {
    const waves = runs.filter(({ curves }) => curves.ipr.some((value) => value !== null));
    if (!waves.length) return null;
    const picture = new SharedCurves({ title: "IPR", series: waves.map((run) => letter(runs.indexOf(run))), scale: "unit", height: 230, colours: waves.map((run) => runs.indexOf(run)) });
    picture.set(joined(waves, ["ipr"]));
    return picture.element;
  }
}
