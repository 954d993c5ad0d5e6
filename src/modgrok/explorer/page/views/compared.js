// What training found beside what the compiler writes: numbers in two columns, waves in two pictures.
import { get } from "../api.js";
import { el, replace } from "../dom.js";
import { grid } from "../parts.js";
import { WaveGrid } from "../pictures/small.js";
import { count, figure, percent } from "../words.js";
import { waves } from "./expert.js";

/** What is compared: its name, where it stands in an inspection, and how it is written. */
const COMPARED = [
  ["neurons alive", ({ alive, in_group }) => alive ?? in_group?.neurons_alive, count],
  ["frequencies used", ({ frequencies_used }) => frequencies_used, count],
  ["mean IPR of living neurons", ({ ipr_alive }) => ipr_alive, figure],
  ["neurons with one frequency in all blocks", ({ common_frequency_share }) => common_frequency_share, percent],
  ["median of |Σψ − ψQ|, radians", ({ phase_residual_median }) => phase_residual_median, figure],
  ["weights that one cosine per block explains", ({ power_explained }) => power_explained, percent],
  ["accuracy when every block is snapped to its cosine", ({ snapped }) => snapped?.accuracy, percent],
  ["neurons on one representation", ({ in_group }) => in_group?.one_representation_share, percent],
  ["median of the law ⟨A B, C⟩ of neurons", ({ in_group }) => in_group?.law_median, figure],
  ["logits that the closed form of the group explains", ({ in_group }) => in_group?.closed_form_share, percent],
  ["logits that are any function of the word's value", ({ in_group }) => in_group?.word_share, percent],
  ["logits that the analytical form explains", ({ logits }) => logits?.analytical_share, percent],
];

/** Order of a group up to which the network of all representations is compiled for a page; `closed_form` of sharing.py has the same. */
const LARGEST_ONE_HOT = 120;

/** Rows of numbers: [what, trained, compiled]; what the trained model does not have is left out. */
function rows(trained, compiled) {
  return COMPARED.filter(([, find]) => (find(trained) ?? null) !== null)
    .map(([what, find, show]) => [what, show(find(trained)), show(compiled && find(compiled))]);
}

export function comparison(inspection, panel) {
  const table = el("div");
  const pictures = el("div", { className: "pair" });
  const draw = (compiled) => {
    const found = rows(inspection, compiled);
    replace(table, found.length ? grid(["", "trained", "compiled"], found, { numeric: new Set([1, 2]) }) : null);
  };
  draw(null);
  compiledBeside(inspection, panel, pictures).then(draw, () => {});
  const sentence = inspection.no_weights_view ? el("p", { className: "soft small" }, `${inspection.no_weights_view[0].toUpperCase()}${inspection.no_weights_view.slice(1)}.`) : null;
  return [panel.shared ? null : el("h3", {}, "Trained beside compiled"), sentence, table, pictures,
    panel.shared ? null : el("p", { className: "soft small" }, "The same network for the command line: ", el("code", {}, `modgrok inspect ${panel.list.folder}/${panel.run}`))];
}

/** The closed form for the run's function: the minimal network, its waves drawn beside the trained ones. In a group that is not cyclic
    weights are no waves, and what training finds is the network of all representations. */
async function compiledBeside(inspection, panel, place) {
  const { expression, modulus, table } = panel.found.function;
  const waveless = inspection.in_group && inspection.order === "none";
  const question = { ...(table ? { table } : { expression, mod: modulus }), method: "exact", frequencies: waveless && inspection.in_group.group_order <= LARGEST_ONE_HOT ? "all" : "minimal" };
  const compiled = await get("network", question);
  if (waveless) return get("inspection", question);
  const last = compiled.graph.nodes.filter((node) => node.expert).at(-1).expert;
  const expert = await get("expert", { ...question, expert: last });
  const written = new WaveGrid(`Weights of compiled neurons on ${expert.blocks[0]}`, { cellWidth: 100, cellHeight: 44 });
  const trained = new WaveGrid("Weights of trained neurons", { cellWidth: 100, cellHeight: 44 });
  replace(place, el("figure", {}, el("figcaption", { className: "small soft" }, "trained"), trained.element), el("figure", {}, el("figcaption", { className: "small soft" }, `compiled, ${compiled.width} neurons in all`), written.element));
  trained.show(panel.stage.waves.waves.slice(0, 6));
  written.show(waves(expert, 0).slice(0, 6));
  return get("inspection", question);
}
