"""The strong hypothesis: does the classification hold for other architectures, losses, optimisers and regularisers?

The paper conjectures that any standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2)). Here every setting
is trained on the polynomials of Table 2, on two controls (the sum and the product), and on four polynomials that are
in no family although the paper's own network learns them, in variants that span learning rate, weight decay and initial
scale (`strong_plan`). Variants that learn the controls count (`strong_result`). What they do not learn of the class is
trained on (`strong_training`) until some variant has learned it, or the budget is over.

    python -m studies.strong --plan                          # what is trained, and how long that takes
    python -m studies.strong --out DIR --time-limit 560      # train alone; `modgrok paper strong` makes the result too

Parts are stored as soon as they are done, and a look that was interrupted has a checkpoint: a second call goes on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path

from modgrok.base.errors import InputError
from modgrok.base.repository import STUDIES
from modgrok.experiments.workers import in_window
from modgrok.reproduction.evidence import made_here
from modgrok.reproduction.item import Effort, ItemResult
from modgrok.reproduction.records import read_recorded
from modgrok.training.diagnosis import LEARNED
from studies.resuming import Parts, workers_for
from studies.strong_plan import (
    CONTROLS,
    FRACTION,
    MORE,
    REACHES,
    Look,
    Rows,
    first_looks,
    is_over,
    model_of,
    networks_of,
    planned,
)
from studies.strong_result import IN_CLASS, not_learned, result_of, summaries
from studies.strong_training import Stretch, train_on

THREADS = 3
"""Looks that are under way together: one compiles while another has the device."""
STORE, CHECKPOINTS = "strong-parts.json", "strong-checkpoints"

Missing = dict[tuple[str, int], list[str]]
"""Polynomials by setting and modulus."""


class Study:
    """The finished parts of the study, and what trains those that are missing, within the effort."""

    def __init__(self, effort: Effort) -> None:
        self.effort, self.made_by = effort, {"item": "strong"} | made_here(STUDIES / "strong_training.py")
        name = STORE if effort.everything else f"quick-{STORE}"
        self.parts = Parts(effort.folder / name if effort.folder else None, self.made_by, effort.say)
        self.end = float("inf") if effort.time_limit is None else time.perf_counter() + effort.time_limit
        self.reaches = REACHES if effort.ray is None else REACHES[-1:]  # without checkpoints, in one stretch
        self.looks: list[Look] = []

    def networks(self) -> tuple[Rows, Rows]:
        """Of first looks and of later ones, as far as they are trained."""
        return networks_of(self.parts.parts)

    def train(self) -> None:
        """All looks, those of transformers modulo 97 first, the last stretches of second looks after all others."""
        first = first_looks(quick=not self.effort.everything)
        batches = groupby(first, key=lambda look: (look.base.modulus, model_of(look.setting) == "transformer"))
        *early, last = self.reaches
        for batch in [list(looks) for _, looks in batches]:
            self.go_on(batch, 1)
            if self.effort.everything:
                self.go_on(self.second_looks(batch, FRACTION), *early)
        if self.effort.everything:
            self.go_on(self.second_looks(first, FRACTION), last)
            self.go_on(self.second_looks(first, MORE), *self.reaches)

    def second_looks(self, first: list[Look], fraction: float) -> list[Look]:
        """At what settings that count have not learned of the class on any smaller share of the table, or at first."""
        networks, later = self.networks()
        seen = [network for network in later if network["fraction"] < fraction]
        missing = {(s["setting"], s["modulus"]): not_learned(s) for s in summaries(networks, seen)}
        return second_looks(first, missing, fraction, self.reaches)

    def go_on(self, looks: list[Look], *reaches: int) -> None:
        """Train looks to so many times the usual steps, and store in place of each what it came to."""
        self.looks += [look for look in looks if look not in self.looks]
        for reach in reaches:
            todo = self.stretches(looks, reach)
            if (first := next(todo, None)) is None:
                continue
            with closing(workers_for(train_on, THREADS, self.effort.ray)) as workers:
                for (look, *_), found in in_window(workers, chain([first], todo)):
                    if found is not None:
                        self.parts.parts = [part for part in self.parts.parts if part["settings"] != look.settings()]
                        self.parts.add(look.settings(), found)
                    self.effort.progress(sum(map(self.is_over, self.looks)), len(self.looks))

    def stretches(self, looks: list[Look], reach: int) -> Iterator[Stretch]:
        """Those that are not over, while there is time."""
        for look in looks:
            left = self.end - time.perf_counter()
            if left > 0 and not self.is_over(look, reach):
                yield Stretch(look, reach, self.made_by, self.checkpoint(look), left if left < float("inf") else None)

    def is_over(self, look: Look, reach: int | None = None) -> bool:
        """Whether a look has come so far (to its end), or need not."""
        points = self.parts.get(look.settings())
        return points is not None and is_over(look, points, reach or look.reaches[-1])

    def checkpoint(self, look: Look) -> Path | None:
        """The file of a look; workers elsewhere have none, and begin anew what was interrupted."""
        if self.effort.folder is None or self.effort.ray is not None:
            return None
        name = f"{look.base.modulus}-{look.setting}-{look.fraction}-{look.reaches[-1]}"
        return self.effort.folder / CHECKPOINTS / f"{name.replace(', ', '-').replace(' ', '-')}.safetensors"


def second_looks(first: list[Look], missing: Missing, fraction: float, reaches: tuple[int, ...]) -> list[Look]:
    """The looks on a share of the table at what settings have not learned, with both controls."""
    return [
        look._replace(polynomials=(*CONTROLS, *names), fraction=fraction, reaches=reaches)
        for look in first
        if (names := missing.get((look.setting, look.base.modulus)))
    ]


def compute(effort: Effort) -> ItemResult:
    """Every setting, or a few of them modulo 23; parts that are stored in the effort's folder are not trained again."""
    if not (effort.quick or effort.everything):
        effort.say("strong: a few settings modulo 23, since there is no GPU; --full trains them all, for hours")
    study = Study(effort)
    study.train()
    first, later = study.networks()
    if not first:
        raise InputError(f"no setting was trained within {effort.time_limit:g} seconds; give a longer --time-limit")
    return replace(result_of(first, later), provenance=study.parts.made())


