"""Is anything wrong ever called proved? Faults put into compiler and search: python benchmarks/mutations.py

A fault is a small change of the syntax tree of one module: a sign, an index, a modulus, a phase, a comparison, a
boolean, a constant, or a dropped statement. With it, in a process of its own, the questions of `mutation_questions` are
asked. The kernel (`proofs`, `networks.proving`) and the compiler's call of it have no faults: they are what is tried.

  caught by the kernel   something was refused: a network by a `FaultError`, or a verdict that was taken back
  crashed                an exception or an assertion, and nothing wrong
  other but right        other weights, witnesses or refutations, or unknown; what is said holds
  changed nothing        every answer is as it is without the fault
  did not end            within the time limit
  wrong and proved       also: a wrong network that `compile` gave out; there must be none

Writes benchmarks/results/mutations.json after every fault, and goes on from there as long as the sources are the same.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from brute_force import in_class_by_force
from mutation_questions import IMPORTS, Decided, verdicts
from writing import sittings_in, write_found

import modgrok
from modgrok.base.files import read_json

ROOT, HERE = Path(modgrok.__file__).parent, Path(__file__).parent
FILES = {
    "compiler": "planner plan steps choosing exact_weights phases margins compiling random_weights",
    "algebra": "expression field polynomial",
    "separable": "decision",
    "separable/procedures": "obstructions search propagation trails pairs several algebraic climbing",
    "separable/reductions": "reduction automorphisms partial grouping orders",
}
MODULES = [f"{room}/{name}.py" for room, names in FILES.items() for name in names.split()]
DOOR = {"given_out", "proved", "compile_exact", "compile_paper", "compile_table", "read_expression", "read_function"}
"""The compiler's call of the kernel, and the calls that hand on to it what was typed, stay as they are."""
KINDS = ("sign", "index", "modulus", "phase", "comparison", "boolean", "constant", "dropped")
MODULI = {"m", "mod", "modulus", "order", "group_order", "p", "n"}
OTHER_ORDER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
DROPPED = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.Return, ast.Continue, ast.Break)
OPPOSITE = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
OTHER_WAVE = {"cos": "sin", "sin": "cos"}
TRIES = 10_000
"""By exhaustion a verdict is judged where there are at most so many places of all variables but the last."""
HOW = (
    "seed s draws with Python's random.Random(s): first compiler and algebra or separable, then a file, a kind of "
    "fault, a place and what is put there, each with equal chances; only lines that run while the questions are asked "
    "without a fault, and no fault twice; of each fault those questions are asked that run its statement"
)


# ------------------------------------------------------------------------------------------------- faults


class Fault(NamedTuple):
    file: str
    kind: str
    place: int
    choice: int


class Applied(NamedTuple):
    lines: range
    line: int
    before: str
    after: str
    source: str


def parsed(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def nodes_of(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.stmt | None]]:
    """What may be changed, with its statement: no imports, annotations, decorators, patterns or words for people."""

    def below(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt | None]]:
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr | ast.pattern | ast.Assert):
            return
        if isinstance(node, ast.FunctionDef) and node.name in DOOR:
            return
        if isinstance(node, ast.Call) and names_in(node) & DOOR:
            return
        yield node, statement
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from below(child, statement)

    yield from below(tree, None)


def names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def plus(node: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def changes(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[str, ast.AST]]:
    """Every way to put something else in place of a node, by kinds."""
    new = copy.copy(node)
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        if not any(is_text(side) or isinstance(side, ast.List | ast.Tuple) for side in sides):
            new.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()  # type: ignore[attr-defined]
            yield "sign", new
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not is_text(node.left):
        yield from (("modulus", ast.BinOp(node.left, ast.Mod(), plus(node.right, by))) for by in (1, -1))
        yield "modulus", node.left
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in MODULI:
            yield from (("modulus", plus(node, by)) for by in (1, -1))
        if name == "pi":
            yield from (("phase", ast.BinOp(node, ast.Mult(), ast.Constant(by))) for by in (0.5, 2))
        if name in OTHER_WAVE and isinstance(node, ast.Attribute):
            yield "phase", ast.Attribute(node.value, OTHER_WAVE[name], ast.Load())
    if isinstance(node, ast.Constant) and type(node.value) is float:
        yield from (("phase", ast.Constant(value)) for value in (2 * node.value, node.value / 2, 1.0 - node.value))
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from (("index", ast.Subscript(node.value, moved, ast.Load())) for moved in indices(node.slice))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args:
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name in ("range", "arange"):
            for by in (1, -1):
                yield "index", ast.Call(node.func, [*node.args[:-1], plus(node.args[-1], by)], node.keywords)
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for others in (OTHER_ORDER, OPPOSITE):
                if type(op) in others:
                    yield "comparison", ast.Compare(node.left, [*node.ops[:k], others[type(op)](), *node.ops[k + 1 :]],
                                                    node.comparators)  # fmt: skip
    if isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()  # type: ignore[attr-defined]
        yield "boolean", new
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "boolean", node.operand
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        new.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]
        yield "boolean", new
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "boolean", ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant", ast.Constant(node.value + 1)
        if node.value > 0:
            yield "constant", ast.Constant(node.value - 1)
    worded = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, DROPPED) and not worded and not names_in(node) & DOOR:
        yield "dropped", ast.Pass()


