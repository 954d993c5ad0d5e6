"""Which polynomials are h(g1(n1) + g2(n2)): those of Table 2, products in disguise, and some that are learned "
"anyway."""

from __future__ import annotations

from typing import Any

from modgrok.paper.strong import LEARNED_OUTSIDE
from modgrok.paper.table2 import PUBLISHED
from modgrok.progress import Progress
from modgrok.separable import Classification, classify_table
from modgrok.training.data import function_table

DISGUISED = ("n1 n2 + n1", "n1 n2 + n1 + n2")
NEITHER = ("n1^2 + n1 n2 + n2^2",)
CASES = (
    *((row.polynomial, row.modulus) for row in PUBLISHED),
    *((text, 97) for text in (*DISGUISED, *NEITHER, *LEARNED_OUTSIDE)),
)


def compute(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """The whole of it takes seconds: `quick` changes nothing."""
    rows = []
    for done, (text, modulus) in enumerate(CASES, start=1):
        table, variables = function_table(text, modulus)
        rows.append(
            {
                "polynomial": text,
                "modulus": modulus,
                **row_of(classify_table(table.reshape((modulus,) * variables), modulus)),
            }
        )
        if progress:
            progress(done, len(CASES))
    claimed = {(row.polynomial, row.modulus): row.test_accuracy == 1.0 for row in PUBLISHED}
    agree = all(
        (row["verdict"] == "in-class") == claimed[key]
        for row in rows
        if (key := (row["polynomial"], row["modulus"])) in claimed
    )
    return {
        "item": "classes",
        "title": "Decided from the table of values: is it h(g1(n1) + g2(n2))?",
        "settings": {"fraction": 0.5},
        "published": {"claim": "three polynomials of Table 2 are of the form, their perturbations are not"},
        "measured": {
            "in_class": sum(row["verdict"] == "in-class" for row in rows),
            "not_in_class": sum(row["verdict"] == "not-in-class" for row in rows),
            "unknown": sum(row["verdict"] == "unknown" for row in rows),
            "table2_agrees": agree,
        },
        "verdict": "reproduced" if agree else "differs",
        "notes": [
            "A polynomial in the class comes with tables g1, g2, h that were checked on every cell, one outside with a "
            "proof that a checker of its own accepts. Redundancy is the share of test cells that equal rows or columns "
            "give away when half of the table is trained on.",
            "The last four are in neither family, and networks still learn them: the class is sufficient, not "
            "necessary.",
        ],
        "columns": {
            "polynomial": "polynomial",
            "modulus": "mod",
            "verdict": "verdict",
            "family": "family",
            "redundancy": "redundancy",
            "why": "witness or proof",
        },
        "rows": rows,
    }


def row_of(found: Classification) -> dict[str, Any]:
    best, obstruction = found.best, found.obstruction
    return {
        "verdict": found.status,
        "family": best.family if best else None,
        "redundancy": found.redundancy,
        "why": f"witness over {best.group}" if best else obstruction.kind if obstruction else "undecided",
        "explanation": obstruction.explanation if obstruction else None,
        "seconds": found.seconds,
    }
