"""The pages: links that lead somewhere, a navigation that has them all, names of the library that exist."""

from __future__ import annotations

import ast
import itertools
import json
import re
import runpy
import shlex
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from script_reader import read

import modgrok as mg
from modgrok.censuses import store
from modgrok.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md"]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode() for heading in headings)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in plain}


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if not re.match(r"\w+:", link)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_every_link_and_image_leads_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link} leads nowhere"
        assert page.parent != DOCS or target.is_relative_to(DOCS), f"{page.name}: {link} is not on the site"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link} names no heading"


def test_the_checks_see_links_headings_and_code():
    assert "training.md#the-fused-step" in links(DOCS / "cluster.md")
    assert "the-fused-step" in anchors(DOCS / "training.md") and "fused-step" not in anchors(DOCS / "training.md")
    assert not any("mg." in line for line in prose(DOCS / "tutorial.md").splitlines())


def test_every_page_is_in_the_navigation_once_and_the_other_way_round():
    named = re.findall(r"[\w-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == [page.name for page in PAGES]


def test_the_reference_has_every_public_name_once():
    shown = re.findall(r"^::: modgrok\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(shown) == sorted(mg.__all__)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_pages_use_names_of_the_library_that_exist(page):
    used = set(re.findall(r"\bmg\.(\w+)", page.read_text(encoding="utf-8")))
    assert used <= set(mg.__all__)
    code = [code for language, code in FENCE.findall(page.read_text(encoding="utf-8")) if language == "python"]
    assert not read("\n".join(code)).wrong


def test_every_picture_is_shown_somewhere():
    shown = {Path(link).name for page in PAGES for link in links(page) if "images/" in link}
    assert {picture.name for picture in (DOCS / "images").iterdir()} == shown


def test_the_picture_of_predictors_is_that_of_the_recorded_report():
    recorded = ROOT / "benchmarks" / "census" / "results" / "report" / "predictors.png"
    shown = DOCS / "images" / "census-predictors.png"
    assert shown.read_bytes() == recorded.read_bytes(), f"cp {recorded} {shown}"


@pytest.mark.slow
def test_the_tutorial_runs_from_beginning_to_end_and_prints_what_it_says():
    """What is compiled or decided must be as shown; what is trained may differ in its digits, so it is only run."""
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for _, code in FENCE.findall(text):
        exec(code, names)
    exact = ("network", "mg.verify(network)", "network.proof", "mg.predict(network, 12, 34)")
    assert all(f"{line}\n# {eval(line, names)!r}\n" in text for line in exact)


def shown_values(code: str) -> Iterator[tuple[str, str]]:
    """The statements of a block, and what it says below each as a comment; nothing where it says nothing."""
    lines = code.splitlines()
    for node in ast.parse(code).body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        below = itertools.takewhile(lambda line: line.startswith("# "), lines[node.end_lineno :])
        yield "\n".join(lines[first - 1 : node.end_lineno]), "\n".join(line[2:] for line in below)


def test_your_own_optimiser_loss_and_model_are_trained_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    text, digits = (DOCS / "your-own.md").read_text(encoding="utf-8"), re.compile(r"-[0-9a-f]{6}\b")
    for statement, shown in (pair for language, code in FENCE.findall(text) if language for pair in shown_values(code)):
        capsys.readouterr()
        asked = bool(shown) and isinstance(ast.parse(statement).body[0], ast.Expr)
        code = compile(statement, "page", "eval" if asked else "exec", dont_inherit=True)
        print(repr(eval(code, names))) if asked else exec(code, names)
        printed, told = capsys.readouterr()
        assert not shown or digits.sub("", printed.strip()) == digits.sub("", shown), statement
        assert ("no file holds" in told) == ("runs/own" in statement and "try" not in statement)


MODELS = {"power": "power network", "mlp": "3-layer ReLU MLP", "transformer": "transformer, one layer"}


def test_the_page_on_the_census_has_every_column():
    text = (DOCS / "census.md").read_text(encoding="utf-8")
    table = text[text.index("| columns | |") : text.index("columns need no training")]
    named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.rsplit("|", 2)[0])]
    assert sorted(named) == sorted([*store.ROWS.names, *store.ANNOTATIONS.names])


