"""The verb check: a file of claims about a function, each of which the kernel proves from the function's table, or
does not.

    modgrok classify "n1 n2" --mod 97 --certificate proof.json
    modgrok check proof.json

A file names its function as an expression with a modulus, which the kernel reads and evaluates by itself, or holds
the table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.expression import LAST_VARIABLE
from modgrok.algebra.function import Function, from_expression, from_table
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.results import Result
from modgrok.proofs.claims import VERDICTS, Claim, Malformed, Work, listed, read_claim, whole
from modgrok.proofs.expressions import operations, read_expression, value_table, variables_of
from modgrok.proofs.proof import NoProof, TooMuchWork, VerdictProof
from modgrok.proofs.verdicts import WORK, prove_verdict
from modgrok.separable.certificates import claim_of
from modgrok.separable.verdict import Verdict

FORMAT = "modgrok certificate 1"
KEYS = {"format", "expression", "modulus", "table", "values", "variables", "claims"}
MOST_CLAIMS, MOST_CELLS = 16, 1 << 21
"""Claims of a file, and cells of the table that they are about."""
OUTCOMES = ("proved", "refuted", "unreadable", "too much work", "nothing claimed")


@dataclass(frozen=True, repr=False)
class CheckedClaim(Result):
    """One claim, and what became of it: `outcome` is "proved" with the kernel's `proof`, else what is `unproved`."""

    claim: Claim | None
    unproved: str = OUTCOMES[-1]
    why: str = "nothing is claimed"
    proof: VerdictProof | None = None
    told = ("family", "verdict", "group", "outcome", "reason", "holds")

    def __post_init__(self) -> None:
        stands = type(self.proof) is VerdictProof and self.proof.claim is self.claim
        if self.unproved not in OUTCOMES[1:] or (self.proof is not None and not stands):
            raise TypeError("a claim is proved by a proof of the kernel that is about it")

    @property
    def family(self) -> str:
        return "?" if self.claim is None else self.claim.family

    @property
    def verdict(self) -> str:
        return "?" if self.claim is None else self.claim.verdict

    @property
    def group(self) -> str:
        return "?" if self.claim is None else self.claim.group

    @property
    def outcome(self) -> str:
        return self.unproved if self.proof is None else OUTCOMES[0]

    @property
    def reason(self) -> str:
        return self.why if self.proof is None else self.proof.reason

    @property
    def holds(self) -> bool | None:
        """Whether it was proved from the table; None for a claim that claims nothing."""
        return None if self.outcome == "nothing claimed" else self.outcome == "proved"

    def summary(self) -> str:
        return f"{self.family} over {self.group}, {self.verdict}: {self.outcome}, {self.reason}"


@dataclass(frozen=True, repr=False)
class Check(Result):
    """What became of the claims of a file about a function."""

    function: Function
    claims: tuple[CheckedClaim, ...]
    seconds: float
    told = ("holds", "function", "claims", "seconds")

    def __post_init__(self) -> None:
        if not all(claim.proof is None or claim.proof.about_table(self.function.table) for claim in self.claims):
            raise TypeError("its claims were proved of another table")

    @property
    def holds(self) -> bool:
        """Whether something is claimed, and all that is was proved."""
        return self.count("proved") > 0 and self.count("proved", "nothing claimed") == len(self.claims)

    @property
    def refuted(self) -> bool:
        return self.count("refuted") > 0

    def count(self, *outcomes: str) -> int:
        return sum(claim.outcome in outcomes for claim in self.claims)

    @property
    def outcome(self) -> str:
        """The whole file in a few words; an `unknown` claims nothing, so it is neither proved nor refused."""
        whole_file, proved, open_ = len(self.claims), self.count("proved"), self.count("nothing claimed")
        if refused := whole_file - proved - open_:
            return f"{refused} of {whole_file} claims {'is' if refused == 1 else 'are'} refused"
        if not proved:
            return "nothing is claimed"
        return f"every claim is proved{f', and {open_} left open' if open_ else ''}"

    def summary(self) -> str:
        return f"{self.function.title}: {self.outcome}"


def write_certificate(path: str | Path, function: Function, verdicts: Sequence[tuple[str, Verdict]]) -> None:
    """Write the verdicts on families of a function, with their whole certificates."""
    asked: dict[str, Any] = {"expression": function.expression, "modulus": function.modulus}
    if function.expression is None:
        asked = {"table": function.table.tolist(), "values": function.values}
    claims = [claim_of(family, verdict) for family, verdict in verdicts]
    names = [f"n{index}" for index in function.indices]
    write_json(path, {"format": FORMAT, **asked, "variables": names, "claims": claims})


