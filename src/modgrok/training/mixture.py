"""A mixture of trained experts: networks that learned n1 + n2 and n1 n2, joined into one for any polynomial.

No training learns an arbitrary polynomial from half of its table, but sums and products are learned from half of
theirs. The plan of a polynomial (plan.py) needs nothing else: every step is h(x + y) or h(x y) with relabelled inputs
x = a[n], y = b[m]. A trained expert for x + y serves such a step once its weights are relabelled,

    embed'[0, n] = embed[0, a[n]],    embed'[1, m] = embed[1, b[m]],    readout'[·, q] = Σ_{h(t) = q} readout[·, t],

so one trained sum and one trained product are enough for all steps. Trained and analytical experts may be mixed.
Modulo a composite number m the plan has steps of other moduli too (sums modulo 2m for the quarter squares of a product,
say); then one sum and one product are trained for each modulus that occurs.

Experts are joined by softmax_β. With margin g (correct logit less the best wrong one, smallest over the whole table of
the step) its p - 1 wrong classes together get less than p·e^(-βg); β = log(p/u)/g makes that the rounding unit u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import exp_table, log_table
from modgrok.algebra.function import from_expression
from modgrok.algebra.trees import Tree
from modgrok.base.errors import InputError, check_choice
from modgrok.base.progress import Progress
from modgrok.compiler.choosing import candidate_plans
from modgrok.compiler.compiling import assemble
from modgrok.compiler.exact_weights import exact_expert, full_kernel
from modgrok.compiler.margins import softmax_beta
from modgrok.compiler.steps import ABSORBED, Plan, Step
from modgrok.networks.circuit import Expert, batch_logits, row_margins, single
from modgrok.networks.description import Learned
from modgrok.networks.network import Network
from modgrok.training.config import TrainConfig, ensemble_of
from modgrok.training.ensemble import pick, train_ensemble

TASKS = {"sum": "n1 + n2", "product": "n1 n2"}
"""What a trained expert learns: never the polynomial itself."""
TRAINED = {"all": ("sum", "product"), "sums": ("sum",), "products": ("product",), "none": ()}
FRACTIONS = (0.5, 0.65, 0.8, 0.9, 1.0)
"""Shares of a table that an expert is trained on, one after the other, until it has learned the whole of it."""
LEAST_MODULI = (40, 20, 10, 0)
"""From which modulus on each of them is worth a try: a small table needs a larger share."""
PAPER_BETA = 100.0
"""For an expert that is wrong somewhere: it has no margin to choose β from."""


@dataclass(frozen=True)
class MixSettings:
    """`trained` says which experts are trained, one of each kind or, if `separate`, one for each step.

    A `fraction` of None is the share that the modulus needs, and more where that was too little (`FRACTIONS`).
    """

    trained: str = "all"
    separate: bool = False
    width: int = 500
    steps: int = 400
    fraction: float | None = None
    learning_rate: float = 0.005
    weight_decay: float = 5.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("trained", self.trained, TRAINED)
        self.config("sum", modulus=2, seed=self.seed, fraction=self.fractions(2)[0])  # refuses bad numbers

    def fractions(self, modulus: int) -> tuple[float, ...]:
        """The shares of a table to train on, one after the other."""
        if self.fraction is not None:
            return (self.fraction,)
        return FRACTIONS[next(k for k, least in enumerate(LEAST_MODULI) if modulus >= least) :]

    def config(self, task: str, modulus: int, seed: int, fraction: float) -> TrainConfig:
        """The training of one expert."""
        own = {name: getattr(self, name) for name in ("width", "steps", "learning_rate", "weight_decay")}
        return TrainConfig(TASKS[task], modulus, fraction=fraction, seed=seed, **own)


class LearnedExpert(NamedTuple):
    """An expert that was trained on a share of the table of its task, and its accuracy on the whole of it."""

    expert: Expert
    accuracy: float
    fraction: float


def mix(
    expression: str,
    mod: int | None = None,
    *,
    trained: str = MixSettings.trained,
    separate: bool = MixSettings.separate,
    width: int = MixSettings.width,
    steps: int = MixSettings.steps,
    fraction: float | None = MixSettings.fraction,
    learning_rate: float = MixSettings.learning_rate,
    weight_decay: float = MixSettings.weight_decay,
    seed: int = MixSettings.seed,
    progress: Progress | None = None,
) -> Network:
    """A network for a polynomial from experts trained on sums and products alone.

    Args:
        expression: a polynomial, which may end with its modulus.
        mod: the modulus, any number of at least 2.
        trained: which experts are trained: "all", "sums", "products" or "none"; the others get analytical weights.
        separate: train one expert for each step, instead of one sum and one product that are relabelled for all.
        width: hidden neurons of a trained expert.
        steps: full-batch steps of its training.
        fraction: share of its own table that it is trained on; None for what its modulus needs, and more where an
            expert did not learn its whole table from that.
        learning_rate, weight_decay: of AdamW.
        seed: of splits and initial weights.
        progress: called with the network-steps done and those in all.

    Returns:
        The joined network; `plan` says how well each expert learned its table. `verify` checks the polynomial.

    >>> mix("n1 n2 + n1", mod=5, trained="none")
    <Network: n1 n2 + n1 mod 5, mix circuit, 17 neurons>
    """
    settings = MixSettings(trained, separate, width, steps, fraction, learning_rate, weight_decay, seed)
    function = from_expression(expression, mod)
    if function.tree is None:
        raise InputError(f"mix takes polynomials modulo a number, got {function.title}; compile or train it instead")
    modulus, plan = function.values, shortest_plan(function.tree, function.values)
    learned = learn_experts(plan, settings, progress)
    experts, abouts, betas = [], [], []
    for k, step in enumerate(plan.steps):
        source = learned.get(k)
        expert = analytical(step) if source is None else relabelled(source.expert, step)
        accuracy, margin = own_table(expert, step)
        betas.append(choose_beta(margin, step.classes))
        experts.append(expert)
        origin = None if source is None else Learned(task_text(step, modulus), source.fraction, source.accuracy)
        about = plan.describe(step, expert.width)
        abouts.append(replace(about, margin=margin, beta=betas[-1], own_accuracy=accuracy, learned=origin))
    circuit = assemble(plan, experts, np.array(betas)).astype("float32")
    named = replace(function, source=function.name)
    return Network.of_circuit(circuit, named, "mix", plan=tuple(abouts), settings=asdict(settings))


def shortest_plan(tree: Tree, modulus: int) -> Plan:
    """The plan of sums and products with the fewest experts; of several the one without small tables to learn."""
    return min(
        candidate_plans(tree, modulus),
        key=lambda plan: (len(plan.steps), -min(task_modulus(step) for step in plan.steps)),
    )


def task_of(step: Step) -> str:
    """A step that relabels one wire is a sum with zero."""
    return "product" if step.kind == "product" else "sum"


def task_modulus(step: Step) -> int:
    """The modulus of a step's sums or products, which need not be the network's."""
    return step.order + 1 if step.kind == "product" else step.order


def task_text(step: Step, modulus: int) -> str:
    own = task_modulus(step)
    return TASKS[task_of(step)] + ("" if own == modulus else f" mod {own}")


# ------------------------------------------------------------------------------------------ training


def learn_experts(plan: Plan, settings: MixSettings, progress: Progress | None = None) -> dict[int, LearnedExpert]:
    """The trained expert that serves each step, by the step's number; analytical steps have none."""
    chosen = [k for k, step in enumerate(plan.steps) if task_of(step) in TRAINED[settings.trained]]
    found: dict[int, LearnedExpert] = {}
    for modulus in sorted({task_modulus(plan.steps[k]) for k in chosen}):
        own = [(k, task_of(plan.steps[k])) for k in chosen if task_modulus(plan.steps[k]) == modulus]
        tasks = [task for _, task in own] if settings.separate else sorted({task for _, task in own})
        learned = train_tasks(tasks, modulus, settings, progress)
        found |= {k: learned[place if settings.separate else tasks.index(task)] for place, (k, task) in enumerate(own)}
    return found


