"""The control of end-to-end training: schedules in which a circuit from scratch learns n1 + n2.

That a circuit of experts does not learn a polynomial from scratch says something only in a setting in which the same
circuit learns n1 + n2. Two things stand in its way. A hard softmax (large inverse temperature β) hands almost no
gradient to the experts in front of it, so that the last expert memorises; and weight decay that is strong enough
against memorising makes soft circuits underfit, or collapse. So schedules in stages of (β, weight decay) are tried,
soft and decaying at first or constant; measured at p = 97, constant ones of moderate β and little decay serve as well.
Schedules compete on the control, with one seed; the best are trained again with more seeds, on the control and on the
polynomial.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modgrok.algebra.expression import parse
from modgrok.base.progress import Progress, Say
from modgrok.base.provenance import Made
from modgrok.networks.models import CircuitModel
from modgrok.reproduction.evidence import fingerprint
from modgrok.reproduction.item import ItemTable, Values
from modgrok.reproduction.table1 import POLYNOMIALS as TABLE1
from modgrok.separable.measures.redundancy import redundancy, twins_and_guesses
from modgrok.training.config import hyper
from modgrok.training.data import function_table, train_count
from modgrok.training.diagnosis import LEARNED
from modgrok.training.ensemble import train_ensemble
from modgrok.training.mixture import shortest_plan
from modgrok.training.steps import Shape
from studies.resuming import Parts
from studies.starts import circuit_model, random_circuit

PERTURBED = ("(4n1 + n2^2)^3 + n1 n2", "(2n1 + 3n2)^4 - n1^2", "(5n1^3 + 2n2^4)^2 - n2")
FOUR = (*PERTURBED, TABLE1[0])
"""What is trained from scratch with every care; the other two of Table 1 have the wiring of the first."""
CONTROL = "n1 + n2"

Stage = tuple[float, float]
"""Inverse temperature and weight decay."""
Schedule = tuple[Stage, ...]

SCHEDULES: tuple[Schedule, ...] = (
    ((1.0, 0.3),) * 3,
    ((3.0, 0.3),) * 3,
    ((3.0, 1.0),) * 3,
    ((10.0, 1.0),) * 3,
    ((1.0, 0.3), (3.0, 0.3), (5.0, 0.3)),
    ((2.0, 1.0), (3.0, 1.0), (3.0, 1.0)),
    ((3.0, 1.0), (5.0, 1.0), (10.0, 1.0)),
    ((3.0, 2.0), (5.0, 2.0), (5.0, 2.0)),
    ((5.0, 2.0), (10.0, 2.0), (10.0, 1.0)),
    ((10.0, 3.0), (10.0, 2.0), (10.0, 1.0)),
    ((10.0, 3.0), (30.0, 3.0), (30.0, 1.0)),
    ((30.0, 5.0), (30.0, 3.0), (30.0, 2.0)),
)
"""Three stages each, constant or ever harder and freer."""
POINTS = 8
"""Measurements in a stage."""


@dataclass(frozen=True)
class ControlStudy:
    """One polynomial: the unit that is kept and reused. The `kept` best schedules are trained with `seeds` seeds."""

    polynomial: str
    modulus: int = 97
    width: int = 256
    stage_steps: int = 3000
    fraction: float = 0.8
    learning_rate: float = 0.005
    schedules: tuple[Schedule, ...] = SCHEDULES
    kept: int = 3
    seeds: int = 2

    def key(self) -> Values:
        """As JSON holds it."""
        return {name: plain(value) for name, value in asdict(self).items()}


class Net(NamedTuple):
    """A network of the study: what it is trained on (`control` or `scratch`), how, and from which seed."""

    start: str
    schedule: Schedule
    seed: int


def plain(value: Any) -> Any:
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def run_study(study: ControlStudy, progress: Progress = lambda done, total: None) -> list[Values]:
    """An entry for each network: first the schedules on the control, then the best ones on control and polynomial."""
    first = [Net("control", schedule, 0) for schedule in study.schedules]
    found = train(study, first, lambda done, total: progress(done, 2 * total))
    chosen = sorted(found, key=lambda entry: -entry["test_accuracy"][-1])[: study.kept]
    schedules = [first[found.index(entry)].schedule for entry in chosen]
    again = [
        Net(start, schedule, 1 + seed)
        for schedule in schedules
        for start in ("control", "scratch")
        for seed in range(study.seeds)
    ]
    return found + train(study, again, lambda done, total: progress(total + done, 2 * total))


def train(study: ControlStudy, nets: list[Net], progress: Progress) -> list[Values]:
    """Train networks side by side, stage by stage; the optimiser begins anew with each stage."""
    plan = shortest_plan(parse(study.polynomial, study.modulus), study.modulus)
    model = circuit_model(plan, study.width)
    steps = stage_points(study)
    params = stacked([random_circuit(model, 1.0, key=jax.random.key(1000 + net.seed)) for net in nets])
    points: list[Any] = []
    stages = len(nets[0].schedule)
    for k in range(stages):

        def share(done: int, total: int, k: int = k) -> None:
            progress(k * total + done, stages * total)

        betas = jnp.array([net.schedule[k][0] for net in nets], jnp.float32)
        params = replace(params, betas=jnp.broadcast_to(betas[:, None], params.betas.shape))
        metrics, params = stage(study, model, nets, k, params, steps, share)
        points.append(metrics)
    return [
        {
            "start": net.start,
            "schedule": plain(net.schedule),
            "seed": net.seed,
            "steps": [k * study.stage_steps + step for k in range(stages) for step in steps],
            **{name: curve(points, name, row) for name in ("train_accuracy", "test_accuracy")},
        }
        for row, net in enumerate(nets)
    ]


def stage(
    study: ControlStudy, model: CircuitModel, nets: list[Net], k: int, params: Any, steps: list[int], progress: Progress
) -> Any:
    """Metrics at the steps, and weights after the last, of stage k of every network's schedule."""
    texts = {"control": CONTROL, "scratch": study.polynomial}
    tables = {start: function_table(text, study.modulus)[0] for start, text in texts.items()}
    rows = train_count(study.fraction, study.modulus**2)
    rates = hyper(
        seed=[net.seed for net in nets],
        train_rows=rows,
        learning_rate=study.learning_rate,
        weight_decay=[net.schedule[k][1] for net in nets],
    )
    data = np.stack([tables[net.start] for net in nets])
    return train_ensemble(Shape(model, rows), rates, data, steps=steps, params=params, progress=progress)


