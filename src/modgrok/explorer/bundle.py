"""The explorer's page as one file: modules, styles and fonts inside, and nothing that is fetched.

A browser loads no module from a disk, and a page that others are sent should forbid itself all requests. So the ES
modules become one script: each is a function that is called once, in the order in which they import each other, and
returns what it exports. The Content-Security-Policy names the scripts and the style by their digests.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath

from modgrok.base.results import json_text

PAGE = Path(__file__).parent / "page"
IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|let|class|function|async function)\s+(\w+))", re.MULTILINE)
EXPORTS = re.compile(r"export\s*\{([^}]*)\};?\s*\Z")
FONT = re.compile(r'url\("\.\./(vendor/[\w.-]+)"\)')
STYLES = ("vendor/uPlot.min.css", "style/base.css", "style/parts.css", "style/views.css", "style/shared.css")
SCRIPTS = ("theme.js", "vendor/uPlot.iife.min.js")
"""What stands before the modules, as it is."""


def source(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def bundled(main: str, instead: Mapping[str, str]) -> str:
    """A module and all that it imports as one script; `instead` names modules that stand in for others."""
    done: dict[str, str] = {}
    add_module(main, instead, done, ())
    return "const modules = {};\n" + "\n".join(done.values())


def add_module(name: str, instead: Mapping[str, str], done: dict[str, str], above: tuple[str, ...]) -> None:
    """Add a module after those that it imports."""
    name = instead.get(name, name)
    if name in done:
        return
    assert name not in above, f"modules import each other: {' → '.join((*above, name))}"
    text = source(name)
    for _, _, path in IMPORT.findall(text):
        add_module(normpath(join(dirname(name), path)), instead, done, (*above, name))
    done[name] = as_function(name, text, instead)


def as_function(name: str, text: str, instead: Mapping[str, str]) -> str:
    """One module as a function that returns what it exports."""

    def taken(found: re.Match[str]) -> str:
        names, whole, path = found.groups()
        other = normpath(join(dirname(name), path))
        what = whole or f"{{{(names or '').replace(' as ', ': ')}}}"
        return f'const {what} = modules["{instead.get(other, other)}"];'

    exported = {each: each for each in EXPORT.findall(text)}
    if listed := EXPORTS.search(text):
        pairs = [each.split(" as ") for each in listed[1].split(",")]
        exported |= {pair[-1].strip(): pair[0].strip() for pair in pairs}
        text = EXPORTS.sub("", text)
    body = EXPORT.sub("", IMPORT.sub(taken, text)).strip()
    assert not re.search(r"^(?:import|export)\b", body, re.MULTILINE), f"{name} imports or exports in an odd way"
    given = ", ".join(f"{outside}: {inside}" for outside, inside in exported.items())
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {given} }};\n}})();'


def styles() -> str:
    """All style sheets, with the fonts in them."""
    text = "\n".join(map(source, STYLES))
    return FONT.sub(lambda found: f'url("data:font/woff2;base64,{of_file(found[1])}")', text)


def of_file(name: str) -> str:
    return b64encode((PAGE / name).read_bytes()).decode()


@lru_cache(maxsize=1)
def frame() -> tuple[str, tuple[str, ...]]:
    """What every shared page has: its style and its scripts."""
    modules = bundled("shared.js", {"api.js": "shared_api.js"})
    return styles(), (*map(source, SCRIPTS), f'"use strict";\n(() => {{\n{modules}\n}})();')


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def policy(style: str, scripts: tuple[str, ...]) -> str:
    """Nothing from elsewhere, and no script or style but those of this page."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(digest, scripts))}",
            f"style-src {digest(style)}",
            "font-src data:",
            "img-src data: blob:",
            "media-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def whole_page(title: str, about: str, data: object) -> str:
    """The page that shows `data` (`explorer.sharing`). What is in them is text: no word of it becomes an element."""
    style, scripts = frame()
    for text in scripts:
        assert "</script" not in text.lower() and "<!--" not in text
    values = {
        "policy": escape(policy(style, scripts)),
        "title": escape(title),
        "about": escape(about),
        "icon": of_file("icon.svg"),
        "style": style,
        "data": json_text(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "scripts": "\n".join(f"<script>{text}</script>" for text in scripts),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], source("shared.html"))