def train_tasks(
    tasks: Sequence[str], modulus: int, settings: MixSettings, progress: Progress | None = None
) -> list[LearnedExpert]:
    """One trained expert for each task in the list, side by side, with seeds that count up from the settings' own.

    Those that did not learn their whole table are trained again with the next larger share of it, if there is one.
    """
    found: dict[int, LearnedExpert] = {}
    for fraction in settings.fractions(modulus):
        missing = [k for k in range(len(tasks)) if k not in found or found[k].accuracy < 1]
        if not missing:
            break
        configs = [settings.config(tasks[k], modulus, settings.seed + k, fraction) for k in missing]
        found |= dict(zip(missing, train_experts(configs, progress), strict=True))
    return [found[k] for k in range(len(tasks))]


def train_experts(configs: Sequence[TrainConfig], progress: Progress | None) -> list[LearnedExpert]:
    """One expert for each config, all with the same share of their tables."""
    shape, chosen, tables, orders = ensemble_of(configs)
    metrics, experts = train_ensemble(shape, chosen, tables, steps=configs[0].steps, orders=orders, progress=progress)
    train_rows = shape.train_rows
    right = np.round(metrics.train_accuracy * train_rows)
    if train_rows < shape.rows:
        right = right + np.round(metrics.test_accuracy * (shape.rows - train_rows))
    accuracies = [float(right[k, -1]) / shape.rows for k in range(len(configs))]
    fraction = configs[0].fraction
    return [LearnedExpert(pick(experts, k), accuracy, fraction) for k, accuracy in enumerate(accuracies)]


