"""Does depth with softmax between experts make polynomials learnable that a two-layer network does not learn?

The paper proposes to join experts that were trained apart, and leaves the rest to future work. Here the joined
architecture is trained end to end on half of the polynomial's own table, from the starts of `starts`, with
two controls: `single`, one two-layer network with as many neurons, and `control`, the same circuit from scratch on
n1 + n2. Every start is trained with several weight decays and inverse temperatures, over several seeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modgrok.algebra.expression import parse
from modgrok.base.errors import InputError
from modgrok.base.files import read_json
from modgrok.base.progress import Progress
from modgrok.base.provenance import merged
from modgrok.compiler.steps import Plan
from modgrok.networks.circuit import Circuit
from modgrok.networks.models import CircuitModel
from modgrok.reproduction.evidence import fingerprint
from modgrok.reproduction.item import Effort, ItemResult, Values, Verdict
from modgrok.reproduction.table1 import POLYNOMIALS as TABLE1
from modgrok.training.config import hyper
from modgrok.training.data import function_table, train_count
from modgrok.training.diagnosis import LEARNED
from modgrok.training.ensemble import train_ensemble
from modgrok.training.mixture import LearnedExpert, MixSettings, shortest_plan, task_of, train_tasks
from modgrok.training.steps import Metrics, Shape
from studies.endtoend_control import (
    CONTROL,
    FOUR,
    PERTURBED,
    Finished,
    control_parts,
    control_row,
    control_table,
    stored_controls,
    train_controls,
)
from studies.resuming import Parts
from studies.starts import STARTS, circuit_model, random_circuit, single_model, starting_circuit

ORDER = (*TABLE1, *PERTURBED)
CIRCUITS = (*STARTS, "control")
MEASUREMENTS = 24
CURVES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


@dataclass(frozen=True)
class Study:
    """One polynomial, trained in every way: the unit that is kept and reused."""

    polynomial: str
    modulus: int
    width: int
    steps: int
    seeds: int
    weight_decays: tuple[float, ...]
    betas: tuple[float, ...]
    expert_steps: int = 1000
    fraction: float = 0.5
    starts: tuple[str, ...] = (*CIRCUITS, "single")

    def key(self) -> Values:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def measured_steps(self) -> list[int]:
        """From 0 to the last step, closer at the beginning."""
        rising = np.geomspace(10, self.steps, MEASUREMENTS - 1)
        return [0, *sorted({round(step) for step in rising})]


class Net(NamedTuple):
    start: str
    weight_decay: float
    beta: float
    seed: int


def studies(effort: Effort) -> list[Study]:
    base = Study("", 23, 256, steps=5000, seeds=3, weight_decays=(0.0, 1.0, 5.0), betas=(10.0, 100.0))
    if effort.quick:
        small = replace(base, modulus=13, width=64, steps=300, seeds=1, weight_decays=(5.0,), betas=(100.0,))
        soft = replace(soft_study(PERTURBED[0]), steps=1500, seeds=1, weight_decays=(1.0,), betas=(0.3,))
        return [replace(small, polynomial=PERTURBED[0], expert_steps=400, fraction=0.8), soft]
    soft_small = [soft_study(text) for text in FOUR]
    if not effort.everything:
        middle = replace(base, width=128, steps=1000, seeds=2, weight_decays=(0.0, 5.0), betas=(100.0,))
        return [replace(middle, polynomial=text) for text in FOUR] + soft_small
    wide = replace(
        soft_small[0], modulus=97, width=256, steps=5000, seeds=3, weight_decays=(0.3, 1.0, 2.0), fraction=0.5
    )
    return [
        *(replace(base, polynomial=text) for text in (*TABLE1, *PERTURBED)),
        *(replace(base, polynomial=text, modulus=97, steps=2000) for text in FOUR),
        *soft_small,
        *(replace(wide, polynomial=text) for text in FOUR),
    ]


def soft_study(text: str) -> Study:
    """From scratch with so small a β that the softmax stays soft: there the control generalises."""
    return Study(
        text,
        31,
        64,
        steps=4000,
        seeds=2,
        weight_decays=(1.0, 2.0),
        betas=(0.3, 1.0),
        fraction=0.6,
        starts=("scratch", "control"),
    )


def compute(effort: Effort) -> ItemResult:
    """Everything, what two cores can do, or little; what is finished is kept in the effort's folder."""
    chosen = studies(effort)
    if effort.everything and jax.default_backend() == "cpu":
        effort.say("The full study takes minutes on a GPU and many hours on a few cores; finished polynomials are kept")
    made_by = fingerprint("endtoend", "full" if effort.everything else "standard")
    parts = Parts(effort.folder / "endtoend-parts.json" if effort.folder else None, made_by, effort.say)
    begun = time.perf_counter()
    for k, study in enumerate(chosen):
        late = effort.time_limit is not None and time.perf_counter() - begun > effort.time_limit
        if parts.get(study.key()) is None and not late:

            def share(done: int, total: int, k: int = k) -> None:
                effort.progress(round(100 * (k + done / total)), 100 * len(chosen))

            parts.add(study.key(), run_study(study, share))
    finished = [(study, parts.get(study.key())) for study in chosen if parts.get(study.key()) is not None]
    if not finished:
        raise InputError(f"no polynomial was finished within {effort.time_limit:g} seconds; give a longer --time-limit")
    end = None if effort.time_limit is None else begun + effort.time_limit
    if not effort.everything:
        return replace(report(finished, []), provenance=parts.made())
    controls = train_controls(effort.folder, end=end, say=effort.say)
    return replace(report(finished, controls), provenance=merged(parts.made(), control_parts(effort.folder).made()))


