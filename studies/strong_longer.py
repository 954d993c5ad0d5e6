"""The second look of the strong hypothesis: what was not learned at first is trained on until it rests.

A look is a polynomial in a setting with one learning rate and weight decay on one share of the table; its networks
train side by side from the beginning, and are measured along the way. All looks go to ten times the usual steps, then
those that are not over go on, the best before the others, to twenty times and to the budget of forty, and to eighty
where one network has learned the polynomial by then and another has not. A look is over where its polynomial has been
learned, here or by another look that saw no more of the table, or is at rest. Polynomials that no look has learned go
before all others, up to the budget. Curves are stored as rows of one Parquet file, the
state of every look with its curve as a checkpoint beside it, so a call with a time limit can be repeated until nothing
is open. A look whose checkpoint is lost begins anew, and what was stored of it stays until it has come as far.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from io import BytesIO
from itertools import chain, product, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.base.files import whole_file
from modgrok.base.progress import Progress
from modgrok.base.results import json_text
from modgrok.base.stores import DamagedError, open_tensors
from modgrok.experiments.workers import in_window
from modgrok.training.checkpoints import save_state, stored_state
from modgrok.training.diagnosis import Curves
from modgrok.training.ensemble import segment_all, stacked_places, start_all
from modgrok.training.steps import Examples, Hyper, Shape, State
from studies.rest import Outcome, outcome_of
from studies.resuming import workers_for
from studies.strong_plan import FRACTION, MEASURED, MORE, Group, Rows, ensemble, read_rows, write_rows

REACHES = (10, 20, 40)
"""Steps after which a look is judged, in units of the usual ones; the last is the budget."""
BEYOND = 80
"""How far a look goes on that some of its networks have learned within the budget, and others have not."""
EVERY = 4
"""Measurements within the usual number of steps."""
KINDS = (
    (FRACTION, 1.0, 1.0, 2),
    (MORE, 1.0, 1.0, 1),
    (FRACTION, 0.3, 1.0, 1),
    (MORE, 0.3, 1.0, 1),
    (FRACTION, 1.0, 3.0, 1),
    (MORE, 1.0, 3.0, 1),
)
"""Share of the table, learning rate and weight decay in units of those that did best at first, and seeds of a look."""
THREADS = 4
"""Looks that are under way together: one compiles while another has the device."""

STORE, CHECKPOINTS, POINTS = "strong-longer.parquet", "strong-checkpoints", "points"
NETWORK = ("setting", "modulus", "polynomial", "seed", "fraction", "learning_rate", "weight_decay", "width")
"""What a network of a look is known by."""
LOOK = ("setting", "modulus", "polynomial", "fraction", "learning_rate", "weight_decay")
"""What a look is known by."""
GOOD = (Outcome.LEARNED, Outcome.LATE)

Name = tuple[Any, ...]
Points = dict[Name, Rows]
"""Measured points of networks, in the order of their steps, by the name of a look or of a network."""


def looks_of(group: Group, cells: Rows, kind: tuple[float, float, float, int]) -> list[Group]:
    """The looks of one of the `KINDS` at the polynomials that a setting did not learn at first; `cells` are theirs."""
    best = max(cells, key=lambda cell: cell["accuracy"])
    rate, decay = best["learning_rate"], best["weight_decay"]
    longer = replace(group.config, steps=REACHES[-1] * group.config.steps)
    fraction, rate_factor, decay_factor, seeds = kind
    variant = (rate * rate_factor, decay * decay_factor)
    return [Group(group.setting, longer, seeds, (cell["polynomial"],), (variant,), (fraction,)) for cell in cells]


class Look(NamedTuple):
    """The networks of a look on the device."""

    shape: Shape
    hyper: Hyper
    examples: Examples
    state: State

    @property
    def step(self) -> int:
        return int(np.asarray(self.state.step)[0])


def begin(group: Group) -> Look:
    """A look at step 0."""
    shape, rates, tables, orders = ensemble(group)
    places = stacked_places(shape, len(tables), orders)
    return Look(shape, rates, *start_all(shape, rates, jnp.asarray(tables), places, None))


def train_looks(
    looks: list[Group],
    folder: Path,
    *,
    end: float | None = None,
    ray: str | None = None,
    progress: Progress = lambda done, total: None,
) -> Rows:
    """The points of all looks, trained on as far as is needed; after `end` (of `perf_counter`) no step is taken."""
    points = looks_in(read_rows(folder / STORE))

    def is_wanted(look: Group, reach: int, only_open: bool) -> bool:
        return not is_over(look, looks, points, reach) and not (only_open and is_learned(look, looks, points))

    def stretches(reach: int, only_open: bool) -> Iterator[Stretch]:
        furthest_first = sorted(looks, key=lambda look: -reached(look, points))
        wanted = (look for look in furthest_first if is_wanted(look, reach, only_open))
        for look in takewhile(lambda _: not is_late(end), wanted):
            path, left = checkpoint(folder, look), None if end is None else end - time.perf_counter()
            state = path.read_bytes() if path.exists() else None
            yield Stretch(look, reach, state, left)

    for only_open, reach in product((True, False), (*REACHES, BEYOND)):
        if (first := next(ahead := stretches(reach, only_open), None)) is None:
            continue
        with closing(workers_for(train_on, THREADS, ray)) as workers:
            for (look, *_), (found, state) in in_window(workers, chain([first], ahead)):
                write_bytes(checkpoint(folder, look), state)
                points[name_of(look)] = max(found, points.get(name_of(look), []), key=len)
                write_rows(folder / STORE, [row for rows in points.values() for row in rows])
                progress(sum(is_finished(other, looks, points) for other in looks), len(looks))
    return [row for look in looks for row in points.get(name_of(look), [])]


def is_late(end: float | None) -> bool:
    return end is not None and time.perf_counter() > end


class Stretch(NamedTuple):
    """A look to be trained on up to `reach` times the usual steps, for `seconds` at most, from its checkpoint on."""

    look: Group
    reach: int
    checkpoint: bytes | None
    seconds: float | None


def train_on(stretch: Stretch) -> tuple[Rows, bytes]:
    """The points of a look up to where it is to go, all is learned or the time is over; and its checkpoint there."""
    look, reach, stored, seconds = stretch
    end = None if seconds is None else time.perf_counter() + seconds
    (nets, found), usual = restored(begin(look), stored), usual_steps(look)
    known = [{name: row[name] for name in NETWORK} for row in look.rows()]
    while nets.step < reach * usual and not is_late(end) and not all_learned(look, found):
        state, metrics = segment_all(nets.shape, nets.hyper, nets.examples, nets.state, max(1, usual // EVERY))
        nets = nets._replace(state=state)
        about = {"step": nets.step, "device": jax.devices()[0].device_kind}
        measured = {name: np.asarray(getattr(metrics, name)).tolist() for name in MEASURED}
        found += [row | about | {name: values[k] for name, values in measured.items()} for k, row in enumerate(known)]
    return found, checkpoint_of(nets, found)


# ------------------------------------------------------------------------------------------ what is over


def is_finished(look: Group, looks: list[Group], points: Points) -> bool:
    """Whether a look is trained no more."""
    return all(is_over(look, looks, points, reach) for reach in (REACHES[-1], BEYOND))


def is_over(look: Group, looks: list[Group], points: Points, reach: int) -> bool:
    """Whether a look need not be trained up to `reach` times the usual steps."""
    steps = max((row["step"] for row in points.get(name_of(look), [])), default=0)
    if steps >= reach * usual_steps(look) or (reach == BEYOND and not is_partly_learned(look, points)):
        return True
    rivals = [other for other in looks_at_same(look, looks) if other.fractions <= look.fractions]
    if any(worst(other, points) in GOOD for other in rivals):
        return True
    return steps >= REACHES[0] * usual_steps(look) and worst(look, points) is Outcome.REST


def is_learned(look: Group, looks: list[Group], points: Points) -> bool:
    """Whether some look at the same polynomial in the same setting has learned it, on whatever share of the table."""
    return any(worst(other, points) in GOOD for other in looks_at_same(look, looks))


def is_partly_learned(look: Group, points: Points) -> bool:
    """Whether one of a look's networks has learned its polynomial."""
    return any(outcome in GOOD for outcome in outcomes(points.get(name_of(look), []), usual_steps(look)))


