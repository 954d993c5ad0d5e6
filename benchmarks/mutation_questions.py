"""Questions to compiler and decision whose answers are known otherwise, asked by `mutations.py`.

    python benchmarks/mutation_questions.py < FAULT.json

FAULT.json has `module` and `source`: that module of the package is loaded from this text in place of its file. With
neither, nothing is changed. `trace` is a list of files, whose lines that run are told for each question, and `only` a
list of questions. The last line of the output is a JSON object with what came of each question.

A network's answers are computed here, by NumPy from its weights, and compared with Python's integers: on every row, or
on some where there are too many. Verdicts are only told; `mutations.py` judges them in a process without a fault.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from itertools import product
from math import prod
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

MOST_ROWS, SAMPLE = 20_000, 200
MEMORY = 24 << 30
"""Address space of a process that asks; a fault may ask for anything."""


# ------------------------------------------------------------------------------------------------ the fault


class Changed(SourceLoader):
    """Loads one module from a text; the byte code of its file is neither read nor written."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source

    def get_filename(self, fullname: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        raise OSError("only the text that was given")

    def get_source(self, fullname: str) -> str:
        return self.source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


class Finder(MetaPathFinder):
    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        sys.meta_path.insert(0, self)
        assert found is not None and found.origin is not None
        return spec_from_loader(fullname, Changed(found.origin, self.source))


# ----------------------------------------------------------------------------------------------- networks


class Compiled(NamedTuple):
    """What is compiled, the function that it must compute, and how many values each variable has."""

    function: Any
    mod: int
    sizes: tuple[int, ...]
    value: Callable[..., int]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        text = self.function if isinstance(self.function, str) else f"table {' × '.join(map(str, self.sizes))}"
        shown = f"{text[:15]} … {text[-15:]}" if len(text) > 40 else text
        return f"compile {shown} mod {self.mod} {' '.join(f'{k}={v}' for k, v in self.settings.items())}".strip()


def polynomial(text: str, mod: int, value: Callable[..., int], variables: int, **settings: Any) -> Compiled:
    return Compiled(text, mod, (mod,) * variables, lambda *n: value(*n) % mod, settings)


def tabled(table: np.ndarray, values: int, **settings: Any) -> Compiled:
    return Compiled(table, values, table.shape, lambda *n: int(table[n]), settings)


def networks() -> list[Compiled]:
    """Polynomials that use every part of the compiler, two that are too large to be counted out, and tables."""
    twelve = " + ".join(f"n{k}" for k in range(1, 13))
    minimal = {"frequencies": "minimal"}
    return [
        polynomial("n1 - 2n2 + 3", 7, lambda a, b: a - 2 * b + 3, 2),
        polynomial("1*2 + n1 + n2", 4, lambda a, b: 2 + a + b, 2),
        polynomial("2*3 n1 n2 + 2*2 n1", 12, lambda a, b: 6 * a * b + 4 * a, 2, **minimal),
        polynomial("n1 n2", 9, lambda a, b: a * b, 2),
        polynomial("n1 n2 n3 + n1", 15, lambda a, b, c: a * b * c + a, 3, **minimal),
        polynomial("(n1 + n2)(n1 - n2) + 5", 8, lambda a, b: (a + b) * (a - b) + 5, 2, dtype="float32"),
        polynomial("n1^2 n2 n3 n4 + 1", 5, lambda a, b, c, d: a * a * b * c * d + 1, 4, **minimal),
        polynomial("2n1^4 n2 + n1^2 n2^2", 11, lambda a, b: 2 * a**4 * b + a * a * b * b, 2, frequencies=4),
        polynomial("(n1 + 2n2)^3 - n1^0 n3^7", 6, lambda a, b, c: (a + 2 * b) ** 3 - c**7, 3),
        polynomial("n1 n2 + n1 + n2", 13, lambda a, b: a * b + a + b, 2, **minimal),
        polynomial("3n1 n2 (n1 - 1)", 6, lambda a, b: 3 * a * b * (a - 1), 2),
        polynomial("-(x + 1)^2 * -y", 10, lambda a, b: (a + 1) ** 2 * b, 2, frequencies=2, dtype="float32"),
        polynomial("n1 + 2n2 + n3", 7, lambda a, b, c: a + 2 * b + c, 3, method="paper"),
        polynomial("n1 n2 + 2n1", 5, lambda a, b: a * b + 2 * a, 2, method="paper", seed=1),
        polynomial(twelve, 3329, lambda *n: sum(n), 12, **minimal),
        polynomial("n1 n2 n3 n4 n5 + 7", 100, lambda a, b, c, d, e: a * b * c * d * e + 7, 5, **minimal),
        polynomial("2n1^3 n2 n3 n4 n5 n6 - 1", 31, lambda a, *others: 2 * a**3 * prod(others) - 1, 6, **minimal),
        tabled(np.array([[(a + 2 * b) ** 2 % 7 for b in range(7)] for a in range(7)]), 7),
        tabled(planted((4, 6), (7,), True, 5, seed=5), 5, **minimal),
        tabled(planted((8, 8), (2, 4), False, 8, seed=2), 8),
        tabled(np.array([3, 1, 4, 1, 5]), 6),
    ]


def planted(shape: tuple[int, ...], moduli: tuple[int, ...], absorbing: bool, values: int, seed: int) -> np.ndarray:
    """h(g1 + g2 + …) over a product of cyclic groups for random g and h; one place in six is absorbed, if any."""
    rng = np.random.default_rng([*shape, *moduli, seed])
    elements = list(product(*map(range, moduli)))
    h = dict(zip(elements, rng.integers(0, values, len(elements)).tolist(), strict=True))
    carried = int(rng.integers(values))
    g = [
        [
            None if absorbing and rng.random() < 1 / 6 else elements[k]
            for k in np.resize(rng.permutation(len(elements)), n)
        ]
        for n in shape
    ]
    table = np.zeros(shape, dtype=np.int64)
    for cell in np.ndindex(shape):
        places = [part[k] for part, k in zip(g, cell, strict=True)]
        if None in places:
            table[cell] = carried
        else:
            table[cell] = h[tuple(sum(digits) % m for *digits, m in zip(*places, moduli, strict=True))]
    return table


def rows_of(sizes: Sequence[int]) -> np.ndarray:
    """Every row, or random ones and those of 0, 1 and the largest residue in all places but one."""
    if np.prod([float(size) for size in sizes]) <= MOST_ROWS:
        return np.indices(sizes).reshape(len(sizes), -1).T
    drawn = np.random.default_rng(0).integers(0, sizes, (SAMPLE, len(sizes)))
    corners = [
        [other if k == place else each for k in range(len(sizes))]
        for each, other, place in product((0, 1, sizes[0] - 1), (2, sizes[0] - 1), range(len(sizes)))
    ]
    return np.concatenate([drawn, corners])


def answers(circuit: Any, rows: np.ndarray) -> np.ndarray:
    """What a circuit answers, in the precision of its weights; -1 where no logit leads."""
    signals: list[np.ndarray] = list(rows.T)
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        embed, readout = np.asarray(expert.embed), np.asarray(expert.readout)
        read = [signals[wire] for wire in wires]
        hidden = sum(embed[s][x] if x.ndim == 1 else x @ embed[s][: x.shape[1]] for s, x in enumerate(read))
        logits = hidden**expert.power @ readout
        scaled = np.asarray(circuit.betas)[k] * (logits - logits.max(axis=1, keepdims=True))
        signals.append(np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True))
    ordered = np.sort(logits, axis=1)
    return np.where(ordered[:, -1] > ordered[:, -2], logits.argmax(axis=1), -1)


