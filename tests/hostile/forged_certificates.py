"""(h) Forged certificates: every field of every kind of claim damaged in every way that its type allows.

True certificates of every kind are made by the package on small tables. Their claims are forged, the tables under
them swapped, evidence carried over from others or invented. What `check` then calls proved is held against
`placements`, which goes through all placements: a false claim that is accepted is a finding, and so are an exception
of the wrong kind, two seconds of processor time, and text of the file in what is said.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from certificate_forgeries import CLAIMS, other_cases, other_group, several_fields, transplanted
from large_certificates import LARGE, judged_large
from options import called
from placements import in_class, in_some_group, multiplied, witnessed
from tally import Tally
from true_certificates import (
    EXPRESSIONS,
    MARKER,
    MARKS,
    MEGABYTES,
    SECONDS,
    Original,
    at,
    originals,
    paths,
    put,
    values_of,
    variables_of,
    ways,
)

from modgrok.base.errors import InputError
from modgrok.proofs.proof import NoProof
from modgrok.proofs.verdicts import WORK
from modgrok.separable.checking import CheckedClaim, check_claim, check_content

TOTAL, BATCH = 1_000_000, 1_000


def run_batch(number: int) -> Tally:
    """A thousand forgeries that follow from the number of the batch alone."""
    tally, rng = Tally(), random.Random(f"forged {number}")
    with tally.weighed(MEGABYTES):
        try_all(tally, number, rng)
    return tally


def try_all(tally: Tally, number: int, rng: random.Random) -> None:
    for category, (count, forge) in CLAIMS.items():
        for k in range(number * count, (number + 1) * count):
            one, table, claim = forge(rng, k)
            tally.trial(category, *judged_claim(one, table, claim))
    for _ in range(20):
        one, content = forged_content(rng)
        tally.trial("whole file", *judged_content(one, content))
    for _ in range(3):
        tally.trial("command line", *on_command_line(rng))
    if number % 4 == 0:
        name = list(LARGE)[number // 4 % len(LARGE)]
        tally.trial(f"large: {name}", *judged_large(name, apart=number // 4 % 5 == 0))
    else:
        one, content = forged_content(rng)
        tally.trial("whole file", *judged_content(one, content))


def judged_claim(one: Original, table: np.ndarray, claim: Any) -> list[str]:
    """What is wrong with the answer about a forged claim."""
    began = time.process_time()
    try:
        found = check_claim(table, claim, WORK)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}: {shown(table, claim)}"]
    seconds = time.process_time() - began
    problems = [f"{seconds:.1f} s: {shown(table, claim)}"] if seconds > SECONDS else []
    return problems + said(found, claim, table) + wrongly_accepted(one, table, claim, found)


def wrongly_accepted(one: Original, table: np.ndarray, claim: Any, found: CheckedClaim) -> list[str]:
    if found.outcome != "proved":
        return []
    true = truth(one, table, claim)
    return [] if true else [f"{'accepted and false' if true is False else 'truth unknown'}: {shown(table, claim)}"]


def said(found: CheckedClaim, claim: Any, table: np.ndarray) -> list[str]:
    """Words of the answer that come from the file, or do not name what is claimed."""
    text = " ".join((found.family, found.verdict, found.group, found.outcome, found.reason))
    if any(mark in text for mark in MARKS) or "\n" in text:
        return [f"it repeats {text!r}"]
    if found.outcome != "proved":
        return []
    moduli = claim.get("moduli") or [claim["group_order"]]
    if claim["family"] == "group":
        named = ("any group up to" if claim.get("up_to") else "a group of") + f" order {claim['group_order']}"
        return [] if found.group == named else [f"it says {text!r}: {shown(table, claim)}"]
    group = " × ".join(f"Z_{m}" for m in moduli) + " with an absorbing element" * claim["absorbing"]
    named = ("any group up to " if claim.get("up_to") else "") + group
    if (found.family, found.verdict, found.group) != (claim["family"], claim["verdict"], named):
        return [f"it says {text!r}: {shown(table, claim)}"]
    return []


def truth(one: Original, table: np.ndarray, claim: Any) -> bool | None:
    """Whether a claim is true, by other means than the package's; None where these do not reach."""
    moduli, absorbing = tuple(claim.get("moduli") or [claim["group_order"]]), claim["absorbing"]
    if not all(type(m) is int and m >= 1 for m in moduli) or prod(moduli) != claim["group_order"]:
        return False
    changing = sum(bool((table != table.take([0], axis)).any()) for axis in range(table.ndim))
    if changing > {"constant": 0, "one-variable": 1}.get(claim["family"], table.ndim):
        return False
    if claim["family"] == "group":
        return truth_of_group(one, table, claim)
    if (claim["family"] == "multiplicative") != absorbing or (claim["family"] == "product-group") != (len(moduli) > 1):
        return False
    if claim["verdict"] == "in-class":
        return not claim.get("up_to") and witnessed(table, moduli, absorbing, claim["witness"])
    if (moduli, absorbing) in one.planted:
        return False
    groups = [(k,) for k in range(1, moduli[0] + 1)] if claim.get("up_to") else [moduli]
    found = {in_class(table, group, absorbing) for group in groups}
    return False if True in found else None if None in found else True


