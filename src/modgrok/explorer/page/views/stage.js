// The stage of a training: numbers, curves, the table by right and wrong, neurons, spectrum and law; live, or as a film.
import { themedPixel } from "../colours.js";
import { el, framed, replace } from "../dom.js";
import { Film } from "../film.js";
import { prose } from "../maths.js";
import { notice, tiles } from "../parts.js";
import { Curves } from "../pictures/curves.js";
import { Sheet, drawLaw, drawSpectrum } from "../pictures/moving.js";
import { WaveGrid } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { Player } from "../player.js";
import { count, figure, lossText, percent } from "../words.js";

const CELLS = ["test-wrong", "test-right", "train-wrong", "train-right", "line"];
const SAID = ["test cell, wrong", "test cell, right", "training cell, wrong", "training cell, right", "unknown cell"];
export const MEASURED = ["train_accuracy", "test_accuracy", "train_loss", "test_loss", "ipr"];
export const LAW = { phases: { title: "Phases", names: ["sum of the inputs' phases", "phase of the result"] }, cosines: { title: "The law of a group", names: ["representation", "how far A B = C"] } };

export class Stage {
  /** `live` is whether a training may be under way, which has a speed; `info()` is the function, whose variables and elements have names. */
  constructor({ live = false, info = () => null } = {}) {
    const name = (element) => info()?.elements?.[element] ?? element;
    this.info = info;
    this.film = null;
    this.numbers = tiles({ step: "step", train: "training cells right", test: "test cells right", loss: "training loss", ipr: "IPR", ...(live ? { rate: "speed" } : {}) });
    this.accuracy = new Curves({ title: "Accuracy", series: ["training", "test"], dashed: ["training"], steps: "log" });
    this.loss = new Curves({ title: "Loss", series: ["training", "test"], scale: "log", dashed: ["training"], steps: "log" });
    this.ipr = new Curves({ title: "IPR: how far each neuron is one wave", series: ["IPR"], scale: "unit", height: 130, colours: [2], steps: "log" });
    this.cells = new TablePicture({ label: "Table of right and wrong cells", largest: 420, describe: (row, column) => `${this.names()[0]} = ${name(row)}, ${this.names()[1]} = ${name(column)}: ${SAID[this.table[row * this.sizes[1] + column]]}` });
    this.tableNote = el("div");
    this.waves = new WaveGrid("Neurons", { cellWidth: 150, cellHeight: 46 });
    this.waveNote = el("p", { className: "soft small" });
    this.spectrum = new Sheet("Spectrum", { height: 130, draw: drawSpectrum });
    this.law = new Sheet("Phases", { square: 300, draw: drawLaw });
    this.spectrumPart = el("section", { className: "stack tight", hidden: true, "aria-label": "Spectrum" }, el("h3", {}, "How much each frequency weighs"), this.spectrum.element);
    this.lawTitle = el("h3");
    this.lawNote = el("p", { className: "soft small" });
    this.lawPart = el("section", { className: "stack tight", hidden: true, "aria-label": "Law" }, this.lawTitle, this.law.element, this.lawNote);
    this.neurons = el("section", { className: "stack tight", "aria-label": "Neurons" }, el("h3", {}, "Neurons"), this.waveNote, this.waves.element, this.ipr.element);
    this.player = new Player({ onmoment: (at) => this.moment(at), onplay: (playing) => this.element.classList.toggle("playing", playing) });
    this.player.element.hidden = true;
    this.tools = el("div", { className: "links film-tools" });
    this.element = el("section", { className: "stage stack", "aria-label": "Film of the training" }, this.player.element, this.tools, this.numbers.element,
      el("div", { className: "pair" },
        el("section", { className: "stack tight", "aria-label": "Table" }, el("h3", {}, "The table"), this.legend(), this.cells.element, this.tableNote),
        el("div", { className: "stack" }, this.accuracy.element, this.loss.element)),
      el("div", { className: "pair" },
        this.neurons,
        el("div", { className: "stack" }, this.lawPart, this.spectrumPart)));
    this.player.listen(this.element);
    this.paintTable = framed(() => this.drawTable());
    addEventListener("themechange", () => this.table && this.drawTable());
    this.clear();
  }

  /** What the variables are called. */
  names() { return this.film?.variables ?? this.info()?.variables ?? ["n1", "n2"]; }

  legend() {
    return el("p", { className: "cell-legend small soft" }, [1, 0, 3, 2].map((kind) => el("span", {}, el("i", { className: `swatch ${CELLS[kind]}` }), SAID[kind].replace(" cell", ""))));
  }

  /** Nothing of the run before. */
  clear() {
    Object.assign(this, { film: null, curves: null, table: null, sizes: null, until: 0, step: 0 });
    this.player.load([]);
    this.player.element.hidden = true;
    for (const place of [this.tableNote, this.tools]) replace(place);
    this.lawPart.hidden = this.spectrumPart.hidden = this.cells.element.hidden = true;
    this.noNeurons();
  }

  /** Measurements so far, as lists by name; `until` is the last step that will come. */
  measured(curves, until) {
    const { step = [], ...rest } = curves || {};
    this.curves = Object.fromEntries([["step", [...step]], ...MEASURED.map((name) => [name, [...(rest[name] || step.map(() => null))]])]);
    this.until = until;
    this.drawCurves();
  }

  /** A network whose training nobody measured. */
  withoutCurves() {
    this.measured({}, 0);
    for (const part of [this.accuracy.element, this.loss.element, this.numbers.element]) part.hidden = true;
  }