def stage_points(study: ControlStudy) -> list[int]:
    return sorted({round(step) for step in np.linspace(0, study.stage_steps, POINTS + 1)[1:]})


def stacked(circuits: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *circuits)


def curve(points: list[Any], name: str, row: int) -> list[float]:
    return [round(float(value), 4) for metrics in points for value in getattr(metrics, name)[row]]


def by_schedule(entries: list[Values]) -> list[Values]:
    """For each schedule that was trained on both: the final test accuracies on the control and on the polynomial."""
    found: dict[Schedule, Values] = {}
    for entry in entries:
        if entry["seed"] > 0:
            finals = found.setdefault(schedule_of(entry), {"control": [], "scratch": []})
            finals[entry["start"]].append(entry["test_accuracy"][-1])
    return [{"schedule": plain(schedule), **finals} for schedule, finals in found.items()]


def schedule_of(entry: Values) -> Schedule:
    return tuple((beta, decay) for beta, decay in entry["schedule"])


def control_row(study: ControlStudy, entries: list[Values]) -> Values:
    """One polynomial: in how many of the schedules the control learns with every seed, the best of its worst seeds and
    of all its seeds, the best that the polynomial reaches in any schedule, and what its twins and guesses give."""
    found = by_schedule(entries)
    table = function_table(study.polynomial, study.modulus)[0].reshape(study.modulus, study.modulus)
    return {
        "polynomial": study.polynomial,
        "modulus": study.modulus,
        "schedules": len(study.schedules),
        "trained_on": len(found),
        "passing": sum(min(accuracies["control"]) >= LEARNED for accuracies in found),
        "control": max(min(accuracies["control"]) for accuracies in found),
        "control_best_seed": max(max(accuracies["control"]) for accuracies in found),
        "scratch": max(max(accuracies["scratch"]) for accuracies in found),
        "twins_and_guesses": twins_and_guesses(redundancy(table, study.fraction), study.modulus),
    }


# ------------------------------------------------------------------------------------------ all studies


STORE = "endtoend-control.json"
STUDIES = (
    *(ControlStudy(text) for text in FOUR),
    *(ControlStudy(TABLE1[0], modulus=modulus, width=64) for modulus in (23, 31)),
)
"""The circuit of Table 1 has five experts and takes hours modulo 97 on two cores, so it is asked in small as well."""
Finished = tuple[ControlStudy, list[Values]]


def train_controls(folder: Path | None, *, end: float | None = None, say: Say = lambda text: None) -> list[Finished]:
    """The control studies that count in a folder, or could be begun before `end` (of `perf_counter`)."""
    parts, found = control_parts(folder, say), []
    for study in STUDIES:
        if parts.get(study.key()) is None and (end is None or time.perf_counter() < end):
            parts.add(study.key(), run_study(study))
            say(f"{study.polynomial}: done")
        if (entries := parts.get(study.key())) is not None:
            found.append((study, entries))
    return found


def control_parts(folder: Path | None, say: Say = lambda text: None) -> Parts:
    """The control studies in a folder that were made by this code here."""
    return Parts(folder / STORE if folder else None, fingerprint("endtoend", "full"), say)


def stored_controls(folder: Path) -> tuple[list[Finished], Made]:
    """The control studies that are stored in a folder, whatever made them, and where they come from."""
    parts = Parts(folder / STORE)
    found = [(study, entries) for study in STUDIES if (entries := parts.get(study.key())) is not None]
    return found, parts.made()


COLUMNS = {
    "polynomial": "polynomial",
    "modulus": "mod",
    "schedules": "schedules",
    "passing": "control learned",
    "control": "control, worse seed",
    "control_best_seed": "control, better seed",
    "scratch": "polynomial, best",
    "twins_and_guesses": "twins and guesses",
}
CAPTION = (
    "From scratch with schedules of β and weight decay: of the schedules tried, those in which the same circuit learns "
    "n1 + n2 with every seed; the best of its worse and of its better seeds; the best that the polynomial reaches; and "
    "what a network reaches on it that shares equal rows and columns (twins) and guesses the rest"
)


def control_table(rows: list[Values]) -> ItemTable:
    return ItemTable(CAPTION, COLUMNS, rows)