def test_the_page_on_training_has_the_recorded_ratios():
    """Of `bench train` on a GPU: every ratio, in the order of the columns, empty where it was not measured."""
    contenders = ("modgrok float32", "jax vmap scan", "jax one-hot", "torch", "torch batched")
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    for case in json.loads((ROOT / "benchmarks" / "results" / "bench-train-h200.json").read_text())["cases"]:
        ratios = [case["contenders"].get(name, {}).get("modgrok_is_faster_by") for name in contenders]
        words = ["" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}" for ratio in ratios]
        rate = case["contenders"]["modgrok"]["network_steps_per_second"]
        cells = [f"{case['modulus']}", f"{case['networks']:,}", f"{rate:,.0f}", *words]
        assert f"| {' | '.join(cells)} |".replace("|  |", "| |") in page


def test_the_page_on_mixtures_has_the_recorded_controls():
    """Final test accuracies of both seeds with the schedule of the page, on the control and on the polynomial."""
    page = (DOCS / "mix.md").read_text(encoding="utf-8")
    studies = json.loads((ROOT / "benchmarks" / "results" / "endtoend-control.json").read_text())
    shown = [study for study in studies if study["settings"]["modulus"] == 97]
    assert len(shown) == 4
    for study in shown:
        written = re.sub(r"\^(\d)", lambda power: "⁰¹²³⁴"[int(power[1])], study["settings"]["polynomial"])
        named = re.sub(r"(n1[²⁴]?) n2", r"\1n2", written).replace("-", "−")
        ends = {"control": [], "scratch": []}
        for entry in study["result"]:
            if entry["seed"] > 0 and entry["schedule"] == [[3.0, 0.3]] * 3:
                ends[entry["start"]].append(f"{100 * entry['test_accuracy'][-1]:.1f}")
        assert f"| {named} | {', '.join(ends['control'])} | {', '.join(ends['scratch'])} |" in page


def test_the_page_on_decompiling_has_the_recorded_counts():
    page = (ROOT / "docs" / "decompile.md").read_text()
    results = ROOT / "benchmarks" / "results"
    found = json.loads((results / "decompile.json").read_text())
    for group, counted in found["by_group"].items():
        assert re.search(rf"^\| {group}[^|]*\| {counted['networks']} \| {counted['good']} \|$", page, re.MULTILINE) or (
            group == "shuffled" and f"shuffled: no formula | {counted['networks']} | {counted['good']} |" in page
        )
    grokked = [row for row in found["rows"] if row["group"] == "grokked"]
    assert f"wrong on {sum(row['errors'] for row in grokked)} inputs in all" in page
    assert not any(row["same_error"] for row in grokked)
    assert len(grokked) >= 200 and all(row["right"] and row["agreement"] >= 0.99 for row in grokked)
    fresh = json.loads((results / "decompile-fresh.json").read_text())["fresh"].values()
    assert not any(kind["formulas"] for kind in fresh) and f"none of {sum(k['networks'] for k in fresh)} got" in page
    seconds = [row["seconds"] for row in json.loads((results / "decompile-113.json").read_text())["rows"]]
    assert min(seconds) >= 4 and max(seconds) <= 8