def ask_compiler(question: Compiled) -> dict[str, Any]:
    """right, wrong (and whether it is called proved), refused by the kernel, or crashed; see `mutations.py`."""
    from modgrok.base.errors import FaultError
    from modgrok.compiler.compiling import compile as compiled

    try:
        network = compiled(question.function, question.mod, **question.settings)
        circuit, proof = network.circuit, network.proof
    except FaultError as error:
        return {"outcome": "refused", "why": str(error)}
    rows = rows_of(question.sizes)
    truth = np.array([question.value(*row) for row in rows.tolist()])
    try:
        right = int((answers(circuit, rows) == truth).sum()) if network.modulus == question.mod else 0
    except (IndexError, ValueError):  # of other shapes than what was asked for
        right = 0
    holds, told = proof is not None and proof.holds, network.proof_text
    paper, counted = question.settings.get("method") == "paper", len(rows) == np.prod(question.sizes, dtype=float)
    if proof is not None and counted and not proof.right <= right <= proof.right + proof.undecided:
        return {"outcome": "wrong and proved", "why": f"{right} of {len(rows)} rows are right, and it is {told}"}
    if right < len(rows) and holds:
        return {"outcome": "wrong and proved", "why": f"{right} of {len(rows)} rows are right, and it is {told}"}
    if right < len(rows):  # of the paper's networks nothing is promised but what the proof says
        why = f"{right} of {len(rows)} rows are right; {told}"
        return {"outcome": "refused" if paper else "wrong and given out", "why": why}
    if not holds:
        return {"outcome": "right", "why": str(told)}
    content = hashlib.sha256(repr(circuit.wires).encode())
    for expert in circuit.experts:
        content.update(np.asarray(expert.embed).tobytes() + np.asarray(expert.readout).tobytes())
    return {"outcome": "right", "content": content.hexdigest()}


