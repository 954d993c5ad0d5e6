// One input on its way through the network: the value on every wire, the logits, and what each frequency adds to them.
import { get, newest } from "../api.js";
import { floats } from "../decode.js";
import { debounced, el, replace } from "../dom.js";
import { prose } from "../maths.js";
import { field, notice } from "../parts.js";
import { bars } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { figure } from "../words.js";
import { isFlat, reader, valuePixels } from "../pictures/values.js";

export class FlowPanel {
  constructor(network) {
    this.network = network;
    this.inputs = [];
    this.answer = el("div", { className: "stack tight", role: "status" });
    this.fields = el("div", { className: "fields" });
    this.place = el("div");
    this.element = el("section", { className: "flow", "aria-label": "One input" }, el("div", { className: "stack tight" }, el("h2", { className: "label" }, "One input on its way"), this.fields, this.place), this.answer);
    this.element.hidden = true;  // until there is a network
    this.ask = newest((question, signal) => get("flow", question, signal));
    this.later = debounced(() => this.run(), 60);
  }

  forget() { this.inputs = []; this.info = null; }

  /** Follow another network: keep the input if the function is the same. */
  follow(question, found) {
    this.question = question;
    this.variables = found.variables;
    this.sizes = found.sizes;
    this.element.hidden = false;
    const { info } = this.network;
    if (this.info !== info) {
      this.info = info;
      if (!this.inputs.length) this.inputs = found.sizes.map((size, at) => Math.min(size - 1, [12, 34][at] ?? 5));
      this.drawFields();
    }
    this.run();
  }

  drawFields() {
    this.boxes = this.variables.map((name, at) => {
      const input = el("input", { type: "number", min: 0, max: this.sizes[at] - 1, value: this.inputs[at], oninput: () => { this.inputs[at] = Number(input.value); this.later(); } });
      return [input, field(name, input)];
    });
    replace(this.fields, this.boxes.map(([, whole]) => whole));
    replace(this.place);
    const { info } = this.network;
    if (!isFlat(info)) return;
    const picture = new TablePicture({
      label: `Table of ${info.title}: choose a cell to send it through the network`, largest: 220,
      describe: reader(info),
      onpick: (row, column) => { this.inputs = [row, column]; this.boxes.forEach(([input], at) => { input.value = this.inputs[at]; }); this.run(); },
    });
    picture.show({ pixels: valuePixels(info), rows: info.sizes[0], columns: info.sizes[1], names: info.variables });
    replace(this.place, picture.element);
  }

  async run() {
    try {
      const found = await this.ask({ ...this.question, n: this.inputs.join(",") });
      this.network.carried(found.wires);
      replace(this.answer, this.draw(found));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.network.carried(null);
      replace(this.answer, notice(error.message));
    }
  }

  draw(found) {
    const logits = Array.from(floats(found.logits));
    const element = (value) => this.network.info.elements?.[value] ?? value;
    const right = found.correct === null ? "" : found.correct ? ", which is right" : `; right is ${element(found.expected)}`;
    const said = `${found.variables.map((name, at) => `${name} = ${element(found.row[at])}`).join(", ")} gives ${element(found.value)}${right}. The runner-up is ${figure(found.margin)} below.`;
    const small = { width: 150, height: 34, strong: found.value };
    const parts = found.by_frequency.slice(0, 8).map(({ frequency, logits: part }) => [frequency ? `${found.split} ${frequency}` : "constant neurons", part]).map(([name, part]) => el("figure", {}, bars(Array.from(floats(part)), `What ${name} add${name.endsWith("s") ? "" : "s"} to the logits`, small), el("figcaption", {}, name)));
    const others = found.by_frequency.length - 8;
    return [
      el("p", {}, prose(said)),
      el("figure", { className: "logits" }, bars(logits, `Logits of the values 0 to ${logits.length - 1}; the largest is that of ${found.value}`, { width: 620, height: 110, strong: found.value }), el("figcaption", {}, `logits of the values 0 to ${logits.length - 1}`)),
      parts.length ? el("h3", { className: "sub" }, `The same, split by ${found.split}`) : null,
      el("div", { className: "parts" }, parts),
      parts.length ? el("p", { className: "soft small" }, others > 0 || found.rest ? "… and more; together they are the logits." : "Together they are the logits.") : null,
    ];
  }
}