def looks_at_same(look: Group, looks: list[Group]) -> list[Group]:
    """The looks at the same polynomial in the same setting."""
    return [other for other in looks if name_of(other)[:3] == name_of(look)[:3]]


def reached(look: Group, points: Points) -> float:
    """The best accuracy so far of a look, 0 where it has not begun: those that came furthest go on first."""
    return max((row["test_accuracy"] for row in points.get(name_of(look), [])[-len(look.rows()) :]), default=0.0)


def worst(look: Group, points: Points) -> Outcome | None:
    """The worst outcome of a look's networks; None where there are no points."""
    rows = points.get(name_of(look), [])
    return max(outcomes(rows, usual_steps(look)), key=list(Outcome).index, default=None)


def all_learned(look: Group, rows: Rows) -> bool:
    found = outcomes(rows, usual_steps(look))
    return bool(found) and all(outcome in GOOD for outcome in found)


def outcomes(points: Rows, usual: int) -> list[Outcome]:
    """The outcome of each network that has points among these."""
    return [outcome_of(columns_of(rows), usual) for rows in networks_in(points).values()]


def networks_in(points: Rows) -> Points:
    """Points by the network they belong to."""
    return grouped(points, NETWORK)


def looks_in(points: Rows) -> Points:
    """Points by the look they belong to."""
    return grouped(points, LOOK)


