// Training: choose, start, watch. Runs are the folders that the command line makes, and its folders are listed here.
import { ApiError, get, post } from "../api.js";
import { announce, el, replace } from "../dom.js";
import { button, notice, waiting } from "../parts.js";
import { percent, standing } from "../words.js";
import { SettingsForm } from "./settings.js";
import { Compiling } from "./compiling.js";
import { Overlay } from "./overlay.js";
import { RunPanel } from "./run.js";

const STATES = { running: "training", finished: "finished", stopped: "stopped" };

class TrainingView {
  constructor(app) {
    this.app = app;
    this.form = new SettingsForm((settings) => this.start(settings));
    this.status = el("div", { role: "status" });
    this.list = el("div", { className: "runs" });
    this.hint = el("p", { className: "soft small" });
    this.compiling = new Compiling();
    this.panel = new RunPanel(app, this);
    this.overlay = new Overlay(app);
    const side = el("aside", { className: "stack side" },
      el("section", { className: "stack tight", "aria-label": "New training" }, el("h2", { className: "label" }, "New training"), this.form.element, this.status),
      el("section", { className: "stack tight", "aria-label": "Runs" }, el("h2", { className: "label" }, "Runs"), this.list, this.hint));
    this.element = el("div", { className: "training" }, side, el("div", { className: "stack shown" }, this.compiling.element, this.panel.element, this.overlay.element));
    get("settings").then((settings) => { this.form.fill(settings); this.opened(this.config); }, (error) => replace(this.status, notice(error.message)));
    for (const name of ["hello", "queue", "begin", "end"]) app.events.on(name, () => this.refresh());
    app.events.on("point", ({ run }) => { if (run === this.run) this.compiling.show(null); });
    app.events.on("reset", () => { this.refresh(); this.panel.load(); });
    app.events.on("worker", ({ text }) => { replace(this.status, notice(text)); announce(text); });
  }

  update(app) {
    this.refresh();
    this.choose();
    this.form.enable(Boolean(app.current));
    const several = this.several();
    this.overlay.show(several);
    this.panel.element.hidden = several.length > 1;
    if (app.state.run !== this.run) {
      this.run = app.state.run;
      this.config = null;
      this.formBefore = this.form.said();
      this.compiling.show(null);
      this.panel.open(this.run);
    }
    this.element.classList.toggle("open", Boolean(this.run) || several.length > 1);
  }

  /** The runs that are ticked, to be drawn on one axis. */
  several() { return (this.app.state.compared ?? "").split("\n").filter(Boolean); }

  tick(run, ticked) {
    const others = this.several().filter((each) => each !== run);
    this.app.go({ compared: (ticked ? [...others, run] : others).join("\n") }, { fresh: false });
  }

  /** Called with the settings of a run whenever it is read: they fill the form, unless it was changed since the run was opened. */
  opened(config) {
    if (!config || this.form.touched && (this.config || this.form.said() !== this.formBefore)) return;
    this.config = config;
    this.form.take(config);
  }

  /** How to do without the page what is shown: the runs on one axis, the run, or what the form says. */
  recipe() {
    if (this.several().length > 1) return this.overlay.found?.recipe;
    if (this.run && !this.form.touched) return this.panel.found?.recipe;
    if (!this.app.current || !this.form.known) return null;
    return post("trainings/recipe", { ...this.app.current.question, settings: this.form.settings() }).then(({ recipe }) => recipe);
  }

  async start(settings) {
    replace(this.status, waiting("starting …"));
    try {
      const { run, state } = await post("trainings", { ...this.app.current.question, settings });
      replace(this.status);
      this.app.go({ run, compared: "" }, {});
      if (state === "finished") announce("This training was there already.");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      replace(this.status, notice(error.message));
    }
  }

  async refresh() {
    if (this.refreshing) { this.again = true; return; }
    this.refreshing = true;
    try {
      const { runs, queue, folder } = await get("runs");
      this.folder = folder;
      const jobs = queue.filter(({ run }) => run && !runs.some((each) => each.run === run));
      this.before = new Map(queue.map(({ run, before }) => [run, before]));
      const all = [...runs, ...jobs].reverse().slice(0, 60);
      this.draw(all);
      this.hint.textContent = runs.length > 1 ? "Tick two or more to draw them on one axis." : "";
      this.compiling.show(queue.find((job) => job.run && job.run === this.run && job.compiling !== null) ?? null);
    } catch (error) {
      replace(this.list, notice(error.message));
    } finally {
      this.refreshing = false;
      if (this.again) { this.again = false; this.refresh(); }
    }
  }

  /** The runs. A line that says the same as before stays, with the focus and with a click that is under way. */
  draw(all) {
    const drawn = JSON.stringify([all, [...this.before]]);
    if (drawn !== this.drawn) replace(this.list, all.length ? all.map((run) => this.line(run)) : el("p", { className: "soft small" }, "No runs yet."));
    this.drawn = drawn;
    this.choose();
  }

  /** Which of them is open, and which are ticked. */
  choose() {
    const several = this.several();
    for (const row of this.list.querySelectorAll(".run-row")) {
      const [box, link] = row.children, open = box.value === this.app.state.run;
      box.checked = several.includes(box.value);
      link.classList.toggle("open", open);
      link.setAttribute("aria-current", String(open));
    }
  }

  line(run) {
    const title = run.title || run.run;
    const share = run.step ? percent(run.test_accuracy) : "";
    const state = run.state === "finished" ? run.outcome || "finished" : run.state === "queued" ? standing(this.before.get(run.run)) : STATES[run.state] || run.state;
    const link = button("", () => this.app.go({ run: run.run, compared: "" }, {}), "run-line");
    link.append(el("span", { className: "run-title" }, title), el("span", { className: "number" }, share), el("span", { className: "soft" }, [run.model, state].filter(Boolean).join(" · ")), el("span", { className: "soft number" }, run.step ? `${run.step}` : ""));
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${title}, ${run.run}`, value: run.run, disabled: !run.step, onchange: () => this.tick(run.run, box.checked) });
    return el("div", { className: "run-row" }, box, link);
  }
}

export const create = (app) => new TrainingView(app);