def truth_of_group(one: Original, table: np.ndarray, claim: Any) -> bool | None:
    """Of a claim about any finite group."""
    order = claim["group_order"]
    up_to = claim["verdict"] != "in-class"
    if claim["absorbing"] or claim.get("moduli") or table.ndim != 2 or bool(claim.get("up_to")) != up_to:
        return False
    if claim["verdict"] == "in-class":
        return multiplied(table, order, claim["witness"])
    if any(prod(moduli) <= order and not absorbing for moduli, absorbing in one.planted):
        return False
    found = in_some_group(table, order)
    return None if found is None else not found


def shown(table: np.ndarray, claim: Any) -> str:
    return f"{str(table.tolist())[:300]} {str(claim)[:600]!r}"


def forged_content(rng: random.Random) -> tuple[Original, Any]:
    """A certificate whose function is another than the one that its claims are about, or none at all."""
    one = rng.choice(originals())
    content = dict(one.content)
    while not content:
        one = rng.choice(originals())
        content = dict(one.content)
    kind = rng.randrange(7)
    if kind == 0:
        content |= {"expression": rng.choice([*EXPRESSIONS, MARKER, "n1 +", "", 7, None, "table.csv", "/dev/zero"])}
    elif kind == 1:
        content |= {"modulus": rng.choice([2, 3, 4, 5, 6, 7, 11, 0, 1, -7, True, 7.0, 10**30, float("inf"), "7", None])}
    elif kind == 2:
        content |= {"values": rng.choice([1, 2, 3, 7, 10**9, -1, True, 2.0, None, float("nan")])}
    elif kind == 3:
        names = rng.choice([[], ["n1"], ["n2", "n1"], ["n1", "n3"], ["n1", "n2", "n3"], [MARKER, "n2"], "n1",
                            ["n1"] * 2, ["n0", "n1"], ["n1", "n²"], ["n01", "n2"], [None, 1], ["n100"]])  # fmt: skip
        content["variables"] = names
    elif kind == 4 and "table" in content:
        path = rng.choice([path for path in paths(content["table"]) if path] or [()])
        content["table"] = put(content["table"], path, rng.choice(ways(at(content["table"], path))))
    elif kind == 5:
        content |= {rng.choice([MARKER, "proof", "table", "expression"]): rng.choice([MARKER, [[0, 1], [1, 0]], None])}
    else:
        content["claims"] = rng.choice([[], content["claims"] * 17, [MARKER], content["claims"][::-1], [None], [[]]])
    return one, content


def stated(content: Any) -> np.ndarray | None:
    """The table that a forged file is about, in so far as it is one at all."""
    with contextlib.suppress(Exception):
        if "table" in content:
            return np.array(content["table"], dtype=np.int64)
        table, count = values_of(content["expression"], content["modulus"]), len(content["variables"])
        used = variables_of(content["expression"])
        grown = table.reshape(table.shape + (1,) * (count - used))
        return np.broadcast_to(grown, (content["modulus"],) * count)
    return None


def judged_content(one: Original, content: Any) -> list[str]:
    began = time.process_time()
    try:
        found = check_content(content, 0.0)
    except (NoProof, InputError) as error:
        text = str(error)
        return [f"it repeats {text!r}"] if any(mark in text for mark in MARKS) else []
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}: {str(content)[:600]!r}"]
    seconds = time.process_time() - began
    problems = [f"{seconds:.1f} s: {str(content)[:600]!r}"] if seconds > SECONDS else []
    table = stated(content)
    if table is None or table.shape != found.function.table.shape or (table != found.function.table).any():
        return [*problems, f"it is about another table than {str(content)[:600]!r} says"]
    table = np.ascontiguousarray(table)
    asked = one if np.array_equal(table, one.table) else Original({}, table)
    for claim, answer in zip(content["claims"], found.claims, strict=True):
        problems += said(answer, claim, table) + wrongly_accepted(asked, table, claim, answer)
    return problems


def on_command_line(rng: random.Random) -> list[str]:
    """A forged file given to `modgrok check`: exit code 0, 1 or 2, one line or a table, nothing of its texts."""
    one, content = forged_content(rng)
    if rng.random() < 0.7:
        one = rng.choice([one for one in originals() if one.content])
        _, _, claim = rng.choice([several_fields, other_group, transplanted, other_cases])(rng, 0)
        content = one.content | {"claims": [claim]}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "forged.json"
        path.write_text(json.dumps(content))
        return answers(path, rng.choice([[], ["--json"]]), allowed=(0, 1, 2))


def answers(path: Path, options: list[str], allowed: tuple[int, ...]) -> list[str]:
    code, out, err = called(["check", str(path), *options])
    text = out + err
    problems = [f"ends with {code}: {err[-300:]}"] if code not in allowed or "Traceback" in text else []
    problems += [f"it repeats the file: {text[:300]!r}"] if any(mark in text for mark in MARKS) else []
    if code == 2 and not out and err.count("\n") != 1:
        problems.append(f"it does not say one line: {err[-300:]!r}")
    if code == 0 and "proved" not in out:
        problems.append("it ends with 0 and does not say what is proved")
    return problems
