// The function as a table of colours, in three orders of its rows and columns.
import { href } from "../address.js";
import { PUBLIC, get, newest, upload } from "../api.js";
import { numbers } from "../decode.js";
import { debounced, el, replace } from "../dom.js";
import { prose } from "../maths.js";
import { facts, into, notice, segmented, slider, waiting } from "../parts.js";
import { TablePicture } from "../pictures/table.js";
import { reader, strip, valuePixels } from "../pictures/values.js";
import { count, ordinal } from "../words.js";

const ORDERS = { natural: "natural", logarithmic: "logarithmic", cosets: "by cosets", witness: "by the witness" };
const MEANING = {
  natural: "Rows and columns stand in the order of their numbers, 0, 1, 2, …",
  logarithmic: "0 comes first, then the powers of a generator: where the function is a product, it becomes a sum.",
  cosets: "A normal subgroup comes first, then its cosets one by one, and within each the same again; so do the colours, and the table falls into blocks.",
  witness: "Rows and columns stand in the order of the witness's g1 and g2. A sum or a product in disguise falls into stripes.",
};

/** The same where elements are no residues. */
const MEANING_OF_ELEMENTS = {
  natural: "Rows and columns stand in the order in which the elements are numbered.",
  witness: "Rows and columns stand in the order of the witness's g1 and g2: the table falls into stripes, or into the blocks of cosets.",
};

class FunctionView {
  constructor(app) {
    this.app = app;
    this.picture = new TablePicture({ label: "Table of values", largest: 660, describe: (row, column) => reader(this.info, this.values, this.at)(row, column) });
    this.order = segmented("Order of the axes", ORDERS, "natural", (name) => app.go({ order: name === "natural" ? "" : name }, { fresh: false }));
    this.meaning = el("p", { className: "soft small" });
    this.facts = el("div");
    this.strip = el("div");
    this.note = el("div", { className: "stack tight" });
    this.others = el("div", { className: "stack tight" });
    this.group = el("div", { className: "stack tight" });
    this.askSlice = newest((question, signal) => get("function/slice", question, signal));
    this.later = debounced(() => this.cut(), 60);
    this.table = el("section", { className: "picture-column", "aria-label": "Table of values" }, this.others, this.picture.element, this.note);
    this.element = el("div", { className: "split" }, this.table,
      el("section", { className: "stack", "aria-label": "About the table" }, this.facts, el("div", { className: "stack tight" }, el("h2", { className: "label" }, "Order of the axes"), this.order.element, this.meaning),
        el("div", { className: "stack tight" }, el("h2", { className: "label" }, "Values"), this.strip), this.group, this.dropZone()));
    addEventListener("themechange", () => this.info && this.draw());
  }

  recipe() { return this.info?.recipe; }

  update(app) {
    if (!app.current) return;
    const { info } = app.current;
    if (this.info !== info) {
      Object.assign(this, { info, verdict: null, refused: "", at: info.at, values: numbers(info.table) });
      this.sliders();
      this.representations();
      if (!info.too_large) app.verdict(0.5, "verdict").then((verdict) => this.judged(info, { verdict }), ({ name, message }) => { if (name !== "AbortError") this.judged(info, { refused: message }); });
    }
    this.draw();
  }

  judged(info, found) { if (this.info === info) { Object.assign(this, found); this.draw(); } }

  /** One slider for each variable after the second, which a picture has no axis for. */
  sliders() {
    const { info } = this;
    replace(this.others, info.sizes.slice(2).map((size, other) => slider(prose(info.variables[other + 2]), {
      min: 0, max: size - 1, value: info.at[other], show: (value) => info.elements?.[value] ?? String(value),
      oninput: (value) => { this.wanted = (this.wanted ?? this.at).with(other, value); this.later(); },
    }).element));
    this.wanted = null;
  }

  async cut() {
    const { info, wanted } = this;
    try {
      const { table, at } = await this.askSlice({ ...this.app.current.question, at: wanted.join(",") });
      if (this.info !== info) return;
      Object.assign(this, { at, values: numbers(table) });
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") replace(this.note, notice(error.message));
    }
  }

  /** Of a group: degrees, kinds and numbers of its irreducible representations. */
  representations() {
    replace(this.group);
    if (!this.info.orders.cosets) return;
    into(this.group, get("representations", this.app.current.question), ({ group, order, classes, rows }) => group && [
      el("h2", { className: "label" }, "Irreducible representations"),
      facts(Object.fromEntries(rows.map(({ degree, kinds }) => [`degree ${count(degree)}`, Object.entries(kinds).map(([kind, number]) => `${count(number)} ${kind}`).join(", ")]))),
      el("p", { className: "soft small" }, `Over the complex numbers, as many as ${group} has classes of conjugate elements: ${count(classes)}. The squares of the degrees add up to its order, ${count(order)}.`),
    ], "decomposing the group …");
  }

