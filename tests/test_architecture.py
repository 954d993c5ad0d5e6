"""The rules of the package, read from its source: imports point one way, few packages, short modules, no eval.

A rule looks at every module and names all that break it at once.
"""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import modgrok
from modgrok.base.compilation_cache import options
from modgrok.base.repository import STUDIES
from modgrok.cli import COMMANDS
from modgrok.reproduction.registry import ITEMS

ROOT, TESTS = Path(modgrok.__file__).parent, Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"

ORDER = [
    *("base", "algebra", "proofs", "separable", "recognition", "networks", "compiler", "inspection"),
    *(
        "loss_law",
        "training",
        "experiments",
        "answers",
        "censuses",
        "figures",
        "reproduction",
        "report",
        "explorer",
        "commands",
        "cli",
    ),
    "__main__",
]
"""A module, or a folder of them, imports only what stands before it. docs/architecture.md says what each is for."""

EVERYWHERE = {"jax", "optax", "jaxtyping", "safetensors", "numpy", "scipy", "pyarrow", "matplotlib", "rich"}
"""Packages that every machine has, those with accelerators too."""
OPTIONAL = {
    *("onnx", "onnxruntime", "torch", "duckdb", "ray", "starlette", "uvicorn"),
    *("pandas", "IPython", "tensorboardX", "wandb", "threadpoolctl"),
}
"""Packages that may be missing: imported only inside the functions that need them."""
RUNS_TEXT = {"eval", "exec", "__import__"}
UNPICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
STEPS_OF_TRAINING = {"apply_updates", "grad", "value_and_grad"}
CACHE_OPTIONS = ("jax_compilation_cache_", "jax_persistent_cache_")
"""What `compilation_cache`, and nothing else, may set in JAX's configuration."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
TREES = {module: ast.parse(source) for module, source in SOURCES.items()}


def room(module: str) -> str:
    return module.split(".")[0]


def statements(node: ast.AST, *, lazily: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements below a node, and whether each stands inside a function, or is for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazily
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            inside |= isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            yield from statements(child, lazily=lazily or inside)


def imported(module: str) -> Iterator[tuple[str, bool]]:
    """Full names of packages, and of modules of modgrok, that a module imports, and whether inside a function."""
    for node, lazily in statements(TREES[module]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazily) for alias in node.names)
            continue
        source = "." * node.level + (node.module or "")
        for name in (f"{source}.{alias.name}" for alias in node.names):
            known = name.removeprefix("modgrok.") in TREES or source == "modgrok"
            yield name if known and name != "modgrok.__version__" else source, lazily


def inner(module: str) -> list[str]:
    """Modules of modgrok that a module needs; a result may draw itself: figures inside functions do not count."""
    names = [
        (name.removeprefix("modgrok."), lazily) for name, lazily in imported(module) if name.startswith("modgrok.")
    ]
    return [name for name, lazily in names if not (lazily and room(name) == "figures")]


def outer(module: str) -> set[tuple[str, bool]]:
    """Packages outside the standard library that a module imports, and whether inside a function."""
    known = {"modgrok", "", *sys.stdlib_module_names}
    return {(room(name), lazily) for name, lazily in imported(module) if room(name) not in known}


def used_names(tree: ast.AST) -> set[str]:
    """Every name that is read, called or reached with a dot."""
    nodes = list(ast.walk(tree))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def none(offenders: Iterable[str]) -> None:
    """Fails with all offenders, one a line."""
    found = list(offenders)
    assert not found, "\n" + "\n".join(found)


# --------------------------------------------------------------------------------------------- imports


def test_every_room_has_its_place_in_the_order():
    rooms = {room(module) for module in TREES} - {"__init__"}
    none(f"{name}: say in ORDER and in docs/architecture.md where it stands" for name in sorted(rooms - set(ORDER)))


def test_no_name_of_a_module_stands_in_three_rooms():
    rooms: dict[str, set[str]] = {}
    for module in (module for module in TREES if "." in module):
        rooms.setdefault(module.rpartition(".")[2], set()).add(room(module))
    none(f"{name}.py in {', '.join(sorted(found))}" for name, found in rooms.items() if len(found) > 2)


def test_imports_point_one_way():
    place = {name: k for k, name in enumerate(ORDER)}
    none(
        f"{module} imports {name}, which comes later"
        for module in TREES
        if module != "__init__"
        for name in inner(module)
        if place.get(room(name), len(ORDER)) > place.get(room(module), -1)
    )


def test_no_import_is_relative():
    none(
        f"{module}: import {name} hides the direction"
        for module in TREES
        for name, _ in imported(module)
        if name.startswith(".")
    )


def test_no_module_imports_itself_through_others():
    needed = {module: {name for name in inner(module) if name in TREES} - {module} for module in TREES}
    cycles: list[str] = []
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            cycles.append(" -> ".join([*path[path.index(module) :], module]))
        elif module not in finished:
            for name in sorted(needed[module]):
                visit(name, (*path, module))
            finished.add(module)

    for module in TREES:
        visit(module, ())
    none(cycles)
    assert finished == set(TREES)


def test_at_the_top_of_a_module_stand_packages_that_every_machine_has_and_optional_ones_only_inside_functions():
    none(
        f"{module} imports {package}" + ("" if lazily else " at its top")
        for module in TREES
        for package, lazily in sorted(outer(module))
        if package not in EVERYWHERE and not (lazily and package in OPTIONAL)
    )


def test_the_kernel_imports_nothing_that_compiles_searches_or_runs_networks():
    """What proves must not lean on what is proved."""
    allowed = ("base.errors", "base.fixed", "base.results")
    none(
        f"{module} imports {name}"
        for module in TREES
        if room(module) == "proofs"
        for name in [*inner(module), *(package for package, _ in outer(module))]
        if name not in allowed and room(name) not in ("proofs", "numpy")
    )


def test_only_the_kernel_can_make_a_proof():
    none(
        f"{module} names {name}"
        for module, tree in TREES.items()
        if room(module) != "proofs"
        for name in sorted(
            {"_KERNEL", "_made_by"} & (used_names(tree) | {imported for imported, _ in imported_names(tree)})
        )
    )


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that a module takes from others, and from where."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.name, str(node.module)) for alias in node.names)


def test_only_figures_draw():
    none(
        f"{module} imports matplotlib; draw in figures/"
        for module in TREES
        if ("matplotlib", True) in outer(module) or ("matplotlib", False) in outer(module)
        if room(module) != "figures"
    )


def test_no_test_imports_another_test():
    """What several tests use stands in a module whose name says so, such as cases.py."""
    none(
        f"{path.name} imports {name}"
        for path in sorted(TESTS.glob("*.py"))
        for node, _ in statements(ast.parse(path.read_text(encoding="utf-8")))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)])
        if name.split(".")[-1].startswith(("test_", "conftest"))
    )


# ---------------------------------------------------------------------------------- what no module does


def test_nothing_is_run_from_text_or_unpickled():
    found = []
    for module, tree in TREES.items():
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & RUNS_TEXT
        packages = {room(name) for name, _ in imported(module)} & UNPICKLES
        keywords = {str(node.arg) for node in ast.walk(tree) if isinstance(node, ast.keyword)} & {"allow_pickle"}
        found += [f"{module} uses {name}" for name in sorted(names | packages | keywords)]
    none(found)


def test_no_module_sets_what_all_share_in_jax_or_matplotlib():
    """Two experiments in one process must not change each other; where compilations are kept changes no number."""
    found = []
    for module, tree in TREES.items():
        found += [f"{module} uses {name}" for name in sorted(used_names(tree) & {"pyplot", "rcParams"})]
        found += [f"{module} imports {name}" for name, _ in imported(module) if name == "matplotlib.pyplot"]
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found += [f"{module} sets options of JAX" for call in calls if call.endswith("config.update")]
    none(line for line in found if line != "base.compilation_cache sets options of JAX")
    none(f"{name} is no option of the cache" for name in options(Path("x")) if not name.startswith(CACHE_OPTIONS))


def test_training_happens_in_one_room():
    none(
        f"{module} uses {name}; train in training/"
        for module, tree in TREES.items()
        if room(module) != "training"
        for name in sorted(used_names(tree) & STEPS_OF_TRAINING)
    )


# ------------------------------------------------------------------------------ what every module has


def test_modules_say_what_they_are_for_in_at_most_400_lines():
    none(f"{module} has no docstring" for module, tree in TREES.items() if not ast.get_docstring(tree))
    lengths = {module: len(source.splitlines()) for module, source in SOURCES.items()}
    none(f"{module} has {length} lines; make it two" for module, length in lengths.items() if length > 400)


def test_every_shape_can_be_read():
    """What cannot be evaluated where a function is defined would be checked as Any, without a word."""
    found = []
    for module, tree in TREES.items():
        shapes = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "jaxtyping"
            for alias in node.names
        }
        annotations = [getattr(node, "annotation", None) or getattr(node, "returns", None) for node in ast.walk(tree)]
        for annotation in filter(None, annotations):
            if used_names(annotation) & shapes:
                try:
                    eval(ast.unparse(annotation), vars(import_module(f"modgrok.{module}")))
                except Exception as error:
                    found.append(f"{module}, line {annotation.lineno}: {ast.unparse(annotation)} ({error})")
    none(found)


def test_every_command_is_registered_and_has_its_three_functions():
    modules = {name.split(".")[1] for name in TREES if name.startswith("commands.")} - {"common", "reference"}
    assert modules == set(COMMANDS)
    none(
        f"commands.{command} has no function {name}"
        for command in COMMANDS
        for name in ("add_arguments", "run", "show")
        if name not in functions_of(f"commands.{command}")
    )


def test_every_item_of_the_paper_can_be_computed():
    trees = {
        name: ast.parse((STUDIES / f"{name}.py").read_text()) if item.is_study else TREES[f"reproduction.{name}"]
        for name, item in ITEMS.items()
    }
    none(f"{name} has no function compute" for name, tree in trees.items() if "compute" not in functions_in(tree))


def functions_of(module: str) -> set[str]:
    return functions_in(TREES[module])


def functions_in(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_package_imports_no_study_by_name():
    """An installed package has none: `base.repository` looks for them."""
    none(f"{module} imports {name}" for module in TREES for name, _ in imported(module) if room(name) == "studies")


def test_the_public_surface_is_what_all_lists():
    assert sorted(modgrok.__all__) == modgrok.__all__
    none(f"modgrok has no {name}" for name in modgrok.__all__ if not hasattr(modgrok, name))


def test_no_room_has_the_name_of_a_verb():
    """Importing the folder would put it where the verb belongs: modgrok.census would be one or the other."""
    none(f"the room {name} has the name of a verb" for name in ORDER if name in modgrok.__all__)


def test_one_json_encoder_and_one_way_to_the_terminal():
    calls = {
        module: {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for module, tree in TREES.items()
    }
    none(m for m, called in calls.items() if "json.dumps" in called and m != "base.results")
    none(m for m, called in calls.items() if "Console" in called and m != "base.printing")


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda script: script.stem)
def test_every_benchmark_finds_what_it_imports(script, monkeypatch):
    """They are run by hand, now and then, so what they lack would go unnoticed otherwise.

    Plain scripts, which do without an `if __name__ == "__main__"`, train a tiny network: modulus, width, steps.
    """
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr("sys.argv", [str(script), "5", "4", "10"])
    try:
        runpy.run_path(str(script), run_name=script.stem)
    except ModuleNotFoundError as missing:
        if missing.name.partition(".")[0] == "modgrok":
            raise
        pytest.skip(f"{missing.name} is not installed; `make dev` installs it")