def check(path: str | Path) -> Check:
    """Check every claim of a certificate that `classify` wrote, against the table of its function.

    Arguments:
        path: a file of `modgrok classify … --certificate FILE`.

    Returns:
        A `Check`: `.holds` and, for each claim, whether it was proved and why not.
    """
    start = time.perf_counter()
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("claims"), list):
        raise InputError(f"{path} is no certificate of modgrok; `modgrok classify … --certificate {path}` writes one")
    try:
        return check_content(content, start)
    except NoProof as reason:
        raise InputError(
            f"{path} is no certificate that can be checked: {reason}; write it again with `modgrok classify`"
        ) from None
    except InputError as error:
        raise InputError(f"{path} is no certificate that can be checked: {str(error).splitlines()[0]}") from None


def check_content(content: Mapping[str, Any], start: float) -> Check:
    """The claims of a file that has the right format."""
    if unknown := set(content) - KEYS:
        raise Malformed(f"it has {len(unknown)} keys that no certificate has")
    if len(content["claims"]) > MOST_CLAIMS:
        raise Malformed(f"it has more than {MOST_CLAIMS} claims")
    function = stated_function(content)
    left = WORK - 2 * function.table.size  # what reading it took
    claims = []
    for claim in content["claims"]:
        claims.append(check_claim(function.table, claim, max(1, left)))
        left -= WORK // 4  # all claims of a file share some patience
    return Check(function, tuple(claims), time.perf_counter() - start)


def stated_function(content: Mapping[str, Any]) -> Function:
    """The function that a file is about: its table, or that of its expression by the kernel's own evaluation."""
    names = [variable_number(name) for name in listed(content.get("variables"), "variables")]
    if not 2 <= len(names) <= 8 or names != sorted(set(names)):
        raise Malformed("variables must be two to eight names, n1, n2, …, in order")
    if "table" in content:
        return stated_table(content, tuple(f"n{name}" for name in names))
    expression, modulus = content.get("expression"), whole(content.get("modulus"), 2, MOST_CELLS, "modulus")
    if type(expression) is not str:
        raise Malformed("it has neither an expression nor a table")
    cells = modulus ** len(names)
    if cells > MOST_CELLS:
        raise TooMuchWork(f"its table would have {cells:,} cells, more than {MOST_CELLS:,}")
    tree = read_expression(expression, modulus)
    if not set(variables_of(tree)) <= set(names):
        raise Malformed("its expression has variables that it does not list")
    Work(WORK * 2).spend(operations(tree) * cells)
    table = value_table(tree, modulus, names)
    read = from_expression(expression, modulus).with_variables(len(names))
    if read.variables != tuple(f"n{name}" for name in names) or not np.array_equal(read.table, table):
        raise NoProof("the kernel and the parser read its expression differently")
    return read


def variable_number(name: object) -> int:
    if type(name) is not str or not name[1:].isdecimal() or not name.isascii() or name[0] != "n" or len(name) > 3:
        raise Malformed("variables must be named n1, n2, …")
    return whole(int(name[1:]), 1, LAST_VARIABLE, "the number of a variable")


def stated_table(content: Mapping[str, Any], names: tuple[str, ...]) -> Function:
    """A table that a file holds: nested lists of whole numbers, -1 where a cell is unknown."""
    values = whole(content.get("values"), 2, MOST_CELLS, "values")
    shape, level = [], content["table"]
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else None
    cells: list[object] = [content["table"]]
    for size in shape:
        if len(cells) * size > MOST_CELLS:
            raise TooMuchWork(f"its table has more than {MOST_CELLS:,} cells")
        cells = [cell for part in cells for cell in listed(part, "a row of the table", size)]
    if len(shape) != len(names):
        raise Malformed("its table has another number of axes than variables")
    table = np.array([whole(cell, -1, values - 1, "a cell") for cell in cells], dtype=np.int64).reshape(shape)
    return from_table(table, values, "table", names, "its table")


def check_claim(table: np.ndarray, value: object, work: int) -> CheckedClaim:
    """One claim: proved, or not and why; nothing that a file says is repeated, but words that stand in a list."""
    claim = None
    try:
        claim = read_claim(value)
        if claim.verdict == VERDICTS[-1]:
            return CheckedClaim(claim)
        proof = prove_verdict(table, value, work=work)
        return CheckedClaim(proof.claim, proof=proof)
    except Malformed as reason:
        return CheckedClaim(claim, "unreadable", str(reason))
    except TooMuchWork as reason:
        return CheckedClaim(claim, "too much work", str(reason))
    except NoProof as reason:
        return CheckedClaim(claim, "refuted", str(reason))
