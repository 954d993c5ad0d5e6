// Thousands of points under axes by uPlot; the nearest one is found through a grid of buckets.
import { LINES, themed } from "../colours.js";
import { el, framed } from "../dom.js";
import { power } from "../words.js";
import { decades } from "./curves.js";

const NEAR = 12;

export class Scatter {
  constructor({ onhover, onpick }) {
    Object.assign(this, { onhover, onpick, data: null, plot: null, nearest: null });
    this.frame = el("div", { className: "curve-frame scatter", role: "application", tabindex: 0, "aria-label": "Scatter" });
    this.title = el("figcaption", { className: "axis-title x small soft" });
    this.element = el("figure", { className: "curves" }, el("p", { className: "axis-title small soft" }, "test accuracy"), this.frame, this.title);
    this.draw = framed(() => this.paint());
    addEventListener("themechange", this.draw);
    new ResizeObserver(this.draw).observe(this.element);
    this.frame.addEventListener("click", () => this.nearest !== null && this.onpick(this.nearest));
    this.frame.addEventListener("keydown", (event) => this.key(event));
  }

  /** `kind` chooses each point's colour; `law` is a curve, and `title` what the horizontal axis is, linear or logarithmic. */
  show({ x, y, kind, label, title, linear, law }) {
    const by = Uint32Array.from(x.keys()).sort((a, b) => x[a] - x[b]);
    this.data = { x, y, kind, by, linear, law };
    this.title.textContent = title;
    this.nearest = null;
    this.frame.setAttribute("aria-label", `${label} Arrow keys walk through the points by loss, Enter opens one.`);
    this.draw();
  }

  paint() {
    if (!this.data || !this.frame.clientWidth) return;
    this.plot?.destroy();
    const { x, linear } = this.data, low = x.reduce((least, value) => value > 0 && value < least ? value : least, 1), high = x.reduce((most, value) => Math.max(most, value), low);
    const axis = { stroke: themed("soft"), font: "12px Inter, system-ui, sans-serif", grid: { stroke: themed("line"), width: 1 }, ticks: { show: false } };
    this.plot = new uPlot({
      width: this.frame.clientWidth, height: Math.min(520, Math.max(320, 0.48 * this.frame.clientWidth)), legend: { show: false },
      cursor: { x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: linear ? { time: false, range: [0, Math.max(1, high) + 0.02] } : { time: false, distr: 3, range: [low / 1.3, high * 1.3] }, y: { range: [-0.03, 1.04] } },
      hooks: { draw: [(plot) => this.points(plot)], setCursor: [(plot) => this.look(plot)] },
      axes: [{ ...axis, size: 30, ...(linear ? { splits: () => [0, 0.25, 0.5, 0.75, 1] } : { grid: { ...axis.grid, filter: decades }, values: (_, ticks) => ticks.map(power) }) },
        { ...axis, size: 52, splits: () => [0, 0.25, 0.5, 0.75, 1], values: (_, ticks) => ticks.map((tick) => `${100 * tick} %`) }],
      series: [{}, { paths: () => null, points: { show: false } }],
    }, [[low, high], [0, 1]], this.frame);
  }

  points(plot) {
    const { x, y, kind, law, linear } = this.data, { ctx } = plot, ratio = devicePixelRatio || 1;
    this.buckets = new Map();
    this.where = new Float32Array(2 * x.length);
    const size = (x.length > 6000 ? 1.4 : x.length > 800 ? 2.3 : 3.6) * ratio;
    if (law) this.curve(plot, law, ratio);
    ctx.save();
    ctx.globalAlpha = x.length > 6000 ? 0.4 : 0.55;
    const colours = LINES.map(themed);
    for (let k = 0; k < colours.length; k++) {
      ctx.fillStyle = colours[k];
      for (let at = 0; at < x.length; at++) {
        if (kind[at] % colours.length !== k || !(linear || x[at] > 0)) continue;
        const left = plot.valToPos(x[at], "x", true), top = plot.valToPos(y[at], "y", true);
        ctx.beginPath();
        ctx.arc(left, top, size, 0, 7);
        ctx.fill();
        this.remember(at, (left - plot.bbox.left) / ratio, (top - plot.bbox.top) / ratio);
      }
    }
    ctx.restore();
    if (this.nearest !== null) this.ring(plot, ratio);
  }

  /** The law, below the points, which are half transparent. */
  curve(plot, law, ratio) {
    const { ctx } = plot;
    ctx.save();
    ctx.lineJoin = "round";
    ctx.strokeStyle = themed("ink");
    ctx.lineWidth = 2.5 * ratio;
    ctx.beginPath();
    law.x.forEach((at, k) => ctx.lineTo(plot.valToPos(at, "x", true), plot.valToPos(law.accuracy[k], "y", true)));
    ctx.stroke();
    ctx.restore();
  }

  ring(plot, ratio) {
    const { x, y } = this.data, { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = themed("ink");
    ctx.lineWidth = 2 * ratio;
    ctx.beginPath();
    ctx.arc(plot.valToPos(x[this.nearest], "x", true), plot.valToPos(y[this.nearest], "y", true), 6 * ratio, 0, 7);
    ctx.stroke();
    ctx.restore();
  }

  remember(at, left, top) {
    this.where[2 * at] = left;
    this.where[2 * at + 1] = top;
    const bucket = `${Math.floor(left / NEAR)},${Math.floor(top / NEAR)}`;
    if (!this.buckets.has(bucket)) this.buckets.set(bucket, []);
    this.buckets.get(bucket).push(at);
  }

  look({ cursor: { left, top } }) {
    if (!this.buckets || left < 0) return;
    let best = null, least = NEAR * NEAR;
    for (const dx of [-1, 0, 1]) for (const dy of [-1, 0, 1]) {
      for (const at of this.buckets.get(`${Math.floor(left / NEAR) + dx},${Math.floor(top / NEAR) + dy}`) || []) {
        const far = (this.where[2 * at] - left) ** 2 + (this.where[2 * at + 1] - top) ** 2;
        if (far < least) { least = far; best = at; }
      }
    }
    this.choose(best);
  }

  choose(at) {
    if (at === this.nearest) return;
    this.nearest = at;
    this.onhover(at);
    this.plot?.redraw(false, false);
  }

  key(event) {
    if (!this.data) return;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50 }[event.key];
    if (event.key === "Enter" && this.nearest !== null) this.onpick(this.nearest);
    if (!step) return;
    event.preventDefault();
    const { by } = this.data;
    const at = this.nearest === null ? 0 : by.indexOf(this.nearest) + step;
    this.choose(by[Math.min(Math.max(at, 0), by.length - 1)]);
  }
}
