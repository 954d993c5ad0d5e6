"""The page docs/strong.md with its figures, from the stored networks: python -m studies.strong_page

Nothing is trained here; `modgrok paper strong --full --out benchmarks/results` on a GPU makes or completes the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from modgrok.base.files import whole_file, write_text
from modgrok.base.results import percent
from modgrok.figures.style import FILE_DPI
from modgrok.reproduction.item import Values
from modgrok.reproduction.strong import summarise
from modgrok.training.diagnosis import LEARNED
from studies.rest import FALL, POINTS, RISE
from studies.resuming import Parts
from studies.strong import STORE
from studies.strong_plan import LEARNED_OUTSIDE, MORE, REACHES, TABLE2, VARIED, Rows, config_of, model_of, networks_of
from studies.strong_result import IN_CLASS, result_of
from studies.strong_words import accuracies, conclusions, loss_laws, moduli, outcome_words

MODELS = {"power": "x² networks", "mlp": "MLPs", "transformer": "transformers"}
ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"


def main() -> None:
    first, later = networks_of(Parts(RESULTS / STORE).parts)
    result = result_of(first, later)
    for name, figure in result.figures().items():
        with whole_file(DOCS / "images" / f"{name}.png") as temporary:
            figure.savefig(temporary, dpi=FILE_DPI)
    write_text(DOCS / "strong.md", page(first, later))


def page(first: Rows, later: Rows) -> str:
    result = result_of(first, later)
    settings = result.rows
    numbers = {
        **result.settings,
        "devices": ", ".join(result.settings["devices"]),
        "table2": len(TABLE2),
        "outside": len(LEARNED_OUTSIDE),
        "variants": max(setting["variants"] for setting in settings),
        "polynomials": max(len(setting["cells"]) for setting in settings),
        "learned": share(LEARNED),
    }
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
            fall=share(FALL),
            more=share(MORE),
            **numbers,
        ),
        LAW.format(laws=" ".join(loss_laws(settings)), **numbers),
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
            (
                *("setting", "polynomial", "mod", "at first", "table", "rate", "decay", "scale"),
                *("seeds", "steps", "test", "outcome"),
            ),
            (row for cell in cells if cell["finding"] in IN_CLASS for row in look_rows(cell)),
        ),
        "## Outside the class",
        OUTSIDE_WORDS,
        table(
            ("polynomial", "mod", "twins and guesses", *MODELS.values(), "median", f"settings at {share(LEARNED)}"),
            outside_rows(strong),
        ),
        REPEAT.format(command=command_of((later or first)[0])),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def share(value: float) -> str:
    return percent(value, 0)


def setting_row(setting: dict[str, Any]) -> tuple[str, ...]:
    law = setting["loss_law"]
    return (
        setting["setting"],
        str(setting["modulus"]),
        f"{setting['variants_that_count']} of {setting['variants']}",
        *(percent(setting[name], 1) for name in ("controls", "in_class", "outside")),
        "–" if law is None else f"{law:.2f}",
        setting["finding"],
    )


def look_rows(cell: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """A row for each look at a polynomial that was not learned at first."""
    for k, look in enumerate(cell["looks"]):
        known = (cell["setting"], cell["polynomial"], str(cell["modulus"]), percent(cell["accuracy"], 1))
        yield (
            *(known if k == 0 else ("", "", "", "")),
            share(look["fraction"]),
            *(f"{look[name]:.3g}" for name in VARIED),
            str(look["seeds"]),
            f"{look['steps']:,}",
            percent(look["accuracy"], 1),
            outcome_words(look),
        )


def command_of(network: Values) -> str:
    """The single run that repeats a network, up to its last measured step."""
    config = config_of(network | {"steps": int(network["curves"]["step"][-1])})
    options = (f"--{name.replace('_', '-')} {value}" for name, value in config.changed().items())
    return f'modgrok train "{config.expression}" --mod {config.modulus} {" ".join(options)}'


def outside_rows(strong: Rows) -> Iterable[tuple[str, ...]]:
    """A row for each polynomial outside the class, over the settings of a modulus that learn both controls."""
    for modulus in moduli(strong):
        settings = [setting for setting in strong if setting["modulus"] == modulus]
        for cell in (cell for cell in settings[0]["cells"] if cell["verdict"] != "in-class"):
            reached = accuracies(settings, cell["polynomial"])
            yield (
                cell["polynomial"],
                str(modulus),
                percent(cell["twins_and_guesses"], 1),
                *(span(accuracies(of_model(settings, model), cell["polynomial"])) for model in MODELS),
                percent(median(reached), 1),
                f"{sum(accuracy >= LEARNED for accuracy in reached)} of {len(reached)}",
            )


def of_model(settings: Rows, model: str) -> Rows:
    return [setting for setting in settings if model_of(setting["setting"]) == model]


def span(accuracies: list[float]) -> str:
    """The lowest and the highest."""
    return f"{100 * min(accuracies):.1f} – {percent(max(accuracies), 1)}" if accuracies else "–"


INTRODUCTION = """\
The paper conjectures that *every* standard network, with common optimisers, losses and regularisers, reaches 100 %
test accuracy on polynomials of the form h(g1(n1) + g2(n2)), and tests this for one network alone. Here {settings}
settings of architecture, loss, optimiser and regulariser are trained on half of the table of the {table2} polynomials
of Table 2, of n1 + n2 and n1·n2 as controls, and (modulo 97) of {outside} polynomials that are provably in no family
although the paper's network learns them: {networks:,} networks with {seeds} seeds ({devices}).

