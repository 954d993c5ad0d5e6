"""Every item in the order of the report: the command's help, headings, pictures and recorded commands come from here.

Importing this is quick; the module of an item, which computes, is imported when the item is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from modgrok.reproduction.item import Effort, ItemResult, Summary

PAPER, ERRATA, BEYOND = "Tables and figures of the paper", "Corrections", "Beyond the paper"
"""The sections of the report that items stand in."""


class Picture(NamedTuple):
    """What a figure shows, for those who cannot see it, and its caption where the result's title does not do."""

    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Item:
    """One table, figure or study. Its module is the one of this folder that has its name.

    `computed` says when the report computes it: always, only `in full`, or `elsewhere` (then it shows what was
    recorded); a study is computed by the module of its name in the repository's folder `studies`. `keeps_parts` goes on
    where an interrupted call stopped, `time_limited` begins no new part after a time limit, `on_clusters` can be
    trained there. `recorded_by` is the command whose result comes with the package, `lead` and `example` open its
    section, and the rows of `cards` have texts too long for a table: each becomes one of its own.
    """

    name: str
    heading: str
    purpose: str
    section: str = BEYOND
    claim: str = ""
    computed: Literal["always", "in full", "elsewhere"] = "always"
    is_study: bool = False
    keeps_parts: bool = False
    time_limited: bool = False
    on_clusters: bool = False
    recorded_by: str = ""
    lead: str = ""
    example: str = ""
    cards: bool = False
    pictures: Mapping[str, Picture] = field(default_factory=lambda: MappingProxyType({}))

    def compute(self, effort: Effort) -> ItemResult:
        """The result, with the time it took, why its verdict is what it is, and where it comes from."""
        from modgrok.base.provenance import merged, now, provenance
        from modgrok.base.repository import study
        from modgrok.reproduction.item import ItemResult, implementation

        compute = study(self.name).compute if self.is_study else implementation(self.name).compute
        start, date = time.perf_counter(), now()
        result: ItemResult = compute(effort)
        if self.computed != "elsewhere":
            here = provenance(start, {"item": self.name} | effort.settings(), *self.roots)
            earlier = tuple(each for each in result.provenance if each.date and each.date < date)
            parts = [each.seconds or 0.0 for each in result.provenance if each not in earlier]  # of calls like this too
            made = merged(earlier, (replace(here, seconds=max(sum(parts), here.seconds or 0.0)),))
            seconds = round(sum(each.seconds or 0.0 for each in made), 3)
            result = replace(result, seconds=seconds, provenance=made)
        return ItemResult.from_json(replace(result, why=self.summarise(result).why).to_json())

    @property
    def roots(self) -> tuple[str | Path, ...]:
        """The modules that compute it; all that they import belongs to them."""
        from modgrok.base.repository import STUDIES

        return (f"modgrok.reproduction.{self.name}", *((STUDIES / f"{self.name}.py",) if self.is_study else ()))

    def summarise(self, result: ItemResult) -> Summary:
        """What was published, what was measured, and why the verdict is what it is."""
        from modgrok.reproduction.item import implementation

        return implementation(self.name).summarise(result)


TRAINING_PICTURE = Picture(
    "Three panels: falling losses, rising accuracies with the mean inverse participation ratio, and histograms of that "
    "ratio before and after training."
)