# ------------------------------------------------------------------------------------------ one polynomial


def run_study(study: Study, progress: Progress) -> list[Values]:
    """One entry for each start, weight decay and β, with learning curves (means over the seeds)."""
    plan = shortest_plan(parse(study.polynomial, study.modulus), study.modulus)
    model, learned = circuit_model(plan, study.width), learned_experts(study, plan)
    starts = [start for start in study.starts if start != "single"]
    nets = list(all_nets(study, starts, study.betas))
    begun = [
        starting_circuit(net.start, plan, model, learned[net.seed], net.beta, key=jax.random.key(1000 + net.seed))
        for net in nets
    ]
    found = list(entries(study, nets, train(study, model, nets, begun, progress)))
    if "single" in study.starts:
        alone, nets = single_model(model), list(all_nets(study, ["single"], study.betas[:1]))
        begun = [random_circuit(alone, net.beta, key=jax.random.key(1000 + net.seed)) for net in nets]
        found += entries(study, nets, train(study, alone, nets, begun, lambda done, total: None))
    lowest = min((source.accuracy for sources in learned for source in sources), default=None)
    return [{**entry, "experts_accuracy": lowest} for entry in found]


def learned_experts(study: Study, plan: Plan) -> list[list[LearnedExpert]]:
    """For every seed, experts trained apart on sums and products, one for each step; none where none is needed."""
    if not {"experts", "generic", "first", "last"} & set(study.starts):
        return [[] for _ in range(study.seeds)]
    tasks = [task_of(step) for step in plan.steps]
    settings = MixSettings(width=study.width, steps=study.expert_steps, fraction=study.fraction)
    trained = train_tasks(tasks * study.seeds, study.modulus, settings)
    return [trained[seed * len(tasks) : (seed + 1) * len(tasks)] for seed in range(study.seeds)]


def all_nets(study: Study, starts: list[str], betas: tuple[float, ...]) -> Iterator[Net]:
    for start in starts:
        for decay in study.weight_decays:
            for beta in betas:
                for seed in range(study.seeds):
                    yield Net(start, decay, beta, seed)


