"""The notebooks are valid, and call the public library as it is; `make notebooks` runs them."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import modgrok as mg
from modgrok.results import Result

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


def kinds() -> dict[str, type]:
    """Every kind of result by its name, once the public names are imported."""
    for name in mg.__all__:
        getattr(mg, name)
    found, waiting = {}, [Result]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting += kind.__subclasses__()
    return found


def named(annotation: Any) -> str:
    """The class that an annotation names, as text: `Run | None` is Run."""
    return str(annotation).removesuffix(" | None")


class Reader(ast.NodeVisitor):
    """Follows what a script calls on `mg` and on results, as far as annotations tell; collects what does not exist."""

    def __init__(self) -> None:
        self.kinds, self.variables = kinds(), {}
        self.wrong: list[str] = []
        self.seen = 0

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.variables[node.targets[0].id] = self.value(node.value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        owner = self.value(node.value)
        if owner is mg and node.attr not in mg.__all__:
            self.wrong.append(f"mg.{node.attr}")
        if isinstance(owner, type):
            self.seen += 1
            if not hasattr(owner, node.attr) and node.attr not in owner.__dataclass_fields__:
                self.wrong.append(f"{owner.__name__}.{node.attr}")

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        called = self.callee(node.func)
        if called is None:
            return
        parameters = inspect.signature(called).parameters.values()
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            unknown = {word.arg for word in node.keywords if word.arg} - {each.name for each in parameters}
            self.wrong += [f"{called.__name__}({word}=)" for word in sorted(unknown)]

    def callee(self, node: ast.expr) -> Any:
        """The function or method that is called, None where that is not known."""
        if not isinstance(node, ast.Attribute):
            return None
        owner = self.value(node.value)
        found = getattr(owner, node.attr, None) if owner is mg or isinstance(owner, type) else None
        return found if inspect.isfunction(found) else None

    def value(self, node: ast.expr) -> Any:
        """The module `mg`, or the kind of result that an expression has; None where that is not known."""
        if isinstance(node, ast.Name):
            return mg if node.id == "mg" else self.variables.get(node.id)
        if isinstance(node, ast.Call) and (called := self.callee(node.func)) is not None:
            return self.kinds.get(named(called.__annotations__.get("return")))
        if isinstance(node, ast.Attribute) and isinstance(owner := self.value(node.value), type):
            found = getattr(owner, node.attr, None)
            getter = (
                found.fget
                if isinstance(found, property)
                else found.func
                if isinstance(found, cached_property)
                else None
            )
            fields = {name: each.type for name, each in getattr(owner, "__dataclass_fields__", {}).items()}
            return self.kinds.get(named(getter.__annotations__.get("return") if getter else fields.get(node.attr)))
        return None


def read(source: str) -> Reader:
    reader = Reader()
    reader.visit(ast.parse(source))
    return reader


def test_there_are_the_notebooks_that_the_page_lists():
    listed = re.findall(r"^\| `(\w+\.py)`", (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [path.name for path in NOTEBOOKS] and len(listed) == 5


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
    assert imported <= {"modgrok", "numpy"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(ast.parse(source)))
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
