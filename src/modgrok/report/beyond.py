"""Sections on what goes beyond the paper: exact networks, the class, the loss law, mixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modgrok.figures.law import law_figure
from modgrok.figures.style import save_figure
from modgrok.report.document import Block, Bullets, Code, Heading, Paragraph, Picture
from modgrok.report.pictures import png_files
from modgrok.report.recorded import COMMANDS, Recorded
from modgrok.report.tables import rows_table, table_of

Entries = dict[str, dict[str, Any]]


def networks(entries: Entries) -> Iterator[Block]:
    if "networks" not in entries:
        return
    result = entries["networks"]["result"]
    neurons = list(result["measured"]["neurons"].values())
    yield Heading(3, "Exact networks")
    yield Paragraph(
        f"The paper draws phases at random and lets unwanted terms average away. Chosen by design they cancel. "
        f"{result['rows'][0]['polynomial']} modulo {result['settings']['modulus']} takes {neurons[0]:,} neurons in "
        "the paper, "
        f"{neurons[1]} without any error, and {neurons[2]} if only the largest logit has to be right."
    )
    yield Code(f'modgrok compile "{result["rows"][0]["polynomial"]}" --mod 97 --frequencies minimal')
    yield table_of(result, result["title"])
    yield Bullets(tuple(result["notes"]))
    yield rows_table(
        result["designs"],
        {"terms": "terms S", "literature": "literature", "exact": "(S+1)·2^(S−1)", "best": "narrowest"},
        "Neurons per frequency that add S terms exactly in one expert; literature: 2^(2S−2)(p−1) neurons in all "
        "(for two terms Morwani et al. 2023, for more Li et al. 2024)",
    )


def classes(entries: Entries) -> Iterator[Block]:
    if "classes" not in entries:
        return
    result = entries["classes"]["result"]
    yield Heading(3, "Which polynomials have the form")
    yield Paragraph(
        "Whether f(n1, n2) = h(g1(n1) + g2(n2)) for some g1, g2 and h is decided exactly, from the table of values "
        "and not "
        "from the spelling, over the integers modulo p and, for products, over exponents modulo p − 1 with zero."
    )
    yield Code('modgrok classify "(4n1 + n2^2)^3 + n1 n2" --mod 97')
    yield table_of(result, result["title"])
    yield Bullets(tuple(result["notes"]))
    refuted = next(row for row in result["rows"] if row["explanation"])
    yield Paragraph(
        f"A proof in words, for {refuted['polynomial']} modulo {refuted['modulus']}: {refuted['explanation']}."
    )


def loss_law(recorded: dict[str, Recorded], images: Path) -> Iterator[Block]:
    yield Heading(3, "The loss law")
    if "census" not in recorded:
        yield Paragraph(f"Not recorded yet. On a machine with a GPU, `{COMMANDS['census']}` makes it.")
        return
    census, where, command = recorded["census"]
    yield Paragraph(
        "At the end of training with weight decay, the training loss alone tells the test accuracy. Recorded on "
        f"{where} with "
        f"`{command}`: {census['networks']:,} networks on {census['tables']:,} tables. A falling curve through the "
        "training "
        f"losses of a setting predicts test accuracies with a mean absolute error of {census['error_own_curves']:.3f} "
        "(cross-validated); one curve for all settings, over the odds of the loss relative to those of random "
        "tables, with "
        f"{census['error_one_curve']:.3f}; settings that no curve has seen with "
        f"{census['error_held_out_settings']:.3f}. So one "
        "can tell without test data whether a network has generalised: `modgrok classify … --probe` does."
    )
    yield Picture(
        png_files("law", draw_law, {"points": census["points"]}, images)[0],
        "Three panels, one for each modulus: test accuracy falls with the training loss along one curve, whatever the "
        "family of the table.",
        "Training loss against test accuracy: every point is a network trained on half of a table; the line is the "
        "fitted curve.",
    )
    yield rows_table(
        census["verdicts"],
        {key: key for key in ("verdict", "networks", "learned", "partly, beyond redundancy", "redundancy or less")},
        "Verdict before training against outcome. The class is neither necessary nor always sufficient: some "
        "networks outside "
        "it learn everything, and a few inside it had too little data",
    )
    outside = census["surprises"]["outside the class, learned beyond redundancy"]
    yield rows_table(
        outside["shown"][:8],
        {
            "table": "polynomial",
            "modulus": "mod",
            "width": "width",
            "fraction": "trained share",
            "redundancy": "redundancy",
            "test_accuracy": "test accuracy",
        },
        f"Outside the class, learned beyond redundancy: {outside['networks']} networks on {outside['tables']} "
        "tables; the strongest",
    )
    yield rows_table(
        census["predictors"],
        {
            "meaning": "predictor",
            "training_free": "before training",
            "error": "mean error",
            "spearman": "rank correlation",
        },
        "What predicts the test accuracy, each with its own monotone fit, half of the table",
    )


def draw_law(census: dict[str, Any], folder: Path) -> list[Path]:
    return save_figure(law_figure(census["points"]), folder / "law")


def mixture(entries: Entries) -> Iterator[Block]:
    if "mixture" not in entries:
        return
    result = entries["mixture"]["result"]
    settings, measured = result["settings"], result["measured"]
    yield Heading(3, "A mixture of trained experts")
    yield Paragraph(
        f"{settings['polynomial']} modulo {settings['modulus']} from experts that were trained apart: accuracy "
        f"{100 * measured['accuracy']:g} % on all {measured['rows']:,} rows, smallest margin "
        f"{measured['smallest_margin']:.2f}."
    )
    yield Code(f'modgrok mix "{settings["polynomial"]}" --mod {settings["modulus"]}')
    yield table_of(result, result["title"])
    yield Bullets(tuple(result["notes"]))


def conclusions(results: list[dict[str, Any]]) -> Iterator[Block]:
    """What the strong hypothesis comes to, in words, from its largest result."""
    result = results[-1]
    if result["item"] != "strong":
        return
    for modulus in dict.fromkeys(row["modulus"] for row in result["rows"]):
        strong = [row for row in result["rows"] if row["modulus"] == modulus and row["controls_pass"]]
        agree = [row["setting"] for row in strong if row["finding"] == "agrees"]
        others = [row["setting"] for row in strong if row["finding"] != "agrees"]
        text = (
            f"Modulo {modulus}, {len(strong)} settings learn both controls, and {len(agree)} of them every polynomial "
            "of the form"
        )
        yield Paragraph(f"{text}. Not all of them are learned by: {'; '.join(others)}." if others else f"{text}.")
    yield Paragraph(
        "The hypothesis names no number of steps and no share of the table. Where a setting does not learn a "
        "polynomial of the form, it fails to confirm the hypothesis within the steps trained; it does not refute it."
    )
