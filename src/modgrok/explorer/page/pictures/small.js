// Small pictures: a function of residues, waves, phases on a circle, bars, an interval.
import { el, svg } from "../dom.js";
import { LINES, themed } from "../colours.js";
import { percent } from "../words.js";

const range = (values) => values.reduce(([low, high], value) => value === null ? [low, high] : [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** A canvas of the given size in CSS pixels, and what draws on it. */
function sheet(width, height, label) {
  const ratio = devicePixelRatio || 1;
  const canvas = el("canvas", { role: "img", "aria-label": label });
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [canvas, context];
}

/** One wave: what the weights are, and behind them the cosine that fits them. */
export function drawWave(context, { values, fit, largest: given }, x, y, width, height, colours) {
  const largest = given ?? values.reduce((most, value) => Math.abs(value) > most ? Math.abs(value) : most, 1e-9);
  const place = (list, at) => [x + width * at / (list.length - 1), y + height / 2 - 0.44 * height * list[at] / largest];
  const stroke = (list, colour, thick) => {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    for (let at = 0; at < list.length; at++) if (!Number.isNaN(list[at])) context.lineTo(...place(list, at));
    context.stroke();
  };
  context.fillStyle = colours.line;
  context.fillRect(x, y + height / 2, width, 1);
  if (fit) stroke(fit, colours.fit, 3.5);
  stroke(values, colours.ink, 1.2);
}

/** A grid of waves in one canvas; it can be drawn again with other waves. */
export class WaveGrid {
  constructor(label, { cellWidth = 150, cellHeight = 62, onpick = null } = {}) {
    Object.assign(this, { cellWidth, cellHeight, waves: [] });
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.element = el("div", { className: "wave-grid" }, this.canvas);
    this.repaint = () => this.paint();
    addEventListener("themechange", this.repaint);
    new ResizeObserver(() => this.paint()).observe(this.element);
    if (onpick) this.canvas.addEventListener("click", (event) => onpick(event.offsetX, event.offsetY));
  }

  label(text) { this.canvas.setAttribute("aria-label", text); }
  show(waves) { this.waves = waves; this.canvas.hidden = !waves.length; this.paint(); }

  paint() {
    const room = this.element.clientWidth;
    if (!room || !this.waves.length) return;
    const columns = Math.max(2, Math.floor((room + 14) / (this.cellWidth + 14)));
    const rows = Math.ceil(this.waves.length / columns);
    const ratio = devicePixelRatio || 1;
    this.canvas.width = room * ratio;
    this.canvas.height = rows * (this.cellHeight + 18) * ratio;
    this.canvas.style.width = `${room}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    drawWaves(context, this.waves, room, columns, this.cellHeight);
  }
}

/** Waves in so many columns, each with its label below. */
export function drawWaves(context, waves, room, columns, cellHeight) {
  const width = (room - 14 * (columns - 1)) / columns, line = cellHeight + 18;
  const colours = { ink: themed("ink"), fit: themed("accent-wash"), line: themed("line") };
  context.lineJoin = "round";
  waves.forEach((wave, at) => {
    const x = (at % columns) * (width + 14), y = Math.floor(at / columns) * line;
    const fit = wave.colour === undefined ? colours.fit : themed(LINES[wave.colour % LINES.length]);
    drawWave(context, wave, x, y, width, cellHeight, { ...colours, fit });
    context.fillStyle = themed("soft");
    context.font = "11px Inter, system-ui, sans-serif";
    context.fillText(wave.label || "", x, y + cellHeight + 11, width);
  });
}

/** Phases around a circle, one dot each, in a colour and on a ring (0 to 1, from within) for each frequency. */
export function phaseCircle(phases, label, { size = 170 } = {}) {
  const middle = size / 2, radius = middle - 12;
  const picture = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", "aria-label": label, class: "circle" },
    svg("circle", { cx: middle, cy: middle, r: radius, class: "ring" }));
  for (const { phase, colour, ring = 1 } of phases) {
    const far = radius * (0.3 + 0.7 * ring), x = middle + far * Math.cos(phase), y = middle - far * Math.sin(phase);
    picture.append(svg("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: phases.length > 60 ? 1.9 : 4, class: `dot line-${LINES[colour % LINES.length]}` }));
  }
  return picture;
}

/** Bars over residues; `strong` is drawn in the accent, all others in grey. */
export function bars(values, label, { width = 220, height = 54, strong = null, colour = "rule" } = {}) {
  const [canvas, context] = sheet(width, height, label);
  const [low, high] = range(values), bottom = Math.min(low, 0), scale = (height - 2) / Math.max(1e-12, Math.max(high, 0) - bottom);
  const zero = height - 1 + bottom * scale, step = width / values.length;
  values.forEach((value, at) => {
    context.fillStyle = themed(at === strong ? "accent" : colour);
    const top = zero - value * scale;
    context.fillRect(at * step, Math.min(top, zero), Math.max(step - (step > 4 ? 1 : 0), at === strong ? 2 : 0.8), Math.max(Math.abs(value * scale), 0.6));
  });
  return canvas;
}

/** A share with its interval on a line from 0 to 100 %. */
export function interval({ value, low, high }) {
  const x = (share) => (10 + 380 * share).toFixed(1);
  const words = `${percent(value)}, nine networks of ten between ${percent(low)} and ${percent(high)}`;
  return svg("svg", { viewBox: "0 0 400 44", class: "interval", role: "img", "aria-label": words },
    svg("line", { x1: x(0), x2: x(1), y1: 16, y2: 16, class: "ground" }),
    svg("line", { x1: x(low), x2: x(high), y1: 16, y2: 16, class: "span" }),
    svg("circle", { cx: x(value), cy: 16, r: 7, class: "mark" }),
    [0, 0.5, 1].map((share) => svg("text", { x: x(share), y: 40, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, percent(share))));
}

/** The colours of values, as a strip with its ends named. */
export function valueStrip(colours, [first, last]) {
  const values = colours.length;
  const canvas = el("canvas", { role: "img", "aria-label": `colours of the values from ${first} to ${last}, dark to bright` });
  canvas.width = values;
  canvas.height = 1;
  const image = new ImageData(values, 1);
  new Uint32Array(image.data.buffer).set(colours);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return el("div", { className: "strip number" }, el("span", {}, first), canvas, el("span", {}, last));
}
