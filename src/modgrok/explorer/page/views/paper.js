// The paper: each table and figure, published beside measured, and the button that computes it here.
import { PUBLIC, get, post } from "../api.js";
import { el, replace } from "../dom.js";
import { prose } from "../maths.js";
import { button, grid, into, notice, segmented, waiting } from "../parts.js";
import { copying } from "../recipe.js";
import { duration } from "../words.js";

const GOOD = ["reproduced", "finding"];

class PaperView {
  constructor(app) {
    this.app = app;
    this.list = el("div", { className: "stack wide" });
    this.status = el("div", { className: "stack tight", role: "status" });
    this.element = el("div", { className: "stack wide" },
      el("header", { className: "stack tight" }, el("h2", { className: "title" }, "The paper, measured again"),
        el("p", { className: "soft" }, "Every table and figure of Grokking Modular Polynomials (2024), and what goes beyond it: published beside measured."),
        el("p", { className: "links" }, PUBLIC ? null : button("Compute all (quick versions)", () => this.compute("all", this.status)), el("a", { className: "quiet", href: "/report/", target: "_blank", rel: "noopener", hidden: true }, "Open the report")), this.status),
      this.list);
    this.report = this.element.querySelector("a[href='/report/']");
    app.events.on("answer", ({ kind }) => { if (kind === "paper") this.load(); });
  }

  update() { if (!this.loaded) { this.loaded = true; this.load(); } }

  recipe() { return this.whole; }

  async load() {
    try {
      const { items, report, recipe } = await get("paper");
      this.whole = recipe;
      this.report.hidden = !report;
      const sections = [...new Set(items.map(({ section }) => section))];
      const open = this.app.state.item;
      replace(this.list, sections.map((section) => el("section", { className: "stack tight", "aria-label": section }, el("h3", { className: "section" }, section), items.filter((item) => item.section === section).map((item) => this.card(item, item.item === open)))));
    } catch (error) {
      this.loaded = false;
      replace(this.list, notice(error.message));
    }
  }

  card(item, open) {
    const shown = item[item.first] ?? item.result ?? item.recorded;
    const own = item.result && item.recorded;
    const body = el("div", { className: "stack" });
    const element = el("details", { className: "card" },
      el("summary", {}, el("span", { className: "card-title" }, item.heading), shown ? el("span", { className: `badge ${GOOD.includes(shown.verdict) ? "in-class" : "unknown"}` }, shown.verdict) : el("span", { className: "badge" }, "not computed yet"),
        shown && shown === item.recorded ? el("span", { className: "small soft" }, "recorded") : null,
        own && item.differs ? el("span", { className: "badge unknown" }, `${item.result.verdict} here, ${item.recorded.verdict} recorded`) : null,
        shown ? el("span", { className: "card-line" }, el("span", {}, el("b", {}, "published "), prose(shown.published)), el("span", {}, el("b", {}, "measured "), prose(shown.measured))) : el("span", { className: "card-line" }, el("span", {}, prose(item.purpose)))), body);
    element.addEventListener("toggle", () => { if (element.open && !body.firstChild) this.fill(item, body); });
    element.open = open;
    return element;
  }

  fill(item, body) {
    const content = el("div", { className: "stack" });
    const status = el("div", { className: "stack tight", role: "status" });
    const sources = { ...(item.result ? { result: "computed here" } : {}), ...(item.recorded ? { recorded: `recorded on ${item.recorded.where}` } : {}) };
    const first = sources[item.first] ? item.first : Object.keys(sources)[0];
    const look = (from) => into(content, get("paper/item", { item: item.item, from }), (found) => this.item(found), "drawing …");
    const names = Object.keys(sources);
    const hint = item.seconds_hint ? ` (about ${duration(item.seconds_hint)})` : "";
    const doable = item.computed !== "elsewhere" && !PUBLIC;
    replace(body, item.lead ? el("p", { className: "soft" }, prose(item.lead)) : null,
      el("div", { className: "links" }, doable ? button(`Compute it here${hint}`, () => this.compute(item.item, status)) : null, 
        names.length > 1 ? segmented("Source", sources, first, look).element : null),
      doable ? copying(() => item.recipe).element : null, status, content);
    if (names.length) look(first);
    else replace(content, el("p", { className: "soft" }, "Nothing is recorded of it yet."));
  }

  item(found) {
    return [
      el("p", {}, el("b", {}, found.verdict), found.why ? [": ", prose(found.why)] : ""),
      el("p", { className: "small soft" }, `${found.origin === "recorded" ? "Recorded" : "Computed here"}: ${found.made}`),
      found.figures.map((figure) => el("figure", {}, el("img", { src: figure.url, alt: figure.alt, loading: "lazy" }), figure.caption ? el("figcaption", { className: "small soft" }, prose(figure.caption)) : null)),
      found.tables.map((table) => grid(table.headings, table.rows, { caption: table.caption, numeric: numeric(table.rows) })),
      found.notes?.length ? el("ul", { className: "small" }, found.notes.map((note) => el("li", {}, prose(note)))) : null,
    ];
  }

  async compute(item, place) {
    replace(place, waiting("waiting for the worker …"));
    try {
      const { job } = await post("paper", { item, size: "quick" });
      const stop = button("Cancel", () => post("jobs/cancel", { job }).catch(() => {}));
      await this.app.events.job(job, ({ text, done, total }) => replace(place, waiting(text || "computing …"), total ? el("progress", { max: total, value: done, "aria-label": "Progress" }) : null, stop));
      this.app.state.item = item;
      replace(place);
      this.load();
    } catch (error) {
      replace(place, notice(error.message));
    }
  }
}

/** Columns in which every cell reads as a number. */
function numeric(rows) {
  const width = rows[0]?.length ?? 0;
  return new Set(Array.from({ length: width }, (_, at) => at).filter((at) => rows.every((row) => /^[-–±\d.,\s%eE+×]*$/.test(String(row[at])))));
}

export const create = (app) => new PaperView(app);
