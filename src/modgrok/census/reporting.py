"""The report of a census: Markdown tables, all from the stored rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modgrok.census import law, outcomes, predictors, store
from modgrok.census.law import Columns
from modgrok.census.predictors import HALF
from modgrok.errors import InputError
from modgrok.files import write_json, write_text


def read_annotated(folder: Path) -> Columns:
    """The rows of a census that has been annotated."""
    rows = store.read_rows(folder)
    if "verdict" not in rows.column_names or rows["verdict"].null_count:
        raise InputError(f"rows of {folder} are not annotated yet; run: modgrok census annotate {folder}")
    census = law.columns_of(rows)
    if not any(setting.fraction == HALF for setting in law.settings_of(census, steps=law.last_step(census))):
        raise InputError(f"a report is about training on half of tables, random ones among them; {folder} has none")
    return census


def write_report(census: Columns, out: Path) -> dict[str, Any]:
    """Write report.md and report.json; figures are drawn beside them by `modgrok.figures.census`."""
    content = summary(census)
    write_json(out / "report.json", content)
    write_text(out / "report.md", markdown(content))
    return content


def summary(census: Columns) -> dict[str, Any]:
    """Everything that the report says, as plain data."""
    errors = law.evaluate(census)
    return {
        "networks": len(set(census["network"].tolist())),
        "tables": len(set(census["table"].tolist())),
        "steps": law.last_step(census),
        "error_own_curves": errors["error_own_curves"],
        "error_one_curve": errors["error_one_curve"],
        "error_one_curve_not_free": errors["error_one_curve_not_free"],
        "error_one_curve_half": errors["error_one_curve_half"],
        "error_held_out_settings": errors["error_held_out_settings"],
        "normalisations": errors["normalisations"],
        "settings": errors["settings"],
        "families": errors["families"],
        "accuracy": outcomes.by_family(census),
        "verdicts": outcomes.by_verdict(census),
        "surprises": outcomes.surprises(census),
        "predictors": predictors.evaluate(census),
    }


def markdown(content: dict[str, Any]) -> str:
    """The report for people."""
    parts = [
        "# Census report",
        f"{content['networks']:,} networks on {content['tables']:,} tables, {content['steps']} steps each.",
        "## Accuracy by family",
        "Test accuracy after training on half of the table; learned: the share that reached 99 %.",
        "![accuracy by family](families.png)",
        table(content["accuracy"]),
        "## The loss law",
        "Ten-fold cross-validated mean absolute error of the test accuracy predicted from the training loss. "
        "`error`: a curve for each setting; `error_one_curve`: one curve for all of them over the odds of the loss, "
        "relative to random tables. `random_unexplained` is p times the loss of random tables; below "
        f"{law.FREE:g} they count as memorised for free.",
        facts(content),
        table(content["normalisations"]),
        "![loss against accuracy](law.png)",
        table(content["settings"]),
        table(content["families"]),
        "## Verdict against outcome",
        "![verdict against outcome](verdicts.png)",
        table(content["verdicts"]),
        "## Surprises",
        *(part for name, found in content["surprises"].items() for part in surprise(name, found)),
        "## Predictors",
        "Each with a monotone fit of its own at half of the table; the mean of the errors at all moduli and widths.",
        "![predictors](predictors.png)",
        table([row | row["errors"] for row in content["predictors"]], skip=("errors", "meaning")),
        "\n".join(f"- {row['predictor']}: {row['meaning']}" for row in content["predictors"]),
    ]
    return "\n\n".join(parts) + "\n"


def surprise(name: str, found: dict[str, Any]) -> list[str]:
    lead = f"### {name[0].upper()}{name[1:]}"
    return [
        lead,
        f"{found['networks']:,} networks on {found['tables']:,} tables; the strongest:",
        table(found["shown"]),
    ]


def facts(content: dict[str, Any]) -> str:
    names = {
        "error_own_curves": "a curve for each setting",
        "error_one_curve": "one curve for all settings",
        "error_one_curve_not_free": "one curve, without settings that memorise random tables for free",
        "error_one_curve_half": "one curve, settings at half of the table",
        "error_held_out_settings": "settings that no curve has seen, interpolated between others",
    }
    return table([{"curves": text, "mean absolute error": content[name]} for name, text in names.items()])


def table(rows: list[dict[str, Any]], skip: tuple[str, ...] = ()) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "None."
    names = [name for name in rows[0] if name not in skip]
    lines = [names, ["---"] * len(names), *([cell(row.get(name)) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