def test_the_page_on_inspection_has_the_recorded_numbers():
    """The table of models and the sentence below it, again from the stored rows."""
    text = (DOCS / "inspect.md").read_text(encoding="utf-8")
    rows = json.loads((ROOT / "benchmarks" / "results" / "mathematics-h200.json").read_text())["rows"]
    trained = {model: [row for row in rows if (row["model"], row["kind"]) == (model, "trained")] for model in MODELS}
    for model, name in MODELS.items():
        shares = [", ".join(f"{r[key]:.3f}" for r in trained[model]) for key in ("analytical_share", "sum_share")]
        frequencies = ", ".join(str(len(row["key_frequencies"])) for row in trained[model])
        assert f"| {name} | {' | '.join(shares)} | {frequencies} |" in text
    for kind in ("untrained", "memorised"):
        found = [row for row in rows if row["kind"] == kind]
        bound = re.search(rf"\| {kind}[^|]*\| below ([\d.]+) \| below ([\d.]+) \|", text)
        assert bound and max(row["analytical_share"] for row in found) < float(bound[1])
        assert max(row["sum_share"] for row in found) < float(bound[2])
    others = [row for model in ("mlp", "transformer") for row in trained[model]]
    excluded = sorted(row["excluded_loss"]["test"] for row in others)
    assert f"one of {excluded[0]:.1f} to {excluded[-1]:.1f} in the MLP and the transformer" in text
    assert all(row["test_accuracy"] == 1 and row["restricted_loss"]["test"] <= 0.05 for row in others)


def test_the_page_on_the_tasks_has_the_stored_numbers():
    script = runpy.run_path(str(ROOT / "benchmarks" / "tasks.py"))
    rows = script["page_rows"]()
    assert "\n".join(rows) in (DOCS / "tasks.md").read_text(encoding="utf-8"), "python benchmarks/tasks.py page"
    assert len(rows) == 14


PRINTED = [
    ("README.md", "modgrok compile"),
    ("docs/classify.md", "modgrok classify"),
    ("docs/classify.md", "modgrok check"),
    ("docs/inspect.md", "modgrok inspect net"),
    ("docs/decompile.md", "modgrok decompile net"),
    ("docs/groups.md", "modgrok predict s3"),
    ("docs/tasks.md", "modgrok tasks"),
]
"""Pages with a command that takes seconds, and what it prints."""


def shown_output(text: str, command: str) -> tuple[list[list[str]], str]:
    """The command lines of the first block with this command, and the words that the page shows as printed.

    The output stands below the last command of the block, or in the next one.
    """
    blocks = [code.strip().splitlines() for language, code in FENCE.findall(text) if not language]
    place = next(k for k, lines in enumerate(blocks) if any(command in line for line in lines))
    commands = [line for line in blocks[place] if "modgrok " in line]
    last = next(k for k, line in enumerate(commands) if command in line)
    below = blocks[place][blocks[place].index(commands[last]) + 1 :] or blocks[place + 1]
    return [shlex.split(line[line.index("modgrok") :])[1:] for line in commands[: last + 1]], "\n".join(below)


def words_of(printed: str) -> list[str]:
    """Words without what differs from machine to machine: the line of times, errors of rounding, and what a compiled
    network answers without its key frequencies, where rounding alone decides; where lines are broken says nothing."""
    rounding = re.compile(r"\b\d+(\.\d+)?e-(09|[1-9]\d)\b")
    lines = [
        rounding.sub("~0", line) for line in printed.splitlines() if not line.startswith(("time ", "without these "))
    ]
    return " ".join(lines).split()


@pytest.mark.parametrize(("page", "command"), PRINTED)
def test_pages_show_what_commands_print(page, command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "130")  # so wide that no cell of a table is wrapped
    commands, shown = shown_output((ROOT / page).read_text(), command)
    for arguments in commands:
        capsys.readouterr()
        assert main(arguments) == 0
    assert words_of(capsys.readouterr().out) == words_of(shown)


def test_the_gallery_has_the_pages_that_are_made_for_it():
    made = runpy.run_path(str(ROOT / "benchmarks" / "share_pages.py"))["PAGES"]
    linked = re.findall(r'href="shared/(\w+)\.html"', (DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert linked == list(made)
