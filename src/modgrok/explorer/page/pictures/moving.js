// Pictures of a film that are drawn again at every moment: bars of a spectrum, and the dots of the law that phases obey.
import { el } from "../dom.js";
import { line, themed } from "../colours.js";

const font = "11px Inter, system-ui, sans-serif";

/** A canvas as wide as its place, drawn by `draw(context, width, height, data)`, again with every `show(data)`. */
export class Sheet {
  constructor(label, { height, square = 0, draw }) {
    Object.assign(this, { height, square, draw, data: null });
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.element = el("div", { className: "sheet" }, this.canvas);
    addEventListener("themechange", () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  label(text) { this.canvas.setAttribute("aria-label", text); }
  show(data) { this.data = data; this.paint(); }

  paint() {
    const room = this.element.clientWidth;
    if (!room || !this.data) return;
    const width = this.square ? Math.min(room, this.square) : room, height = this.square ? width : this.height, ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.draw(context, width, height, this.data);
  }
}

function word(context, text, x, y, align = "left") {
  context.fillStyle = themed("soft");
  context.font = font;
  context.textAlign = align;
  context.fillText(text, x, y);
  context.textAlign = "left";
}

/** How large the weights are at every frequency; those of the neurons that are shown have their colours. */
export function drawSpectrum(context, width, height, { values, largest, colours, what }) {
  const bottom = height - 16, step = width / values.length;
  context.fillStyle = themed("line");
  context.fillRect(0, bottom, width, 1);
  values.forEach((value, at) => {
    context.fillStyle = line(colours[at]);
    const tall = (bottom - 2) * value / largest;
    context.fillRect(at * step, bottom - tall, Math.max(step - (step > 4 ? 1.5 : 0.5), 1), tall);
  });
  word(context, `${what} 1`, 0, height - 3);
  word(context, String(values.length), width, height - 3, "right");
}

/** A dot for each neuron: on the line where the law holds. */
export function drawLaw(context, width, height, { kind, dots, names }) {
  const left = 18, bottom = height - 18, top = 4, right = width - 4;
  const place = (x, y) => [left + (right - left) * x, bottom - (bottom - top) * y];
  context.strokeStyle = themed("line");
  context.lineWidth = 1;
  context.strokeRect(left, top, right - left, bottom - top);
  context.strokeStyle = themed("rule");
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(...place(0, kind === "phases" ? 0 : 1));
  context.lineTo(...place(1, 1));
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 0.8;
  for (const { x, y, size, colour } of dots) {
    context.fillStyle = line(colour);
    context.beginPath();
    context.arc(...place(x, y), 1.3 + 3 * size, 0, 7);
    context.fill();
  }
  context.globalAlpha = 1;
  word(context, names[0], right, height - 5, "right");
  context.save();
  context.translate(11, top);
  context.rotate(-Math.PI / 2);
  word(context, names[1], 0, 0, "right");
  context.restore();
}
