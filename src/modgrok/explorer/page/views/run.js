// One run, live or finished: curves, the table as it fills, neurons as they become waves, and the diagnosis.
import { get, newest, post } from "../api.js";
import { bytes, floats } from "../decode.js";
import { themedPixel } from "../colours.js";
import { announce, debounced, el, framed, replace } from "../dom.js";
import { prose } from "../maths.js";
import { button, facts, into, notice, slider, tiles, waiting } from "../parts.js";
import { Curves } from "../pictures/curves.js";
import { WaveGrid } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { count, duration, figure, percent } from "../words.js";
import { comparison } from "./compared.js";
import { weights } from "./expert.js";

const CELLS = ["test-wrong", "test-right", "train-wrong", "train-right", "line"];
const SAID = ["test cell, wrong", "test cell, right", "training cell, wrong", "training cell, right", "unknown cell"];
const MEASURED = ["train_accuracy", "test_accuracy", "train_loss", "test_loss", "ipr"];

export class RunPanel {
  constructor(app, list) {
    Object.assign(this, { app, list, run: null, curves: null });
    this.title = el("h2", {}, "");
    this.about = el("p", { className: "soft small" });
    this.actions = el("div", { className: "links" });
    this.numbers = tiles({ step: "step", train: "training cells", test: "test cells", loss: "training loss", ipr: "IPR", rate: "speed" });
    this.accuracy = new Curves({ title: "Accuracy", series: ["training", "test"], dashed: ["training"] });
    this.loss = new Curves({ title: "Loss", series: ["training", "test"], scale: "log", dashed: ["training"] });
    this.ipr = new Curves({ title: "IPR: how far each neuron is one wave", series: ["IPR"], scale: "unit", height: 130, colours: [2] });
    this.cells = new TablePicture({ label: "Table of right and wrong cells", largest: 420, describe: (row, column) => `${this.names[0]} = ${row}, ${this.names[1]} = ${column}: ${SAID[this.table[row * this.sizes[1] + column]]}` });
    this.tableNote = el("div");
    this.waves = new WaveGrid("Neurons", { cellWidth: 100, cellHeight: 44 });
    this.waveNote = el("p", { className: "soft small" });
    this.snapshot = slider("Snapshot", { min: 0, max: 0, value: 0, show: (at) => `step ${count(this.snapshots?.[at] ?? 0)}`, oninput: (at) => this.later(at) });
    this.later = debounced((at) => this.look(this.snapshots[at]), 60);
    this.diagnosis = el("section", { className: "stack tight", "aria-label": "Diagnosis" });
    this.compared = el("section", { className: "stack tight", "aria-label": "Trained beside compiled" });
    this.askTable = newest((question, signal) => get("run/table", question, signal));
    this.askNeurons = newest((question, signal) => get("run/neurons", question, signal));
    this.empty = el("div", { className: "empty" }, el("h2", {}, "Watch a network grok"), el("p", { className: "soft" }, "Start a training, or open a run. Losses, accuracies, the table and the neurons are drawn while it trains; you can close the page and come back."));
    this.body = el("div", { className: "stack", hidden: true }, el("header", { className: "stack tight" }, this.title, this.about, this.actions), this.numbers.element, this.diagnosis,
      el("div", { className: "pair" }, this.accuracy.element, this.loss.element), this.snapshot.element,
      el("div", { className: "pair" },
        el("section", { className: "stack tight", "aria-label": "Table" }, el("h3", {}, "The table"), this.legend(), this.cells.element, this.tableNote),
        el("section", { className: "stack tight", "aria-label": "Neurons" }, this.ipr.element, el("h3", {}, "Neurons"), this.waveNote, this.waves.element)),
      this.compared);
    this.element = el("div", { className: "run" }, this.empty, this.body);
    this.paint = framed(() => this.drawCurves());
    this.paintTable = framed(() => this.drawTable());
    addEventListener("themechange", () => this.table && this.drawTable());
    this.listen();
  }

  legend() {
    return el("p", { className: "cell-legend small soft" }, [1, 0, 3, 2].map((kind) => el("span", {}, el("i", { className: `swatch ${CELLS[kind]}` }), SAID[kind].replace(" cell", ""))));
  }

  listen() {
    const mine = (action) => (data) => { if (data.run === this.run && this.curves) action(data); };
    const { events } = this.app;
    events.on("begin", mine(({ step, steps }) => { Object.assign(this, { state: "running", over: false, step, steps }); this.drawActions(); this.drawCurves(); this.numbers.set("rate", "compiling"); }));
    events.on("point", mine((point) => this.point(point)));
    events.on("table", mine((data) => { if (this.following()) { this.table = bytes(data.cells); this.paintTable(); } }));
    events.on("neurons", mine((data) => { if (this.following()) this.drawNeurons(data); }));
    events.on("end", ({ run, error, outcome, state }) => {
      if (run !== this.run) return;
      this.over = true;
      announce(`Training ${state}${outcome ? `: ${outcome}` : ""}`);
      this.load().then(() => { if (error) replace(this.diagnosis, notice(error)); });
    });
    events.on("hello", () => { if (!this.curves || this.going()) this.load(); });  // what happened before the stream began was not heard
  }