# ----------------------------------------------------------------------------------------------- verdicts


class Decided(NamedTuple):
    """A table, what is asked about it, and the group over which it is of the form by construction, if any is known.

    `group` is None for `classify_table`, with `mod`; `smallest` asks for the smallest cyclic group.
    """

    name: str
    table: np.ndarray
    mod: int | None = None
    group: int | tuple[int, ...] | None = None
    absorbing: bool = False
    member: tuple[tuple[int, ...], bool] | None = None
    effort: float = 0.2
    smallest: bool = False


def of(function: Callable[..., int], p: int, variables: int = 2) -> np.ndarray:
    return np.array([function(*n) % p for n in product(range(p), repeat=variables)]).reshape((p,) * variables)


def with_gaps(table: np.ndarray, share: float, seed: int) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(table.shape) < share, -1, table)


def drawn(shape: tuple[int, ...], values: int, seed: int) -> np.ndarray:
    return np.random.default_rng([*shape, values, seed]).integers(0, values, shape)


def verdicts() -> list[Decided]:
    """Tables in and out of the class, so that every procedure of the decision is asked."""
    return [
        Decided("classify n1 + n2", of(lambda a, b: a + b, 5), 5, member=((5,), False)),
        Decided("classify n1 n2", of(lambda a, b: a * b, 7), 7, member=((6,), True)),
        Decided("classify n1^2 + n2^2", of(lambda a, b: a * a + b * b, 11), 11, member=((11,), False)),
        Decided("classify n1^2 n2^3 + 1", of(lambda a, b: a**2 * b**3 + 1, 13), 13, member=((12,), True)),
        Decided("classify n1^2 + n1 n2 + n2^2", of(lambda a, b: a * a + a * b + b * b, 5), 5),
        Decided("classify n1 n2 mod 6", of(lambda a, b: a * b, 6), 6),
        Decided("classify n1^2", of(lambda a, b: a * a, 5), 5, member=((5,), False)),
        Decided("classify random 5 × 5", drawn((5, 5), 3, 0), 5),
        Decided("classify random 4 × 5", drawn((4, 5), 2, 1), None),
        Decided("classify planted 4 × 6 over Z_6", planted((4, 6), (6,), False, 5, 1), None, member=((6,), False)),
        Decided(
            "classify planted 8 × 8 over Z_2 × Z_4", planted((8, 8), (2, 4), False, 8, 2), 8, member=((2, 4), False)
        ),
        Decided("classify n1 n2 + n3 mod 3", of(lambda a, b, c: a * b + c, 3, 3), 3),
        Decided("classify planted 5 × 5 × 5 over Z_5", planted((5, 5, 5), (5,), False, 4, 3), 5, member=((5,), False)),
        Decided("classify n1 n2 n3 mod 5", of(lambda a, b, c: a * b * c, 5, 3), 5, member=((4,), True)),
        Decided(
            "classify 5 × 5 with unknown cells", with_gaps(of(lambda a, b: a + b, 5), 0.3, 1), 5, member=((5,), False)
        ),
        Decided("decide random 4 × 4 with unknown cells over Z_4", with_gaps(drawn((4, 4), 3, 2), 0.2, 4), None, 4),
        Decided("decide random 5 × 5 with unknown cells over Z_5", with_gaps(drawn((5, 5), 2, 2), 0.2, 2), None, 5),
        Decided(
            "decide planted 8 × 7 with unknown cells",
            with_gaps(planted((8, 7), (9,), True, 3, 17), 0.2, 5),
            None,
            9,
            True,
            ((9,), True),
        ),
        Decided(
            "decide planted 9 × 9, few values", planted((9, 9), (11,), False, 2, 4), None, 11, member=((11,), False)
        ),
        Decided(
            "decide planted 10 × 8, many values", planted((10, 8), (13,), True, 9, 5), None, 13, True, ((13,), True)
        ),
        Decided("decide planted 7 × 4 over Z_7", planted((7, 4), (7,), False, 3, 6), None, 7, member=((7,), False)),
        Decided("decide random 5 × 3 over Z_5", drawn((5, 3), 3, 13), None, 5),
        Decided("decide random 4 × 4 over Z_5", drawn((4, 4), 2, 21), None, 5),
        Decided("decide random 5 × 3 over Z_5 with ∞", drawn((5, 3), 3, 21), None, 5, True),
        Decided("decide random 5 × 5 over Z_7", drawn((5, 5), 2, 8), None, 7),
        Decided("decide random 4 × 4 over Z_5 with ∞", drawn((4, 4), 2, 9), None, 5, True),
        Decided("decide planted 7 × 7 over Z_7", planted((7, 7), (7,), False, 3, 10), None, 7, member=((7,), False)),
        Decided("decide random 5 × 5 over Z_5", drawn((5, 5), 2, 11), None, 5),
        Decided("decide two closed trails over Z_5", np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]]), None, 5),
        Decided(
            "decide (n1^3 + 9n1^2 + n2^5 + n2)^3",
            of(lambda a, b: (a**3 + 9 * a * a + b**5 + b) ** 3, 31),
            None,
            31,
            member=((31,), False),
        ),
        Decided(
            "decide planted 3 × 4 × 4, few values", planted((3, 4, 4), (7,), False, 2, 3), None, 7, member=((7,), False)
        ),
        Decided("decide planted 3 × 3 × 4 with ∞", planted((3, 3, 4), (5,), True, 2, 8), None, 5, True, ((5,), True)),
        Decided("decide planted 6 × 2 over Z_7", planted((6, 2), (7,), False, 5, 13), None, 7, member=((7,), False)),
        Decided("decide random 4 × 4 over Z_2 × Z_2", drawn((4, 4), 2, 14), None, (2, 2)),
        Decided(
            "decide planted 6 × 6 over Z_3 × Z_3",
            planted((6, 6), (3, 3), False, 3, 15),
            None,
            (3, 3),
            member=((3, 3), False),
        ),
        Decided(
            "decide (5n1^3 + 2n2^4)^2 over Z_96 with ∞", of(lambda a, b: (5 * a**3 + 2 * b**4) ** 2, 97), None, 96, True
        ),
        Decided("smallest group of n1^2 + n2^2 mod 5", of(lambda a, b: a * a + b * b, 5), smallest=True),
        Decided("smallest group of a random 3 × 4", drawn((3, 4), 3, 16), smallest=True, absorbing=True),
    ]


