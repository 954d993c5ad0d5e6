"""The strong hypothesis: does the classification hold for other architectures, losses, optimisers and regularisers?

The paper conjectures that any standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2)). Here every setting
is trained on the polynomials of Table 2, on two controls (the sum and the product), and on four polynomials that are
in no family although the paper's own network learns them (`strong_plan`). A setting is tried with several learning
rates and weight decays; those that learn the controls count (`strong_result`). What they do not learn of the class is
trained on until it rests (`strong_longer`).

Rows are stored as soon as a setting is done, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import jax

from modgrok.base.errors import InputError
from modgrok.base.progress import Progress
from modgrok.experiments.workers import in_window
from modgrok.reproduction.item import Effort, ItemResult
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Metrics
from studies.resuming import workers_for
from studies.strong_longer import KINDS, is_late, looks_of, train_looks
from studies.strong_plan import MEASURED, Group, Rows, ensemble, groups, key, read_rows, write_rows
from studies.strong_result import not_learned, result_of, summaries

THREADS = 3
"""Settings that are under way together: one compiles while another has the device."""


def second_looks(wanted: list[Group], rows: Rows) -> list[Group]:
    """The looks at what was not learned at first, those of every setting that are most like its first look before all
    others."""
    found = {(setting["setting"], setting["modulus"]): not_learned(setting) for setting in summaries(rows, [])}
    cells = {group: found.get((group.setting, group.config.modulus)) for group in wanted}
    return [
        look for kind in KINDS for group, missing in cells.items() if missing for look in looks_of(group, missing, kind)
    ]


def train_group(group: Group) -> Rows:
    """Train the networks of a group and add what was measured at the end to their rows."""
    start, rows = time.perf_counter(), group.rows()
    shape, rates, tables, orders = ensemble(group)
    metrics: Metrics
    metrics, _ = train_ensemble(shape, rates, tables, steps=group.config.steps, orders=orders)
    seconds = time.perf_counter() - start
    measured = [{name: float(getattr(metrics, name)[k, -1]) for name in MEASURED} for k in range(len(rows))]
    about = {"seconds": seconds, "device": jax.devices()[0].device_kind}
    return [row | found | about for row, found in zip(rows, measured, strict=True)]


def train_missing(
    wanted: list[Group],
    store: Path | None,
    *,
    end: float | None = None,
    ray: str | None = None,
    progress: Progress = lambda done, total: None,
) -> Rows:
    """The rows of all groups that are stored or could be trained; none is begun after `end` (of `perf_counter`)."""
    stored = read_rows(store) if store else []
    trained = {key(row) for row in stored}
    missing = [group for group in wanted if not trained >= {key(row) for row in group.rows()}]
    in_time = takewhile(lambda _: not is_late(end), missing)
    if missing and not is_late(end):
        with closing(workers_for(train_group, THREADS, ray)) as workers:
            for done, (_, rows) in enumerate(in_window(workers, in_time), len(wanted) - len(missing) + 1):
                stored.extend(rows)
                if store:
                    write_rows(store, stored)
                progress(done, len(wanted))
    known = {key(row): row for row in stored}
    planned = [key(row) for group in wanted for row in group.rows()]
    return [known[name] for name in planned if name in known]


def compute(effort: Effort) -> ItemResult:
    """Every setting, or a few of them modulo 23; rows that are stored in the effort's folder are not trained again."""
    if not (effort.quick or effort.everything):
        effort.say("strong: a few settings modulo 23, since there is no GPU; --full trains them all, for hours")
    name = "strong.parquet" if effort.everything else "strong-quick.parquet"
    store = effort.folder / name if effort.folder else None
    end = None if effort.time_limit is None else time.perf_counter() + effort.time_limit
    wanted = groups(quick=not effort.everything)
    rows = train_missing(wanted, store, end=end, ray=effort.ray, progress=effort.progress)
    if not rows:
        raise InputError(f"no setting was trained within {effort.time_limit:g} seconds; give a longer --time-limit")
    if not effort.everything:
        return result_of(rows, [])
    with TemporaryDirectory() as temporary:
        folder = effort.folder or Path(temporary)
        looks = second_looks(wanted, rows)
        return result_of(rows, train_looks(looks, folder, end=end, ray=effort.ray, progress=effort.progress))


def stored_result(folder: Path) -> ItemResult:
    """The result of the rows and points that are stored in a folder; nothing is trained."""
    wanted = groups(quick=False)
    rows = train_missing(wanted, folder / "strong.parquet", end=0)
    return result_of(rows, train_looks(second_looks(wanted, rows), folder, end=0))


def condensed(result: ItemResult) -> ItemResult:
    """What a report needs."""
    names = ("polynomial", "verdict", "twins_and_guesses", "accuracy", "accuracy_at_last", "finding")
    cells = [[{key: cell[key] for key in names} for cell in row["cells"]] for row in result.rows]
    return replace(result, rows=[row | {"cells": kept} for row, kept in zip(result.rows, cells, strict=True)])
