"""A document as Markdown, with its pictures beside it."""

from __future__ import annotations

import os
from pathlib import Path

from modgrok.report.document import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Heading,
    Paragraph,
    Picture,
    Table,
    headings,
    pieces,
)


def render(document: Document, folder: Path) -> str:
    """The text of a file in `folder`; pictures are linked from there."""
    contents = "\n".join(f"{'  ' * (h.level - 2)}- [{inline(h.text)}](#{h.anchor})" for h in headings(document))
    blocks = [block_markdown(block, folder) for block in document.blocks]
    return "\n\n".join([f"# {inline(document.title)}", inline(document.subtitle), contents, *blocks]) + "\n"


def block_markdown(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text):
            return f'<a id="{block.anchor}"></a>\n\n{"#" * level} {inline(text)}'
        case Paragraph(text):
            return inline(text)
        case Bullets(texts):
            return "\n".join(f"- {inline(text)}" for text in texts)
        case Code(text):
            return f"```\n{text}\n```"
        case Picture(path, description, caption):
            link = Path(os.path.relpath(path, folder)).as_posix()
            return f"![{inline(description)}]({link})\n\n{inline(caption)}"
        case Table(columns, rows, caption):
            lines = [columns, ("---",) * len(columns), *rows]
            table = "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)
            return f"{inline(caption)}\n\n{table}" if caption else table
        case Details(summary, blocks):
            inside = "\n\n".join(block_markdown(part, folder) for part in blocks)
            return f"<details>\n<summary>{inline(summary)}</summary>\n\n{inside}\n\n</details>"


def cell(text: str) -> str:
    return inline(text).replace("|", "\\|").replace("\n", "<br>")


def inline(text: str) -> str:
    """Text with what Markdown would take for markup escaped."""
    parts = []
    for code, part in pieces(text):
        parts.append(f"`{part}`" if code else part.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;"))
    return "".join(parts)
