"""A document as one HTML page that needs nothing else: pictures and style are inside, and there is no script."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path

from modgrok.report.document import (
    LINK,
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
from modgrok.reproduction.item import Verdict

KINDS = {
    Verdict.REPRODUCED: "good",
    Verdict.FINDING: "good",
    "agrees": "good",
    Verdict.PARTLY: "mixed",
    Verdict.UNDECIDED: "mixed",
    "settings too weak": "mixed",
    Verdict.DIFFERS: "bad",
    "contradicts": "bad",
}
"""How verdicts and findings are coloured, by how they begin."""
NUMBER = re.compile(r"[-−]?[\d,.]+(e[-+]?\d+)?( %)?|–|")

BRIEF = 12
"""Tables of up to so many rows, none of them long, are not cut by the end of a page."""

STYLE = Path(__file__).with_name("style.css")


def render(document: Document) -> str:
    body = "\n".join(block_html(block) for block in document.blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(document.title)}</title>
<link rel="icon" href="data:,">
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{inline(document.title)}</h1>
<p class="subtitle">{inline(document.subtitle)}</p>
</header>
{contents(document)}
<main>
{body}
</main>
</body>
</html>
"""


def contents(document: Document) -> str:
    """The table of contents: sections, with their subsections."""
    sections: list[list[Heading]] = []
    for heading in headings(document):
        if heading.level == 2:
            sections.append([heading])
        else:
            sections[-1].append(heading)
    items = [f"<li>{link(first)}{listed([f'<li>{link(h)}</li>' for h in rest])}</li>" for first, *rest in sections]
    return f'<details><summary>Contents</summary><nav aria-label="Contents">{listed(items)}</nav></details>'


def link(heading: Heading) -> str:
    return f'<a href="#{heading.anchor}">{inline(heading.text)}</a>'


def listed(items: list[str]) -> str:
    return "<ol>\n" + "\n".join(items) + "\n</ol>" if items else ""


def block_html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f'<h{level} id="{block.anchor}">{inline(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{inline(text)}</p>"
        case Bullets(texts):
            return "<ul>" + "".join(f"<li>{inline(text)}</li>" for text in texts) + "</ul>"
        case Code(text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Picture(path, description, caption):
            data = base64.b64encode(path.read_bytes()).decode()
            image = f'<img alt="{escape(description)}" src="data:image/png;base64,{data}">'
            return f'<figure><div class="picture">{image}</div><figcaption>{inline(caption)}</figcaption></figure>'
        case Table():
            return table_html(block)
        case Details(summary, blocks):
            inside = "\n".join(map(block_html, blocks))
            return f"<details><summary>{inline(summary)}</summary>\n{inside}\n</details>"


def table_html(table: Table) -> str:
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.headings)
    kinds = [column_kind(column) for column in columns]
    caption = f"<caption><span>{inline(table.caption)}</span></caption>" if table.caption else ""
    cells = "".join(
        f'<th class="{kind}" scope="col">{inline(text)}</th>' for kind, text in zip(kinds, table.headings, strict=True)
    )
    head = f"<thead><tr>{cells}</tr></thead>" if any(table.headings) else ""
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}"{label(heading)}>{cell(text)}</td>'
            for kind, heading, text in zip(kinds, table.headings, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    scroll = "scroll brief" if len(table.rows) <= BRIEF and "long" not in kinds else "scroll"
    if "long" in kinds and any(table.headings):
        scroll += " stack"
    return f'<div class="{scroll}"><table>{caption}{head}\n<tbody>\n{rows}\n</tbody></table></div>'


def label(heading: str) -> str:
    """A column's heading, for narrow screens on which the cells of a row stand below each other."""
    return f' data-label="{escape(heading)}"' if heading else ""


def column_kind(texts: tuple[str, ...]) -> str:
    """How a column is set: numbers to the right, short texts on one line, long ones wrapped."""
    if all(NUMBER.fullmatch(text) for text in texts):
        return "number"
    longest = max((len(text) for text in texts), default=0)
    return "short" if longest <= 24 else "long" if longest > 44 else "middle"


def cell(text: str) -> str:
    for words, kind in KINDS.items():
        if text.startswith(words) and len(text) < 40:
            return f'<span class="verdict {kind}">{inline(text)}</span>'
    return inline(text)


def inline(text: str) -> str:
    parts = [f"<code>{escape(part)}</code>" if code else escape(part) for code, part in pieces(text)]
    linked = LINK.sub(r'<a href="#\2">\1</a>', "".join(parts))
    return linked.replace("\n", "<br>")
