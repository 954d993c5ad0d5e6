"""Which polynomials are h(g1(n1) + g2(n2)): those of Table 2, products in disguise, and some learned all the same."""

from __future__ import annotations

from modgrok.reproduction.item import Effort, ItemResult, Summary, Values, Verdict
from modgrok.reproduction.table2 import PUBLISHED
from modgrok.separable import Classification, classify_table
from modgrok.training.data import function_table

DISGUISED = ("n1 n2 + n1", "n1 n2 + n1 + n2")
NEITHER = ("n1^2 + n1 n2 + n2^2",)
LEARNED_OUTSIDE = (
    "8n1^5 n2 + 34n1^9 n2^5",
    "95n1^9 n2^7 + 30n1^11 n2^5",
    "55n1^12 n2^12 + 68n1 n2^3",
    "8n1^12 n2^12 + 29n1^2 n2^4",
)
"""In no family modulo 97, and still learned by the paper's network from half of the table."""
CASES = (
    *((row.polynomial, row.modulus) for row in PUBLISHED),
    *((text, 97) for text in (*DISGUISED, *NEITHER, *LEARNED_OUTSIDE)),
)


def classified(text: str, modulus: int) -> Classification:
    table, variables = function_table(text, modulus)
    return classify_table(table.reshape((modulus,) * variables), modulus)


def compute(effort: Effort) -> ItemResult:
    """The whole of it takes seconds, whatever the effort."""
    rows = []
    for done, (text, modulus) in enumerate(CASES, start=1):
        rows.append({"polynomial": text, "modulus": modulus, **row_of(classified(text, modulus))})
        effort.progress(done, len(CASES))
    claimed = {(row.polynomial, row.modulus): row.test_accuracy == 1.0 for row in PUBLISHED}
    agree = all(
        (row["verdict"] == "in-class") == claimed[key]
        for row in rows
        if (key := (row["polynomial"], row["modulus"])) in claimed
    )
    refuted = next(row for row in rows if row["explanation"])
    return ItemResult(
        item="classes",
        title="Decided from the table of values: is it h(g1(n1) + g2(n2))?",
        settings={"fraction": 0.5},
        published={"claim": "three polynomials of Table 2 are of the form, their perturbations are not"},
        measured={
            "in_class": sum(row["verdict"] == "in-class" for row in rows),
            "not_in_class": sum(row["verdict"] == "not-in-class" for row in rows),
            "unknown": sum(row["verdict"] == "unknown" for row in rows),
            "table2_agrees": agree,
        },
        verdict=Verdict.REPRODUCED if agree and all(row["proved"] for row in rows) else Verdict.DIFFERS,
        notes=(
            "A polynomial in the class comes with tables g1, g2, h that were checked on every cell, one outside with a "
            "proof that the kernel accepts. Redundancy is the share of test cells that equal rows or columns "
            "give away when half of the table is trained on.",
            "The last four are in neither family, and networks still learn them: the class is sufficient, not "
            "necessary.",
            f"A proof in words, for {refuted['polynomial']} mod {refuted['modulus']}: {refuted['explanation']}.",
        ),
        columns={
            "polynomial": "polynomial",
            "modulus": "mod",
            "verdict": "verdict",
            "family": "family",
            "redundancy": "redundancy",
            "why": "witness or proof",
        },
        rows=rows,
    )


def row_of(found: Classification) -> Values:
    best, obstruction = found.best, found.obstruction
    return {
        "verdict": found.status,
        "family": best.family if best else None,
        "redundancy": found.redundancy,
        "why": f"witness over {best.group}" if best else obstruction.kind if obstruction else "undecided",
        "explanation": obstruction.explanation if obstruction else None,
        "proved": best.proof is not None if best else all(family.proof is not None for family in found.families),
        "seconds": found.seconds,
    }


def summarise(result: ItemResult) -> Summary:
    measured = result.measured
    return Summary(
        "three polynomials of Table 2 have the form h(g1 + g2), their perturbations have not",
        f"{measured['in_class']} in the class, {measured['not_in_class']} not, {measured['unknown']} undecided",
        "a checked witness or a checked proof for each",
    )
