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

/** The waves of shown neurons, and behind each the cosine that fits it. */
export function waves(found, block) {
  const { neurons, shown, blocks, period } = found;
  const all = floats(found.waves);
  const order = frequencyOrder(found);
  return shown.map((neuron, k) => {
    const values = weights(all, k, block, blocks.length, period);
    const turn = 2 * Math.PI * neurons.frequency[neuron] / period;
    const constant = neurons.frequency[neuron] === 0;
    const fit = constant ? null : values.map((_, place) => neurons.amplitude[neuron][block] * Math.cos(turn * place + neurons.phase[neuron][block]));
    return { values, fit, colour: order.indexOf(neurons.frequency[neuron]), label: `neuron ${neuron + 1}, ${constant ? "constant" : `frequency ${neurons.frequency[neuron]}`}` };
  });
}

/** The frequencies that neurons have, rising; 0 is that of neurons that are the same for every input. */
const frequencyOrder = ({ neurons }) => [...new Set(neurons.frequency)].filter((frequency) => frequency > 0).sort((a, b) => a - b);

export function expertPanel(found) {
  const order = frequencyOrder(found);
  const pictures = found.blocks.map((name, block) => {
    const grid = new WaveGrid(`Weights of ${plural(found.shown.length, "neuron")} on ${name}, each a wave over the residues in ${found.order} order`, { cellWidth: 96, cellHeight: 44 });
    requestAnimationFrame(() => grid.show(waves(found, block).slice(0, 6)));
    const phases = found.neurons.frequency.map((frequency, neuron) => ({ phase: found.neurons.phase[neuron][block], colour: order.indexOf(frequency), ring: (order.indexOf(frequency) + 1) / order.length })).filter(({ ring }, neuron) => ring > 0 && found.neurons.alive[neuron]);
    const circle = phaseCircle(phases.slice(0, 1000), `Phases of ${plural(phases.length, "neuron")} on ${name}`, { size: 132 });
    return el("div", { className: "block" }, el("h3", { className: "sub" }, name === "readout" ? "readout" : prose(`weights on ${name}`)), el("div", { className: "block-row" }, grid.element, circle));
  });
  const used = Object.entries(found.frequencies).map(([frequency, neurons]) => `${frequency}${neurons > 1 ? ` (${neurons})` : ""}`);
  const many = used.length > 24 ? `${used.slice(0, 24).join(", ")}, … ${used.length} in all` : used.join(", ");
  return [
    el("h2", { className: "label" }, `Expert e${found.expert}: what its neurons do`),
    el("p", { className: "soft small" }, prose(`It computes ${found.text} with ${plural(found.width, "neuron")} on ${plural(order.length, "frequency", "frequencies")} of a circle of ${count(found.period)} places (${found.order} order). Each weight is a cosine; thick lines are the cosines, thin ones the weights. The circles show every neuron's phase, one ring for each frequency.`)),
    el("div", { className: "blocks" }, pictures),
    el("p", { className: "soft small number" }, `Frequencies, with neurons on each: ${many}`),
  ];
}
