"""A document as a list of blocks, each of which says itself in HTML and in Markdown, so that both say the same.

Text is plain but for `code` in backticks and [links](#to-a-heading) within the page. Outside code, polynomials are set
with raised exponents and lowered indices: n1^4 becomes n₁⁴.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Protocol

from modgrok.reproduction.item import Verdict

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = str.maketrans("0123456789S", "₀₁₂₃₄₅₆₇₈₉ₛ")
LINK = re.compile(r"\[([^\]]+)\]\(#([a-z0-9-]+)\)")
NUMBER = re.compile(r"[-−]?[\d,.]+(e[-+]?\d+)?( %)?|–|")
STYLE = Path(__file__).with_name("style.css")
BRIEF = 12
"""Tables of up to so many rows, none of them long, are not cut by the end of a page."""
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


# ------------------------------------------------------------------------------------------ text


def typeset(text: str) -> str:
    """Polynomials as they are printed in books."""
    text = re.sub(r"(?<![A-Za-z])([ng])(\d+|S)\b", lambda m: m[1] + m[2].translate(LOWERED), text)
    text = re.sub(r"\bZ_(\d+)", lambda m: "Z" + m[1].translate(LOWERED), text)
    text = re.sub(r"(?<=[\w₀-₉ₛ)])\^(\d+)", lambda m: m[1].translate(RAISED), text)
    text = re.sub(r"(?<=[₀-₉⁰-⁹¹²³]) (?=n[₀-₉])", "\u202f", text)
    return text.replace(" - ", " − ")


def pieces(text: str) -> list[tuple[bool, str]]:
    """The text cut at backticks: (is it code?, what to print)."""
    parts = [(k % 2 == 1, part) for k, part in enumerate(text.split("`"))]
    return [(code, part if code else typeset(part)) for code, part in parts if part]


def in_html(text: str) -> str:
    parts = [f"<code>{escape(part)}</code>" if code else escape(part) for code, part in pieces(text)]
    linked = LINK.sub(r'<a href="#\2">\1</a>', "".join(parts))
    return linked.replace("\n", "<br>")


def in_markdown(text: str) -> str:
    """Text with what Markdown would take for markup escaped."""
    parts = []
    for code, part in pieces(text):
        parts.append(f"`{part}`" if code else part.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;"))
    return "".join(parts)


# ------------------------------------------------------------------------------------------ blocks


class Block(Protocol):
    """A part of the page: its HTML needs nothing else, its Markdown links to pictures from the folder that it is in."""

    def html(self) -> str: ...
    def markdown(self, folder: Path) -> str: ...


@dataclass(frozen=True)
class Heading:
    level: int
    text: str

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")

    def link(self) -> str:
        return f'<a href="#{self.anchor}">{in_html(self.text)}</a>'

    def html(self) -> str:
        return f'<h{self.level} id="{self.anchor}">{in_html(self.text)}</h{self.level}>'

    def markdown(self, folder: Path) -> str:
        return f'<a id="{self.anchor}"></a>\n\n{"#" * self.level} {in_markdown(self.text)}'


@dataclass(frozen=True)
class Paragraph:
    text: str

    def html(self) -> str:
        return f"<p>{in_html(self.text)}</p>"

    def markdown(self, folder: Path) -> str:
        return in_markdown(self.text)


@dataclass(frozen=True)
class Notice:
    """A paragraph that is not to be overlooked."""

    text: str

    def html(self) -> str:
        return f'<p class="notice" role="note">{in_html(self.text)}</p>'

    def markdown(self, folder: Path) -> str:
        return f"> **Note.** {in_markdown(self.text)}"


@dataclass(frozen=True)
class Bullets:
    texts: tuple[str, ...]

    def html(self) -> str:
        return "<ul>" + "".join(f"<li>{in_html(text)}</li>" for text in self.texts) + "</ul>"

    def markdown(self, folder: Path) -> str:
        return "\n".join(f"- {in_markdown(text)}" for text in self.texts)


@dataclass(frozen=True)
class Code:
    text: str

    def html(self) -> str:
        return f"<pre><code>{escape(self.text)}</code></pre>"

    def markdown(self, folder: Path) -> str:
        return f"```\n{self.text}\n```"


@dataclass(frozen=True)
class Picture:
    """A PNG file with a description for those who cannot see it."""

    path: Path
    description: str
    caption: str

    def html(self) -> str:
        data = base64.b64encode(self.path.read_bytes()).decode()
        image = f'<img alt="{escape(self.description)}" src="data:image/png;base64,{data}">'
        return f'<figure><div class="picture">{image}</div><figcaption>{in_html(self.caption)}</figcaption></figure>'

    def markdown(self, folder: Path) -> str:
        link = Path(os.path.relpath(self.path, folder)).as_posix()
        return f"![{in_markdown(self.description)}]({link})\n\n{in_markdown(self.caption)}"


@dataclass(frozen=True)
class Table:
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def html(self) -> str:
        """Each cell has its column's heading with it, for narrow screens on which cells stand below each other."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.headings)
        kinds = [column_kind(column) for column in columns]
        caption = f"<caption><span>{in_html(self.caption)}</span></caption>" if self.caption else ""
        named = list(zip(kinds, self.headings, strict=True))
        cells = "".join(f'<th class="{kind}" scope="col">{in_html(heading)}</th>' for kind, heading in named)
        head = f"<thead><tr>{cells}</tr></thead>" if any(self.headings) else ""
        labels = [f' data-label="{escape(heading)}"' if heading else "" for heading in self.headings]
        starts = [f'<td class="{kind}"{label}>' for kind, label in zip(kinds, labels, strict=True)]
        lines = (
            (f"{start}{cell_html(text)}</td>" for start, text in zip(starts, row, strict=True)) for row in self.rows
        )
        rows = "\n".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        scroll = "scroll brief" if len(self.rows) <= BRIEF and "long" not in kinds else "scroll"
        if "long" in kinds and any(self.headings):
            scroll += " stack"
        return f'<div class="{scroll}"><table>{caption}{head}\n<tbody>\n{rows}\n</tbody></table></div>'

    def markdown(self, folder: Path) -> str:
        lines = [self.headings, ("---",) * len(self.headings), *self.rows]
        cells = ([in_markdown(text).replace("|", "\\|").replace("\n", "<br>") for text in line] for line in lines)
        table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
        return f"{in_markdown(self.caption)}\n\n{table}" if self.caption else table