def train(study: Study, model: CircuitModel, nets: list[Net], begun: list[Circuit], progress: Progress) -> Metrics:
    """Metrics of all networks, with axes (network, measured step)."""
    tables = {text: function_table(text, study.modulus)[0] for text in (CONTROL, study.polynomial)}
    train_rows = train_count(study.fraction, study.modulus**2)
    decays = [net.weight_decay for net in nets]
    metrics, _ = train_ensemble(
        Shape(model, train_rows),
        hyper(seed=[net.seed for net in nets], train_rows=train_rows, weight_decay=decays),
        np.stack([tables[CONTROL if net.start == "control" else study.polynomial] for net in nets]),
        steps=study.measured_steps(),
        params=jax.tree.map(lambda *leaves: jnp.stack(leaves), *begun),
        progress=progress,
    )
    return metrics


def entries(study: Study, nets: list[Net], curves: Metrics) -> Iterator[Values]:
    for first in range(0, len(nets), study.seeds):
        net, block = nets[first], slice(first, first + study.seeds)
        yield {
            "start": net.start,
            "weight_decay": net.weight_decay,
            "beta": None if net.start == "single" else net.beta,
            "steps": study.measured_steps(),
            **{name: [rounded(x) for x in np.mean(getattr(curves, name)[block], axis=0)] for name in CURVES},
            "final_test_accuracies": [rounded(x) for x in curves.test_accuracy[block, -1]],
        }


