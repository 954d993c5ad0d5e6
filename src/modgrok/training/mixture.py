"""A mixture of trained experts: networks that learnt n1 + n2 and n1 n2, joined into one for any polynomial.

No training learns an arbitrary polynomial from half of its table, but sums and products are learnt from half of
theirs. The plan of a polynomial (plan.py) needs nothing else: every step is h(x + y) or h(x y) with relabelled inputs
x = a[n], y = b[m]. A trained expert for x + y serves such a step once its weights are relabelled,

    embed'[0, n] = embed[0, a[n]],    embed'[1, m] = embed[1, b[m]],    readout'[·, q] = Σ_{h(t) = q} readout[·, t],

so one trained sum and one trained product are enough for all steps. Trained and analytical experts may be mixed.

Experts are joined by softmax_β. With margin g (correct logit less the best wrong one, smallest over the whole table of
the step) the wrong classes together get less than p·e^(-βg); β = log(p/u)/g makes that the rounding unit u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.expression import to_text
from modgrok.algebra.field import exp_table, log_table
from modgrok.compiler.compiling import assemble, candidate_plans, read
from modgrok.compiler.exact_weights import exact_expert, full_kernel
from modgrok.compiler.plan import ABSORBED, Plan, Step
from modgrok.errors import InputError
from modgrok.networks.circuit import Expert, batch_logits, single
from modgrok.networks.network import Network
from modgrok.progress import Progress
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import TrainConfig

TASKS = {"sum": "n1 + n2", "product": "n1 n2"}
"""What a trained expert learns: never the polynomial itself."""
TRAINED = {"all": ("sum", "product"), "sums": ("sum",), "products": ("product",), "none": ()}
PAPER_BETA = 100.0
"""For an expert that is wrong somewhere: it has no margin to choose β from."""


@dataclass(frozen=True)
class MixSettings:
    """`trained` says which experts are trained, one of each kind or, if `separate`, one for each step."""

    trained: str = "all"
    separate: bool = False
    width: int = 500
    steps: int = 400
    fraction: float = 0.5
    learning_rate: float = 0.005
    weight_decay: float = 5.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trained not in TRAINED:
            raise InputError(f"trained must be one of {', '.join(TRAINED)}, got {self.trained!r}")
        self.config("sum", modulus=2, seed=self.seed)  # refuses bad numbers

    def config(self, task: str, modulus: int, seed: int) -> TrainConfig:
        """The training of one expert."""
        return TrainConfig(
            TASKS[task],
            modulus,
            width=self.width,
            steps=self.steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            fraction=self.fraction,
            seed=seed,
        )


class Learnt(NamedTuple):
    """An expert that was trained on a part of the table of its task, and its accuracy on the whole of it."""

    expert: Expert
    accuracy: float


def mix(
    text: str,
    mod: int | None = None,
    settings: MixSettings | None = None,
    progress: Progress | None = None,
) -> Network:
    """A network for a polynomial from experts trained on sums and products alone."""
    settings = settings or MixSettings()
    tree, modulus = read(text, mod)
    plan = min(candidate_plans(tree, modulus), key=lambda plan: len(plan.steps))
    learnt = learn_experts(plan, settings, progress)
    experts, abouts, betas = [], [], []
    for k, step in enumerate(plan.steps):
        source = learnt.get(k)
        expert = analytical(step) if source is None else relabelled(source.expert, step)
        accuracy, margin = own_table(expert, step)
        betas.append(choose_beta(margin, modulus))
        experts.append(expert)
        abouts.append(
            {
                **plan.describe(step, expert.width),
                "trained": source is not None,
                "task": None if source is None else TASKS[task_of(step)],
                "train_fraction": None if source is None else settings.fraction,
                "task_accuracy": None if source is None else source.accuracy,
                "own_accuracy": accuracy,
                "margin": margin,
                "beta": betas[-1],
            }
        )
    circuit = assemble(plan, experts, np.array(betas)).astype("float32")
    return Network(circuit, to_text(tree), modulus, "mix", tuple(abouts), asdict(settings))


def task_of(step: Step) -> str:
    """A step that relabels one wire is a sum with zero."""
    return "product" if step.kind == "product" else "sum"


# ------------------------------------------------------------------------------------------ training


def learn_experts(plan: Plan, settings: MixSettings, progress: Progress | None = None) -> dict[int, Learnt]:
    """The trained expert that serves each step, by the step's number; analytical steps have none."""
    chosen = [(k, task_of(step)) for k, step in enumerate(plan.steps) if task_of(step) in TRAINED[settings.trained]]
    tasks = [task for _, task in chosen] if settings.separate else sorted({task for _, task in chosen})
    if not tasks:
        return {}
    learnt = train_tasks(tasks, plan.modulus, settings, progress)
    return {k: learnt[place if settings.separate else tasks.index(task)] for place, (k, task) in enumerate(chosen)}


def train_tasks(
    tasks: Sequence[str], modulus: int, settings: MixSettings, progress: Progress | None = None
) -> list[Learnt]:
    """One trained expert for each task in the list, side by side, with seeds that count up from the settings' own."""
    trainings = [settings.config(task, modulus, settings.seed + k).task() for k, task in enumerate(tasks)]
    shape, train_rows = replace(trainings[0].shape, order="additive"), trainings[0].shape.train_rows
    chosen = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(training.hyper for training in trainings))
    tables = np.stack([training.table for training in trainings])
    metrics, experts = train_ensemble(shape, chosen, tables, steps=settings.steps, progress=progress)
    right = metrics.train_accuracy * train_rows
    if train_rows < shape.rows:
        right = right + metrics.test_accuracy * (shape.rows - train_rows)
    return [
        Learnt(Expert(embed, readout, shape.power), float(count[-1]) / shape.rows)
        for embed, readout, count in zip(experts.embed, experts.readout, right)
    ]


# ------------------------------------------------------------------------------------------ relabelling


def arguments(step: Step) -> Int[np.ndarray, "term p"]:
    """The residues that the step adds or multiplies, for every residue on its wires."""
    if step.kind != "product":
        return step.tables
    return np.where(step.tables == ABSORBED, 0, exp_table(step.classes)[step.tables])


def values(step: Step) -> Int[np.ndarray, "p"]:
    """What the step puts out, for every sum or product of its arguments."""
    if step.kind != "product":
        return step.outputs
    table = step.outputs[log_table(step.classes) % step.order]
    table[0] = step.absorbed
    return table


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
    rows = np.stack(np.unravel_index(np.arange(step.classes**step.terms), (step.classes,) * step.terms), axis=1)
    terms = np.stack([argument[rows[:, s]] for s, argument in enumerate(arguments(step))])
    met = terms.prod(axis=0) if step.kind == "product" else terms.sum(axis=0)
    margins = row_margins(np.array(batch_logits(single(expert), rows)), values(step)[met % step.classes])
    return float((margins > 0).mean()), float(margins.min())


def row_margins(logits: Float[np.ndarray, "row class"], labels: Int[np.ndarray, "row"]) -> Float[np.ndarray, "row"]:
    """Correct logit less the best wrong one."""
    places = np.arange(len(labels))
    right = logits[places, labels].copy()
    logits[places, labels] = -np.inf
    return right - logits.max(axis=1)


def choose_beta(margin: float, classes: int) -> float:
    """The β at which softmax puts no more than a rounding unit of float32 on wrong classes."""
    return float(np.log(classes / np.finfo(np.float32).eps) / margin) if margin > 0 else PAPER_BETA
