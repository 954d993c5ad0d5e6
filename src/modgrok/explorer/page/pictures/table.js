// A table of two variables as a picture: one crisp square for each cell, a cursor for mouse, finger and arrow keys.
import { announce, el, framed, replace } from "../dom.js";
import { prose } from "../maths.js";
import { themed, themedPixel } from "../colours.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const HINT = "Point at a cell to read it.";

/** The places 0 … n − 1, each where it is. */
export const natural = (n) => Uint16Array.from({ length: n }, (_, place) => place);

export class TablePicture {
  /** `describe(row, column)` says a cell in words; `onpick(row, column)` is called for a click or Enter. */
  constructor({ label, describe, onpick = null, onhover = null, largest = 580 }) {
    Object.assign(this, { describe, onpick, onhover, largest, cursor: null, marked: null, shown: null });
    this.canvas = el("canvas", { className: "cells", tabindex: 0, role: "application", "aria-label": label });
    this.top = el("span", { className: "axis axis-top" });
    this.left = el("span", { className: "axis axis-left" });
    this.readout = el("p", { className: "readout number" });
    this.element = el("div", { className: "table-picture" }, this.top, this.left, this.canvas, this.readout);
    this.canvas.addEventListener("pointermove", (event) => this.move(this.cellAt(event), false));
    this.canvas.addEventListener("pointerleave", () => this.move(null, false));
    this.canvas.addEventListener("click", (event) => this.pick(this.cellAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const later = framed(() => this.paint());
    this.draw = () => { delete this.canvas.dataset.rows; later(); };  // it is there again when what is asked for is painted
    addEventListener("themechange", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** `pixels` has one colour for each cell, row by row, in natural order; the orders say which row stands where. */
  show({ pixels, rows, columns, rowOrder = natural(rows), columnOrder = natural(columns), names = ["n1", "n2"], order = "natural" }) {
    this.shown = { pixels, rows, columns, rowOrder, columnOrder, order };
    replace(this.top, prose(names[1]), " →");
    replace(this.left, el("span", {}, prose(names[0])), el("span", {}, "↓"));
    this.sayAgain();
    this.draw();
  }

  /** What stands under the cursor now, aloud if it was read by keys and has changed since. */
  sayAgain() {
    const before = this.readout.textContent;
    this.say();
    if (this.cursor && document.activeElement === this.canvas && this.readout.textContent !== before) announce(this.readout.textContent);
  }

  /** Other colours for the same cells. */
  recolour(pixels) { this.shown.pixels = pixels; this.say(); this.draw(); }

  label(text) { this.canvas.setAttribute("aria-label", text); }

  /** Rows, columns and cells to stand out; all others fade. */
  mark({ rows = [], columns = [], cells = [] }) {
    this.marked = { rows, columns, cells };
    this.canvas.dataset.marked = JSON.stringify({ rows, columns });
    this.draw();
  }

  /** The table with a pixel for each cell. */
  image() {
    const { pixels, rows, columns, rowOrder, columnOrder } = this.shown;
    const source = new ImageData(columns, rows);
    const target = new Uint32Array(source.data.buffer);
    const bright = this.brightness();
    const paper = themedPixel("sheet");
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const at = rowOrder[row] * columns + columnOrder[column];
        target[row * columns + column] = !bright || bright(rowOrder[row], columnOrder[column]) ? pixels[at] : mixed(pixels[at], paper);
      }
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(source, 0, 0);
    return small;
  }

  paint() {
    if (!this.shown || !this.element.isConnected) return;
    const { rows, columns, order } = this.shown;
    const ratio = devicePixelRatio || 1;
    const room = Math.min(this.element.clientWidth - 22, this.largest) * ratio;
    this.cell = Math.max(1, Math.floor(room / Math.max(rows, columns)));
    this.canvas.width = columns * this.cell;
    this.canvas.height = rows * this.cell;
    this.canvas.style.width = `${this.canvas.width / ratio}px`;
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image(), 0, 0, this.canvas.width, this.canvas.height);
    if (this.marked) this.drawMarks(context, ratio);
    this.drawCursor(context, ratio);
    Object.assign(this.canvas.dataset, { rows, columns, order });
  }

  /** A frame around every marked line, so that dark lines are seen too. */
  drawMarks(context, ratio) {
    const { rowOrder, columnOrder } = this.shown;
    const rows = new Set(this.marked.rows), columns = new Set(this.marked.columns);
    context.strokeStyle = themed("warm");
    context.lineWidth = Math.max(1, Math.round(1.2 * ratio));
    rowOrder.forEach((residue, row) => { if (rows.has(residue)) context.strokeRect(0.5, row * this.cell - 0.5, this.canvas.width - 1, this.cell + 1); });
    columnOrder.forEach((residue, column) => { if (columns.has(residue)) context.strokeRect(column * this.cell - 0.5, 0.5, this.cell + 1, this.canvas.height - 1); });
  }

  drawCursor(context, ratio) {
    if (!this.cursor) return;
    const [row, column] = this.cursor;
    const size = Math.max(this.cell, 5 * ratio);
    const x = (column + 0.5) * this.cell - size / 2, y = (row + 0.5) * this.cell - size / 2;
    for (const [colour, width, gap] of [[themed("sheet"), 4, 2], [themed("ink"), 2, 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width * ratio;
      context.strokeRect(x - gap * ratio, y - gap * ratio, size + 2 * gap * ratio, size + 2 * gap * ratio);
    }
  }

  brightness() {
    if (!this.marked) return null;
    const rows = new Set(this.marked.rows), columns = new Set(this.marked.columns);
    const cells = new Set(this.marked.cells.map(([row, column]) => row * this.shown.columns + column));
    return (row, column) => rows.has(row) || columns.has(column) || cells.has(row * this.shown.columns + column);
  }

  cellAt(event) {
    if (!this.shown) return null;
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / box.height * this.shown.rows);
    const column = Math.floor((event.clientX - box.left) / box.width * this.shown.columns);
    return row < 0 || column < 0 || row >= this.shown.rows || column >= this.shown.columns ? null : [row, column];
  }

  move(cell, aloud) {
    this.cursor = cell;
    this.say();
    if (aloud && cell) announce(this.readout.textContent);
    this.onhover?.(cell && this.residues(cell));
    this.draw();
  }

  say() {
    this.readout.textContent = this.cursor ? this.describe(...this.residues(this.cursor)) : HINT;
    this.readout.classList.toggle("soft", !this.cursor);
  }

  residues([row, column]) { return [this.shown.rowOrder[row], this.shown.columnOrder[column]]; }

  pick(cell) { if (cell && this.onpick) this.onpick(...this.residues(cell)); }

  key(event) {
    if (!this.shown) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.pick(this.cursor); }
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    const [row, column] = this.cursor || [0, 0];
    const far = event.shiftKey ? 10 : 1;
    const next = (at, step, size) => (((at + step * far) % size) + size) % size;
    const [down, right] = this.cursor ? STEPS[event.key] : [0, 0];
    this.move([next(row, down, this.shown.rows), next(column, right, this.shown.columns)], true);
  }
}

/** A pixel faded nearly into the paper. */
function mixed(colour, paper) {
  let out = 255 << 24;
  for (const shift of [0, 8, 16]) {
    const from = (colour >> shift) & 255, to = (paper >> shift) & 255;
    out |= Math.round(to + 0.16 * (from - to)) << shift;
  }
  return out >>> 0;
}
