// A network that was dropped on the page: what it computes, where it errs, its frequencies and its neurons.
import { address, get } from "../api.js";
import { themedPixel } from "../colours.js";
import { bytes, floats } from "../decode.js";
import { el, replace } from "../dom.js";
import { button, facts, into, tiles } from "../parts.js";
import { WaveGrid, bars } from "../pictures/small.js";
import { TablePicture } from "../pictures/table.js";
import { count, percent } from "../words.js";
import { over, weights } from "./expert.js";

export class DroppedPanel {
  constructor(app) {
    this.app = app;
    this.place = el("div", { className: "stack" });
    this.element = el("section", { className: "stack wide", "aria-label": "Your network", hidden: true }, this.place);
    addEventListener("themechange", () => { if (this.found) replace(this.place, this.draw(this.found)); });
  }

  show(network) {
    if (this.network === network) return;
    Object.assign(this, { network, found: null });
    into(this.place, get("looked", { network }), (found) => { this.found = found; return this.draw(found); }, "looking at your network …");
  }

  draw(found) {
    const numbers = tiles({ right: "cells right", share: "on the analytical form", keys: "key frequencies", parameters: "parameters" });
    const kinds = bytes(found.table.cells), right = kinds.filter((kind) => kind % 2).length;
    numbers.set("right", found.formula ? `${count(right)} of ${count(kinds.length)}` : "–");
    numbers.set("share", found.analytical_share === null ? "–" : percent(found.analytical_share));
    numbers.set("keys", found.key_frequencies.join(", ") || "–");
    numbers.set("parameters", count(found.parameters));
    const unsaid = found.formula ? null : el("p", { className: "soft" }, "Its answers are no formula that is known, so nobody can say where it errs.");
    const layers = found.layers.map(({ neurons, active, one_frequency_share }, at) => `layer ${at + 1}: ${count(active)} of ${count(neurons)} neurons active, ${percent(one_frequency_share ?? 0)} of them on one frequency`);
    return [
      el("h2", {}, found.title), el("p", { className: "soft" }, `${found.model}${found.width ? ` of width ${count(found.width)}` : ": nothing but its logits is known"}`),
      numbers.element, unsaid, this.frequencies(found), this.table(found), this.neurons(found),
      facts({ "how it was read": found.notes.join("; "), neurons: layers.join("; ") || null }, "facts wrapped"),
      el("p", { className: "links" }, el("a", { className: "quiet", href: address("download", { network: this.network }), download: "" }, "Download as a network of modgrok's"),
        button("Compile its function instead", () => this.app.go({ network: "" }, { subject: true }))),
    ];
  }

  /** The share of the logits' variance at every frequency. */
  frequencies({ shares, why }) {
    if (!shares.length) return el("p", { className: "soft small" }, why ?? "");
    const values = shares.map((share) => Math.max(0, share));
    return el("figure", { className: "stack tight" }, el("figcaption", {}, el("h3", {}, "Share of the logits by frequency")),
      bars(values, `Shares of ${values.length} frequencies; the largest is frequency ${values.indexOf(Math.max(...values))}`, { width: 420, height: 90, colour: "accent" }));
  }

  table({ table, variables, formula }) {
    const [rows, columns] = table.sizes;
    if (table.sizes.length !== 2 || !formula) return null;
    const kinds = bytes(table.cells), colours = ["test-wrong", "test-right", "train-wrong", "train-right", "line"].map(themedPixel);
    const picture = new TablePicture({ label: "Cells that are right and wrong", largest: 420, describe: (row, column) => `${variables[0]} = ${row}, ${variables[1]} = ${column}: ${kinds[row * columns + column] % 2 ? "right" : "wrong"}` });
    picture.show({ pixels: Uint32Array.from(kinds, (kind) => colours[kind]), rows, columns, names: variables });
    const right = kinds.filter((kind) => kind % 2).length;
    picture.label(`Table of ${rows} × ${columns} cells, ${count(right)} of them right. Arrow keys read the cells.`);
    return el("section", { className: "stack tight", "aria-label": "Where it errs" }, el("h3", {}, "Where it errs"), picture.element);
  }

  neurons({ neurons }) {
    if (!neurons?.blocks.length) return null;
    const { blocks, period, shown, waves, frequency, order } = neurons, all = floats(waves);
    const grid = new WaveGrid(`Weights of ${shown.length} neurons on ${blocks[0]}`, { cellWidth: 100, cellHeight: 44 });
    const section = el("section", { className: "stack tight", "aria-label": "Neurons" }, el("h3", {}, `Weights on ${blocks[0]} over ${over(order)}`), grid.element);
    grid.show(shown.map((neuron, k) => ({ values: weights(all, k, 0, blocks.length, period), label: frequency?.[k] ? `frequency ${[...new Set([frequency[k]].flat())].join(", ")}` : `neuron ${neuron + 1}` })));
    return section;
  }
}
