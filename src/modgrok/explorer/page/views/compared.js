// What training found beside what the compiler writes: numbers in two columns, waves in two pictures.
import { get } from "../api.js";
import { el, replace } from "../dom.js";
import { grid } from "../parts.js";
import { WaveGrid } from "../pictures/small.js";
import { count, figure, percent } from "../words.js";
import { waves } from "./expert.js";

/** Rows of numbers: [what, trained, compiled]; what a model does not have is left out. */
function rows(inspection, compiled) {
  const { logits, snapped } = inspection;
  const used = compiled && new Set(compiled.experts.flatMap(({ frequencies }) => frequencies || [])).size;
  const all = [
    ["neurons alive", inspection.alive, compiled?.width, count],
    ["frequencies used", inspection.frequencies_used, used, count],
    ["mean IPR of living neurons", inspection.ipr_alive, compiled ? 1 : null, figure],
    ["neurons with one frequency in all blocks", inspection.common_frequency_share, compiled ? 1 : null, percent],
    ["median of |ψ1 + ψ2 − ψQ|, radians", inspection.phase_residual_median, compiled ? 0 : null, figure],
    ["weights that one cosine per block explains", inspection.power_explained, compiled ? 1 : null, percent],
    ["accuracy when every block is snapped to its cosine", snapped?.accuracy, compiled ? 1 : null, percent],
    ["share of the logits that the analytical form explains", logits?.analytical_share, compiled ? 1 : null, percent],
  ];
  return all.filter(([, trained]) => trained !== null && trained !== undefined)
    .map(([what, trained, written, show]) => [what, show(trained), written === null || written === undefined ? "–" : show(written)]);
}

export function comparison(inspection, panel) {
  const table = el("div");
  const pictures = el("div", { className: "pair" });
  const draw = (compiled) => replace(table, grid(["", "trained", "compiled"], rows(inspection, compiled), { numeric: new Set([1, 2]), caption: "Trained beside compiled" }));
  draw(null);
  compiledBeside(panel, pictures).then(draw, () => {});
  const sentence = inspection.no_weights_view ? el("p", { className: "soft small" }, inspection.no_weights_view) : null;
  return [el("h3", {}, "Trained beside compiled"), sentence, table, pictures,
    el("p", { className: "soft small" }, "The same network for the command line: ", el("code", {}, `modgrok inspect ${panel.run}`))];
}

/** The minimal network for the run's function, its waves drawn beside the trained ones. */
async function compiledBeside(panel, place) {
  const { expression, modulus, table } = panel.found.function;
  const question = { ...(table ? { table } : { expression, mod: modulus }), method: "exact", frequencies: "minimal" };
  const compiled = await get("network", question);
  const last = compiled.graph.nodes.filter((node) => node.expert).at(-1).expert;
  const expert = await get("expert", { ...question, expert: last });
  const written = new WaveGrid(`Weights of compiled neurons on ${expert.blocks[0]}`, { cellWidth: 84, cellHeight: 40 });
  const trained = new WaveGrid("Weights of trained neurons", { cellWidth: 84, cellHeight: 40 });
  replace(place, el("figure", {}, el("figcaption", { className: "small soft" }, "trained"), trained.element), el("figure", {}, el("figcaption", { className: "small soft" }, `compiled, ${compiled.width} neurons in all`), written.element));
  trained.show(panel.waves.waves.slice(0, 6));
  written.show(waves(expert, 0).slice(0, 6));
  return compiled;
}
