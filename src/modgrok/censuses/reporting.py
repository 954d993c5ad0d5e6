"""The report of a census: what became of its tables, how well the loss law holds, and what else tells the outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import write_json, write_text
from modgrok.base.printing import markdown_table
from modgrok.base.provenance import KEY, UNKNOWN, Made
from modgrok.base.results import Result, plain
from modgrok.censuses import law_check as law, outcomes, store
from modgrok.censuses.law_check import Columns
from modgrok.censuses.outcomes import HALF
from modgrok.loss_law.formula import FREE, LEAST_FRACTION


@dataclass(frozen=True, repr=False)
class Findings(Result):
    """Everything that a report says."""

    words: str
    networks: int
    tables: int
    steps: int
    law: law.LawErrors
    accuracy_by_family: tuple[outcomes.FamilyAccuracy, ...]
    verdicts: tuple[outcomes.VerdictOutcomes, ...]
    surprises: Mapping[str, outcomes.Surprise]
    predictors: tuple[outcomes.PredictorError, ...]

    def summary(self) -> str:
        return f"{self.networks:,} networks on {self.tables:,} tables; loss law: {self.law.summary()}"

    def to_json(self) -> dict[str, Any]:
        """The errors of the law stand beside the other keys."""
        return self.keys_beside("law")


@dataclass(frozen=True, repr=False)
class CensusReport(Result):
    """A report that was written to `files`."""

    folder: Path
    files: tuple[Path, ...]
    findings: Findings
    seconds: float
    provenance: Made = (UNKNOWN,)

    def summary(self) -> str:
        return f"{self.folder}: {self.findings.summary()}"

    def to_json(self) -> dict[str, Any]:
        return self.keys_beside("findings")


def report(folder: str | Path, out: str | Path | None = None) -> CensusReport:
    """Write the report of an annotated census: report.md with its figures, and report.json.

    Arguments:
        folder: the folder of the census.
        out: the folder of the report; `report` in the census's own if not given.

    Returns:
        A `CensusReport`: the `findings`, and the `files` that were written.
    """
    from modgrok.figures.census import DRAWN
    from modgrok.figures.style import save_figures

    started, folder = time.perf_counter(), Path(folder)
    census, out = read_annotated(folder), Path(out) if out is not None else folder / "report"
    found = findings(census)
    made = store.made_from(folder, started, "modgrok.censuses.reporting")
    write_json(out / "report.json", found.to_json() | {KEY: made})
    write_text(out / "report.md", markdown(found))
    drawn = save_figures({name: draw(census) for name, draw in DRAWN.items()}, out)
    files = (out / "report.md", out / "report.json", *drawn)
    return CensusReport(folder, files, found, time.perf_counter() - started, made)


def read_annotated(folder: Path) -> Columns:
    """The rows of an annotated census, some of them trained on half of a table."""
    census = law.columns_of(store.read_annotated(folder))
    if not any(setting.fraction == HALF for setting in law.settings_of(census)):
        raise InputError(
            f"a report needs networks that trained on half of a random table, got none in {folder}; its plan needs "
            "random = 12 under [tables] and fractions = [0.5] under [[settings]]"
        )
    return census


def findings(census: Columns) -> Findings:
    return Findings(
        words=outcomes.learned_words(census),
        networks=len(set(census["network"].tolist())),
        tables=len(set(census["table"].tolist())),
        steps=law.last_step(census),
        law=law.evaluate(census),
        accuracy_by_family=outcomes.by_family(census),
        verdicts=outcomes.by_verdict(census),
        surprises=outcomes.surprises(census),
        predictors=outcomes.evaluate(census),
    )


# ------------------------------------------------------------------------------------------------ for people


def markdown(found: Findings) -> str:
    """The report for people."""
    parts = [
        "# Census report",
        found.words,
        f"{found.networks:,} networks on {found.tables:,} tables, {found.steps} steps each.",
        "## Accuracy by family",
        "Test accuracy after training on half of the table; learned share: of those that reached 99 %.",
        "![accuracy by family](families.png)",
        table(found.accuracy_by_family),
        "## The loss law",
        "Ten-fold cross-validated mean absolute error of the test accuracy expected from the training loss. "
        "`error`: a curve for each setting; `error one curve`: one curve for all of them over the odds of the loss, "
        "relative to random tables. `random unexplained` is p times the loss of random tables; settings where it is "
        f"below {FREE:g}, where even random tables are memorised for free, are left out, and so is less than "
        f"{LEAST_FRACTION:g} of the table.",
        law_errors(found.law),
        *(part for held in found.law.errors_held_out for part in held_out_parts(held)),
        "One curve over other normalisations, chosen on one half of the tables and measured on the other:",
        table(found.law.errors_by_normalisation),
        "![loss against accuracy](law.png)",
        table(found.law.errors_by_setting),
        table(found.law.errors_by_family),
        "## Verdict against outcome",
        "![verdict against outcome](verdicts.png)",
        table((plain(row) | row.outcomes for row in found.verdicts), skip=("outcomes",)),
        "## Surprises",
        *(part for name, surprise in found.surprises.items() for part in surprise_parts(name, surprise)),
        "## Predictors",
        "Each with a monotone fit of its own at half of the table; the mean of the errors at all moduli and widths.",
        "![predictors](predictors.png)",
        table((plain(row) | row.error_by_group for row in found.predictors), skip=("error_by_group", "meaning")),
        "\n".join(f"- {row.predictor}: {row.meaning}" for row in found.predictors),
    ]
    return "\n\n".join(parts) + "\n"


def surprise_parts(name: str, found: outcomes.Surprise) -> list[str]:
    lead = f"### {name[0].upper()}{name[1:]}"
    return [lead, f"{found.networks:,} networks on {found.tables:,} tables; the strongest:", table(found.shown)]


def law_errors(found: law.LawErrors) -> str:
    errors = {
        "a curve for each setting": found.error_own_curves,
        "one curve for all settings": found.error_one_curve,
        "one curve, settings at half of the table": found.error_one_curve_half,
        f"one curve over the {found.networks_left_out:,} networks at settings that are left out": found.error_left_out,
    }
    return table({"curves": text, "mean absolute error": value} for text, value in errors.items())


def held_out_parts(found: law.HeldOutErrors) -> list[str]:
    """The errors of one way to hold networks out; those of tables are among the errors above."""
    if not found.error_by_group:
        return []
    groups = ({found.held_out: group, "error": value} for group, value in found.error_by_group.items())
    lead = f"With {found.held_out} held out, one at a time: {found.error:.3f} over {found.networks:,} networks."
    return [lead, table(groups)]


def table(found: Iterable[object], skip: tuple[str, ...] = ()) -> str:
    """Results, or objects of JSON, as a Markdown table."""
    rows: list[dict[str, Any]] = [plain(row) for row in found]
    if not rows:
        return "None."
    names = [name for name in rows[0] if name not in skip]
    cells = [[cell(row.get(name)) for name in names] for row in rows]
    return "\n".join(markdown_table([name.replace("_", " ") for name in names], cells)[:-1])


def cell(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
