// Curves over training steps, by uPlot: a frame that follows the page's width and theme, and data that may grow.
import { el, framed } from "../dom.js";
import { line, themed } from "../colours.js";
import { figure, percent, power } from "../words.js";

const font = "12px Inter, system-ui, sans-serif";

const SCALES = {
  share: { say: percent, tick: (tick) => `${Math.round(100 * tick)} %` },
  unit: { say: figure, tick: String },
  log: { say: figure, tick: power },
};

/** Grid lines at powers of ten alone. */
export const decades = (_, splits) => splits.map((split) => power(split) ? split : null);

export class Curves {
  /** `series` are names; `scale` is "share" (0 to 100 %), "unit" (0 to 1) or "log". `dashed` names those drawn with dashes. */
  constructor({ title, series, scale = "share", height = 190, dashed = [], colours = null }) {
    Object.assign(this, { title, series, scale, height, dashed, colours, data: [[], ...series.map(() => [])], plot: null });
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

  /** `data`: steps, then one list of values for each series. */
  set(data) { this.data = data; this.draw(); }

  drop() { this.plot?.destroy(); this.plot = null; }

  paint() {
    if (!this.element.isConnected || !this.frame.clientWidth) return;
    const shown = this.scale === "log" ? this.data.map((row, at) => at ? row.map((v) => v > 0 ? v : null) : row) : this.data;
    if (!this.plot) this.plot = new uPlot(this.options(), shown, this.frame);
    else this.plot.setData(shown);
    this.tell(this.data[0].length - 1);
  }

  tell(at) {
    this.values.forEach((value, index) => {
      const number = this.data[index + 1][at];
      value.textContent = number === null || number === undefined ? "" : SCALES[this.scale].say(number);
    });
    const said = this.series.map((name, index) => `${name} ${this.values[index].textContent || "unknown"}`).join(", ");
    this.frame.setAttribute("aria-label", `${this.title} up to step ${this.data[0].at(-1) ?? 0}: ${said}`);
  }

  options() {
    const axis = { stroke: themed("soft"), font, grid: { stroke: themed("line"), width: 1 }, ticks: { show: false } };
    const log = this.scale === "log";
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: log ? { distr: 3 } : { range: [-0.03, 1.04] } },
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx ?? this.data[0].length - 1)] },
      axes: [
        { ...axis, size: 30, space: 70, grid: { show: false } },
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
