"""A document as one HTML page that needs nothing else: pictures and style are inside, and there is no script."""

from __future__ import annotations

import base64
import re
from html import escape

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

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6370; --line: #d9dce1; --pale: #f5f6f8; --link: #2446b8;
  --paper: #fff; --plain: #eceef1; --plain-ink: #3d4451; --good: #dcf3e3; --good-ink: #14622f; --mixed: #fdf0d0;
  --mixed-ink: #7a4d00; --bad: #fde0dd; --bad-ink: #97211a; }
@media (prefers-color-scheme: dark) { @media not print { :root { --ink: #e6e8eb; --soft: #a3abb8; --line: #3a404a;
  --pale: #22262c; --link: #9db4ff; --paper: #16191d; --plain: #2b3038; --plain-ink: #c3cad5; --good: #173d26;
  --good-ink: #9fe0b5; --mixed: #443310; --mixed-ink: #f5d58a; --bad: #4a1d1a; --bad-ink: #ffb4ad; } } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 54rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 Charter, "Bitstream Charter", "Source Serif 4", Cambria, Georgia, serif; overflow-wrap: break-word; }
h1, h2, h3, th, nav, .subtitle, figcaption, caption, .verdict {
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; margin: 3rem 0 .8rem; padding-bottom: .3rem; border-bottom: 2px solid var(--ink); }
h3 { font-size: 1.08rem; margin: 2.2rem 0 .6rem; }
p { margin: .7rem 0; }
li { margin: .35rem 0; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.subtitle { color: var(--soft); margin: 0 0 1.6rem; font-size: .95rem; }
nav { padding: 0 0 .8rem; font-size: .92rem; }
nav ol { margin: 0; padding: 0; list-style: none; }
nav > ol { columns: 2 17rem; column-gap: 2rem; }
nav ol ol { padding-left: 1.1rem; }
nav > ol > li { margin: .1rem 0 .5rem; font-weight: 600; }
nav ol ol li { margin: .12rem 0; font-weight: 400; }
code { font: .86em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  background: var(--pale); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
pre { background: var(--pale); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; }
pre code { background: none; padding: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; width: fit-content; max-width: 100%; margin: 1.1rem 0; border: 1px solid var(--line);
  border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; line-height: 1.4;
  font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; padding: .55rem .7rem; color: var(--soft); font-size: .84rem; }
th, td { padding: .42rem .5rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--pale); font-size: .8rem; font-weight: 600; vertical-align: bottom; }
caption + thead th { border-top: 1px solid var(--line); }
tbody:first-child tr:first-child td { border-top: 0; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
td.short { white-space: nowrap; }
td.middle { min-width: 7rem; }
td.long { min-width: 10.5rem; }
figure { margin: 1.4rem 0; }
.picture { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .4rem; background: #fff; }
.picture img { display: block; width: 100%; min-width: 36rem; height: auto; }
figcaption { color: var(--soft); font-size: .86rem; margin-top: .5rem; line-height: 1.45; }
.verdict { display: inline-block; padding: .08rem .5rem; border-radius: .6rem; font-size: .78rem; font-weight: 600;
  background: var(--plain); color: var(--plain-ink); }
.good { background: var(--good); color: var(--good-ink); }
.mixed { background: var(--mixed); color: var(--mixed-ink); }
.bad { background: var(--bad); color: var(--bad-ink); }
details { border: 1px solid var(--line); border-radius: 6px; padding: 0 .9rem; margin: .8rem 0; }
summary { cursor: pointer; padding: .5rem 0; font-size: .92rem; color: var(--link);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.abstract { font-size: 1.06rem; }
@media (max-width: 40rem) {
  body { padding: 1.4rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  h2 { font-size: 1.2rem; }
  figcaption::after { content: " (Wider than the screen: swipe it.)"; }
  table { font-size: .82rem; }
  caption span { display: inline-block; position: sticky; left: .7rem; max-width: calc(100vw - 7.4rem); }
  th, td { padding: .38rem .55rem; }
  .stack thead { display: none; }
  .stack tr { display: block; border-top: 1px solid var(--line); padding: .4rem 0; }
  .stack td, .stack td.number { display: block; border: 0; padding: .15rem .7rem; text-align: left; }
  .stack td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
}
@page { margin: 18mm 16mm; }
@media print {
  html { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  h1 { font-size: 18pt; }
  h2 { font-size: 13pt; margin-top: 1.8rem; }
  h3 { font-size: 11pt; margin-top: 1.4rem; }
  nav, figure, tr, pre, .brief, main > p { break-inside: avoid; }
  h2, h3, caption, main > p { break-after: avoid; }
  .scroll, .picture { overflow: visible; border: 0; padding: 0; }
  .picture img { min-width: 0; width: auto; max-width: 100%; max-height: 190mm; }
  table, thead th { font-size: 7.8pt; }
  td.short, td.number { white-space: normal; }
  td.middle, td.long { min-width: 0; }
  th, td { padding: .2rem .4rem; }
  pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
  a, summary { color: inherit; }
  details:not([open]) { border: 0; padding: 0; margin: .2rem 0; color: var(--soft); font-size: 8pt; }
  header + details { display: none; }
  .verdict { border: 1px solid currentColor; font-size: 7pt; }
}
"""


def render(document: Document) -> str:
    body = "\n".join(block_html(block) for block in document.blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(document.title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
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