def rounded(value: float | np.floating | jax.Array) -> float | None:
    """Four significant digits; None where training diverged."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


# ------------------------------------------------------------------------------------------ the report


COLUMNS = {
    "polynomial": "polynomial",
    "modulus": "mod",
    "joined": "joined",
    "experts": "experts",
    "experts_worst": "worst",
    "generic": "generic",
    "first": "first",
    "last": "last",
    "scratch": "scratch",
    "single": "single",
    "control": "control",
}


def report(found: list[tuple[Study, list[Values]]], controls: list[Finished]) -> ItemResult:
    curves = [
        {"polynomial": study.polynomial, "modulus": study.modulus, **result}
        for study, results in found
        for result in results
    ]
    cases = sorted(
        {(study.modulus, study.polynomial) for study, _ in found}, key=lambda case: (case[0], ORDER.index(case[1]))
    )
    rows = [
        table_row(text, p, [c for c in curves if (c["modulus"], c["polynomial"]) == (p, text)]) for p, text in cases
    ]
    learned = {
        start: [f"{row['polynomial']} mod {row['modulus']}" for row in rows if (row[start] or 0) >= LEARNED]
        for start in (*CIRCUITS, "single")
    }
    result = ItemResult(
        item="endtoend",
        title="End to end: the joined architecture trained on half of the polynomial's table",
        settings={
            "studies": [study.key() for study, _ in found],
            "learned": LEARNED,
            "optimiser": "AdamW",
        },
        published={
            "claim": "these polynomials are not learnable by training two-layer MLPs or other architectures; joined "
            "experts may learn what other models could not (future work)"
        },
        measured={"learned": learned},
        verdict=Verdict.UNDECIDED,
        notes=(
            "Test accuracies at the last step, means over the seeds, best over weight decays and β; worst is the worst "
            "of the fine-tuned ones. Joined: before any training on the polynomial (best over β).",
            "experts: fine-tuned from trained, relabelled sums and products; generic: not relabelled; first / last: "
            "only the experts that read variables / other experts are trained; scratch: none is; single: one two-layer "
            "network with as many neurons; control: the circuit from scratch on n1 + n2.",
        ),
        columns=COLUMNS,
        rows=rows,
        data={"curves": curves},
    )
    return with_controls(result, controls)


def with_controls(result: ItemResult, controls: list[Finished]) -> ItemResult:
    """The result with the verdict that these control studies allow, and with their table."""
    rows = [control_row(study, entries) for study, entries in controls]
    trained = {row["polynomial"] for row in result.rows}
    held = {text: control_held(text, result.data["curves"], rows) for text in FOUR if text in trained}
    learned = result.measured["learned"] | {"scratch": learned_from_scratch(result, rows)}
    return replace(
        result,
        settings=result.settings | {"control_studies": [study.key() for study, _ in controls]},
        measured=result.measured | {"learned": learned, "controls": held},
        verdict=verdict_on(learned, held),
        further_tables=(control_table(rows),) if rows else (),
    )


def learned_from_scratch(result: ItemResult, control_rows: list[Values]) -> list[str]:
    """What circuits learned from scratch, in the settings of the studies or in a schedule of the control."""
    beside = [f"{row['polynomial']} mod {row['modulus']}" for row in control_rows if row["scratch"] >= LEARNED]
    return list(dict.fromkeys([*result.measured["learned"]["scratch"], *beside]))


def control_held(text: str, curves: list[Values], control_rows: list[Values]) -> bool:
    """Whether the control was learned in some setting in which the polynomial was trained from scratch as well."""
    settings = ("modulus", "weight_decay", "beta")
    learned = {
        start: {
            tuple(curve[name] for name in settings)
            for curve in curves
            if (curve["polynomial"], curve["start"]) == (text, start)
            and (start == "scratch" or (curve["test_accuracy"][-1] or 0) >= LEARNED)
        }
        for start in ("control", "scratch")
    }
    return bool(learned["control"] & learned["scratch"]) or any(
        row["polynomial"] == text and row["passing"] for row in control_rows
    )


def verdict_on(learned: dict[str, list[str]], held: dict[str, bool]) -> Verdict:
    """What the failure of training from scratch shows: nothing where the control fails as well."""
    if learned["scratch"] or learned["single"] or learned["generic"]:
        return Verdict.DIFFERS
    return Verdict.REPRODUCED if all(held.values()) else Verdict.UNDECIDED


def table_row(text: str, modulus: int, curves: list[Values]) -> Values:
    """Best, worst and peak of each start; None where it was not trained."""
    row: Values = {"polynomial": text, "modulus": modulus}
    for start in (*CIRCUITS, "single"):
        tested = [curve["test_accuracy"] for curve in curves if curve["start"] == start]
        finals = [accuracies[-1] or 0.0 for accuracies in tested]
        row[start], row[f"{start}_worst"] = max(finals, default=None), min(finals, default=None)
        row[f"{start}_peak"] = max((accuracy or 0.0 for accuracies in tested for accuracy in accuracies), default=None)
    row["joined"] = max((c["test_accuracy"][0] for c in curves if c["start"] == "experts"), default=None)
    accuracies = [curve["experts_accuracy"] for curve in curves if curve["experts_accuracy"] is not None]
    row["experts_accuracy"] = min(accuracies, default=None)
    return row


# ------------------------------------------------------------------------------------------ what is recorded


def stored_result(folder: Path) -> ItemResult:
    """The result in a folder, with the control studies there; nothing is trained."""
    stored, (controls, made) = ItemResult.from_json(read_json(folder / "endtoend.json")), stored_controls(folder)
    return replace(with_controls(stored, controls), provenance=merged(stored.provenance, made))


def condensed(result: ItemResult) -> ItemResult:
    """What a report needs: the curves that are drawn."""
    names = ("train_loss", "test_loss", "final_test_accuracies", "experts_accuracy")
    return replace(result, data={"curves": [without(curve, *names) for curve in drawn_curves(result)]})


def without(row: Values, *names: str) -> Values:
    return {key: value for key, value in row.items() if key not in names}


def drawn_curves(result: ItemResult) -> list[Values]:
    """The curves of the three figures: the fine-tuned experts, every start at the largest weight decay and inverse
    temperature of its case, and scratch with its control at the modulus where the control does best."""
    curves = result.data["curves"]
    best = max(result.rows, key=lambda row: row["control"])["modulus"]

    def case(curve: Values) -> list[Values]:
        return [c for c in curves if (c["modulus"], c["polynomial"]) == (curve["modulus"], curve["polynomial"])]

    def largest(curve: Values) -> bool:
        decay, beta = max(c["weight_decay"] for c in case(curve)), max(c["beta"] or 0.0 for c in case(curve))
        return curve["weight_decay"] == decay and curve["beta"] in (None, beta)

    pair = ("scratch", "control")
    return [
        curve if curve["modulus"] == best and curve["start"] in pair else without(curve, "train_accuracy")
        for curve in curves
        if curve["start"] == "experts" or largest(curve) or (curve["modulus"] == best and curve["start"] in pair)
    ]
