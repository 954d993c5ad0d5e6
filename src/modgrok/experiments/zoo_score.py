"""The benchmark on the zoo: which function is this? Networks without a word about their function, and who answers.

A contestant is a function of a network: it gives the table of the function that the network computes, or None where it
has memorised and computes none. It is right about a network that learned if its table is the function's in every cell,
and about one that memorised if it gives none. What lies in between is not asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from modgrok.base.progress import Progress
from modgrok.base.results import Result, percent
from modgrok.experiments.zoo import Zoo, zoo
from modgrok.networks.network import Network
from modgrok.training.inspecting import decompile

Contestant = Callable[[Network], ArrayLike | None]


@dataclass(frozen=True, repr=False)
class ZooScore(Result):
    """How many networks were answered right; `rows` has one object for each, `by_kind` one for each model and kind."""

    folder: Path
    networks: int
    right: int
    score: float
    networks_left_out: int
    by_kind: tuple[dict[str, Any], ...]
    rows: tuple[dict[str, Any], ...]
    seconds: float

    def summary(self) -> str:
        return f"{self.right} of {self.networks} right ({percent(self.score)}), {self.networks_left_out} not asked"


def zoo_score(
    where: Zoo | str | Path | None = None, answer: Contestant | None = None, *, progress: Progress | None = None
) -> ZooScore:
    """Ask of every network of a zoo which function it computes, and count who is right.

    Arguments:
        where: a zoo, or its folder.
        answer: the contestant, a function from a `Network` (logits, weights, nothing said of its function) to the table
            of a function, or to None; by default `decompile`.
        progress: called with the networks that were asked, and with all.

    Returns:
        A `ZooScore`.
    """
    began, found = time.perf_counter(), where if isinstance(where, Zoo) else zoo(where)
    asked = [each for each in found if each.truth["outcome"] in ("learned", "memorised")]
    rows: list[dict[str, Any]] = []
    for specimen in asked:
        if progress is not None:
            progress(len(rows), len(asked))
        given = (answer or decompiled)(specimen.anonymous())
        learned = specimen.truth["outcome"] == "learned"
        right = given is not None and np.array_equal(given, specimen.table) if learned else given is None
        truth = {name: specimen.truth[name] for name in ("name", "kind", "model", "function", "outcome")}
        rows.append(truth | {"answered": given is not None, "right": bool(right)})
    kinds: dict[tuple[str, ...], list[bool]] = {}
    for row in rows:
        kinds.setdefault((row["model"], row["kind"], row["outcome"]), []).append(row["right"])
    by_kind = tuple(
        {"model": model, "kind": kind, "outcome": outcome, "networks": len(own), "right": sum(own)}
        for (model, kind, outcome), own in kinds.items()
    )
    count = sum(row["right"] for row in rows)
    return ZooScore(
        found.folder,
        len(rows),
        count,
        count / max(len(rows), 1),
        len(found) - len(rows),
        by_kind,
        tuple(rows),
        time.perf_counter() - began,
    )


def decompiled(network: Network) -> np.ndarray | None:
    """The contestant that modgrok is."""
    found = decompile(network)
    return None if found.function is None else found.function.table
