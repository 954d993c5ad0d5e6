// Training: choose, start, watch. Runs are the folders that the command line makes, and its folders are listed here.
import { ApiError, get, post } from "../api.js";
import { announce, el, replace } from "../dom.js";
import { button, notice, waiting } from "../parts.js";
import { percent } from "../words.js";
import { SettingsForm } from "./settings.js";
import { RunPanel } from "./run.js";

const STATES = { running: "training", queued: "waiting", finished: "finished", stopped: "stopped" };

class TrainingView {
  constructor(app) {
    this.app = app;
    this.form = new SettingsForm((settings) => this.start(settings));
    this.status = el("div", { role: "status" });
    this.list = el("div", { className: "runs" });
    this.panel = new RunPanel(app, this);
    const side = el("aside", { className: "stack side" },
      el("section", { className: "stack tight", "aria-label": "New training" }, el("h2", { className: "label" }, "New training"), this.form.element, this.status),
      el("section", { className: "stack tight", "aria-label": "Runs" }, el("h2", { className: "label" }, "Runs"), this.list));
    this.element = el("div", { className: "training" }, side, this.panel.element);
    get("settings").then((settings) => this.form.fill(settings), (error) => replace(this.status, notice(error.message)));
    for (const name of ["hello", "queue", "begin", "end"]) app.events.on(name, () => this.refresh());
    app.events.on("reset", () => { this.refresh(); this.panel.load(); });
    app.events.on("worker", ({ text }) => { replace(this.status, notice(text)); announce(text); });
  }

  update(app) {
    this.refresh();
    this.form.enable(Boolean(app.current));
    if (app.state.run !== this.run) {
      this.run = app.state.run;
      this.element.classList.toggle("open", Boolean(this.run));
      this.panel.open(this.run);
    }
  }

  async start(settings) {
    replace(this.status, waiting("starting …"));
    try {
      const { run, state } = await post("trainings", { ...this.app.current.question, settings });
      replace(this.status);
      this.app.go({ run }, {});
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
      const all = [...runs, ...jobs].reverse().slice(0, 60);
      replace(this.list, all.length ? all.map((run) => this.line(run)) : el("p", { className: "soft small" }, "No runs yet."));
    } catch (error) {
      replace(this.list, notice(error.message));
    } finally {
      this.refreshing = false;
      if (this.again) { this.again = false; this.refresh(); }
    }
  }

  line(run) {
    const open = run.run === this.app.state.run;
    const share = run.step ? percent(run.test_accuracy) : "";
    const state = run.state === "finished" ? run.outcome || "finished" : STATES[run.state] || run.state;
    const link = button("", () => this.app.go({ run: run.run }, {}), open ? "run-line open" : "run-line");
    link.setAttribute("aria-current", String(open));
    link.append(el("span", { className: "run-title" }, run.title || run.run), el("span", { className: "number" }, share), el("span", { className: "soft" }, [run.model, state].filter(Boolean).join(" · ")), el("span", { className: "soft number" }, run.step ? `${run.step}` : ""));
    return link;
  }
}

export const create = (app) => new TrainingView(app);