  /** One measurement more. */
  point(point) {
    this.curves.step.push(point.step);
    for (const name of MEASURED) this.curves[name].push(point[name] ?? null);
  }

  drawCurves() {
    const { step, train_accuracy, test_accuracy, train_loss, test_loss, ipr } = this.curves;
    this.accuracy.set([step, train_accuracy, test_accuracy], this.until);
    this.loss.set([step, train_loss, test_loss], this.until);
    this.ipr.element.hidden = step.length < 2 || !ipr.some((value) => value !== null);
    this.ipr.set([step, ipr], this.until);
    this.numbers.hide("ipr", step.length > 1 && !ipr.some((value) => value !== null));
    if (!this.film || this.player.at === this.film.steps.length - 1) this.tell(step.at(-1) ?? 0, Object.fromEntries(MEASURED.map((name) => [name, this.curves[name].findLast((value) => value !== null)])));
  }

  tell(step, numbers) {
    this.numbers.set("step", this.until && !this.film ? `${count(step)} of ${count(this.until)}` : count(step));
    this.numbers.set("train", percent(numbers.train_accuracy));
    this.numbers.set("test", percent(numbers.test_accuracy));
    this.numbers.set("loss", lossText(numbers.train_loss));
    this.numbers.set("ipr", figure(numbers.ipr));
  }

  /** A film, shown at its end; its numbers join those that were measured on the way. */
  open(sent) {
    const film = new Film(sent);
    if (!film.steps.length) { replace(this.tableNote, notice(sent.why)); return; }
    Object.assign(this, { film, sizes: film.sizes });
    this.joined();
    this.player.load(film.steps);
    this.cells.element.hidden = film.sizes.length !== 2;
    this.spectrumPart.hidden = !film.bins;
    this.spectrumPart.firstChild.textContent = `How much each ${sent.spectrum?.what ?? "frequency"} weighs`;
    this.lawPart.hidden = !film.law;
    if (film.law) {
      this.lawTitle.textContent = LAW[film.law.kind].title;
      replace(this.lawNote, prose(`Each dot is a neuron. On the dashed line ${film.law.text}.`));
    }
    this.fitted = film.waves(film.steps.length - 1).some(({ fit }) => fit);
    this.neurons.hidden = !film.neurons && !film.about.numbers.ipr.some((value) => value !== null);
    this.moment(film.steps.length - 1);
  }

  /** The film's moments among the measured steps. */
  joined() {
    const { steps } = this.film, known = new Set(this.curves.step);
    const rows = [...this.curves.step.map((step, at) => [step, (name) => this.curves[name][at]]), ...steps.map((step, at) => [step, (name) => this.film.about.numbers[name][at]]).filter(([step]) => !known.has(step))].sort(([one], [other]) => one - other);
    this.curves = Object.fromEntries([["step", rows.map(([step]) => step)], ...MEASURED.map((name) => [name, rows.map(([, value]) => value(name) ?? null)])]);
    this.until = 0;
    this.drawCurves();
  }

  /** Everything as it was at moment `at` of the film. */
  moment(at) {
    const { film } = this, step = film.steps[at], last = at === film.steps.length - 1;
    for (const curves of [this.accuracy, this.loss, this.ipr]) curves.mark(film.steps.length < 2 || last && !this.player.playing ? null : step);
    this.tell(step, film.numbers(at));
    this.cellsAre(film.cells(at), film.sizes);
    this.neuronsAre(film.waves(at), film.neurons ? `${film.neurons.what[0].toUpperCase()}${film.neurons.what.slice(1)} of ${film.neurons.shown.length} neurons; ${film.neurons.places}.${this.fitted ? " Thick lines are the nearest cosines." : ""}` : "", step);
    if (film.bins) this.spectrum.show(film.spectrum(at));
    if (film.law) this.law.show({ ...film.dots(at), names: LAW[film.law.kind].names });
  }

  /** Which cells are right: of the film, or of a network that trains. */
  cellsAre(kinds, sizes) {
    Object.assign(this, { table: kinds, sizes });
    this.cells.element.hidden = sizes.length !== 2;
    if (sizes.length !== 2) replace(this.tableNote, notice(`A table of ${sizes.length} variables has no picture; the numbers above count all of its cells.`));
    this.paintTable();
  }

  drawTable() {
    if (!this.table || this.sizes?.length !== 2) return;
    const colours = CELLS.map(themedPixel), [rows, columns] = this.sizes;
    const tally = [0, 0, 0, 0, 0];
    const pixels = Uint32Array.from(this.table, (kind) => { tally[kind] += 1; return colours[kind]; });
    const { shown } = this.cells, names = this.names();
    if (shown?.rows === rows && shown.columns === columns && shown.of === names.join()) this.cells.recolour(pixels);
    else { this.cells.show({ pixels, rows, columns, names }); this.cells.shown.of = names.join(); }
    this.cells.label(`Table of ${rows} × ${columns} cells: of ${count(tally[0] + tally[1])} test cells ${count(tally[1])} are right, of ${count(tally[2] + tally[3])} training cells ${count(tally[3])}. Arrow keys read the cells.`);
  }

  neuronsAre(waves, note, step) {
    this.waves.show(waves);
    this.waves.label(`${waves.length} neurons at step ${step}`);
    replace(this.waveNote, prose(note));
  }

  /** Those of a run that trains come with its events until a network of it is kept. */
  noNeurons(note = "") { this.waves.show([]); this.waveNote.textContent = note; }
}
