// One run, live or finished: the stage on which it is shown, what became of it, and what can be done with it.
import { get, newest, post } from "../api.js";
import { bytes, floats } from "../decode.js";
import { announce, el, framed, replace } from "../dom.js";
import { prose } from "../maths.js";
import { button, into, notice, waiting } from "../parts.js";
import { movesByItself } from "../player.js";
import { count, figure, standing } from "../words.js";
import { comparison } from "./compared.js";
import { over, weights } from "./expert.js";
import { outcome } from "./outcome.js";
import { savers } from "./saving.js";
import { sharer } from "./sharing.js";
import { Stage } from "./stage.js";

export class RunPanel {
  constructor(app, list) {
    Object.assign(this, { app, list, run: null, found: null });
    this.title = el("h2", {}, "");
    this.about = el("p", { className: "soft small" });
    this.actions = el("div", { className: "links" });
    this.stage = new Stage({ live: true, info: () => app.current?.info });
    this.diagnosis = el("section", { className: "stack tight", "aria-label": "Diagnosis" });
    this.compared = el("section", { className: "stack tight", "aria-label": "Trained beside compiled" });
    this.askFilm = newest((question, signal) => get("run/film", question, signal));
    this.empty = el("div", { className: "empty" }, el("h2", {}, "Watch a network grok"), el("p", { className: "soft" }, "Start a training, or open a run. Losses, accuracies, the table and the neurons are drawn while it trains; you can close the page and come back. At the end the film of it plays."));
    this.body = el("div", { className: "stack", hidden: true }, el("header", { className: "stack tight" }, this.title, this.about, this.actions), this.diagnosis, this.stage.element, this.compared);
    this.element = el("div", { className: "run" }, this.empty, this.body);
    this.paint = framed(() => { if (this.stage.curves) this.stage.drawCurves(); });
    this.listen();
  }

  listen() {
    const mine = (action) => (data) => { if (data.run === this.run && this.found) action(data); };
    const { events } = this.app;
    events.on("begin", mine(({ step, steps }) => { Object.assign(this, { state: "running", over: false, step, steps }); this.live(); this.drawActions(); this.stage.numbers.set("rate", "compiling"); }));
    events.on("queue", ({ queue }) => { const job = queue.find(({ run }) => run === this.run); if (job && this.state === "queued") { this.before = job.before; this.drawActions(); } });
    events.on("point", mine((point) => this.point(point)));
    events.on("table", mine((data) => { if (this.state === "running") this.stage.cellsAre(bytes(data.cells), data.sizes); }));
    events.on("neurons", mine((data) => { if (this.state === "running") this.drawNeurons(data); }));
    events.on("end", ({ run, error, outcome, state }) => {
      if (run !== this.run) return;
      this.over = true;
      announce(`Training ${state}${outcome ? `: ${outcome}` : ""}`);
      this.premiere = !error && state === "finished";
      this.load().then(() => { if (error) replace(this.diagnosis, notice(error)); });
    });
    events.on("hello", () => { if (!this.found || this.going()) this.load(); });  // what happened before the stream began was not heard
  }

  going() { return this.state === "running" || this.state === "queued"; }

  open(run) {
    Object.assign(this, { run: run || null, over: false, found: null, premiere: false });
    this.stage.clear();
    this.body.hidden = true;
    this.empty.hidden = Boolean(run);
    for (const place of [this.diagnosis, this.compared]) replace(place);
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
    this.before = job.before;
    return { title: job.title, state: job.state, step: 0, steps: 0, curves: this.stage.curves, function: null };
  }

  show(found) {
    Object.assign(this, { found, state: found.state, step: found.step, steps: found.steps });
    replace(this.title, prose(found.title));
    replace(this.about, prose(found.about || ""));
    if (this.going()) this.live();
    this.stage.measured(found.curves, this.going() ? found.steps : 0);
    this.drawActions();
    this.stage.numbers.set("rate", found.steps_per_second ? `${figure(found.steps_per_second)} steps/s` : this.state === "running" && !found.step ? "starting" : "–");
    this.drawDiagnosis();
    if (!found.function) return;
    if (!this.going() || found.has_network || found.snapshots.length) this.look();
    this.adopt(found.function);
    if (found.config) this.list.opened(found.config);
  }