  draw() {
    const { info } = this, cells = info.sizes.reduce((product, size) => product * size, 1);
    const size = info.sizes.map(count).join(" × ");
    const all = `${count(info.shown[0])} × ${count(info.shown[1])} cells are drawn`;
    replace(this.note, info.every > 1 ? el("p", { className: "soft small" }, `${all}: every ${ordinal(info.every)} row and column of ${size}. Patterns that are finer than this look coarser than they are.`) : null,
      info.too_large ? el("p", { className: "soft small" }, `Only the picture is shown: ${info.too_large}.`) : null);
    replace(this.facts, facts({
      variables: info.variables.join(", "), table: `${size} cells`, values: count(info.values),
      known: info.known_cells < cells ? `${count(info.known_cells)} cells` : null,
      verdict: info.too_large ? null : this.verdict ? el("span", {}, prose(this.verdict.answer[0]), " ", el("a", { href: href({ ...this.app.state, view: "verdict", order: "" }) }, "More")) : this.refused || "…",
    }));
    const orders = { ...info.orders, witness: this.verdict?.order };
    const asked = this.app.state.order in ORDERS ? this.app.state.order : "natural";
    const name = orders[asked] ? asked : "natural";
    const ofOthers = (each) => each === "cosets" || each === "logarithmic" && info.elements;  // orders that only other kinds of functions have
    this.order.allow((each) => each === "natural" || Boolean(orders[each]), (each) => orders[each] || each === asked || !ofOthers(each));
    this.order.select(name);
    this.meaning.textContent = name !== asked ? this.why(asked) : info.elements && MEANING_OF_ELEMENTS[name] || MEANING[name];
    const [rows, columns] = info.shown, order = orders[name];
    this.picture.show({ pixels: valuePixels(info, this.values, order), rows, columns, rowOrder: order?.rows, columnOrder: order?.columns, names: info.variables, order: name });
    this.picture.label(`Table of ${info.title}: ${rows} rows of ${info.variables[0]}, ${columns} columns of ${info.variables[1]}, ${ORDERS[name]} order. Arrow keys read the cells.`);
    replace(this.strip, strip(info, order));
  }

  /** Why the table does not stand in the order that is asked for. */
  why(asked) {
    if (this.info.every > 1) return "Only every so many rows and columns are drawn, so they stand in their natural order.";
    if (asked === "logarithmic") return this.info.orders.logarithmic_note;
    if (asked === "cosets") return "Cosets are those of a group: type a b in S5, for example.";
    return this.verdict || this.refused ? "There is no witness: the verdict says why." : "looking for a witness …";
  }

  /** A table of one's own, dropped or chosen. */
  dropZone() {
    const word = el("span", {}, `Drop a table of your own here (.csv, .npy${PUBLIC ? "" : ", .parquet"}), or a network (.safetensors, ${PUBLIC ? "" : ".pt, .onnx, "}logits as .npy), or `);
    const field = el("input", { type: "file", accept: ".csv,.npy,.parquet,.safetensors,.pt,.pth,.bin,.ckpt,.onnx", className: "unseen", id: "own-table", onchange: () => field.files[0] && send(field.files[0]) });
    const answer = el("div", { role: "status" });
    const send = async (file) => {
      replace(answer, waiting(`reading ${file.name} …`));
      try {
        const { network = "", ...info } = await sent(file);
        replace(answer);
        const subject = network ? { ...info, view: "network" } : { table: info.table, expression: "", mod: "" };
        delete subject.title;
        this.app.go({ ...subject, order: "", network }, { subject: true });
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

/** A table or a network, by the ending of its name; an array is a table where it is one, else logits. */
async function sent(file) {
  const ending = file.name.toLowerCase().split(".").at(-1);
  const { limits } = await get("settings");
  const send = (path, most) => file.size <= most ? upload(path, file) : Promise.reject(new Error(`${file.name} has ${count(file.size)} bytes; ${count(most)} are the limit here`));
  const table = () => send("tables", limits.upload), network = () => send("networks", limits.network);
  if (["csv", "parquet"].includes(ending)) return table();
  if (ending !== "npy") return network();
  try {
    return await table();
  } catch (refused) {
    return network().catch((error) => { throw error.message.includes("shape") ? error : refused; });
  }
}

export const create = (app) => new FunctionView(app);