  going() { return this.state === "running" || this.state === "queued"; }

  /** Whether the newest state is shown, not an earlier snapshot. */
  following() { return this.state === "running" || Number(this.snapshot.input.value) === Number(this.snapshot.input.max); }

  open(run) {
    this.run = run || null;
    this.over = false;
    this.curves = null;
    this.table = null;
    this.body.hidden = true;
    this.empty.hidden = Boolean(run);
    for (const place of [this.diagnosis, this.compared, this.tableNote]) replace(place);
    return this.load();
  }

  async load() {
    const { run } = this, mine = this.loading = Symbol("load");
    if (!run) return;
    try {
      const found = await this.unbegun(run) ?? await get("run", { run });
      if (mine !== this.loading) return;
      if (this.over && found.state === "running") { setTimeout(() => this.load(), 300); return; }
      this.body.hidden = false;
      this.empty.hidden = true;
      this.show(found);
    } catch (error) {
      if (mine !== this.loading) return;
      this.body.hidden = true;
      this.empty.hidden = false;
      replace(this.empty, notice(error.message));
    }
  }

  /** What is known of a run that waits or compiles, and has no folder before its first point; null for any other. */
  async unbegun(run) {
    const { runs, queue } = await get("runs");
    const job = queue.find((each) => each.run === run);
    if (!job || runs.some((each) => each.run === run)) return null;
    return { title: job.title, state: job.state, step: 0, steps: 0, curves: this.curves, function: null };
  }

  show(found) {
    Object.assign(this, { found, state: found.state, step: found.step, steps: found.steps, snapshots: [...new Set([...(found.snapshots || []), found.step])].sort((a, b) => a - b) });
    const { step, ...rest } = found.curves || { step: [] };
    this.curves = Object.fromEntries([["step", [...step]], ...MEASURED.map((name) => [name, [...(rest[name] || step.map(() => null))]])]);
    replace(this.title, prose(found.title));
    replace(this.about, prose(found.about || ""));
    this.names = this.app.current?.info.variables ?? ["n1", "n2"];
    this.snapshot.set(this.snapshots.length - 1, { max: this.snapshots.length - 1 });
    this.snapshot.element.hidden = this.snapshots.length < 2 || this.state === "running";
    this.drawActions();
    this.drawCurves();
    this.numbers.set("rate", found.steps_per_second ? `${figure(found.steps_per_second)} steps/s` : this.state === "running" && !found.step ? "starting" : "–");
    this.drawDiagnosis();
    if (!found.function) return;
    if (this.going() && !found.has_network && !found.snapshots.length) this.blank(); else this.look(null);
    this.adopt(found.function);
  }

  /** The function of the run becomes the page's, so that all views speak of the same. */
  adopt({ expression, modulus, table }) {
    const { state } = this.app;
    const plain = (text) => (text || "").replace(/\s/g, "");
    const same = table ? table === state.table : plain(expression) === plain(this.app.current?.info.expression ?? state.expression) && String(modulus) === String(state.mod);
    if (!same && (expression || table)) this.app.go({ expression: expression ?? "", mod: modulus ?? "", table: table ?? "" }, { fresh: false, subject: true });
  }

  drawActions() {
    const act = (path, body = {}) => async () => {
      try {
        const waited = this.state === "queued";
        await post(`trainings/${path}`, { run: this.run, ...body });
        if (waited) this.app.go({ run: "" }); else await this.load();
      } catch (error) { replace(this.diagnosis, notice(error.message)); }
    };
    const going = this.going();
    const further = 2 * (this.steps || this.step || 1000);
    const drawn = JSON.stringify([this.run, this.state, further]);
    if (drawn === this.drawn) return;  // a button that is still the right one keeps the focus, and the click that is under way
    this.drawn = drawn;
    replace(this.actions, going ? button("Stop", act("stop")) : null,
      this.state === "stopped" ? button("Go on", act("resume"), "primary") : null,
      this.state === "finished" ? button(`Train on to step ${count(further)}`, act("resume", { steps: further })) : null,
      going ? null : el("a", { className: "quiet", href: `/api/download?${new URLSearchParams({ run: this.run, format: "safetensors" })}`, download: "" }, "Download safetensors"),
      this.state === "queued" ? waiting("waits for the training before it") : null);
  }

  point(point) {
    if (point.step <= (this.curves.step.at(-1) ?? -1)) return;
    this.curves.step.push(point.step);
    for (const name of MEASURED) this.curves[name].push(point[name] ?? null);
    Object.assign(this, { step: point.step, steps: point.steps });
    if (this.state !== "running") { this.state = "running"; this.drawActions(); }
    if (!this.found.function) { this.found.function = {}; get("run", { run: this.run }).then(({ about }) => replace(this.about, prose(about || "")), () => {}); }
    this.numbers.set("rate", point.rate || "–");
    this.paint();
  }

