"""The page docs/strong.md with its figure, from the stored networks: python -m studies.strong_page

Nothing is trained here; `modgrok paper strong --full --out benchmarks/results` on a GPU makes or completes the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from modgrok.base.files import read_json, whole_file, write_text
from modgrok.figures.style import FILE_DPI
from modgrok.reproduction.classes import LEARNED_OUTSIDE
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.strong import summarise
from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import LEARNED
from studies.rest import FALL, POINTS, RISE, level
from studies.strong import stored_result
from studies.strong_longer import BEYOND, REACHES, STORE, columns_of, looks_in, networks_in
from studies.strong_plan import MORE, SETTINGS, TABLE2, read_rows
from studies.strong_result import IN_CLASS, look_summary
from studies.strong_words import (
    MODELS,
    accuracies,
    conclusions,
    kinds_of,
    loss_laws,
    outcome_words,
    outside,
    span_of,
)

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"

Rows = list[dict[str, Any]]


def main() -> None:
    result = stored_result(RESULTS)
    for name, figure in result.figures().items():
        with whole_file(DOCS / "images" / f"{name}.png") as temporary:
            figure.savefig(temporary, dpi=FILE_DPI)
    write_text(DOCS / "strong.md", page(result))


def page(result: ItemResult) -> str:
    numbers, settings = result.measured | counts(result), result.rows
    cells = [cell for setting in settings for cell in setting["cells"]]
    strong = [setting for setting in settings if setting["controls_pass"]]
    parts = [
        "# The strong hypothesis",
        INTRODUCTION.format(**numbers),
        "## What came out",
        f"**{summarise(result).measured[0].upper()}{summarise(result).measured[1:]}.** "
        + " ".join(conclusions(settings)),
        REST.format(
            points=POINTS,
            rise=RISE,
            reaches="{}, {} and {}".format(*REACHES),
            beyond=BEYOND,
            **{name: share(value) for name, value in {"learned": LEARNED, "fall": FALL, "more": MORE}.items()},
        ),
        *outside_words(settings),
        LAW.format(laws=" ".join(loss_laws(of_modulus(settings, modulus)) for modulus in moduli(settings)), **numbers),
        "![Test accuracy of every polynomial in every setting, beside what twins and guesses give](images/strong.png)\n"
        "![The same modulo 23](images/strong-23.png)",
        "Best test accuracy in percent after all training. † marks polynomials outside the class. Outlined cells are "
        "in the class and were not learned within the usual steps: dotted, learned with more steps or more of the "
        "table; dashed, still rising; red, at rest.",
        "## Every setting",
        SETTINGS_WORDS,
        table(
            ("setting", "mod", "variants", "controls", "in class, worst", "outside, best", "loss law", "finding"),
            map(setting_row, settings),
        ),
        "## In the class, and not learned at first",
        LOOKS_WORDS,
        table(
            ("setting", "polynomial", "mod", "at first", "table", "rate", "decay", "seeds", "steps", "test", "outcome"),
            (row for cell in cells if cell["finding"] in IN_CLASS for row in look_rows(cell)),
        ),
        twice_words(),
        "## Outside the class",
        OUTSIDE_WORDS,
        table(
            ("polynomial", "mod", "twins and guesses", *MODELS.values(), "median", f"settings at {share(LEARNED)}"),
            outside_rows(strong),
        ),
        "## Transformer and mlp on n1 + n2",
        table(("command", "99 % of the test rows", "after all steps", "steps a second"), map(run_row, RUNS)),
        REPEAT,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def counts(result: ItemResult) -> dict[str, Any]:
    """Numbers of the text that the item's result does not hold."""
    return {
        "device": ", ".join(result.settings["devices"]),
        "settings": result.settings["settings"],
        "seeds": result.settings["seeds"],
        "table2": len(TABLE2),
        "outside": len(LEARNED_OUTSIDE),
        "variants": max(setting["variants"] for setting in result.rows),
        "polynomials": max(len(setting["cells"]) for setting in result.rows),
        "learned": share(LEARNED),
    }


def moduli(settings: Rows) -> list[int]:
    return list(dict.fromkeys(setting["modulus"] for setting in settings))


def of_modulus(settings: Rows, modulus: int) -> Rows:
    return [setting for setting in settings if setting["modulus"] == modulus]


def outside_words(settings: Rows) -> Iterable[str]:
    """A paragraph for each modulus."""
    for modulus in moduli(settings):
        yield f"**Outside the class**, modulo {modulus}: " + " ".join(outside(of_modulus(settings, modulus)))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


def setting_row(setting: dict[str, Any]) -> tuple[str, ...]:
    law = setting["loss_law"]
    return (
        setting["setting"],
        str(setting["modulus"]),
        f"{setting['variants_that_count']} of {setting['variants']}",
        *(percent(setting[name]) for name in ("controls", "in_class", "outside")),
        "–" if law is None else f"{law:.2f}",
        setting["finding"],
    )