def ask_decision(question: Decided) -> dict[str, Any]:
    """Everything that is claimed of a table, and whether the kernel proves it."""
    from modgrok.separable import classify_table, decide_grouped, proof_of, smallest_group

    if question.smallest:
        orders = smallest_group(question.table, absorbing=question.absorbing, effort=question.effort)
        claimed = [(family_of(verdict), verdict) for verdict in orders.verdicts]
    elif question.group is None:
        found = classify_table(question.table, question.mod, effort=question.effort)
        claims = [told(each.family, each.verdict, each.proof, each.verdict.excluded) for each in found.families]
        return {"claims": claims}
    else:
        verdict = decide_grouped(question.table, question.group, question.absorbing, effort=question.effort)
        claimed = [(family_of(verdict), verdict)]
    claims = []
    for family, verdict in claimed:
        proof, refused = None, verdict.excluded
        if verdict.status != "unknown":
            from modgrok.proofs.proof import NoProof, TooMuchWork

            try:
                proof = proof_of(question.table, family, verdict)
            except TooMuchWork:
                refused = ""
            except NoProof as reason:
                refused = f"the kernel refuses its evidence ({reason})"
        claims.append(told(family, verdict, proof, refused))
    return {"claims": claims}


def family_of(verdict: Any) -> str:
    return "product-group" if verdict.moduli else "multiplicative" if verdict.absorbing else "additive"


