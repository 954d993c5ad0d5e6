"""Ask about a function: is it h(g1 + g2), how redundant is its table, and what test accuracy is to be expected?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.function import Function, FunctionLike, read_function
from modgrok.answers.probe import Probe, probe_function
from modgrok.errors import InputError
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.loss_law.from_table import expected_from_table
from modgrok.progress import Progress
from modgrok.results import Result, html_table, percent
from modgrok.separable.classification import FamilyVerdict, classify_table, verdict_in_words
from modgrok.separable.decision import EFFORT
from modgrok.separable.partial import predicted
from modgrok.separable.verdict import Obstruction, Status, Witness

LONGEST_NAME = 40
"""Characters of an expression in the line that sums up its answer."""


@dataclass(frozen=True, repr=False)
class Answer(Result):
    """What is known about a function; `expression` is None for one that was given as a table, and `modulus` for one
    whose variables and values differ in number.

    `verdict` is "in-class" with a `witness`, "not-in-class" with an `obstruction` (a proof), or "unknown"; `families`
    has the verdict on each family that was tried. `redundancy` is the share of test cells with a twin in the training
    part, and `expected` the test accuracy to expect of a network that trains on `fraction` of the table.
    """

    expression: str | None
    variables: tuple[str, ...]
    modulus: int | None
    function: Function
    verdict: Status
    family: str | None
    group_order: int | None
    witness: Witness | None
    obstruction: Obstruction | None
    families: tuple[FamilyVerdict, ...]
    fraction: float
    redundancy: float
    expected: Expectation
    probe: Probe | None
    reasons: tuple[str, ...]
    seconds: float

    @property
    def headline(self) -> str:
        """The function and the verdict on it, in words."""
        return f"{self.function.title}: {verdict_in_words(self.families)}"

    def summary(self) -> str:
        name = self.function.name
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        title = replace(self.function, name=short).title
        return f"{title}: {verdict_in_words(self.families)}; expected test accuracy {self.expected.text}"

    @property
    def predicted(self) -> Int[np.ndarray, "..."] | None:
        """What the witness says of every cell, -1 where its h is free; of unknown cells another may say otherwise."""
        return None if self.witness is None else predicted(self.witness, self.function.sizes)

    @property
    def prediction_in_words(self) -> str:
        """What the witness says of the unknown cells; empty where there is none, or none are unknown."""
        if self.function.known is None or self.predicted is None:
            return ""
        unknown = self.predicted[~self.function.known]
        free = int((unknown < 0).sum())
        rest = f", and leaves {free:,} free" if free else ""
        return f"the witness gives {len(unknown) - free:,} of the {len(unknown):,} unknown cells a value{rest}"

    def to_json(self) -> dict[str, Any]:
        """Every field under its own name, but the expectation, which is `expected_accuracy`."""
        fields = super().to_json().items()
        return {"expected_accuracy" if name == "expected" else name: value for name, value in fields}

    def _repr_html_(self) -> str:
        rows = {
            "expected test accuracy": f"{self.expected.text} ({self.expected.reason})",
            "redundancy": f"{percent(self.redundancy, 1)} at a training fraction of {self.fraction:g}",
        }
        if self.probe is not None:
            rows["probe"] = self.probe.summary()
        if self.prediction_in_words:
            rows["unknown cells"] = self.prediction_in_words
        rows |= {found.family: found.verdict.summary() for found in self.families}
        return html_table(rows, self.headline)


def classify(
    function: FunctionLike,
    mod: int | None = None,
    *,
    fraction: float = 0.5,
    effort: float = EFFORT,
    probe: bool = False,
    progress: Progress | None = None,
) -> Answer:
    """Decide whether a function is h(g1(n1) + g2(n2)), and say what test accuracy is to be expected of it.

    Arguments:
        function: a polynomial such as "x^2 y + 3"; its table of values, an array or a .csv, .npy or .parquet file; or
            a Python function of residues (`algebra.function`).
        mod: the modulus p. May be left out where the expression ends in "mod 31", and for a table.
        fraction: the share of the table that would be trained on.
        effort: how hard to try before the verdict is "unknown": counted in steps, not in seconds, so that the answer is
            the same on every machine. 1 is a few seconds at most, 10 ten times as much.
        probe: whether to train one small network too, and to read what its training loss says.
        progress: called while the probe trains.

    Returns:
        An `Answer`: `.verdict`, `.witness`, `.obstruction`, `.expected`, …

    >>> classify("x^2 y + 3", mod=31)
    <Answer: n1^2 n2 + 3 mod 31: in the class, multiplicative over Z_30 with an absorbing element; expected test \
accuracy not known>
    >>> found = classify(np.add.outer(np.arange(5), np.arange(5)) % 5)
    >>> found.verdict, found.family, found.witness.g1
    ('in-class', 'additive', (0, 1, 2, 3, 4))
    """
    started = time.perf_counter()
    if not 0 < fraction < 1:
        raise InputError(f"the training fraction must lie between 0 and 1, got {fraction}; give 0.5, for example")
    asked = read_function(function, mod, at_least=2)
    found = classify_table(asked.table, asked.modulus, tree=asked.tree, fraction=fraction, effort=effort)
    if asked.modulus is None or asked.known is not None:
        reason = f"the census has whole tables modulo one number, this one is {asked.summary()}"
        expected = not_covered(reason, "table")
    else:
        in_class = found.status == "in-class"
        expected = expected_from_table(
            asked.table, asked.modulus, fraction=fraction, in_class=in_class, redundancy=found.redundancy
        )
    trained = probe_function(asked, fraction=fraction, progress=progress) if probe else None
    return Answer(
        expression=asked.expression,
        variables=asked.variables,
        modulus=asked.modulus,
        function=asked,
        verdict=found.status,
        family=found.family,
        group_order=found.group_order,
        witness=found.witness,
        obstruction=found.obstruction,
        families=found.families,
        fraction=fraction,
        redundancy=found.redundancy,
        expected=expected,
        probe=trained,
        reasons=found.reasons,
        seconds=time.perf_counter() - started,
    )