def stored_result(folder: Path) -> ItemResult:
    """The result of what is stored in a folder, or else of what was recorded before; nothing is trained."""
    parts, recorded = Parts(folder / STORE), read_recorded("strong")
    if recorded is not None and not parts.parts:
        return recorded.result
    return replace(result_of(*networks_of(parts.parts)), provenance=parts.made())


def condensed(result: ItemResult) -> ItemResult:
    """What a report needs."""
    names = ("polynomial", "verdict", "twins_and_guesses", "accuracy", "accuracy_at_last", "finding")
    cells = [[{key: cell[key] for key in names} for cell in row["cells"]] for row in result.rows]
    return replace(result, rows=[row | {"cells": kept} for row, kept in zip(result.rows, cells, strict=True)])


# ------------------------------------------------------------------------------------------ without the result

RATES = {"power": 22_000, "mlp": 15_000, "transformer": 10_000}
"""Network-steps a second on one H200, side by side modulo 97; of a transformer's layer. Modulo 23 it is `SMALL` times
that, with Muon half of it, with the fused step of x² networks `FUSED`; a look takes seconds to compile."""
FUSED, SMALL, COMPILING = 60_000, 8, 3.0


def seconds_of(look: Look, reach: int) -> float:
    """How long a look takes on one H200 from the beginning, estimated."""
    config = look.base
    fused = config.model == "power" and config.loss == "mse" and not config.dropout
    rate = FUSED if fused else RATES[config.model] / (config.depth if config.model == "transformer" else 1)
    rate *= (SMALL if config.modulus == 23 else 1) * (0.5 if config.optimiser == "muon" else 1)
    return COMPILING + len(planned(look.settings())) * reach * config.steps / rate


def plan_text() -> str:
    """Every look with an estimate; second ones at what the recorded result had not learned within the usual steps."""
    recorded, first, total = read_recorded("strong"), first_looks(quick=False), dict.fromkeys((1, *REACHES), 0.0)
    missing: Missing = {
        (s["setting"], s["modulus"]): [
            c["polynomial"] for c in s["cells"] if c["finding"] in IN_CLASS and c["accuracy"] < LEARNED
        ]
        for s in (recorded.result.rows if recorded else ())
    }
    lines = [f"{'look':52} networks    steps  seconds"]
    for look in [*first, *second_looks(first, missing, FRACTION, REACHES)]:
        name, networks = f"{look.setting} mod {look.base.modulus}", len(planned(look.settings()))
        for reach in look.reaches:
            total[reach] += (seconds := seconds_of(look, reach))
            lines.append(f"{name:52} {networks:8} {reach * look.base.steps:8,} {seconds:8.0f}")
    later = ", ".join(f"{total[reach]:.0f} s if all go to {reach} times the steps" for reach in REACHES)
    return "\n".join([*lines, f"first looks {total[1]:.0f} s; second looks, which end where all is learned: {later}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="store_true", help="print what is trained and how long it takes, and end")
    parser.add_argument("--out", type=Path, default=Path("paper"), metavar="DIR", help="folder of the parts (paper)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="go on with nothing after that")
    args = parser.parse_args()
    if args.plan:
        print(plan_text())
        return
    Study(Effort("full", args.out, args.time_limit, say=print, progress=lambda *looks: print(*looks))).train()


if __name__ == "__main__":
    main()
