"""The rules of the package, read from its source: imports point one way, few packages, short modules, no eval."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import modgrok
from modgrok.cli import COMMANDS
from modgrok.paper.registry import ITEMS

ROOT = Path(modgrok.__file__).parent

ORDER = [
    *(
        "errors",
        "files",
        "results",
        "progress",
        "algebra",
        "separable",
        "networks",
        "compiler",
        "inspection",
        "loss_law",
        "training",
    ),
    *("answers", "census", "figures", "paper", "report", "explorer", "commands", "cli", "__main__"),
]
"""A module, or a folder of them, imports only what stands before it. docs/architecture.md says what each is for."""

EVERYWHERE = {"jax", "optax", "jaxtyping", "safetensors", "numpy", "scipy", "pyarrow", "matplotlib", "rich"}
"""Packages that every machine has, those with accelerators too."""
OPTIONAL = {"onnx", "onnxruntime", "torch", "duckdb", "ray", "starlette", "uvicorn"}
"""Packages that may be missing: imported only inside the functions that need them."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


TREES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def imported(tree: ast.AST) -> list[str]:
    """Full names of what the import statements below a node import: packages, or modules of modgrok."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            if node.module == "modgrok":
                names += [f"modgrok.{alias.name}" for alias in node.names]
            else:
                names.append(str(node.module))
    return names


def inner(tree: ast.AST) -> list[str]:
    names = [name.removeprefix("modgrok.") for name in imported(tree) if name.split(".")[0] == "modgrok"]
    return [name for name in names if name != "__version__"]


def outer(tree: ast.AST) -> set[str]:
    packages = {name.split(".")[0] for name in imported(tree)}
    return packages - {"modgrok", "__future__"} - set(sys.stdlib_module_names)


def unit(module: str) -> str:
    return module.split(".")[0]


def functions(tree: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("module", TREES)
def test_imports_point_one_way(module):
    if module == "__init__":
        return
    assert unit(module) in ORDER, f"say in ORDER and in docs/architecture.md where {unit(module)} stands"
    for name in inner(TREES[module]):
        assert unit(name) in ORDER, name
        assert ORDER.index(unit(name)) <= ORDER.index(unit(module)), f"{module} imports {name}, which comes later"


def test_no_module_imports_itself_through_others():
    above: dict[str, set[str]] = {module: set() for module in TREES}
    for module, tree in TREES.items():
        above[module] = {name for name in inner(tree) if name in TREES} - {module}
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module not in finished:
            for name in above[module]:
                visit(name, (*path, module))
            finished.add(module)

    for module in TREES:
        visit(module, ())
    assert finished == set(TREES)


@pytest.mark.parametrize("module", TREES)
def test_packages(module):
    """At the top of a module only what every machine has; inside functions, optional ones as well."""
    tree = TREES[module]
    lazily = set().union(*(outer(function) for function in functions(tree)))
    assert outer(tree) - EVERYWHERE <= OPTIONAL
    if unit(module) != "web":
        statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert outer(ast.Module(statements, [])) <= EVERYWHERE
        assert outer(tree) - EVERYWHERE <= lazily


@pytest.mark.parametrize("module", TREES)
def test_nothing_is_run_from_text_or_unpickled(module):
    names = {node.id for node in ast.walk(TREES[module]) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "__import__"}
    packages = {name.split(".")[0] for name in imported(TREES[module])}
    assert not packages & {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
    keywords = {node.arg for node in ast.walk(TREES[module]) if isinstance(node, ast.keyword)}
    assert "allow_pickle" not in keywords


@pytest.mark.parametrize("module", TREES)
def test_no_global_settings_of_jax_or_matplotlib(module):
    source = ast.unparse(TREES[module])
    assert "jax.config.update" not in source
    assert "pyplot" not in source
    assert "rcParams" not in source


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_short_and_say_what_they_are_for(path):
    source = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source))
    assert len(source.splitlines()) <= 400


def test_every_command_is_registered_and_has_its_three_functions():
    modules = {name.split(".")[1] for name in TREES if name.startswith("commands.")} - {"common"}
    assert modules == set(COMMANDS)
    for command in COMMANDS:
        defined = {node.name for node in TREES[f"commands.{command}"].body if isinstance(node, ast.FunctionDef)}
        assert defined >= {"add_arguments", "run", "show"}, command


def test_every_item_of_the_paper_can_be_computed():
    for item in ITEMS:
        defined = {node.name for node in TREES[f"paper.{item}"].body if isinstance(node, ast.FunctionDef)}
        assert "compute" in defined, item  # test_paper_items.py says what else a module of an item has


def test_the_public_surface_is_what_all_lists():
    assert sorted(modgrok.__all__) == modgrok.__all__
    assert all(hasattr(modgrok, name) for name in modgrok.__all__)
