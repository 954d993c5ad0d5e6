"""The notebooks are valid, and call the public library as it is; `make notebooks` runs them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from script_reader import read

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


def cells(source: str) -> list[tuple[str, list[str]]]:
    """The cells of a percent script: the line that begins each, and its other lines."""
    found: list[tuple[str, list[str]]] = []
    for line in source.splitlines():
        if line.startswith("# %%"):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"{line!r} stands before the first cell")
    return found


def test_there_are_the_notebooks_that_the_page_lists():
    listed = re.findall(r"^\| `(\w+\.py)`", (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [path.name for path in NOTEBOOKS] and len(listed) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_cells_of_prose_and_code(path):
    found = cells(path.read_text(encoding="utf-8"))
    assert found[0][0] == "# %% [markdown]" and found[0][1][0].startswith("# # ")
    for head, lines in found:
        body = "\n".join(lines).strip()
        assert head in ("# %%", "# %% [markdown]") and body
        if head == "# %%":
            ast.parse(body)
        else:
            assert all(line.startswith("#") for line in body.splitlines()), body


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_the_public_library_as_it_is(path):
    source = path.read_text(encoding="utf-8")
    compile(source, path.name, "exec")
    imported = {
        alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for alias in node.names
    }
    own_loop = {"torch", "jax", "optax"} if path.stem == "what_did_my_network_learn" else set()
    assert imported <= {"modgrok", "numpy"} | own_loop
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(ast.parse(source)))
    assert not re.search(r"metrics\[\[|\.i?loc\b", source), (
        "run.metrics is columns, and a DataFrame only by to_pandas()"
    )
    reader = read(source)
    assert not reader.wrong
    assert reader.seen >= 4, "the names of results are no longer followed"


@pytest.mark.parametrize(
    ("script", "wrong"),
    [
        ("mg.learn('n1')", "mg.learn"),
        ("mg.train('n1', modulus=5)", "train(modulus=)"),
        ("run = mg.train('n1', mod=5)\nrun.show()", "Run.show"),
        ("run = mg.train('n1', mod=5)\nrun.inspect().plot_wave()", "Inspection.plot_wave"),
        ("run = mg.train('n1', mod=5)\nrun.inspect().logits.keys", "LogitsView.keys"),
        ("mg.sweep('n1', mod=5).best\nmg.sweep('n1', mod=5).worst", "Sweep.worst"),
        ("mg.train('n1', mod=5).plot(log=True)", "plot(log=)"),
    ],
)
def test_the_reader_finds_names_and_keywords_that_do_not_exist(script, wrong):
    assert read(script).wrong == [wrong]