def look_rows(cell: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """A row for each look at a polynomial that was not learned at first."""
    for k, look in enumerate(cell["looks"]):
        known = (cell["setting"], cell["polynomial"], str(cell["modulus"]), percent(cell["accuracy"]))
        yield (
            *(known if k == 0 else ("", "", "", "")),
            share(look["fraction"]),
            f"{look['learning_rate']:.2g}",
            f"{look['weight_decay']:.2g}",
            str(look["seeds"]),
            f"{look['steps']:,}",
            percent(look["accuracy"]),
            outcome_words(look),
        )


def twice_words() -> str:
    """What a look came to that was trained twice: one that is not over and has lost its checkpoint begins anew."""
    first = read_rows(RESULTS / "strong-first-try.parquet")
    ((name, points),) = looks_in(first).items()
    setting, modulus, polynomial, *_ = name
    usual = TrainConfig(polynomial, modulus, **SETTINGS[setting]).steps
    again = looks_in(read_rows(RESULTS / STORE))[name]
    before, now = look_summary(points, usual), look_summary(again, usual)
    return TWICE.format(
        setting=setting,
        modulus=modulus,
        polynomial=polynomial,
        fraction=share(before["fraction"]),
        steps=f"{before['steps']:,}",
        outcome=outcome_words(before),
        steps_now=f"{now['steps']:,}",
        levels=" and ".join(percent(level(columns_of(rows), "test_accuracy")) for rows in networks_in(again).values()),
        outcome_now=outcome_words(now),
    )


def outside_rows(strong: Rows) -> Iterable[tuple[str, ...]]:
    for modulus in moduli(strong):
        settings = of_modulus(strong, modulus)
        for cell in settings[0]["cells"]:
            if cell["verdict"] == "in-class":
                continue
            polynomial, kinds = cell["polynomial"], kinds_of(settings)
            reached = accuracies(settings, polynomial)
            yield (
                polynomial,
                str(modulus),
                percent(cell["twins_and_guesses"]),
                *(span_text(kinds[kind], polynomial) if kind in kinds else "–" for kind in MODELS.values()),
                percent(median(reached)),
                f"{sum(accuracy >= LEARNED for accuracy in reached)} of {len(reached)}",
            )


def span_text(settings: Rows, polynomial: str) -> str:
    low, high = span_of(settings, polynomial)
    return f"{100 * low:.1f} – {percent(high)}"


RUNS = {
    'modgrok train "n1 + n2" --mod 97 --model transformer': "train-transformer-h200.json",
    'modgrok train "n1 + n2" --mod 97 --model mlp --depth 3': "train-mlp-h200.json",
}


def run_row(command: str) -> tuple[str, ...]:
    run = read_json(RESULTS / RUNS[command])
    end = f"{percent(run['final']['test_accuracy'])} after {run['step']} steps"
    return f"`{command}`", f"from step {run['grokked_at']}", end, f"{run['steps_per_second']:.0f} ({run['device']})"


INTRODUCTION = """\
The paper conjectures that *every* standard network, with common optimisers, losses and regularisers, reaches 100 %
test accuracy on polynomials of the form h(g1(n1) + g2(n2)), and tests this for one network alone. Here {settings}
settings of architecture, loss, optimiser and regulariser are trained on half of the table of the {table2} polynomials
of Table 2, of n1 + n2 and n1·n2 as controls, and (modulo 97) of {outside} polynomials that are provably in no family
although the paper's network learns them: {networks:,} networks with {seeds} seeds ({device}).

Every setting comes in up to {variants} variants of learning rate and weight decay. Those count that reach {learned} of
the test rows on *both* controls; a setting that has none is too weak and says nothing. Of the variants that count, the
best one is shown for each polynomial. That is generous to the hypothesis: a cell below {learned} is below it in all of
them.
"""
REST = """\
**When is a training over?** A network has learned once the median of {points} measurements in a row is {learned}. Where
that did not happen within the usual steps, it was trained on, to {reaches} times the steps, also on {more} of the
table and with other rates; what no training had learned went on to the end of that budget before all else, and to
{beyond} times the steps where one seed had learned it by then and another had not. The level of a network at the end
is compared with that at half of its steps: if twice the steps raised the test accuracy by {rise:.2f} or lowered the
test loss by {fall}, it is *still rising*, else it is *at rest*. No finite curve excludes that a network groks
later.
"""
LAW = """\
**The loss law**: does the final training loss order the test accuracies? {laws}
Each setting has {polynomials} polynomials at most, many of them tied at 100 %, so these numbers are not to be compared
with those of a census.
"""
LOOKS_WORDS = """\
A row for each share of the table, learning rate and weight decay with which it was trained on; `test` is the level at
the last step, the mean over the seeds. A look has learned where all of its seeds have. It ends there, at rest, at the
end of the budget, or where another look with no more of the table has learned its polynomial.
"""
SETTINGS_WORDS = """\
`variants` are those that learn both controls, of those tried; `controls` is the worse control of the best variant;
`loss law` is Spearman's rank correlation of final training loss and test accuracy, the median over the variants.
"""
TWICE = """\
**The same seeds, twice.** {polynomial} modulo {modulus} in {setting}, on {fraction} of the table, had been trained
before for {steps} steps: {outcome}. So it was to go on, and since its checkpoint was lost it began anew. After
{steps_now} steps its networks are at {levels}: {outcome_now}. On a GPU the gradients of an ensemble are summed in an
order that is not fixed, so a seed is not one training but one of many, and so late they come out far apart.
"""
OUTSIDE_WORDS = """\
Lowest and highest test accuracy of each kind of network, over the settings that learn both controls; `twins and
guesses` is the share of test cells with an equal row or column in the training half, and a guess for the others: what
needs no learning of the form.
"""
REPEAT = """\
## To repeat it

`modgrok paper strong --full --out benchmarks/results` on a machine with a GPU trains what is missing in
`benchmarks/results/strong.parquet` (a row for each network of the first look) and `strong-longer.parquet` (a row for
each measured point of the second), keeps checkpoints beside them and writes the result; `--time-limit SECONDS`
interrupts it, and a second call goes on. `python -m studies.strong_page` writes this page from the stored rows.
`modgrok paper strong --quick` trains two settings modulo 23 on any machine.
"""

if __name__ == "__main__":
    main()
