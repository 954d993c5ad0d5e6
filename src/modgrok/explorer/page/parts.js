// Parts that several views share: facts, choices, fields, notices.
import { el, fresh, replace } from "./dom.js";
import { prose } from "./maths.js";

/** Names and what they are, as a list; what is null is left out. */
export function facts(pairs, className = "facts") {
  const kept = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { className }, kept.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "string" ? prose(value) : value))));
}

export const notice = (text) => el("p", { className: "notice", role: "status" }, text);

/** A word while something is awaited; after two seconds, and for as long as it stands on the page, with the time. */
export function waiting(text) {
  const seconds = el("span", { className: "number", "aria-hidden": "true" });
  const element = el("p", { className: "waiting soft small", role: "status" }, text, seconds);
  const began = performance.now();
  const tick = () => {
    if (!element.isConnected) return;
    seconds.textContent = ` ${Math.floor((performance.now() - began) / 1000)} s`;
    setTimeout(tick, 1000);
  };
  setTimeout(tick, 2000);
  return element;
}
export const button = (text, onclick, kind = "quiet") => el("button", { type: "button", className: kind, onclick }, text);

/** A field with its label before it. */
export function field(label, input, { className = "field", title = null } = {}) {
  input.id ||= fresh("field");
  return el("div", { className, title }, el("label", { for: input.id }, label), input);
}

/** A choice among a few names, shown side by side. */
export function segmented(label, names, chosen, onchange) {
  const group = fresh("choice");
  const inputs = new Map();
  const element = el("div", { className: "segmented", role: "radiogroup", "aria-label": label }, Object.entries(names).map(([name, text]) => {
    const input = el("input", { type: "radio", name: group, value: name, checked: name === chosen, onchange: () => onchange(name) });
    inputs.set(name, input);
    return el("label", {}, input, el("span", {}, text));
  }));
  return {
    element,
    select: (name) => { if (inputs.has(name)) inputs.get(name).checked = true; },
    allow: (may, shown) => inputs.forEach((input, name) => { input.disabled = !may(name); input.parentElement.hidden = !shown(name); }),
  };
}

/** A slider with its label and its value. */
export function slider(label, { min, max, step = 1, value, show = String, oninput }) {
  const name = fresh("slider");
  const output = el("output", { className: "number", for: name }, show(value));
  const input = el("input", { type: "range", id: name, min, max, step, oninput: () => { told(); oninput(Number(input.value)); } });
  input.value = value;
  const told = () => { output.textContent = show(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); };
  told();
  return {
    element: el("div", { className: "slider" }, el("label", { for: name }, label), output, input),
    input,
    set: (next, { max: top = input.max } = {}) => { input.max = top; input.value = next; told(); },
  };
}

/** Rows under headings; numbers are right-aligned by `numeric` (a set of column places). */
export function grid(headings, rows, { caption = null, numeric = new Set() } = {}) {
  const kind = (at) => numeric.has(at) ? "number" : null;
  return el("div", { className: "scroll", tabindex: 0, role: "group", "aria-label": caption || "Table" }, el("table", {}, caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, headings.map((heading, at) => heading ? el("th", { scope: "col", className: kind(at) }, heading) : el("td")))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) => el("td", { className: kind(at) }, typeof cell === "string" ? prose(cell) : cell)))))));
}

/** Large numbers side by side, which can be told again. */
export function tiles(names) {
  const places = new Map(Object.entries(names).map(([key, name]) => [key, { name, value: el("dd", { className: "number" }, "–") }]));
  return {
    element: el("dl", { className: "tiles" }, [...places.values()].map(({ name, value }) => el("div", {}, el("dt", {}, name), value))),
    set: (key, text) => { const { value } = places.get(key); if (value.textContent !== text) value.textContent = text; },
    hide: (key, hidden) => { places.get(key).value.parentElement.hidden = hidden; },
  };
}

/** Put what a promise gives into a place, with a word while it is awaited and the sentence of an error. */
export async function into(place, promise, draw, word = "computing …") {
  const mine = Symbol("question");
  place.question = mine;
  const patience = setTimeout(() => { if (place.question === mine) replace(place, waiting(word)); }, 250);
  try {
    const answer = await promise;
    if (place.question === mine) replace(place, draw(answer));
  } catch (error) {
    if (error.name !== "AbortError" && place.question === mine) replace(place, notice(error.message));
  } finally {
    clearTimeout(patience);
  }
}
