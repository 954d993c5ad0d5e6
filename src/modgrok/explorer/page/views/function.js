// The function as a table of colours, in three orders of its residues.
import { href } from "../address.js";
import { upload } from "../api.js";
import { valueColours, themedPixel } from "../colours.js";
import { numbers } from "../decode.js";
import { el, replace } from "../dom.js";
import { prose } from "../maths.js";
import { facts, notice, segmented, waiting } from "../parts.js";
import { valueStrip } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { count } from "../words.js";

const UNKNOWN = 65535;
const ORDERS = { natural: "natural", logarithmic: "logarithmic", witness: "by the witness" };
const MEANING = {
  natural: "Rows and columns stand in the order 0, 1, 2, … of the residues.",
  logarithmic: "0 comes first, then the powers of a generator: where the function is a product, it becomes a sum.",
  witness: "Rows and columns stand in the order of the witness's g1 and g2. A sum or a product in disguise falls into stripes.",
};

/** One pixel for each cell of a function's table; cells that are not known have the colour of a line. */
export function valuePixels(info) {
  const colours = valueColours(info.values), free = themedPixel("line");
  return Uint32Array.from(numbers(info.table), (value) => value === UNKNOWN ? free : colours[value]);
}

class FunctionView {
  constructor(app) {
    this.app = app;
    this.picture = new TablePicture({ label: "Table of values", largest: 660, describe: (row, column) => this.describe(row, column) });
    this.order = segmented("Order of the axes", ORDERS, "natural", (name) => app.go({ order: name === "natural" ? "" : name }, { fresh: false }));
    this.meaning = el("p", { className: "soft small" });
    this.facts = el("div");
    this.strip = el("div");
    this.note = el("div");
    this.table = el("section", { className: "picture-column", "aria-label": "Table of values" }, this.picture.element, this.note);
    this.element = el("div", { className: "split" }, this.table,
      el("section", { className: "stack", "aria-label": "About the table" }, this.facts, el("div", { className: "stack tight" }, el("h2", { className: "label" }, "Order of the axes"), this.order.element, this.meaning),
        el("div", { className: "stack tight" }, el("h2", { className: "label" }, "Values"), this.strip), this.dropZone()));
    addEventListener("themechange", () => this.info && this.draw());
  }

  describe(row, column) {
    const value = this.values[row * this.info.sizes[1] + column];
    const [first, second] = this.info.variables;
    return `${first} = ${row}, ${second} = ${column}: ${value === UNKNOWN ? "unknown" : `value ${value}`}`;
  }

  update(app) {
    if (!app.current) return;
    const { info } = app.current;
    if (this.info !== info) {
      this.info = info;
      this.verdict = null;
      this.values = info.table ? numbers(info.table) : null;
      const asked = info;
      app.verdict().then((verdict) => { if (this.info === asked) { this.verdict = verdict; this.draw(); } }, () => {});
    }
    this.draw();
  }

  draw() {
    const { info } = this;
    replace(this.note, info.table ? [] : [notice(info.table_note)]);
    this.picture.element.hidden = !info.table;
    replace(this.facts, facts({
      variables: info.variables.join(", "), table: `${info.sizes.map(count).join(" × ")} cells`, values: count(info.values),
      known: info.known_cells < info.sizes.reduce((a, b) => a * b, 1) ? `${count(info.known_cells)} cells` : null,
      verdict: this.verdict ? el("span", {}, prose(this.verdict.answer[0]), " ", el("a", { href: href({ ...this.app.state, view: "verdict", order: "" }) }, "More")) : "…",
    }));
    if (!info.table) return;
    const orders = { natural: info.orders.natural, logarithmic: info.orders.logarithmic, witness: this.verdict?.order };
    const asked = this.app.state.order in orders ? this.app.state.order : "natural";
    const name = orders[asked] ? asked : "natural";
    this.order.allow((each) => Boolean(orders[each]));
    this.order.select(name);
    const why = asked === "witness" && !this.verdict ? waiting("looking for a witness …").textContent
      : asked === "witness" && !orders.witness ? "There is no witness: the verdict says why."
        : asked === "logarithmic" && !orders.logarithmic ? info.orders.logarithmic_note : MEANING[name];
    this.meaning.textContent = why;
    const { rows, columns } = orders[name];
    this.picture.show({ pixels: valuePixels(info), rows: info.sizes[0], columns: info.sizes[1], rowOrder: rows, columnOrder: columns, names: info.variables, order: name });
    this.picture.label(`Table of ${info.title}: ${info.sizes[0]} rows of ${info.variables[0]}, ${info.sizes[1]} columns of ${info.variables[1]}, ${ORDERS[name]} order. Arrow keys read the cells.`);
    replace(this.strip, valueStrip(valueColours(info.values), info.values));
  }

  /** A table of one's own, dropped or chosen. */
  dropZone() {
    const word = el("span", {}, "Drop a table of your own here (.csv, .npy, .parquet), or ");
    const field = el("input", { type: "file", accept: ".csv,.npy,.parquet", className: "unseen", id: "own-table", onchange: () => field.files[0] && send(field.files[0]) });
    const answer = el("div", { role: "status" });
    const send = async (file) => {
      replace(answer, waiting(`reading ${file.name} …`));
      try {
        const info = await upload("tables", file);
        replace(answer);
        this.app.go({ table: info.table, expression: "", mod: "", order: "" }, { subject: true });
      } catch (error) {
        replace(answer, notice(error.message));
      }
      field.value = "";
    };
    const zone = el("div", { className: "drop small" }, field, word, el("label", { for: "own-table", className: "link" }, "choose a file"), answer);
    for (const name of ["dragenter", "dragover"]) zone.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
    for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
    return zone;
  }
}

export const create = (app) => new FunctionView(app);
