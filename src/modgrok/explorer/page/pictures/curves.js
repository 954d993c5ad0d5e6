// Curves over training steps, by uPlot: a frame that follows the page's width and theme, data that may grow, a marker that moves.
import { el, framed } from "../dom.js";
import { line, themed } from "../colours.js";
import { count, figure, lossText, percent, power } from "../words.js";

const font = "12px Inter, system-ui, sans-serif";

const SCALES = {
  share: { say: percent, tick: (tick) => `${Math.round(100 * tick)} %` },
  unit: { say: figure, tick: String },
  log: { say: lossText, tick: power },
};

/** Grid lines at powers of ten alone. */
export const decades = (_, splits) => splits.map((split) => power(split) ? split : null);

/** Step 0 and powers of ten. */
const tens = (_, axis, low, high) => [0, ...Array.from({ length: 9 }, (_, power) => 10 ** power)].filter((tick) => tick >= low && tick <= high);

export class Curves {
  /** `series` are names; `scale` is "share" (0 to 100 %), "unit" (0 to 1) or "log". `dashed` names those drawn with dashes.
   *  `steps` is how steps are spaced: "linear", or "log", by their logarithms from step 1 on. */
  constructor({ title, series, scale = "share", height = 190, dashed = [], colours = null, steps = "linear" }) {
    Object.assign(this, { title, series, scale, height, dashed, colours, steps, data: [[], ...series.map(() => [])], plot: null, until: 0, marked: null });
    this.frame = el("div", { className: "curve-frame", role: "img", "aria-label": title });
    this.element = el("figure", { className: "curves" }, el("figcaption", {}, el("h3", {}, title), this.legend()), this.frame);
    this.draw = framed(() => this.paint());
    addEventListener("themechange", () => { this.drop(); this.draw(); });
    new ResizeObserver(() => { if (this.plot) this.plot.setSize(this.size()); else this.draw(); }).observe(this.frame);
  }

  legend() {
    this.values = this.series.map(() => el("b", { className: "number" }));
    return el("span", { className: "legend" }, this.series.map((name, index) => {
      const key = el("i", { className: this.dashed.includes(name) ? "key dashed" : "key", "data-colour": this.colours?.[index] ?? index });
      return el("span", {}, key, name, " ", this.values[index]);
    }));
  }

  size() { return { width: Math.max(this.frame.clientWidth, 120), height: this.height }; }

  /** `data`: steps, then one list of values for each series; `until` is the last step that will come. */
  set(data, until = 0) { Object.assign(this, { data, until }); this.draw(); }

  /** A line at a step, and dots where the curves are there; what comes later is pale. Null is none. */
  mark(step) {
    if (this.marked === step) return;
    this.marked = step;
    this.plot?.redraw(false);
    if (this.plot?.cursor.idx == null) this.tell(this.place());
  }

  /** Where the data have the marked step; at the end where none is marked. */
  place() {
    const found = this.marked === null ? -1 : this.data[0].findLastIndex((step) => step <= this.marked);
    return found < 0 ? this.data[0].length - 1 : found;
  }

  drop() { this.plot?.destroy(); this.plot = null; }

  paint() {
    if (!this.element.isConnected || !this.frame.clientWidth) return;
    const shown = this.scale === "log" ? this.data.map((row, at) => at ? row.map((v) => v > 0 ? v : null) : row) : this.data;
    if (!this.plot) this.plot = new uPlot(this.options(), shown, this.frame);
    else this.plot.setData(shown);
    this.tell(this.place());
  }

  /** The same picture on a canvas of its own; a marker that is set is drawn when this task is over. */
  still(width, height) {
    const shown = this.scale === "log" ? this.data.map((row, at) => at ? row.map((v) => v > 0 ? v : null) : row) : this.data;
    const plot = new uPlot({ ...this.options(), width, height }, shown, el("div"));
    return { canvas: plot.ctx.canvas, mark: (step) => { this.marked = step; plot.redraw(false); } };
  }

  drawMarker({ ctx, bbox, valToPos }) {
    if (this.marked === null || !this.data[0].length) return;
    const x = Math.round(valToPos(this.marked, "x", true)), at = this.place(), ratio = uPlot.pxRatio;
    ctx.save();
    Object.assign(ctx, { globalAlpha: 0.72, globalCompositeOperation: "destination-out", fillStyle: "black" });
    ctx.fillRect(x, bbox.top, bbox.left + bbox.width - x + 2, bbox.height);
    Object.assign(ctx, { globalAlpha: 1, globalCompositeOperation: "source-over" });
    ctx.fillStyle = themed("rule");
    ctx.fillRect(x - ratio / 2, bbox.top, ratio, bbox.height);
    this.series.forEach((_, index) => {
      const value = this.data[index + 1][at];
      if (value === null || value === undefined || this.scale === "log" && value <= 0) return;
      ctx.fillStyle = line(this.colours?.[index] ?? index);
      ctx.beginPath();
      ctx.arc(x, valToPos(value, "y", true), 4 * ratio, 0, 7);
      ctx.fill();
    });
    ctx.restore();
  }

  /** What a series is at a place of the steps. */
  value(index, at) { return this.data[index + 1][at]; }

  tell(at) {
    this.values.forEach((value, index) => {
      const number = this.value(index, at);
      value.textContent = number === null || number === undefined ? "" : SCALES[this.scale].say(number);
    });
    const said = this.series.map((name, index) => `${name} ${this.values[index].textContent || "unknown"}`).join(", ");
    this.frame.setAttribute("aria-label", `${this.title} at step ${this.data[0][at] ?? 0} of ${this.data[0].at(-1) ?? 0}: ${said}`);
  }

  across() {
    const range = (_, low, high) => [low ?? 0, Math.max(high ?? 1, this.until, 1)];
    return this.steps === "log" ? { distr: 4, asinh: 1, range } : this.until ? { range } : {};
  }

  options() {
    const axis = { stroke: themed("soft"), font, grid: { stroke: themed("line"), width: 1 }, ticks: { show: false } };
    const log = this.scale === "log";
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false, ...this.across() }, y: log ? { distr: 3 } : { range: [-0.03, 1.04] } },
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx ?? this.place())], draw: [(plot) => this.drawMarker(plot)] },
      axes: [
        { ...axis, size: 30, space: 70, grid: { show: false }, ...(this.steps === "log" ? { splits: tens, values: (_, ticks) => ticks.map((tick) => count(tick)) } : {}) },
        { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => tick === null ? "" : SCALES[this.scale].tick(tick)),
          ...(log ? { grid: { ...axis.grid, filter: decades } } : { splits: () => [0, 0.25, 0.5, 0.75, 1] }) },
      ],
      series: [{}, ...this.series.map((name, index) => ({
        label: name, stroke: line(this.colours?.[index] ?? index), width: 2, points: { show: false }, spanGaps: true,
        dash: this.dashed.includes(name) ? [6, 4] : undefined,
      }))],
    };
  }
}
