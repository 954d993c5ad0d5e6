// The page: the views of one function, and the address that says which.
import * as address from "./address.js";
import { PUBLIC, get } from "./api.js";
import { announce, el, replace } from "./dom.js";
import { Events } from "./events.js";
import { copying } from "./recipe.js";
import { Subject } from "./subject.js";

class App {
  constructor() {
    this.form = document.getElementById("subject");
    this.place = document.getElementById("view");
    this.events = new Events();
    this.views = new Map();
    this.known = new Map();
    this.asking = new AbortController();
    this.state = address.read();
    this.current = null;
    this.subject = new Subject(this);
    this.copies = copying(() => this.views.get(this.state.view)?.recipe?.());
    document.getElementById("recipe").append(this.copies.element);
    this.links = Object.entries(address.VIEWS).map(([view, { title }]) => [view, el("a", {}, title)]);
    document.getElementById("tabs").append(...this.links.map(([, link]) => link));
    addEventListener("popstate", () => { this.state = address.read(); this.subject.fill(this.state); this.show(); });
    document.addEventListener("click", (event) => this.follow(event));
  }

  start() {
    this.subject.fill(this.state);
    this.show();
    const banner = document.getElementById("public");
    banner.hidden = !PUBLIC;
    banner.textContent = PUBLIC;
    get("settings").then((settings) => replace(document.getElementById("footer"), el("span", {}, `modgrok ${settings.version}`),
      PUBLIC ? el("span", {}, "nobody else sees what you do here") : [el("span", {}, `runs are kept in ${settings.runs}`), el("span", {}, "everything is computed on this machine")]), () => {});
  }

  /** Links to places of this page change the view without loading it again. */
  follow(event) {
    const link = event.target.closest?.("a[href^='/?']");
    if (!link || link.target || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    const before = this.state;
    this.state = address.read();
    if (["expression", "mod", "table"].some((name) => String(before[name] ?? "") !== String(this.state[name] ?? ""))) this.subject.fill(this.state);
    this.show();
    this.place.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /** Change the state: `fresh` makes a page of the history, `subject` reads the function again. */
  go(changes, { fresh = true, subject = false } = {}) {
    Object.assign(this.state, changes);
    address.write(this.state, { fresh });
    if (subject) this.subject.fill(this.state);
    this.show();
  }

  /** Where the tabs lead. They are made once: a link that is replaced while it is clicked loses the click, and the focus. */
  tabs() {
    const { expression, mod, table, run, network } = this.state;
    for (const [view, link] of this.links) {
      link.href = address.href({ expression: table ? "" : expression, mod, table, view, network, run: view === "training" ? run : "" });
      if (view === this.state.view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    const tab = document.querySelector("#tabs [aria-current]"), row = tab.parentElement;
    row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;  // scrollIntoView would move the place that Tab starts from
  }

  async show() {
    const name = this.state.view, { title, of_function } = address.VIEWS[name];
    this.tabs();
    this.form.hidden = !of_function;
    document.body.dataset.view = name;
    const about = of_function ? ` · ${this.current?.info.title ?? this.state.expression ?? ""}` : "";
    document.title = `${title}${about} · modgrok`;
    document.getElementById("heading").textContent = `${title}${about}`;
    if (!this.views.has(name)) {
      const { create } = await import(`./views/${name}.js`);
      if (!this.views.has(name)) this.views.set(name, create(this));
    }
    if (this.state.view !== name) return;
    const view = this.views.get(name);
    if (this.place.firstChild !== view.element) {
      this.place.replaceChildren(view.element);
      announce(`${title} view`);
    }
    view.update(this);
    const here = address.href(this.state);
    if (here !== this.here) this.copies.forget();  // what was copied is of another place
    this.here = here;
  }

  /** What was asked about an earlier function is no longer wanted. */
  subjectTyped() {
    this.place.classList.add("stale");
    this.asking.abort();
    this.asking = new AbortController();
  }

  subjectRead(current) {
    this.place.classList.remove("stale");
    this.current = current;
    const { expression = "", mod = "", table = "" } = current.question;
    Object.assign(this.state, { expression, mod: mod || (!current.info.elements && current.info.modulus) || "", table });
    address.write(this.state);
    this.show();
  }

  subjectRefused() { this.current = null; this.show(); }

  /** The verdict on the current function, asked once for each fraction; alone it is there sooner than with what networks learn. */
  verdict(fraction = 0.5, only = "") {
    const question = { ...this.current.question, fraction, ...(only && { only }) };
    const key = JSON.stringify(question);
    if (!this.known.has(key)) {
      const answer = get("verdict", question, this.asking.signal);
      answer.catch(() => this.known.delete(key));
      if (this.known.size > 50) this.known.clear();
      this.known.set(key, answer);
    }
    return this.known.get(key);
  }
}

new App().start();
