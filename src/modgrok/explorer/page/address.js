// What the page shows is in its address, so that a link opens it: /?expression=n1 n2&mod=97&view=verdict

/** The views in the order of their tabs, by name: explorer/words.py lists them. */
export const VIEWS = JSON.parse(document.querySelector('meta[name="modgrok-views"]').content);
export const START = { expression: "n1 n2", mod: "97", view: "function" };

export function read() {
  const found = Object.fromEntries(new URLSearchParams(location.search));
  if (found.run && !found.view) found.view = "training";
  if (!Object.hasOwn(VIEWS, found.view ?? "")) found.view = found.expression || found.table ? "verdict" : START.view;
  if (!found.expression && !found.table) Object.assign(found, { ...START, ...found });
  return found;
}

/** The address of a state; what is empty is left out. */
export function href(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `/?${new URLSearchParams(kept)}`;
}

/** Show `state` in the address bar: as a new page of the history, or in place of this one. */
export function write(state, { fresh = false } = {}) {
  history[fresh ? "pushState" : "replaceState"](null, "", href(state));
}
