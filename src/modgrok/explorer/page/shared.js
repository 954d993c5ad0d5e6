// A page that was shared: a run with its film, a network, or a function; drawn by the explorer's own views.
import { DATA } from "./api.js";
import { el, replace } from "./dom.js";
import { formula, prose } from "./maths.js";
import { button, notice, segmented, tiles } from "./parts.js";
import { planGraph } from "./pictures/graph.js";
import { TablePicture } from "./pictures/table.js";
import { isFlat, reader, strip, valuePixels } from "./pictures/values.js";
import { movesByItself } from "./player.js";
import { comparison } from "./views/compared.js";
import { expertPanel } from "./views/expert.js";
import { outcome } from "./views/outcome.js";
import { savers } from "./views/saving.js";
import { Stage } from "./views/stage.js";
import { create as verdictView } from "./views/verdict.js";
import { count, figure, percent } from "./words.js";

const HEADINGS = { run: ["A network learns ", ""], network: ["A network computes ", ""], function: ["Can a network learn ", "?"] };
const ORDERS = { natural: "natural", logarithmic: "by logarithms", cosets: "by cosets", witness: "by the witness" };

const part = (title, ...children) => el("section", { className: "stack part", "aria-label": title }, el("h2", {}, title), ...children);

/** What is seen here, in a line and a paragraph. */
function hero() {
  const { typeset, modulus } = DATA.function;
  const what = typeset ? formula(typeset, modulus) : prose(DATA.title);
  const [before, after] = HEADINGS[DATA.kind];
  return el("header", { className: "hero stack tight" }, el("h1", {}, before, what, after), el("p", {}, prose(DATA.about)));
}

/** The film of a training; it plays by itself once, when it is first seen. */
function filmed() {
  const stage = new Stage({ info: () => DATA.function });
  if (DATA.run) stage.measured(DATA.run.curves, 0); else stage.withoutCurves();
  stage.open(DATA.film);
  if (!stage.film) return DATA.film.why ? notice(DATA.film.why) : null;
  if (stage.film.steps.length > 1) {
    replace(stage.tools, savers(stage, DATA.title));
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      if (movesByItself()) setTimeout(() => stage.player.play(), 700);
    }, { threshold: 0.2 });
    seen.observe(stage.element);
  }
  return stage;
}

function insideOf(stage) {
  if (!DATA.inspection) return null;
  const place = el("div", { className: "stack" });
  replace(place, comparison(DATA.inspection, { stage, found: { function: {} }, shared: true }));
  return part("What it found, beside the closed form", place);
}

/** A network's plan, and one of its experts at a time. */
function planned() {
  const { network, verification, experts } = DATA;
  const known = tiles({ width: "hidden neurons", parameters: "weights", right: "inputs right", margin: "smallest margin" });
  known.set("width", count(network.width));
  known.set("parameters", count(network.parameters));
  known.set("right", verification ? percent(verification.accuracy) : "–");
  known.set("margin", verification ? figure(verification.min_margin) : "–");
  const graph = el("div"), panel = el("div", { className: "stack" });
  const show = (expert) => {
    replace(graph, planGraph(network.graph, { chosen: expert, onpick: show }));
    const found = experts.find((each) => each.expert === expert);
    replace(panel, found ? expertPanel(found) : null);
  };
  if (network.graph) show(experts.at(-1)?.expert ?? null);
  return part("The network", known.element, verification ? el("p", { className: "soft" }, prose(verification.text)) : null, graph, panel);
}

function verdict(app) {
  const view = verdictView(app);
  view.update(app);
  return part("What is known about the function", view.element);
}

/** The table of values, in one of its orders. */
function values() {
  const info = DATA.function;
  const [rows, columns] = info.shown, whole = isFlat(info);
  const orders = whole ? { ...info.orders, witness: DATA.verdict.order } : { natural: {} };
  const picture = new TablePicture({ label: `Table of ${info.title}`, largest: 520, describe: reader(info) }), colours = el("div");
  let order = "natural";
  const draw = () => {
    picture.show({ pixels: valuePixels(info, undefined, orders[order]), rows, columns, rowOrder: orders[order].rows, columnOrder: orders[order].columns, names: info.variables, order });
    replace(colours, strip(info, orders[order]));
  };
  const offered = Object.fromEntries(Object.entries(ORDERS).filter(([name]) => orders[name]));
  const rest = info.at.map((value, at) => `${info.variables[at + 2]} = ${value}`).join(", ");
  const note = [rest && `Where ${rest}.`, info.every > 1 && `Every ${info.every} values of each variable, one is drawn.`].filter(Boolean).join(" ");
  const choice = segmented("Order of the axes", offered, order, (name) => { order = name; draw(); });
  addEventListener("themechange", draw);
  draw();
  return part("The table of values", note ? el("p", { className: "soft small" }, prose(note)) : null, whole ? choice.element : null, picture.element, colours);
}

/** What makes all of it once more. */
function again() {
  if (!DATA.again) return part("Make it again", el("p", { className: "soft" }, "No command says this: it was made in Python, from objects or values that no file holds."));
  const code = (title, text) => {
    const copy = button("Copy", async () => {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
    return el("figure", { className: "code" }, el("figcaption", {}, el("h3", {}, title), copy), el("pre", { tabindex: 0 }, el("code", {}, text)));
  };
  const needs = DATA.again.needs ? el("p", { className: "soft small" }, `Both read ${DATA.again.needs} from the folder where you run them.`) : null;
  return part("Make it again", needs, el("div", { className: "pair" }, code("On the command line", DATA.again.command), code("In Python", DATA.again.python)));
}

function start() {
  const app = { shared: true, state: {}, current: { question: {}, info: DATA.function }, verdict: async () => DATA.verdict };
  const place = document.getElementById("view"), stage = DATA.film ? filmed() : null;
  const shown = stage?.element ?? stage;
  const parts = {
    run: () => [el("section", { "aria-label": "Film" }, el("h2", { className: "unseen" }, "The film"), shown), DATA.run.diagnosis ? part("What became of it", el("div", { className: "stack tight" }, outcome(DATA.run))) : null, stage?.element ? insideOf(stage) : null, verdict(app)],
    network: () => [planned(), DATA.verification?.accuracy === 1 && DATA.film.steps.length < 2 ? values() : part("Which inputs are right", shown), verdict(app)],
    function: () => [verdict(app), values()],
  };
  replace(place, hero(), parts[DATA.kind](), again());
  replace(document.getElementById("footer"), el("span", {}, `made by modgrok ${DATA.version}: modgrok share`), el("span", {}, "this page loads nothing and sends nothing"));
}

start();
