"""Results as tables of text."""

from __future__ import annotations

from typing import Any

from modgrok.report.document import Table


def table_of(result: dict[str, Any], caption: str) -> Table:
    """The table that an item's own command prints."""
    columns = result["columns"]
    rows = tuple(tuple(cell(row[key]) for key in columns) for row in result["rows"])
    return Table(tuple(columns.values()), rows, caption)


def rows_table(rows: list[dict[str, Any]], columns: dict[str, str], caption: str) -> Table:
    """Some keys of equal-keyed rows, under headings."""
    return Table(tuple(columns.values()), tuple(tuple(cell(row[key]) for key in columns) for row in rows), caption)


def cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if value != 1 else "1"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def settings_text(settings: dict[str, Any]) -> str:
    """Settings in a line; what was not chosen is left out."""
    return ", ".join(f"{key.replace('_', ' ')} {short(value)}" for key, value in settings.items() if value is not None)


def short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)}" if value and isinstance(value[0], dict) else " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