def column_kind(texts: tuple[str, ...]) -> str:
    """How a column is set: numbers to the right, short texts on one line, long ones wrapped."""
    if all(NUMBER.fullmatch(text) for text in texts):
        return "number"
    longest = max((len(text) for text in texts), default=0)
    return "short" if longest <= 24 else "long" if longest > 44 else "middle"


def cell_html(text: str) -> str:
    """Lines of a cell, each as a verdict if it is one."""
    return "<br>".join(map(line_html, text.split("\n")))


def line_html(text: str) -> str:
    for words, kind in KINDS.items():
        if text.startswith(words) and len(text) < 40:
            return f'<span class="verdict {kind}">{in_html(text)}</span>'
    return in_html(text)


@dataclass(frozen=True)
class Details:
    """What is folded away under a line of text."""

    summary: str
    blocks: tuple[Block, ...]

    def html(self) -> str:
        inside = "\n".join(block.html() for block in self.blocks)
        return f"<details><summary>{in_html(self.summary)}</summary>\n{inside}\n</details>"

    def markdown(self, folder: Path) -> str:
        inside = "\n\n".join(block.markdown(folder) for block in self.blocks)
        return f"<details>\n<summary>{in_markdown(self.summary)}</summary>\n\n{inside}\n\n</details>"


# ------------------------------------------------------------------------------------------ the whole


@dataclass(frozen=True)
class Document:
    title: str
    subtitle: str
    blocks: tuple[Block, ...]

    def headings(self) -> list[Heading]:
        """Those of the contents: what is folded away has none."""
        return [block for block in self.blocks if isinstance(block, Heading)]

    def markdown(self, folder: Path) -> str:
        contents = [f"{'  ' * (h.level - 2)}- [{in_markdown(h.text)}](#{h.anchor})" for h in self.headings()]
        blocks = [block.markdown(folder) for block in self.blocks]
        opening = [f"# {in_markdown(self.title)}", in_markdown(self.subtitle), "\n".join(contents)]
        return "\n\n".join([*opening, *blocks]) + "\n"

    def html(self) -> str:
        """One page that needs nothing else: pictures and style are inside, and there is no script."""
        body = "\n".join(block.html() for block in self.blocks)
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(self.title)}</title>
<link rel="icon" href="data:,">
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{in_html(self.title)}</h1>
<p class="subtitle">{in_html(self.subtitle)}</p>
</header>
{self.contents_html()}
<main>
{body}
</main>
</body>
</html>
"""

    def contents_html(self) -> str:
        """The table of contents: sections, with their subsections."""
        sections: list[list[Heading]] = []
        for heading in self.headings():
            if heading.level == 2:
                sections.append([heading])
            else:
                sections[-1].append(heading)
        items = [
            f"<li>{first.link()}{listed([f'<li>{h.link()}</li>' for h in rest])}</li>" for first, *rest in sections
        ]
        return f'<details><summary>Contents</summary><nav aria-label="Contents">{listed(items)}</nav></details>'


def listed(items: list[str]) -> str:
    return "<ol>\n" + "\n".join(items) + "\n</ol>" if items else ""