Every setting comes in up to {variants} variants of learning rate, weight decay and initial scale. Those count that
reach {learned} of the test rows on *both* controls; a setting that has none is too weak and says nothing. Of the
variants that count, the best one is shown for each polynomial. That is generous to the hypothesis: a cell below
{learned} is below it in all of them.
"""
REST = """\
**When is a training over?** A network has learned once the median of {points} measurements in a row is {learned}. Where
no variant that counts learned a polynomial within the usual steps, all variants were trained on it and on both controls
to {reaches} times the steps, until for each such polynomial some variant had learned it and both controls, with every
seed; where the last did not do, the same on {more} of the table. Of a network that has not learned, the level at the
end is compared with that at half of its steps: if twice the steps raised the test accuracy by {rise:.2f} or lowered the
test loss by {fall}, it is *still rising*, else it is *at rest*. No finite curve excludes that a network groks
later.
"""
LAW = """\
**The loss law**: does the final training loss order the test accuracies? {laws}
Each setting has {polynomials} polynomials at most, many of them tied at 100 %, so these numbers are not to be compared
with those of a census.
"""
LOOKS_WORDS = """\
A row for each share of the table and each variant that counts there, by its controls within the usual steps or within
the same training; `test` is the level at the last step, the mean over the seeds. A variant has learned where all of its
seeds have. The variants of a setting train side by side, so all end where the last polynomial is learned.
"""
SETTINGS_WORDS = """\
`variants` are those that learn both controls, of those tried; `controls` is the worse control of the best variant;
`loss law` is Spearman's rank correlation of final training loss and test accuracy, the median over the variants.
"""
OUTSIDE_WORDS = """\
Lowest and highest test accuracy of each kind of network, over the settings that learn both controls; `twins and
guesses` is the share of test cells with an equal row or column in the training half, and a guess for the others: what
needs no learning of the form.
"""
REPEAT = """\
## To repeat it

`modgrok paper strong --full --out benchmarks/results` on a machine with a GPU trains what is missing in
`benchmarks/results/strong-parts.json`, keeps checkpoints beside it and writes the result; `--time-limit SECONDS`
interrupts it, and a second call goes on. A part counts only if the same code, libraries and kind of device made it.
`python -m studies.strong --plan` says how long it takes, and `python -m studies.strong_page` writes this page from the
stored parts. `modgrok paper strong --quick` trains two settings modulo 23 on any machine.

Each network can be trained again alone, on the same kind of device to the last bit: its part says beside how many
others it trained (`beside`), in a program with room for how many training rows (`room`), and a single run takes both.
This is one of them:

    {command}
"""

if __name__ == "__main__":
    main()