  /** What a film showed makes room for what trains now. */
  live() {
    if (!this.stage.film) return;
    const { curves } = this.stage;
    this.stage.clear();
    this.stage.measured(curves, this.steps);
  }

  /** The function of the run becomes the page's, so that all views speak of the same. */
  adopt({ expression, modulus, table }) {
    const { state } = this.app;
    const plain = (text) => (text || "").replace(/\s/g, "");
    const same = table ? table === state.table : plain(expression) === plain(this.app.current?.info.expression ?? state.expression) && String(modulus) === String(this.app.current?.info.modulus ?? state.mod);
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
    const further = this.found?.diagnosis?.go_on_to ?? 2 * (this.steps || this.step || 1000);
    const drawn = JSON.stringify([this.run, this.state, this.state === "queued" && this.before, further]);
    if (drawn === this.drawn) return;  // a button that is still the right one keeps the focus, and the click that is under way
    this.drawn = drawn;
    replace(this.actions, going ? button("Stop", act("stop")) : null,
      this.state === "stopped" ? button("Go on", act("resume"), "primary") : null,
      going ? null : button("Look inside", () => this.inside(), this.state === "stopped" ? "quiet" : "primary"),
      this.state === "finished" ? button(`Train on to step ${count(further)}`, act("resume", { steps: further })) : null,
      going ? null : el("a", { className: "quiet", href: `/api/download?${new URLSearchParams({ run: this.run, format: "safetensors" })}`, download: "" }, "Download safetensors"),
      this.state === "queued" ? waiting(standing(this.before)) : null);
  }

  point(point) {
    const { stage } = this;
    if (point.step <= (stage.curves.step.at(-1) ?? -1)) return;
    stage.point(point);
    Object.assign(this, { step: point.step, steps: point.steps });
    stage.until = point.steps;
    if (this.state !== "running") { this.state = "running"; this.drawActions(); }
    if (!this.found.function) { this.found.function = {}; get("run", { run: this.run }).then(({ about }) => replace(this.about, prose(about || "")), () => {}); }
    stage.numbers.set("rate", point.rate || "–");
    this.paint();
  }

  /** The newest network at once; then, where the training is over, all of the film, which plays by itself if it is new. */
  async look() {
    const { run, stage } = this;
    const ask = async (frames) => {
      const film = await this.askFilm({ run, frames });
      if (run === this.run && !(this.going() && stage.film)) stage.open(film);
    };
    try {
      await ask("last");
      if (this.going()) return;
      replace(stage.tools, this.share());
      if (this.found.snapshots.length < 2) return;
      replace(stage.tools, waiting("putting the film together …"));
      await ask("all");
      if (run !== this.run || this.going() || !stage.film) return;
      replace(stage.tools, savers(stage, this.found.title), this.share());
      if (this.premiere && movesByItself()) stage.player.play();
      this.premiere = false;
    } catch (error) {
      if (error.name === "AbortError" || run !== this.run) return;
      replace(stage.tools, this.going() ? null : notice(error.message));
    }
  }

  share() { const { run } = this; return sharer(() => ({ run })); }

  drawNeurons({ blocks, period, shown, waves, frequency, order, step }) {
    const all = floats(waves);
    const places = shown.slice(0, 12).map((neuron, k) => ({
      values: weights(all, k, 0, blocks.length, period),
      label: frequency?.[k] ? `frequency ${[...new Set([frequency[k]].flat())].join(", ")}` : `neuron ${neuron + 1}`,
    }));
    this.stage.neuronsAre(places, `Weights on ${blocks[0]} of ${places.length} neurons at step ${count(step)}, over ${over(order)}.`, step);
  }

  drawDiagnosis() {
    if (this.going()) { replace(this.diagnosis); replace(this.compared); return; }
    replace(this.diagnosis, outcome(this.found, { folder: this.found.files?.length ? el("code", {}, this.run) : null }));
    this.compared.question = null;
    replace(this.compared);
  }

  /** What its neurons do, and how that compares with what the compiler writes. */
  async inside() {
    const looked = into(this.compared, get("inspection", { run: this.run }), (inspection) => comparison(inspection, this), "looking inside; this takes some seconds …");
    this.compared.scrollIntoView({ block: "nearest" });
    await looked;
    this.compared.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}