# ------------------------------------------------------------------------------------------ relabelling


def arguments(step: Step) -> Int[np.ndarray, "term p"]:
    """The residues that the step adds or multiplies, for every residue on its wires."""
    if step.kind != "product":
        return step.tables
    return np.where(step.tables == ABSORBED, 0, exp_table(task_modulus(step))[step.tables])


def values(step: Step) -> Int[np.ndarray, "p"]:
    """What the step puts out, for every sum or product of its arguments."""
    if step.kind != "product":
        return step.outputs
    table = step.outputs[log_table(task_modulus(step)) % step.order]
    table[0] = step.absorbed
    return np.asarray(table)


def relabelled(expert: Expert, step: Step) -> Expert:
    """A two-term expert for x + y or x y as one for the step.

    A step with one input is the sum with y = 0, whose column joins that of x.
    """
    columns = np.asarray(expert.embed)
    embed = np.stack([columns[s][argument] for s, argument in enumerate(arguments(step))])
    if step.terms == 1:
        embed = embed + columns[1][0]
    readout = np.zeros((expert.width, step.classes), columns.dtype)
    np.add.at(readout.T, values(step), np.asarray(expert.readout).T)
    return Expert(embed, readout, expert.power)


def analytical(step: Step) -> Expert:
    """The step with designed phases and all frequencies: no error but rounding."""
    expert = exact_expert(step, full_kernel(step.order))
    return replace(expert, embed=expert.embed.astype(np.float32), readout=expert.readout.astype(np.float32))


def own_table(expert: Expert, step: Step) -> tuple[float, float]:
    """(accuracy, smallest margin) of an expert on the whole table of its step."""
    rows = np.stack(np.unravel_index(np.arange(step.symbols**step.terms), (step.symbols,) * step.terms), axis=1)
    terms = np.stack([argument[rows[:, s]] for s, argument in enumerate(arguments(step))])
    met = terms.prod(axis=0) if step.kind == "product" else terms.sum(axis=0)
    margins = row_margins(np.array(batch_logits(single(expert), rows)), values(step)[met % task_modulus(step)])
    return float((margins > 0).mean()), float(margins.min())


def choose_beta(margin: float, classes: int) -> float:
    """The β at which softmax puts no more than a rounding unit of float32 on wrong classes."""
    return softmax_beta(margin, classes, float(np.finfo(np.float32).eps)) if margin > 0 else PAPER_BETA
