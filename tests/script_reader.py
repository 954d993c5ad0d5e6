"""What a script calls on the public library, held against the library, without running the script."""

from __future__ import annotations

import ast
import inspect
from functools import cached_property
from typing import Any

import modgrok as mg
from modgrok.base.results import Result


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
