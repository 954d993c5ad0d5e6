// One expert looked into: its neurons as waves, its frequencies, its phases on a circle.
import { floats } from "../decode.js";
import { el } from "../dom.js";
import { prose } from "../maths.js";
import { WaveGrid, phaseCircle } from "../pictures/small.js";
import { count, plural } from "../words.js";

/** The weights of shown neuron `k` on block `b`, by place on the circle; NaN where no residue lies. */
export function weights(all, k, b, blocks, period) {
  const at = (k * blocks + b) * period;
  return Array.from(all.subarray(at, at + period));
}

/** The weights of shown neurons on a block, and behind each the cosine that fits it, where weights are waves. */
export function waves(found, block) {
  const { neurons, shown, blocks, period, split } = found, all = floats(found.waves), own = numbersOf(found);
  return shown.map((neuron, k) => {
    const placed = weights(all, k, block, blocks.length, period), number = neurons.frequency[neuron];
    const values = split === "frequency" ? placed : placed.slice(0, 1 + placed.findLastIndex((value) => !Number.isNaN(value)));
    const turn = 2 * Math.PI * number / period;
    const fit = split === "frequency" && number ? values.map((_, place) => neurons.amplitude[neuron][block] * Math.cos(turn * place + neurons.phase[neuron][block])) : null;
    return { values, fit, colour: own.indexOf(number), label: `neuron ${neuron + 1}${split ? `, ${number ? `${split} ${number}` : "constant"}` : ""}` };
  });
}

/** The frequencies, or representations, that neurons have, rising; 0 is that of neurons that are the same for every input. */
const numbersOf = ({ neurons }) => [...new Set(neurons.frequency)].filter((number) => number > 0).sort((a, b) => a - b);

/** What weights stand over, in a network's `order`. */
export const over = (order) => order === "cosets" ? "the elements of the group by cosets" : order === "natural" ? "the values from 0 on" : `the residues in ${order} order`;

/** What is seen of an expert, and how to read it. */
function told(found, many) {
  const { split, order, period, text, width } = found, head = `It computes ${text} with ${plural(width, "neuron")}`;
  if (split === "frequency" && many) return `${head} on ${plural(many, "frequency", "frequencies")} of a circle of ${count(period)} places (${order} order). Each weight is a cosine; thick lines are the cosines, thin ones the weights. The circles show every neuron's phase, one ring for each frequency.`;
  return `${head}${split === "representation" ? ` on ${plural(many, "representation")} of the group, each neuron on one` : ""}. Lines are weights over ${over(order)}.`;
}

export function expertPanel(found) {
  const own = numbersOf(found), circled = found.split === "frequency" && own.length;
  const pictures = found.blocks.map((name, block) => {
    const grid = new WaveGrid(`Weights of ${plural(found.shown.length, "neuron")} on ${name}`, { cellWidth: 96, cellHeight: 44 });
    requestAnimationFrame(() => grid.show(waves(found, block).slice(0, 6)));
    return el("div", { className: "block" }, el("h3", { className: "sub" }, name === "readout" ? "readout" : prose(`weights on ${name}`)), el("div", { className: "block-row" }, grid.element, circled ? circle(found, own, block) : null));
  });
  const kind = (number) => found.kinds ? `: ${found.kinds[number]}` : "";
  const used = Object.entries(found.frequencies).map(([number, neurons]) => `${number}${kind(number)}${neurons > 1 ? ` (${neurons})` : ""}`);
  const many = used.length > 24 ? `${used.slice(0, 24).join(", ")}, … ${used.length} in all` : used.join(found.kinds ? "; " : ", ");
  return [
    el("h2", { className: "label" }, `Expert e${found.expert}: what its neurons do`),
    el("p", { className: "soft small" }, prose(told(found, own.length))),
    el("div", { className: "blocks" }, pictures),
    used.length ? el("p", { className: "soft small number" }, `${found.split === "frequency" ? "Frequencies" : "Representations"}, with neurons on each: ${many}`) : null,
  ];
}

/** The phases of the living neurons on a block. */
function circle(found, own, block) {
  const phases = found.neurons.frequency.map((frequency, neuron) => ({ phase: found.neurons.phase[neuron][block], colour: own.indexOf(frequency), ring: (own.indexOf(frequency) + 1) / own.length })).filter(({ ring }, neuron) => ring > 0 && found.neurons.alive[neuron]);
  return phaseCircle(phases.slice(0, 1000), `Phases of ${plural(phases.length, "neuron")} on ${found.blocks[block]}`, { size: 132 });
}