def indices(node: ast.expr) -> Iterator[ast.expr]:
    """An index, or one of several, or an end of a slice, one further and one less far."""
    if isinstance(node, ast.Tuple):
        for k, part in enumerate(node.elts):
            for moved in indices(part):
                yield ast.Tuple([*node.elts[:k], moved, *node.elts[k + 1 :]], ast.Load())
    elif isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            end = getattr(node, name)
            for moved in indices(end) if end is not None else ():
                new = copy.copy(node)
                setattr(new, name, moved)
                yield new
    elif isinstance(node, ast.Name | ast.Attribute | ast.BinOp) or (
        isinstance(node, ast.Constant) and type(node.value) is int
    ):
        yield from (plus(node, by) for by in (1, -1))


def places_in(file: str, lines: set[int]) -> dict[str, list[tuple[int, int]]]:
    """For each kind the places (numbers of nodes) and choices of a file, in lines that run."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, (node, statement) in enumerate(nodes_of(parsed(file))):
        if getattr(node, "lineno", 0) in lines:
            for choice, (kind, _) in enumerate(changes(node, statement)):
                found.setdefault(kind, []).append((place, choice))
    return found


def faults(count: int, lines: dict[str, set[int]]) -> list[Fault]:
    """The faults of the seeds 0 … count - 1."""
    known = {file: found for file in MODULES if (found := places_in(file, lines[file]))}
    chosen: list[Fault] = []
    for seed in range(count):
        rng = random.Random(seed)
        while True:
            room = rng.choice((("compiler", "algebra"), ("separable",)))
            file = rng.choice([file for file in known if file.startswith(room)])
            kind = rng.choice([kind for kind in KINDS if kind in known[file]])
            fault = Fault(file, kind, *rng.choice(known[file][kind]))
            if fault not in chosen:
                chosen.append(fault)
                break
    return chosen


def applied(fault: Fault) -> Applied:
    """The module with the fault, and its statement before and after."""
    tree = parsed(fault.file)
    node, statement = list(nodes_of(tree))[fault.place]
    _, new = list(changes(node, statement))[fault.choice]
    assert statement is not None
    before, body = header(statement), getattr(statement, "body", None)
    lines = range(statement.lineno, body[0].lineno if body else (statement.end_lineno or 0) + 1)

    class Put(ast.NodeTransformer):
        def visit(self, found: ast.AST) -> Any:
            return new if found is node else self.generic_visit(found)

    tree = ast.fix_missing_locations(Put().visit(tree))
    after = header(new if statement is node else statement)
    return Applied(lines, node.lineno, *shortened(before, after), ast.unparse(tree))  # type: ignore[attr-defined]


def header(statement: ast.AST) -> str:
    """A statement in one line, without what is indented below it."""
    bare = copy.copy(statement)
    if getattr(bare, "body", None):
        bare.body, bare.orelse, bare.decorator_list = [], [], []  # type: ignore[attr-defined]
    return " ".join(ast.unparse(ast.fix_missing_locations(bare)).split())


def in_common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(first), len(second)))


def shortened(before: str, after: str, around: int = 60) -> tuple[str, str]:
    """Both texts, but for long parts that they have in common."""
    start = in_common(before, after)
    end = in_common(before[start:][::-1], after[start:][::-1])

    def cut(text: str) -> str:
        first, last = max(0, start - around), len(text) - max(0, end - around)
        return ("… " if first else "") + text[first:last] + (" …" if last < len(text) else "")

    return cut(before), cut(after)


# -------------------------------------------------------------------------------------------------- trying


def ask(wanted: dict[str, Any], limit: float) -> dict[str, Any]:
    """What the questions came to in another process; those that were answered, if it did not end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent), "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0",
                   "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
    command = [sys.executable, str(HERE / "mutation_questions.py")]
    try:
        done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, timeout=limit,
                              env=environment)  # fmt: skip
        output, error, ended = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, error, ended = (expired.stdout or b"").decode(), "", None
    told = [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
    whole = next((each for each in told if "questions" in each), None)
    found = {each.pop("question"): each for each in told if "question" in each}
    last = error.strip().splitlines()[-1:] if ended else []
    return {"questions": found, "ended": ended, "error": "".join(last), "lines": (whole or {}).get("lines", {})}


def gives(table: np.ndarray, claim: dict[str, Any]) -> bool:
    """Whether a witness gives every known cell, by integers."""
    *g, h, carried = claim["witness"]
    moduli = claim["moduli"]
    for cell in zip(*np.nonzero(table >= 0), strict=True):
        places = [part[k] for part, k in zip(g, cell, strict=True)]
        if None in places:
            value = carried if claim["absorbing"] else None
        else:
            where, stride = 0, int(np.prod(moduli))
            for m in moduli:
                stride //= m
                where += sum(place // stride for place in places) % m * stride
            value = h[where]
        if value != table[cell]:
            return False
    return True


def truth(question: Decided, claim: dict[str, Any]) -> bool | None:
    """Whether a claim holds; None where nobody knows."""
    table, moduli, absorbing = question.table, tuple(claim["moduli"]), claim["absorbing"]
    changing = sum(bool((table != table.take([0], axis)).any()) for axis in range(table.ndim))
    if changing > {"constant": 0, "one-variable": 1}.get(claim["family"], table.ndim):
        return False
    if claim["status"] == "in-class":
        try:
            return gives(table, claim)
        except (IndexError, TypeError, ValueError):  # no witness at all
            return False
    asked_about = [(k,) for k in range(1, moduli[0] + 1)] if claim["up_to"] else [moduli]
    if question.member in [(group, absorbing) for group in asked_about]:
        return False
    largest = (int(np.prod(moduli)) + absorbing) ** sum(table.shape[:-1])
    return None if largest > TRIES else not any(in_class_by_force(table, group, absorbing) for group in asked_about)


def judge(question: Decided, found: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a question about a table, from what is claimed of it."""
    if "claims" not in found or found["claims"] == before["claims"]:
        return found if "outcome" in found else {"outcome": "as before"}
    same = [(c["family"], c["status"], c["moduli"], c["absorbing"], c["up_to"]) for c in before["claims"]]
    outcomes = []
    for claim in found["claims"]:
        shown = f"{claim['family']}: {claim['status']} over {claim['moduli']}"
        if claim["status"] == "unknown":
            outcomes.append(("refused", claim["refused"]) if claim["refused"] else ("right", f"{shown}: unknown"))
            continue
        known = claim["status"] == "not-in-class" and tuple(claim[k] for k in CLAIM) in same
        holds = True if known else truth(question, claim)
        if claim["proved"] is None:
            outcomes.append(("refused" if claim["refused"] else "right" if holds else "wrong, not proved",
                             f"{shown}, {claim['refused'] or 'no proof'}"))  # fmt: skip
        elif holds is None:
            outcomes.append(("not judged", shown))
        else:
            right = holds and claim["proved"] == (claim["status"] == "in-class")
            outcomes.append(("right", shown) if right else ("wrong and proved", shown))
    outcome, why = min(outcomes, key=lambda each: ORDER.index(each[0]), default=("right", "no verdict"))
    return {"outcome": outcome, "why": why}


CLAIM = ("family", "status", "moduli", "absorbing", "up_to")
ORDER = ("wrong and proved", "wrong and given out", "wrong, not proved", "not judged", "refused", "crashed", "right",
         "as before")  # fmt: skip
"""Outcomes of a question, the most telling one first."""
CALLED = {"refused": "caught by the kernel", "crashed": "crashed", "right": "other but right",
          "as before": "changed nothing"}  # fmt: skip


def tried(seed: int, fault: Fault, first: dict[str, Any], limit: float) -> dict[str, Any]:
    """One fault, and what came of it; `first` are the answers without it, and the lines that they ran."""
    change, start = applied(fault), time.perf_counter()
    module = "modgrok." + fault.file.removesuffix(".py").replace("/", ".")
    before, path = first["questions"], str(ROOT / fault.file)
    ran = {name for name, lines in first["lines"].items() if not set(change.lines).isdisjoint(lines[path])}
    only = [name for name in before if name in ran or IMPORTS in ran]
    answer = ask({"module": module, "source": change.source, "only": only}, limit)
    asked, results = {question.name: question for question in verdicts()}, {}
    for name, found in answer["questions"].items():
        if name in asked:
            results[name] = judge(asked[name], found, before[name])
        else:
            results[name] = {"outcome": "as before"} if found == before[name] else found
    counts = Counter(found["outcome"] for found in results.values())
    if answer["ended"] not in (0, None):
        counts["crashed"] += 1
    worst = min(counts, key=ORDER.index, default="as before")
    outcome = CALLED.get(worst, worst)
    if answer["ended"] is None and ORDER.index(worst) >= ORDER.index("refused"):
        outcome = "did not end" if worst != "refused" else outcome
    telling = [(name, found) for name, found in results.items() if found["outcome"] == worst and worst != "as before"]
    return {
        "seed": seed,
        "kind": fault.kind,
        "where": f"{fault.file}:{change.line}",
        "before": change.before,
        "after": change.after,
        "outcome": outcome,
        "questions": dict(sorted(counts.items())),
        "example": f"{telling[0][0]}: {telling[0][1].get('why', '')}" if telling else answer["error"],
        "ended": answer["ended"] is not None,
        "seconds": round(time.perf_counter() - start, 1),
    }


# -------------------------------------------------------------------------------------------------- the run


def digest() -> str:
    """Of everything that a result depends on."""
    content = hashlib.sha256()
    rooms = [path for room in (*FILES, "networks", "proofs") for path in sorted((ROOT / room).rglob("*.py"))]
    for path in [*rooms, HERE / "mutations.py", HERE / "mutation_questions.py"]:
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def summary(done: Sequence[dict[str, Any]], sources: str, questions: int, places: int) -> dict[str, Any]:
    files: dict[str, Counter[str]] = {}
    for each in done:
        files.setdefault(each["where"].split(":")[0], Counter())[each["outcome"]] += 1
    return {
        "made_by": "python benchmarks/mutations.py",
        "sources": sources,
        "drawn": HOW,
        "places": places,
        "questions": questions,
        "faults": len(done),
        "outcomes": dict(Counter(each["outcome"] for each in done).most_common()),
        "answers": dict(sum((Counter(each["questions"]) for each in done), Counter()).most_common()),
        "kinds": {kind: dict(Counter(e["outcome"] for e in done if e["kind"] == kind)) for kind in KINDS},
        "files": {file: dict(counts) for file, counts in sorted(files.items())},
        "each": sorted(done, key=lambda each: each["seed"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="faults, of the seeds 0, 1, 2, …")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60, help="seconds for the questions of one fault")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "mutations.json")
    args = parser.parse_args()
    sources = digest()
    stored = read_json(args.out) if args.out.exists() else {}
    done = [each for each in stored.get("each", []) if stored["sources"] == sources and each["seed"] < args.count]
    print("asking without a fault", flush=True)
    first = ask({"trace": [str(ROOT / file) for file in MODULES]}, 10 * args.limit)
    before = first["questions"]
    if first["ended"] != 0 or any(found.get("outcome", "right") != "right" for found in before.values()):
        sys.exit(f"without a fault something is wrong already: {first['error']} {before}")
    for question in verdicts():
        for claim in before[question.name]["claims"]:
            if claim["status"] != "unknown" and (claim["proved"] is None or truth(question, claim) is False):
                sys.exit(f"without a fault a verdict is wrong or not proved: {question.name} {claim}")
    lines = {file: {k for each in first["lines"].values() for k in each[str(ROOT / file)]} for file in MODULES}
    places = sum(len(found) for file in MODULES for found in places_in(file, lines[file]).values())
    finished = {each["seed"] for each in done}
    earlier = sittings_in(args.out) if done else ()
    todo = [(seed, fault) for seed, fault in enumerate(faults(args.count, lines)) if seed not in finished]
    print(f"{len(before)} questions, {places} possible faults, {len(todo)} to try", flush=True)
    with ThreadPoolExecutor(args.workers) as pool:
        running = (pool.submit(tried, seed, fault, first, args.limit) for seed, fault in todo)
        for future in list(running):
            each = future.result()
            done.append(each)
            write_found(__file__, args.out, summary(done, sources, len(before), places), args, earlier=earlier)
            print(f"{len(done)} of {args.count}  {each['where']:34} {each['kind']:10} {each['outcome']}", flush=True)
    found = summary(done, sources, len(before), places)
    write_found(__file__, args.out, found, args, earlier=earlier)
    print(found["outcomes"])


if __name__ == "__main__":
    main()