def grouped(points: Rows, names: tuple[str, ...]) -> Points:
    found: Points = {}
    for row in points:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def columns_of(rows: Rows) -> Curves:
    """The points of one network as columns."""
    return {name: np.array([row[name] for row in rows]) for name in ("step", *MEASURED)}


def usual_steps(look: Group) -> int:
    return look.config.steps // REACHES[-1]


def name_of(look: Group) -> Name:
    return (look.setting, look.config.modulus, look.polynomials[0], look.fractions[0], *look.variants[0])


# ------------------------------------------------------------------------------------------ checkpoints


def digest(group: Group) -> str:
    """A name for the checkpoint of a look: its networks and how they are trained."""
    known = {"networks": group.rows(), "config": group.config.to_json()}
    return hashlib.sha256(json_text(known, sort_keys=True).encode()).hexdigest()[:16]


def checkpoint(folder: Path, look: Group) -> Path:
    return folder / CHECKPOINTS / f"{digest(look)}.safetensors"


def write_bytes(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def checkpoint_of(look: Look, points: Rows) -> bytes:
    """The state of a look, and the points that it came through, as the bytes of a Parquet file."""
    with BytesIO() as file:
        pq.write_table(pa.Table.from_pylist(points), file)
        curve = np.frombuffer(file.getvalue(), np.uint8)
    with TemporaryDirectory() as folder:
        save_state(path := Path(folder) / "look.safetensors", {}, look.state, **{POINTS: curve})
        return path.read_bytes()


def restored(look: Look, checkpoint: bytes | None) -> tuple[Look, Rows]:
    """The look and its points as the checkpoint holds them, or the look as it is where there is none that is whole."""
    with TemporaryDirectory() as folder, suppress(DamagedError):
        (path := Path(folder) / "look.safetensors").write_bytes(checkpoint or b"")
        with open_tensors(path, "the checkpoint of a look") as file:
            state, curve = stored_state(file, look.state), pa.BufferReader(file(POINTS).tobytes())
            return look._replace(state=state), pq.read_table(curve).to_pylist()
    return look, []
