"""A document as a list of blocks, so that HTML and Markdown say the same.

Text is plain but for `code` in backticks and [links](#to-a-heading) within the page. Outside code, polynomials are set
with raised exponents and lowered indices: n1^4 becomes n₁⁴.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = str.maketrans("0123456789S", "₀₁₂₃₄₅₆₇₈₉ₛ")


@dataclass(frozen=True)
class Heading:
    level: int
    text: str

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Table:
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A PNG file with a description for those who cannot see it."""

    path: Path
    description: str
    caption: str


@dataclass(frozen=True)
class Details:
    """What is folded away under a line of text."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Bullets | Code | Table | Picture | Details


@dataclass(frozen=True)
class Document:
    title: str
    subtitle: str
    blocks: tuple[Block, ...]


LINK = re.compile(r"\[([^\]]+)\]\(#([a-z0-9-]+)\)")


def headings(document: Document) -> list[Heading]:
    """Those of the contents: what is folded away has none."""
    return [block for block in document.blocks if isinstance(block, Heading)]


def pieces(text: str) -> list[tuple[bool, str]]:
    """The text cut at backticks: (is it code?, what to print)."""
    parts = [(k % 2 == 1, part) for k, part in enumerate(text.split("`"))]
    return [(code, part if code else typeset(part)) for code, part in parts if part]


def typeset(text: str) -> str:
    """Polynomials as they are printed in books."""
    text = re.sub(r"(?<![A-Za-z])([ng])(\d+|S)\b", lambda m: m[1] + m[2].translate(LOWERED), text)
    text = re.sub(r"\bZ_(\d+)", lambda m: "Z" + m[1].translate(LOWERED), text)
    text = re.sub(r"(?<=[\w₀-₉ₛ)])\^(\d+)", lambda m: m[1].translate(RAISED), text)
    text = re.sub(r"(?<=[₀-₉⁰-⁹¹²³]) (?=n[₀-₉])", "\u202f", text)
    return text.replace(" - ", " − ")
