// Elements from calls, never from strings of HTML: what a user typed is always text.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element: el("p", { className: "soft", onclick: f }, "text", child). */
export const el = (tag, attributes = {}, ...children) => build(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => build(document.createElementNS(SVG, tag), attributes, children);
export const mathml = (tag, ...children) => build(document.createElementNS(MATHML, tag), {}, children);

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return parent;
}

let names = 0;
/** A name no other element has, to tie labels to fields. */
export const fresh = (prefix) => `${prefix}-${++names}`;

/** Say something to those who listen rather than look. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

/** The last of many calls, once `wait` milliseconds were quiet. */
export function debounced(action, wait) {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => action(...values), wait); };
}

/** At most one call for each frame, with the newest arguments; each in a task of its own, so that none is long. */
export function framed(action) {
  let waiting = null;
  const act = () => { const now = waiting; waiting = null; action(...now); };
  return (...values) => {
    if (waiting === null) requestAnimationFrame(() => setTimeout(act));
    waiting = values;
  };
}
