"""The verb check: a file of claims about a function, held against its table by the independent checkers.

    modgrok classify "n1 n2" --mod 97 --certificate proof.json
    modgrok check proof.json

A file names its function as an expression with a modulus, from which the table is computed again, or holds the table.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.function import Function, read_function
from modgrok.errors import InputError
from modgrok.files import read_json, write_json
from modgrok.results import Result
from modgrok.separable.certificates import verdict_from_json, verdict_to_json
from modgrok.separable.checkers import check_up_to, check_witness
from modgrok.separable.cycle_checker import TooMuchWork
from modgrok.separable.verdict import Verdict

FORMAT = "modgrok certificate 1"
LARGEST_ORDER = 1 << 14
"""The largest group that a claim may be about: checkers hold sets of its elements."""
MOST_VARIABLES = {"constant": 0, "one-variable": 1}
"""On how many variables the functions of a family depend, where it is not all of them."""


@dataclass(frozen=True, repr=False)
class CheckedClaim(Result):
    """One claim, and whether it was proved from the table: `holds` is None for one that claims nothing."""

    family: str
    verdict: str
    group: str
    holds: bool | None
    reason: str

    def summary(self) -> str:
        return f"{self.family} over {self.group}, {self.verdict}: {self.reason}"


@dataclass(frozen=True, repr=False)
class Check(Result):
    """What became of the claims of a file about a function."""

    function: Function
    claims: tuple[CheckedClaim, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no claim was refused."""
        return all(claim.holds is not False for claim in self.claims)

    @property
    def outcome(self) -> str:
        """The whole file in a few words; an `unknown` claims nothing, so it is neither proved nor refused."""
        proved, refused, open_ = (sum(claim.holds is found for claim in self.claims) for found in (True, False, None))
        if refused:
            return f"{refused} of {len(self.claims)} claims {'is' if refused == 1 else 'are'} refused"
        if not proved:
            return "nothing is claimed"
        return f"every claim is proved{f', and {open_} left open' if open_ else ''}"

    def summary(self) -> str:
        return f"{self.function.title}: {self.outcome}"

    def to_json(self) -> dict[str, Any]:
        return {"holds": self.holds, **super().to_json()}


def write_certificate(path: str | Path, function: Function, verdicts: Sequence[tuple[str, Verdict]]) -> None:
    """Write the verdicts on families of a function, with their whole certificates."""
    asked: dict[str, Any] = {"expression": function.expression, "modulus": function.modulus}
    if function.expression is None:
        asked = {"table": function.table.tolist(), "values": function.values}
    claims = [{"family": family, **verdict_to_json(verdict)} for family, verdict in verdicts]
    write_json(path, {"format": FORMAT, **asked, "variables": list(function.variables), "claims": claims})


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
    function = function_of(content, str(path))
    claims = tuple(check_claim(function.table, claim) for claim in content["claims"])
    return Check(function, claims, time.perf_counter() - start)


def function_of(content: dict[str, Any], path: str) -> Function:
    """The function that a file is about, computed anew where it is an expression."""
    variables = content.get("variables")
    at_least = len(variables) if isinstance(variables, list) else 2
    if isinstance(content.get("expression"), str):
        return read_function(content["expression"], content.get("modulus"), at_least=min(at_least, 8))
    try:
        table = np.array(content["table"], dtype=np.int64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"{path} has neither an expression nor a table of whole numbers") from None
    return read_function(table, at_least=2)


def check_claim(table: np.ndarray, value: Any) -> CheckedClaim:
    """One claim, proved or refused with a reason."""
    family = str(value.get("family")) if isinstance(value, dict) else "?"
    try:
        claim = verdict_from_json(value)
    except InputError as error:
        return CheckedClaim(family, "?", "?", False, str(error))
    holds, reason = judge(table, claim)
    if claim.status != "unknown" and (misnamed := wrong_family(table, family, claim)):
        holds, reason = False, misnamed
    return CheckedClaim(family, claim.status, claim.group, holds, reason)


def wrong_family(table: np.ndarray, family: str, claim: Verdict) -> str:
    """Why a claim is not one about the family that it names; empty if it is."""
    kinds = {"additive": (False, False), "multiplicative": (True, False), "product-group": (False, True)}
    if family not in (*kinds, *MOST_VARIABLES):
        return "this is no family that classify asks about"
    if (claim.absorbing, len(claim.moduli) > 1) != kinds.get(family, (False, False)):
        return f"the {family} family has no such group"
    changing = sum(bool((table != table.take([0], axis)).any()) for axis in range(table.ndim))
    most = MOST_VARIABLES.get(family, table.ndim)
    return f"the function depends on {changing} variables" if changing > most else ""


def judge(table: np.ndarray, claim: Verdict) -> tuple[bool | None, str]:
    """Whether the certificate proves the claim, and in words."""
    group = claim.moduli or claim.group_order
    if not 1 <= claim.group_order <= LARGEST_ORDER:
        return False, f"a group of order {claim.group_order} is not checked; orders from 1 to {LARGEST_ORDER} are"
    if claim.status == "unknown":
        return None, "nothing is claimed"
    if claim.status == "in-class":
        if claim.witness is None or not check_witness(table, group, claim.absorbing, claim.witness):
            return False, "the witness does not give the table"
        known = int((table >= 0).sum())
        return True, f"the witness gives all {known:,} {'cells' if known == table.size else 'known cells'}"
    if claim.obstruction is None:
        return False, "there is no obstruction"
    axis = claim.obstruction.axis
    if not 0 <= axis < table.ndim:
        return False, f"the table has no axis {axis}"
    against = table if table.ndim == 2 and not axis else np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    try:
        proved = check_up_to(against, group, claim.absorbing, claim.obstruction, claim.up_to)
    except TooMuchWork as error:
        return False, str(error)
    return proved, f"{claim.obstruction.kind}: " + ("proved from the table" if proved else "does not prove the claim")
