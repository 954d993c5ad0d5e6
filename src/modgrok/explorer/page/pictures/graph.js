// A plan as a graph: variables on the left, each expert to the right of what it reads.
import { el, svg } from "../dom.js";
import { plural } from "../words.js";

const WIDTH = 210, HEIGHT = 74, ACROSS = 76, DOWN = 22, VARIABLE = 64;

/** Column of each node: one more than the furthest that it reads. */
function columns({ nodes, edges }) {
  const depth = new Map();
  for (const { id } of nodes) {
    const before = edges.filter(([, to]) => to === id).map(([from]) => depth.get(from) ?? 0);
    depth.set(id, before.length ? 1 + Math.max(...before) : 0);
  }
  return depth;
}

/** Where each node stands: {x, y, width}, and the size of the whole. */
function layout(graph) {
  const depth = columns(graph), lanes = new Map(), places = new Map();
  for (const { id } of graph.nodes) lanes.set(depth.get(id), [...(lanes.get(depth.get(id)) || []), id]);
  const tallest = Math.max(...[...lanes.values()].map((ids) => ids.length));
  const height = tallest * (HEIGHT + DOWN) - DOWN;
  for (const [lane, ids] of lanes) {
    const top = (height - (ids.length * (HEIGHT + DOWN) - DOWN)) / 2;
    const x = lane === 0 ? 0 : VARIABLE + ACROSS + (lane - 1) * (WIDTH + ACROSS);
    ids.forEach((id, at) => places.set(id, { x, y: top + at * (HEIGHT + DOWN), width: lane === 0 ? VARIABLE : WIDTH }));
  }
  const right = Math.max(...[...places.values()].map(({ x, width }) => x + width));
  return { places, width: right + 46, height };
}

/** `onpick(expert)` is called for an expert that is clicked; `flow` adds what each wire carries, by node. */
export function planGraph(graph, { chosen = null, onpick, flow = null }) {
  const { places, width, height } = layout(graph);
  const picture = svg("svg", { viewBox: `-4 -4 ${width + 8} ${height + 8}`, width: width + 8, height: height + 8, class: "plan", role: "group", "aria-label": words(graph) });
  for (const [from, to] of graph.edges) picture.append(edge(places.get(from), places.get(to)));
  const end = places.get(graph.output);
  picture.append(svg("path", { class: "edge", d: `M ${end.x + end.width} ${end.y + HEIGHT / 2} h 30` }), svg("path", { class: "arrow", d: `M ${end.x + end.width + 30} ${end.y + HEIGHT / 2 - 5} l 9 5 l -9 5 z` }));
  for (const node of graph.nodes) picture.append(box(node, places.get(node.id), chosen, onpick, flow?.get(node.id)));
  return el("div", { className: "scroll plan-frame" }, picture);
}

function edge(from, to) {
  const [x, y, z, w] = [from.x + from.width, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = Math.min(50, (z - x) / 2);
  return svg("path", { class: "edge", d: `M ${x} ${y} C ${x + bend} ${y} ${z - bend} ${w} ${z} ${w}` });
}

function box(node, { x, y, width }, chosen, onpick, wire) {
  const expert = node.expert !== undefined && node.expert !== null;
  const room = wire ? 23 : 27;
  const short = node.text.length > room ? `${node.text.slice(0, room - 1).trimEnd()}…` : node.text;
  const group = svg("g", {
    class: `node ${expert ? "expert" : "variable"}${node.expert === chosen && expert ? " chosen" : ""}`, transform: `translate(${x} ${y})`,
    ...(expert ? { tabindex: 0, role: "button", "aria-pressed": String(node.expert === chosen), "aria-label": `${node.id}, a ${node.kind}: ${node.text}, ${plural(node.width, "neuron")}`, onclick: () => onpick(node.expert), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onpick(node.expert); } } } : {}),
  }, svg("title", {}, node.text), svg("rect", { width, height: HEIGHT, rx: 10 }));
  if (!expert) {
    group.append(svg("text", { x: width / 2, y: wire ? HEIGHT / 2 - 3 : HEIGHT / 2 + 6, "text-anchor": "middle", class: "name" }, mathText(node.text)));
  } else {
    group.append(svg("text", { x: 14, y: 24, class: "name" }, mathText(short)),
      svg("text", { x: 14, y: 44, class: "what" }, `${node.kind} · ${plural(node.width, "neuron")}`));
  }
  if (wire) group.append(...carried(wire, expert, width));
  return group;
}

/** The value on a wire, and its distribution as bars along the foot of the box. */
function carried({ value, distribution }, expert, width) {
  if (!expert) return [svg("text", { x: width / 2, y: HEIGHT / 2 + 20, "text-anchor": "middle", class: "value" }, `= ${value}`)];
  const parts = [svg("text", { x: width - 12, y: 24, "text-anchor": "end", class: "value" }, String(value))];
  if (distribution) {
    const step = (width - 28) / distribution.length, top = Math.max(...distribution, 1e-9);
    const path = Array.from(distribution, (share, at) => `M ${(14 + step * (at + 0.5)).toFixed(1)} 67 v ${(-1 - 15 * share / top).toFixed(1)}`).join(" ");
    parts.push(svg("path", { class: "bars", d: path }));
  }
  return parts;
}

/** n1^2 in an SVG text: subscripts and superscripts by tspans. */
function mathText(text) {
  const parts = [];
  const lift = (content, dy) => parts.push(svg("tspan", { dy, "font-size": "70%" }, content), svg("tspan", { dy: -dy }, "\u200b"));
  for (const [, variable, index, power, other] of text.matchAll(/(n)(\d+)|\^(\d+)|([^n^]+|.)/g)) {
    if (variable) { parts.push(svg("tspan", { "font-style": "italic" }, "n")); lift(index, 3); }
    else if (power) lift(power, -6);
    else parts.push(other);
  }
  return parts;
}

function words({ nodes, edges, output }) {
  const experts = nodes.filter((node) => node.expert !== undefined && node.expert !== null);
  const lines = experts.map(({ id, kind, text }) => `${id} computes ${text} as a ${kind} of ${edges.filter(([, to]) => to === id).map(([from]) => from).join(" and ")}`);
  return `Plan of ${experts.length} experts: ${lines.slice(0, 12).join("; ")}; the answer is that of ${output}.`;
}
