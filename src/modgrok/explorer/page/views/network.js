// A compiled network: its plan as a graph, one expert looked into, and one input on its way through.
import { address, get, newest } from "../api.js";
import { floats } from "../decode.js";
import { debounced, el, replace } from "../dom.js";
import { facts, into, notice, segmented, slider, tiles, waiting } from "../parts.js";
import { planGraph } from "../pictures/graph.js";
import { count, figure, percent } from "../words.js";
import { DroppedPanel } from "./dropped.js";
import { expertPanel } from "./expert.js";
import { FlowPanel } from "./flow.js";
import { sharer } from "./sharing.js";

const METHODS = { exact: "exact", minimal: "minimal", frequencies: "chosen", paper: "the paper's" };
const MEANING = {
  exact: "All frequencies: the output is a one-hot vector, up to rounding.",
  minimal: "As few frequencies as are right on every input.",
  frequencies: "As many frequencies as the slider says: fewer neurons, a smaller margin.",
  paper: "Random phases, as the paper builds it: right when it is wide enough.",
};

class NetworkView {
  constructor(app) {
    this.app = app;
    this.method = segmented("How it is built", METHODS, "exact", (name) => { this.name = name; this.expert = null; this.ask(); });
    this.name = "exact";
    this.meaning = el("p", { className: "soft small" });
    this.slider = slider("Frequencies", { min: 1, max: 48, value: 4, oninput: () => this.later() });
    this.slider.element.hidden = true;
    this.later = debounced(() => this.ask(), 120);
    this.numbers = tiles({ width: "hidden neurons", parameters: "parameters", margin: "smallest margin", accuracy: "inputs right" });
    this.graph = el("section", { className: "stack tight", "aria-label": "Plan" });
    this.panel = el("section", { className: "stack", "aria-label": "Expert" });
    this.flow = new FlowPanel(this);
    this.more = el("div", { className: "stack tight" });
    this.status = el("div", { role: "status" });
    this.compile = newest((question, signal) => get("network", question, signal));
    this.check = newest((question, signal) => get("verification", question, signal));
    this.dropped = new DroppedPanel(app);
    this.compiled = el("div", { className: "stack wide" },
      el("div", { className: "bar" }, el("div", { className: "stack tight" }, this.method.element, this.meaning), this.slider.element, this.numbers.element),
      this.status, this.graph, this.flow.element, this.panel, this.more);
    this.element = el("div", {}, this.dropped.element, this.compiled);
    addEventListener("themechange", () => { if (this.found) this.showExpert(); });
  }

  question() {
    const many = { exact: { method: "exact", frequencies: "all" }, minimal: { method: "exact", frequencies: "minimal" }, frequencies: { method: "exact", frequencies: this.slider.input.value }, paper: { method: "paper" } };
    return { ...this.app.current.question, ...many[this.name] };
  }

  update(app) {
    this.dropped.element.hidden = !app.state.network;
    this.compiled.hidden = Boolean(app.state.network);
    if (app.state.network) { this.dropped.show(app.state.network); return; }
    if (!app.current) return;
    if (this.info === app.current.info) return;
    this.info = app.current.info;
    this.expert = null;
    this.flow.forget();
    this.ask();
  }

  recipe() { return this.app.state.network ? this.dropped.found?.recipe : this.found?.recipe; }

  async ask() {
    if (!this.app.current) return;  // update asks when there is a function
    this.meaning.textContent = MEANING[this.name];
    this.slider.element.hidden = this.name !== "frequencies";
    const question = this.question();
    const patience = setTimeout(() => replace(this.status, waiting("compiling …")), 250);
    try {
      const found = await this.compile(question);
      replace(this.status);
      this.show(found, question);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.found = null;
      for (const place of [this.graph, this.panel, this.more]) replace(place);
      for (const name of ["width", "parameters", "margin", "accuracy"]) this.numbers.set(name, "–");
      this.flow.element.hidden = true;
      replace(this.status, notice(error.message));
    } finally {
      clearTimeout(patience);
    }
  }

  show(found, question) {
    Object.assign(this, { found, asked: question, wires: null });
    this.slider.set(Math.min(this.slider.input.value, found.most_frequencies), { max: found.most_frequencies });
    this.numbers.set("width", count(found.width));
    this.numbers.set("parameters", count(found.parameters));
    this.numbers.set("margin", found.proof ? figure(found.proof.margin) : "–");
    this.numbers.set("accuracy", "…");
    this.drawGraph();
    this.flow.follow(question, found);
    this.showExpert();
    const links = ["safetensors", "onnx"].map((format) => el("a", { className: "quiet", href: address("download", { ...question, format }), download: "" }, `Download ${format === "onnx" ? "ONNX" : format}`));
    const checked = el("div", { role: "status" });
    replace(this.more, facts({ proof: found.proof_text, notes: found.notes.join(" ") || null }, "facts wrapped"), checked, el("p", { className: "links" }, links, sharer(() => question)));
    this.check(question).then((answer) => {
      if (this.asked !== question) return;
      this.numbers.set("accuracy", percent(answer.accuracy));
      this.numbers.set("margin", figure(answer.min_margin));
      replace(checked, el("p", { className: "soft small" }, answer.text));
    }, () => this.numbers.set("accuracy", "–"));
  }

  drawGraph() {
    const carried = this.wires && new Map(this.wires.map(({ id, value, distribution }) => [id, { value, distribution: distribution && floats(distribution) }]));
    replace(this.graph, el("h2", { className: "label" }, "The plan"), planGraph(this.found.graph, { chosen: this.expert, flow: carried, onpick: (expert) => { this.expert = expert; this.drawGraph(); this.showExpert(); this.graph.querySelector(".chosen")?.focus(); } }));
  }

  /** Called by the flow panel with what every wire carries, or null. */
  carried(wires) { this.wires = wires; if (this.found) this.drawGraph(); }

  showExpert() {
    const experts = this.found.graph.nodes.filter((node) => node.expert);
    if (!this.expert) this.expert = experts.at(-1)?.expert ?? null;
    if (!this.expert) return;
    this.drawGraph();
    into(this.panel, get("expert", { ...this.asked, expert: this.expert }), expertPanel, "looking into the expert …");
  }
}

export const create = (app) => new NetworkView(app);
