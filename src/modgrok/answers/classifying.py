"""Ask about a function: is it h(g1 + g2), how redundant is its table, and what test accuracy is to be expected?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function, FunctionLike, read_function
from modgrok.algebra.group_names import GroupFacts, group_facts, nameless
from modgrok.algebra.groups import GroupLike
from modgrok.algebra.structures import Integers
from modgrok.answers import wording
from modgrok.answers.complexity import LARGEST as LARGEST_COMPLEX, Complexity, complexity_of, group_ratio
from modgrok.answers.outlook import Outlook, outlook
from modgrok.answers.probe import Probe, probe_function
from modgrok.base.errors import InputError
from modgrok.base.progress import Progress
from modgrok.base.results import Result, html_table, plain_object
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.loss_law.fraction_law import enough
from modgrok.loss_law.from_table import MODEL_NAMES, expected_from_table
from modgrok.loss_law.share_curve import ShareCurve, share_curve
from modgrok.proofs.proof import NoProof
from modgrok.recognition.disguise import Disguise, disguise
from modgrok.separable.certificates import own_table
from modgrok.separable.classification import Classification, FamilyVerdict, classify_table
from modgrok.separable.decision import EFFORT
from modgrok.separable.measures.symmetries import Symmetries, symmetries
from modgrok.separable.reductions.partial import predicted
from modgrok.separable.verdict import MEASURED, Obstruction, Status, Witness

LONGEST_SENTENCE = 105
"""Characters of the verdict in the line that sums up an answer."""
LARGEST_SYMMETRIC = 1 << 14
"""Cells of a table whose symmetries are looked for, which takes as many steps as its cells have pairs."""
LARGEST_MEASURED = 64
"""Values, and root of the cells, of a table whose complexity is measured, which takes a second, where it is not known
in closed form."""
PROBE_WORK, PROBE_CELLS = 30_000, {"power": 4_000, "mlp": 800, "transformer": 0}
"""Trained cells times values, and trained cells, up to which a probe takes a few seconds, and is trained where nothing
else is known. The 3,000 steps of a transformer take longer of any table."""


@dataclass(frozen=True, repr=False)
class Answer(Result):
    """What is known about a function; `expression` is None for one that was given as a table, and `modulus` for one
    whose variables and values differ in number.

    `verdict` is "in-class" with a `witness`, "not-in-class" with an `obstruction`, or "unknown"; `families` has the
    verdict on each family that was tried, with the kernel's proof if it proved it of this very function; all of it was
    `found` out together. `closed_form` is the sum or product behind it, where it has a short one, and `group_facts`
    describes the group where it is a product in one. `redundancy` is the share of test cells with a twin in the
    training part, `symmetries` what shifts and scalings do to a table modulo m of two variables and 128 × 128 cells at
    most. `outlook` decides what to expect of a network, a `model`, that trains on `fraction` of the table: `expected`
    is its test accuracy, `enough` the share of the table from which on half of all trainings grok, for a function in
    the class, and `curve` what is expected at other shares, where that was asked. `answer` says it all in a few
    sentences, `explain()` in full.
    """

    function: Function
    found: Classification
    closed: Disguise | None
    group_facts: GroupFacts | None
    symmetries: Symmetries | None
    complexity: Complexity | None
    outlook: Outlook
    model: str
    seconds: float
    told = (
        *("answer", "expression", "variables", "modulus", "function", "verdict", "family", "group_order", "witness"),
        *("obstruction", "families", "closed_form", "group_facts", "symmetries", "fraction", "model", "redundancy"),
        *("complexity", "outlook", "notes", "seconds"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "found", as_the_kernel_reads(self.function, self.found))

    @cached_property
    def answer(self) -> tuple[str, str]:
        """What the function is, and what to expect of a network."""
        asked = self.function
        known = None if asked.known is None else asked.known_cells
        constant = bool(np.ptp(asked.table[asked.table >= 0]) == 0)
        is_said = wording.what_it_is(self.found, self.closed, known, asked.expression, constant)
        return f"{asked.title} {is_said}{wording.beyond_its_variables(asked)}.", self.outlook.text

    @property
    def expression(self) -> str | None:
        return self.function.expression

    @property
    def variables(self) -> tuple[str, ...]:
        return self.function.variables

    @property
    def modulus(self) -> int | None:
        return self.function.modulus

    @property
    def verdict(self) -> Status:
        return self.found.status

    @property
    def family(self) -> str | None:
        return self.found.family

    @property
    def group_order(self) -> int | None:
        return self.found.group_order

    @property
    def witness(self) -> Witness | None:
        return self.found.witness

    @property
    def obstruction(self) -> Obstruction | None:
        return self.found.obstruction

    @property
    def families(self) -> tuple[FamilyVerdict, ...]:
        return self.found.families

    @property
    def closed_form(self) -> str | None:
        return None if self.closed is None else str(self.closed)

    @property
    def fraction(self) -> float:
        return self.found.fraction

    @property
    def redundancy(self) -> float:
        return self.found.redundancy

    @property
    def notes(self) -> tuple[str, ...]:
        residues = isinstance(self.function.structure, Integers)
        return self.found.notes if residues or self.verdict != "in-class" else ()

    @property
    def expected(self) -> Expectation:
        return self.outlook.expected

    @property
    def enough(self) -> float | None:
        return self.outlook.enough

    @property
    def curve(self) -> ShareCurve | None:
        return self.outlook.curve

    @property
    def probe(self) -> Probe | None:
        return self.outlook.probe

    def summary(self) -> str:
        what = self.answer[0].removesuffix(".")
        short = what if len(what) <= LONGEST_SENTENCE else f"{what[: LONGEST_SENTENCE - 1]}…"
        return f"{short}; expected test accuracy {self.outlook.accuracy}"

    def facts(self) -> dict[str, str]:
        """What else is known, by name, in words."""
        described = "" if self.group_facts is None else self.group_facts.summary()
        found = {
            "group": described,
            "unknown cells": self.prediction_in_words,
            "twins": wording.twins(self.redundancy, self.fraction, self.function.known is None),
            "complexity": "" if self.complexity is None else self.complexity.words,
        }
        if self.symmetries is not None:
            found["symmetry"] = wording.structure(self.symmetries, self.variables)
        if self.expected.covered:
            found["expected"] = f"{self.expected.text}: {self.expected.reason}"
        found |= {"advice": self.outlook.advice, "probe": self.probe.summary() if self.probe is not None else ""}
        found["note"] = "; ".join(self.notes)
        return {name: text for name, text in found.items() if text}

    def explain(self) -> str:
        """The whole answer as text: the sentences, why each family fits or not, the witness, and what else is known."""
        lines = [*self.answer, ""]
        lines += [f"{found.family} over {found.group}: {found.verdict.summary()}" for found in self.families]
        if self.witness is not None:
            lines += [
                "",
                *(f"{name}: {part}" for name, part in self.witness.to_json().items() if part is not None),
            ]
        return "\n".join([*lines, "", *(f"{name}: {text}" for name, text in self.facts().items())])

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
        """Every field under its own name, what the outlook rests on beside it, and what is predicted."""
        predicted = None if self.function.known is None else self.predicted
        rests_on = {"expected_accuracy": self.expected, "enough": self.enough, "curve": self.curve, "probe": self.probe}
        simple = self.complexity
        told = simple and {
            "value": simple.value,
            "is_exact": simple.exact,
            "random": simple.random,
            "words": simple.words,
        }
        return super().to_json() | plain_object(rests_on | {"complexity": told, "predicted": predicted})

    def _repr_html_(self) -> str:
        families = {found.family: f"{found.verdict.status}: {wording.brief(found)}" for found in self.families}
        return html_table(families | self.facts(), " ".join(self.answer))


def classify(
    function: FunctionLike,
    mod: int | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    fraction: float = 0.5,
    effort: float = EFFORT,
    model: str = "power",
    probe: bool | None = None,
    curve: bool = False,
    measure: bool = True,
    expect: bool = True,
    progress: Progress | None = None,
) -> Answer:
    """Decide whether a function is h(g1(n1) + g2(n2)), and say what test accuracy is to be expected of it.

    Arguments:
        function: a polynomial such as "x^2 y + 3"; its table of values, an array or a .csv, .npy or .parquet file; or
            a Python function of residues (`algebra.function`).
        mod: the modulus p. May be left out where the expression ends in "mod 31", and for a table.
        group, field: the finite group, or the finite field, in which an expression has its values.
        fraction: the share of the table that would be trained on.
        effort: how hard to try before the verdict is "unknown": counted in steps, not in seconds, so that the answer is
            the same on every machine. 1 is meant to be seconds of one core, whatever the shape; 10 ten times as much.
        model: the network that would be trained: "power" (two layers, x²), "mlp" or "transformer".
        probe: whether to train one network of that model too, and to read what its training loss says; if not given,
            where nothing else is known and it takes a few seconds.
        curve: whether to tell what is expected at other shares of the table, too.
        expect: whether to say what test accuracy to expect, which takes a second where a table has a hundred rows.
        measure: whether to tell the complexity r of the table too, up to 4,096 cells and 64 values, or of any group.
        progress: called while the probe trains and the curve is found.

    Returns:
        An `Answer`: `.verdict`, `.witness`, `.obstruction`, `.expected`, …

    >>> found = classify("x^2 y + 3", mod=31)
    >>> found.answer[0]
    'n1^2 n2 + 3 mod 31 is a product in disguise: u + 3 with u = n1^2 n2.'
    >>> found.verdict, found.family, found.group_order
    ('in-class', 'multiplicative', 30)
    >>> found = classify(np.add.outer(np.arange(5), np.arange(5)) % 5)
    >>> found.verdict, found.family, found.witness.g1
    ('in-class', 'additive', (0, 1, 2, 3, 4))
    """
    started = time.perf_counter()
    if not 0 < fraction < 1:
        raise InputError(f"the training fraction must lie between 0 and 1, got {fraction}; give 0.5, for example")
    if model not in MODEL_NAMES:
        raise InputError(f"what to expect is known of the models {', '.join(MODEL_NAMES)}, got {model!r}")
    asked = read_function(function, mod, group=group, field=field, at_least=2)
    found = classify_table(asked.table, asked.modulus, tree=asked.tree, fraction=fraction, effort=effort)
    whole, residues = asked.known is None, isinstance(asked.structure, Integers)
    small = whole and asked.table.ndim == 2 and asked.table.size <= LARGEST_SYMMETRIC
    symmetric = symmetries(asked.table, asked.modulus) if small and residues else None
    expected = not_covered("it was not asked for", "table")
    if expect:
        expected = expected_from_table(asked.table, asked.modulus, fraction=fraction, model=model)
    closed = closed_form(asked, found)
    share = enough(asked.table, asked.modulus, found) if model == "power" else None
    shares = share_curve(asked.table, asked.modulus, model, progress=progress) if curve else None
    ahead = outlook(expected, share, fraction, curve=shares, whole=whole)
    if max(1, round(fraction * asked.known_cells)) == asked.known_cells:
        ahead = replace(ahead, advice="")  # there is nothing to see for a probe: no known cell is left to test it on
    elif probe is None:
        probe = ahead.outcome == "unknown" and is_quick(asked, fraction, model)
    if probe:
        trained = probe_function(asked, fraction=fraction, model=model, progress=progress)
        ahead = outlook(expected, share, fraction, trained, shares, whole=whole)
    return Answer(
        asked,
        found,
        closed,
        group_facts=facts_of(found.witness),
        symmetries=symmetric,
        complexity=measured(asked) if measure else None,
        outlook=ahead,
        model=model,
        seconds=time.perf_counter() - started,
    )


def closed_form(asked: Function, found: Classification) -> Disguise | None:
    """The short form of the first family that fits and has one: few values make a sum of many a product, as they do of
    n1^15 n2^15 mod 31, and the product is what one would call it."""
    if asked.modulus is None or found.family not in MEASURED:
        return None
    fitting = (family.verdict.witness for family in found.families if family.verdict.in_class)
    forms = (disguise(witness, asked.indices, asked.modulus) for witness in fitting if witness and witness.cyclic)
    return next(filter(None, forms), None)


def as_the_kernel_reads(function: Function, found: Classification) -> Classification:
    """What was found out, with proofs that are about this table, where it is what the kernel itself makes of the
    words."""
    if not any(each.proof for each in found.families):
        return found
    why = ""
    if not all(each.proof is None or each.proof.about_table(function.table) for each in found.families):
        why = "it was asked about another table"
    elif function.tree is not None or function.written is not None:
        try:
            same = np.array_equal(own_table(function), function.table)
            why = "" if same else "it finds other values: please report this"
        except NoProof as reason:
            why = str(reason)
    if not why:
        return found
    unproved = tuple(replace(each, proof=None) for each in found.families)
    return replace(found, families=unproved, notes=(*found.notes, f"the kernel proves nothing of it: {why}"))


def measured(function: Function) -> Complexity | None:
    """How simple the table is, where it takes no more than a second to know."""
    if len(function.sizes) != 2 or max(*function.sizes, function.values) > LARGEST_COMPLEX:
        return None
    small = function.cells <= LARGEST_MEASURED**2 and function.values <= LARGEST_MEASURED
    return complexity_of(function) if small or group_ratio(function.table, function.values) is not None else None


def is_quick(function: Function, fraction: float, model: str) -> bool:
    """Whether a probe takes a few seconds."""
    values = function.modulus or int(function.table.max()) + 1
    trained = fraction * function.known_cells
    return trained <= PROBE_CELLS[model] and trained * values <= PROBE_WORK


def facts_of(witness: Witness | None) -> GroupFacts | None:
    """What describes the group of a witness that has its table."""
    if witness is None or not witness.products:
        return None
    return group_facts(nameless(np.array(witness.products)), witness.group_name)