def told(family: str, verdict: Any, proof: Any, excluded: str) -> dict[str, Any]:
    witness = verdict.witness
    return {
        "family": family,
        "status": verdict.status,
        "moduli": [int(m) for m in verdict.moduli or (verdict.group_order,)],
        "absorbing": bool(verdict.absorbing),
        "up_to": bool(verdict.up_to),
        "witness": None if witness is None else [*map(list, witness.g), list(witness.h), witness.h_absorbing],
        "obstruction": None if verdict.obstruction is None else verdict.obstruction.kind,
        "proved": None if proof is None else proof.in_class,
        "refused": excluded if "refuses its evidence" in excluded else "",
    }


# ------------------------------------------------------------------------------------------------- asking


def asked() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for network in networks():
        yield network.name, lambda question=network: ask_compiler(question)
    for verdict in verdicts():
        yield verdict.name, lambda question=verdict: ask_decision(question)


def answered(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        found = ask()
    except Exception as error:
        found = {"outcome": "crashed", "why": f"{type(error).__name__}: {error}"}
    return found | {"why": found["why"][:300]} if "why" in found else found


class Trace:
    """The lines of some files that run, by the names of what was done; each as if it were the first, with no caches."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files
        self.lines: dict[str, dict[str, list[int]]] = {}

    def during(self, name: str, work: Callable[[], Any]) -> Any:
        if not self.files:
            return work()
        lines: dict[str, set[int]] = {file: set() for file in self.files}

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            lines[frame.f_code.co_filename].add(frame.f_lineno)
            return local

        def begun(frame: FrameType, event: str, arg: Any) -> Any:
            return local(frame, event, arg) if frame.f_code.co_filename in lines else None

        for module in [module for known, module in sys.modules.items() if known.startswith("modgrok.")]:
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()
        sys.settrace(begun)
        try:
            return work()
        finally:
            sys.settrace(None)
            self.lines[name] = {file: sorted(found) for file, found in lines.items()}


IMPORTS = "imports"


def imports() -> None:
    import modgrok.compiler.compiling
    import modgrok.separable  # noqa: F401


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wanted = json.load(sys.stdin)
    if "module" in wanted:
        sys.meta_path.insert(0, Finder(wanted["module"], wanted["source"]))
    trace, only = Trace(wanted.get("trace", [])), wanted.get("only")
    if trace.files:
        trace.during(IMPORTS, imports)
    found: dict[str, dict[str, Any]] = {}
    for name, ask in asked():
        if only is None or name in only:
            found[name] = trace.during(name, lambda ask=ask: answered(ask))
            print(json.dumps({"question": name} | found[name]), flush=True)
    print(json.dumps({"questions": found, "lines": trace.lines}), flush=True)


if __name__ == "__main__":
    main()
