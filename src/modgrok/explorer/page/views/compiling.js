// A word while a training compiles, before its first point: how long it has been, and how long the last one took.
import { el } from "../dom.js";
import { duration } from "../words.js";

export class Compiling {
  constructor() {
    this.time = el("span", { className: "number", "aria-hidden": "true" });
    this.about = el("span");
    this.element = el("p", { className: "compiling", role: "status", hidden: true }, el("b", {}, "Compiling"), this.time, this.about);
  }

  /** `job` is an entry of the queue that has no point yet, or null. */
  show(job) {
    this.element.hidden = !job;
    clearInterval(this.timer);
    if (!job) return;
    const began = performance.now() - 1000 * job.compiling;
    const tick = () => { this.time.textContent = ` for ${Math.floor((performance.now() - began) / 1000)} s`; };
    const { compiled_in: last } = job;
    this.about.textContent = last === null ? ". The first steps come when it is done; the first time takes longest." : `, about ${duration(last)} as the last time.`;
    tick();
    this.timer = setInterval(tick, 1000);
  }
}