  drawCurves() {
    if (!this.curves) return;
    const { step, train_accuracy, test_accuracy, train_loss, test_loss, ipr } = this.curves;
    this.accuracy.set([step, train_accuracy, test_accuracy]);
    this.loss.set([step, train_loss, test_loss]);
    this.ipr.element.hidden = !ipr.some((value) => value !== null);
    this.ipr.set([step, ipr]);
    const last = (list) => list.findLast((value) => value !== null);
    this.numbers.set("step", this.steps ? `${count(this.step)} of ${count(this.steps)}` : count(this.step));
    this.numbers.set("train", percent(last(train_accuracy)));
    this.numbers.set("test", percent(last(test_accuracy)));
    this.numbers.set("loss", figure(last(train_loss)));
    this.numbers.set("ipr", figure(last(ipr)));
  }

  /** No neurons: those of a run that trains come with its events until a network of it is kept. */
  blank(note = "") { this.waves.show([]); this.waveNote.textContent = note; }

  /** Table and neurons at a snapshot, or of the newest network. */
  look(step) {
    const question = { run: this.run, ...(step === null ? {} : { step }) };
    const quiet = (error) => { if (error.name !== "AbortError") replace(this.tableNote, this.going() ? null : notice(error.message)); };
    this.askTable(question).then((data) => {
      this.sizes = data.sizes;
      this.cells.element.hidden = data.sizes.length !== 2;
      this.table = bytes(data.cells);
      replace(this.tableNote, data.sizes.length === 2 ? null : notice(`${percent(data.test_accuracy)} of the test cells are right; a table of ${data.sizes.length} variables has no picture.`));
      this.paintTable();
    }, quiet);
    this.askNeurons(question).then((data) => this.drawNeurons(data), (error) => { if (error.name !== "AbortError") this.blank(this.state === "running" ? "" : error.message); });
  }

  drawTable() {
    if (!this.table) return;
    if (!this.sizes) this.sizes = this.app.current?.info.sizes;
    if (this.sizes?.length !== 2) return;
    const colours = CELLS.map(themedPixel), [rows, columns] = this.sizes;
    const tally = [0, 0, 0, 0, 0];
    const pixels = Uint32Array.from(this.table, (kind) => { tally[kind] += 1; return colours[kind]; });
    this.cells.show({ pixels, rows, columns, names: this.names });
    this.cells.label(`Table of ${rows} × ${columns} cells: of ${count(tally[0] + tally[1])} test cells ${count(tally[1])} are right, of ${count(tally[2] + tally[3])} training cells ${count(tally[3])}. Arrow keys read the cells.`);
  }

  drawNeurons({ blocks, period, shown, waves, frequency, order, step }) {
    const all = floats(waves);
    const places = shown.slice(0, 12).map((neuron, k) => ({
      values: weights(all, k, 0, blocks.length, period),
      label: frequency?.[k] ? `frequency ${[...new Set([frequency[k]].flat())].join(", ")}` : `neuron ${neuron + 1}`,
    }));
    this.waves.show(places);
    this.waves.label(`Weights of ${places.length} neurons on ${blocks[0]} at step ${step}`);
    replace(this.waveNote, prose(`Weights on ${blocks[0]} of ${places.length} neurons at step ${count(step)}, residues in ${order} order.`));
  }

  drawDiagnosis() {
    const { diagnosis, expected_accuracy, expected_text, memorised_at, grokked_at, seconds, files, train_rows, test_rows } = this.found;
    if (this.going()) { replace(this.diagnosis); replace(this.compared); return; }
    replace(this.diagnosis, diagnosis ? [el("p", { className: "verdict-line" }, el("span", { className: `badge ${diagnosis.outcome === "grokked" ? "in-class" : "unknown"}` }, diagnosis.outcome), " ", prose(diagnosis.text))] : null,
      facts({
        "memorised at": memorised_at ? `step ${count(memorised_at)}` : null, "grokked at": grokked_at ? `step ${count(grokked_at)}` : null,
        cells: train_rows ? `${count(train_rows)} to train, ${count(test_rows)} to test` : null, took: seconds ? duration(seconds) : null,
        expected: expected_text || (expected_accuracy?.value !== null && expected_accuracy ? percent(expected_accuracy.value) : null),
        folder: files?.length ? el("code", {}, this.run) : null,
      }, "facts inline"));
    this.compared.question = null;
    replace(this.compared, el("h3", {}, "Trained beside compiled"), button("Look inside", () => into(this.compared, get("inspection", { run: this.run }), (inspection) => comparison(inspection, this), "looking inside; this takes some seconds …")));
  }
}
