// The settings of a training: model and optimiser fill in their preset; what is changed is sent.
import { el, replace } from "../dom.js";
import { field } from "../parts.js";

const FIRST = ["width", "fraction", "steps", "learning_rate", "weight_decay", "seed", "snapshots"];
const HIDDEN = ["model", "optimiser", "order"];

export class SettingsForm {
  constructor(onstart) {
    this.onstart = onstart;
    this.model = this.choice("model", () => this.preset());
    this.optimiser = this.choice("optimiser", () => this.preset());
    this.first = el("div", { className: "setting-grid" });
    this.others = el("div", { className: "setting-grid" });
    this.button = el("button", { type: "submit", className: "primary" }, "Start training");
    this.element = el("form", { className: "settings stack tight", "aria-label": "Settings", oninput: () => { this.touched = true; }, onsubmit: (event) => { event.preventDefault(); this.onstart(this.settings()); } },
      el("div", { className: "setting-grid" }, this.model.element, this.optimiser.element), this.first,
      el("details", {}, el("summary", {}, "All settings"), this.others), this.button);
  }

  choice(name, onchange) {
    const select = el("select", { onchange });
    return { select, element: field(name, select), fill: (values) => replace(select, values.map((value) => el("option", { value }, value))) };
  }

  fill(settings) {
    this.known = settings;
    this.model.fill(settings.models);
    this.preset();
    this.enable(this.can);
  }

  /** The settings of a training that is there; what its file leaves out is what suits its model. */
  take(config) {
    if (!this.known?.presets[config.model]?.[config.optimiser]) return;  // an object of somebody's own, which no form has
    this.model.select.value = config.model;
    this.preset(config.optimiser);
    for (const [name, input] of this.fields) {
      if (config[name] === undefined) continue;
      if (input.type === "checkbox") input.checked = config[name]; else input.value = config[name] ?? "";
    }
    this.touched = false;
  }

  /** It can start once there is a function, and settings to start with. */
  enable(can) {
    this.can = can;
    this.button.disabled = !can || !this.known;
  }

  preset(optimiser = this.optimiser.select.value) {
    const { presets, own, choices, help } = this.known;
    const model = this.model.select.value;
    const optimisers = Object.keys(presets[model]);
    this.optimiser.fill(optimisers);
    this.optimiser.select.value = optimisers.includes(optimiser) ? optimiser : optimisers[0];
    this.values = presets[model][this.optimiser.select.value];
    const foreign = new Set(Object.values(own).flat().filter((name) => !own[model].includes(name)));
    const names = Object.keys(this.values).filter((name) => !HIDDEN.includes(name) && !foreign.has(name));
    this.fields = new Map();
    const draw = (name) => this.setting(name, this.values[name], choices[name], help[name]);
    replace(this.first, FIRST.filter((name) => names.includes(name)).map(draw));
    replace(this.others, names.filter((name) => !FIRST.includes(name)).map(draw));
  }

  setting(name, value, options, help) {
    let input;
    if (typeof value === "boolean") input = el("input", { type: "checkbox", checked: value });
    else if (options) input = el("select", {}, options.map((option) => el("option", { value: option }, option)));
    else input = el("input", { type: "text", inputmode: typeof value === "number" ? "decimal" : "text", autocomplete: "off", placeholder: value === null ? "auto" : null });
    if (typeof value !== "boolean") input.value = value ?? "";
    this.fields.set(name, input);
    return field(name.replaceAll("_", " "), input, { title: help || null, className: typeof value === "boolean" ? "field check" : "field" });
  }

  /** All of it as one text, to tell whether it has changed. */
  said() { return this.known ? JSON.stringify(this.settings()) : ""; }

  /** Everything that differs from the preset, with numbers as numbers. */
  settings() {
    const changed = { model: this.model.select.value, optimiser: this.optimiser.select.value };
    for (const [name, input] of this.fields) {
      const before = this.values[name];
      if (input.type === "checkbox") { if (input.checked !== before) changed[name] = input.checked; continue; }
      const text = input.value.trim();
      if (text === String(before ?? "")) continue;
      changed[name] = text === "" ? null : text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
    }
    return changed;
  }
}