ALL = (
    Item(
        "table1",
        "Table 1: analytical networks on polynomials",
        "networks with the paper's closed-form weights on six polynomials: error and accuracy",
        PAPER,
        claim="Networks with closed-form weights compute arbitrary polynomials",
    ),
    Item(
        "table2",
        "Table 2: trained networks inside and outside the form",
        "networks trained on polynomials of the form h(g1 + g2) and near it, and what sharing equal rows would give",
        PAPER,
        keeps_parts=True,
        recorded_by="modgrok paper table2",
        claim="Two-layer networks learn polynomials of the form h(g1 + g2), and not those near it",
    ),
    Item(
        "figure1",
        "Figure 1: width against the number of terms",
        "accuracy of the S-term sum against width: the width needed grows exponentially with S",
        PAPER,
        recorded_by="modgrok paper figure1",
        pictures={
            "figure1": Picture(
                "Left: best accuracy against width on a logarithmic axis, one rising curve for each number of terms. "
                "Right: the width that reaches 100 % against the number of terms, on a straight line in a logarithmic "
                "plot."
            )
        },
        claim="The width that a sum needs with random phases grows exponentially with its terms",
    ),
    Item(
        "figure2",
        "Figure 2: training on a sum of four terms",
        "training on n1 + n2 + n3 + n4 mod 11: losses, accuracies and the inverse participation ratio",
        PAPER,
        recorded_by="modgrok paper figure2",
        pictures={"figure2": TRAINING_PICTURE},
        claim="A sum of four terms is grokked, by weights that become periodic",
    ),
    Item(
        "figure3",
        "Figure 3: training on a product",
        "training on n1 n2 mod 97: losses, accuracies and the inverse participation ratio",
        PAPER,
        pictures={"figure3": TRAINING_PICTURE},
        claim="So is a product",
    ),
    Item(
        "mathematics",
        "The same mathematics",
        "trained sums and products beside the analytical solution: waves, phase law, snapped networks, logits",
        PAPER,
        claim="Trained networks learn solutions like the analytical ones",
        computed="in full",
        recorded_by="modgrok paper mathematics",
        pictures={
            "mathematics": Picture(
                "Left: accuracies and mean inverse participation ratio while a product is learned. Middle: the weights "
                "of three neurons lie on one cosine each. Right: readout phases against sums of input phases, on the "
                "diagonal.",
                "A network that was trained on half of the table of n1 n2 mod 97. Blue points are its weights and "
                "phases, orange lines the analytical form: nothing was fitted but one frequency, amplitude and phase "
                "for each block.",
            )
        },
    ),
    Item(
        "errata",
        "Errata: where the paper is wrong or silent",
        "where the paper's text does not lead to its numbers: what is right, measured",
        ERRATA,
        lead="Where the paper's text does not lead to its numbers, or says nothing. Each point was measured again when "
        "this page was made; the command below it shows the same.",
        cards=True,
    ),
    Item(
        "networks",
        "Exact networks",
        "the polynomials of Table 1 without any error, or with the fewest neurons: sizes and proofs",
        lead="The paper draws phases at random and lets unwanted terms average away. Chosen by design they cancel.",
        example='modgrok compile "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3" --mod 97 --frequencies minimal',
    ),
    Item(
        "widths",
        "Widths by design",
        "hidden neurons of the S-term sum by design, beside those of the literature",
        recorded_by="modgrok paper widths",
        pictures={
            "widths": Picture(
                "Hidden neurons against the number of terms for five constructions; those of modgrok need the fewest. "
                "Right: neurons of long sums grow on a straight line."
            )
        },
    ),
    Item(
        "classes",
        "Which polynomials have the form",
        "which polynomials are h(g1(n1) + g2(n2)), decided from their values, with a witness or a proof",
        lead="Whether f(n1, n2) = h(g1(n1) + g2(n2)) for some g1, g2 and h is decided exactly, from the table of "
        "values and not from the spelling, over the integers modulo p and, for products, over exponents modulo p − 1 "
        "with zero.",
        example='modgrok classify "(4n1 + n2^2)^3 + n1 n2" --mod 97',
        claim="Some polynomials have the form, slight changes of them have not",
    ),
    Item(
        "law",
        "The loss law",
        "the training loss alone tells the test accuracy: a hundred thousand networks, recorded on a GPU",
        computed="elsewhere",
        recorded_by="modgrok census benchmarks/census/large.toml --out census",
        lead="At the end of training with weight decay, the training loss alone tells the test accuracy. So one can "
        "tell without test data whether a network has generalised: `modgrok classify … --probe` does.",
        pictures={
            "law": Picture(
                "Two panels: test accuracies against training losses, which have another scale at every modulus; and "
                "against the ratio of odds, where they fall along one curve, whatever the family of the table.",
                "Training loss against test accuracy. Every point is a network, one in 25 of those that the curve "
                "is fitted to; moduli 13 to 127, a fifth to nine tenths of the table. The line is what modgrok "
                "expects, and nine in ten networks of families that it has not seen lie in the shaded band.",
            )
        },
    ),
    Item(
        "mixture",
        "A mixture of trained experts",
        "experts trained on n1 + n2 and n1 n2 alone, joined into a network for a polynomial",
        example='modgrok mix "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3" --mod 97',
        claim="Experts for sums and products can be joined for any polynomial",
    ),
    Item(
        "endtoend",
        "End-to-end training",
        "the joined architecture trained end to end: does depth make polynomials learnable?",
        computed="in full",
        is_study=True,
        keeps_parts=True,
        time_limited=True,
        recorded_by="modgrok paper endtoend --full",
        pictures={
            "endtoend": Picture(
                "Learning curves of the joined architecture from several starts, one panel for each polynomial.",
                "The joined architecture trained on half of the polynomial's table. Where the control, dashed, fails "
                "as well, a failure from scratch says nothing; settings in which it is learned are among the numbers.",
            ),
            "endtoend-fine-tuning": Picture(
                "Learning curves of the joined experts while they train on, one for each weight decay.",
                "Trained experts that are trained on as one network, by weight decay and β.",
            ),
            "endtoend-control": Picture(
                "Training and test accuracy of the circuit from scratch, beside the same circuit on n1 + n2.",
                "The circuit from scratch, and the same circuit with the same settings on n1 + n2.",
            ),
        },
        claim="Other polynomials are not learned, nor by deeper networks",
    ),
    Item(
        "strong",
        "The strong hypothesis",
        "the strong hypothesis: other architectures, losses, optimisers and regularisers",
        computed="in full",
        is_study=True,
        keeps_parts=True,
        time_limited=True,
        on_clusters=True,
        recorded_by="modgrok paper strong --full",
        pictures={
            "strong": Picture(
                "A heat map of test accuracies: settings as rows, polynomials as columns; the first row is what "
                "sharing twins and guessing the rest would give.",
                "Best test accuracy in percent after all training. † outside the class. Outlined: in the class and not "
                "learned within the usual steps; dotted, learned with more steps or more of the table; dashed, "
                "still rising at the last step; red, at rest. Settings that are too weak fail a control.",
            ),
            "strong-23": Picture(
                "The same heat map modulo 23: most settings of transformers and deep MLPs fail a control there.",
                "The same modulo 23.",
            ),
        },
        claim="Every standard network learns polynomials of the form (strong hypothesis)",
    ),
)

ITEMS = {item.name: item for item in ALL}
"""All items by name, in the order of the report."""
