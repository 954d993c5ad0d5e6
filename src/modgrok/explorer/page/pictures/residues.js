// A function of residues as dots between two axes; pointer and arrow keys read its values.
import { announce, el, svg } from "../dom.js";
import { count } from "../words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [196, 136, 34, 8, 8, 22];
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 };

/** n1 as mathematics. */
function subscripted(name, at) {
  const [letter, index] = /^[a-z]\d+$/.test(name) ? [name[0], name.slice(1)] : [name, null];
  return svg("text", at, letter, index ? svg("tspan", { dy: 3, "font-size": 9, "font-style": "normal" }, index) : null);
}

/** `name` is the function's (g1), `variable` what it reads (n1), `head` stands above; a value may be null: `none` says what it is then. */
export function residuePlot(values, { name, variable, head, none = "∞" }) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(0, ...known), high = Math.max(1, ...known), last = Math.max(1, values.length - 1);
  const x = (at) => LEFT + (WIDTH - LEFT - RIGHT) * at / last;
  const y = (value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ((value ?? low) - low) / (high - low);
  const size = values.length > 120 ? 1.2 : values.length > 40 ? 1.8 : 2.6;
  const text = (content, at) => svg("text", at, content);
  const guide = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "guide" });
  const mark = svg("circle", { r: size + 2, class: "mark" });
  const dots = values.map((value, at) => svg("circle", { cx: x(at).toFixed(1), cy: y(value).toFixed(1), r: size, class: value === null ? "dot none" : "dot" }));
  const label = `${name} of ${variable}, from 0 to ${last}: ${values.slice(0, 12).map((value) => value ?? none).join(", ")}${values.length > 12 ? ", …" : ""}. Arrow keys read it.`;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "residues", role: "application", tabindex: 0, "aria-label": label },
    svg("path", { d: `M${LEFT - 4} ${TOP}V${HEIGHT - BOTTOM + 4}H${WIDTH - RIGHT}`, class: "axes" }),
    text(count(high), { x: LEFT - 8, y: TOP + 8, "text-anchor": "end" }), text(count(low), { x: LEFT - 8, y: HEIGHT - BOTTOM, "text-anchor": "end" }),
    text("0", { x: LEFT, y: HEIGHT - 6, "text-anchor": "middle" }), subscripted(variable, { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 7, "text-anchor": "middle", class: "variable" }), text(count(last), { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }),
    guide, dots, mark);
  const readout = el("p", { className: "readout number small" });
  let chosen = null;
  const choose = (at) => {
    chosen = at;
    const there = at !== null;
    for (const each of [guide, mark]) each.style.visibility = there ? "visible" : "hidden";
    readout.textContent = there ? `${name}(${at}) = ${values[at] ?? none}` : "";
    if (!there) return;
    for (const side of ["x1", "x2"]) guide.setAttribute(side, x(at));
    mark.setAttribute("cx", x(at));
    mark.setAttribute("cy", y(values[at]));
  };
  const nearest = (place) => Math.min(last, values.length - 1, Math.max(0, Math.round((place * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * last)));
  picture.addEventListener("pointermove", (event) => { const box = picture.getBoundingClientRect(); choose(nearest((event.clientX - box.left) / box.width)); });
  picture.addEventListener("pointerleave", () => choose(null));
  picture.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    choose(chosen === null ? 0 : Math.min(values.length - 1, Math.max(0, chosen + STEPS[event.key])));
    announce(readout.textContent);
  });
  choose(null);
  return el("figure", {}, el("figcaption", { className: "small" }, head), picture, readout);
}
