// A film's controls: play and pause, a slider over its moments, speed, and over again at the end.
import { el, replace, svg } from "./dom.js";
import { field, slider } from "./parts.js";
import { count } from "./words.js";

const MOMENTS_PER_SECOND = 8, SECONDS_AT_THE_END = 1.2;
const SPEEDS = { 0.25: "¼ ×", 0.5: "½ ×", 1: "1 ×", 2: "2 ×", 4: "4 ×" };
const ICONS = { play: "M4 2.5v11l9.5-5.5z", pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z" };

/** Who prefers that nothing moves sees films only when asking for them. */
export const movesByItself = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Player {
  /** `onmoment(k)` shows moment k; `onplay(is)` is told when the film starts and stops. */
  constructor({ onmoment, onplay = null }) {
    Object.assign(this, { onmoment, onplay, steps: [], at: 0, playing: false, speed: 1 });
    this.button = el("button", { type: "button", className: "primary play", onclick: () => this.toggle() });
    this.slider = slider("Step", { min: 0, max: 0, value: 0, show: (at) => this.say(at), oninput: (at) => { this.pause(); this.show(at); } });
    const speed = el("select", { onchange: () => { this.speed = Number(speed.value); } }, Object.entries(SPEEDS).map(([value, text]) => el("option", { value }, text)));
    speed.value = "1";
    this.loop = el("input", { type: "checkbox" });
    this.element = el("div", { className: "player", role: "group", "aria-label": "Film" }, this.button, this.slider.element,
      field("Speed", speed), field("Loop", this.loop));
    this.name();
  }

  say(at) { return this.steps.length ? `${count(this.steps[at])} of ${count(this.steps.at(-1))}` : ""; }

  /** A film with a moment at each of these steps, shown at its end. */
  load(steps) {
    this.pause();
    this.steps = steps;
    this.slider.set(steps.length - 1, { max: Math.max(steps.length - 1, 0) });
    this.at = steps.length - 1;
    this.element.hidden = steps.length < 2;
  }

  show(at) {
    this.at = Math.min(Math.max(at, 0), this.steps.length - 1);
    this.slider.set(this.at);
    this.onmoment(this.at);
  }

  name() {
    const does = this.playing ? "pause" : "play";
    replace(this.button, svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[does] })), this.playing ? "Pause" : "Play");
    this.button.setAttribute("aria-keyshortcuts", "Space");
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  pause() { this.turn(false); }

  turn(playing) {
    if (this.playing === playing) return;
    this.playing = playing;
    this.name();
    this.onplay?.(playing);
  }

  /** From the beginning where the film is at its end. */
  play() {
    if (this.steps.length < 2 || this.playing) return;
    this.turn(true);
    if (this.at >= this.steps.length - 1) this.show(0);
    this.due = performance.now() + this.moment();
    requestAnimationFrame(() => this.tick());
  }

  moment() { return 1000 / MOMENTS_PER_SECOND / this.speed; }

  tick() {
    if (!this.playing) return;
    const now = performance.now(), last = this.steps.length - 1;
    if (now >= this.due) {
      if (this.at < last) this.show(this.at + 1);
      else if (this.loop.checked) this.show(0);
      else { this.pause(); return; }
      this.due = now + (this.at < last ? this.moment() : this.loop.checked ? 1000 * SECONDS_AT_THE_END : 0);
    }
    requestAnimationFrame(() => this.tick());
  }

  /** Space plays and pauses, arrows step, within `place` and where nothing has the focus; not where keys mean something else. */
  listen(place) {
    document.addEventListener("keydown", (event) => {
      const { target, key } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !this.element.isConnected || this.steps.length < 2) return;
      if (target !== document.body && !place.contains(target)) return;
      const own = target.closest("button, a, summary, select, input:not([type=range]), canvas[tabindex]");
      if (key === " " && !own) { event.preventDefault(); this.toggle(); }
      if ((key === "ArrowLeft" || key === "ArrowRight") && !target.closest("select, input, canvas[tabindex]")) {
        event.preventDefault();
        this.pause();
        this.show(this.at + (key === "ArrowRight" ? 1 : -1));
      }
    });
  }
}
