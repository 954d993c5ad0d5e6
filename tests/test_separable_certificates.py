"""Certificates in files: they survive JSON, `check` proves true ones, and refuses forged ones in bounded time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from separable_cases import CASES, table_of

import modgrok as mg
from modgrok import cli
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.proofs.claims import Malformed, Work
from modgrok.proofs.cycles import has_cyclic_automorphism
from modgrok.proofs.proof import TooMuchWork
from modgrok.proofs.verdicts import prove_verdict
from modgrok.separable import check_witness, decide, verdict_to_json
from modgrok.separable.checking import FORMAT, write_certificate


def searched() -> tuple[np.ndarray, int]:
    """A table that only the search refutes, found by trying seeds: a planted one with a cell changed."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 4, 9)[(rng.permutation(9)[:6, None] + rng.permutation(9)[:6]) % 9]
        table[rng.integers(6), rng.integers(6)] = 0
        found = decide(table, 9, False)
        if found.obstruction is not None and found.obstruction.kind == "search":
            return table, 9
    raise AssertionError("no seed gave a searched table")


XOR = np.arange(8)[:, None] ^ np.arange(8)
VERDICTS = {
    "search": (*searched(), False),
    "counting": (table_of(CASES[3].function, 11), 11, False),
    "product": (table_of(CASES[3].function, 11), 10, True),
    "symmetry": (table_of(CASES[2].function, 97), 96, True),
    "xor": (XOR, (2, 2, 2), False),
    "no xor": (XOR, (2, 4), False),
}


@pytest.mark.parametrize("table, order, absorbing", VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_survives_json(table, order, absorbing):
    verdict = decide(table, order, absorbing)
    family = "multiplicative" if absorbing else "product-group" if isinstance(order, tuple) else "additive"
    text = json.dumps({"family": family, **verdict_to_json(verdict)}, allow_nan=False)
    assert prove_verdict(table, json.loads(text)).in_class == verdict.in_class


def written(tmp_path, *words: str) -> dict:
    path = tmp_path / "proof.json"
    assert cli.main(["classify", *words, "--certificate", str(path), "--json"]) == 0
    return json.loads(path.read_text())


QUESTIONS = ("n1 n2 mod 11", "n1^2 + n1 n2 mod 11", "n1 n2 + n3 mod 5", "n1 n2 mod 6", "n1^2 mod 5", "3 mod 5")


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_classify_writes_is_proved_by_check(question, tmp_path, capsys):
    content = written(tmp_path, question)
    capsys.readouterr()
    assert content["format"] == FORMAT and content["expression"]
    assert cli.main(["check", str(tmp_path / "proof.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["function"]["expression"] == content["expression"] and found["function"]["digest"]
    assert found["holds"] and {claim["holds"] for claim in found["claims"]} == {True}
    assert cli.main(["check", str(tmp_path / "proof.json")]) == 0
    assert "every claim is proved" in capsys.readouterr().out


def test_a_table_travels_in_its_certificate(tmp_path):
    function = read_function(np.add.outer(np.arange(3), np.arange(4)))
    write_certificate(tmp_path / "t.json", function, [("additive", decide(function.table, 6, False))])
    found = mg.check(tmp_path / "t.json")
    assert found.holds and "every claim is proved" in repr(found)


@pytest.mark.parametrize("p", [11, 12])
def test_proofs_about_tables_with_unknown_cells_are_proved_too(p, tmp_path):
    rng = np.random.default_rng(0)
    table = np.where(rng.random((p, p)) < 0.3, -1, rng.integers(0, p, (p, p)))
    function, path = read_function(table), tmp_path / "t.json"
    families = mg.classify(function).families
    assert {found.verdict.status for found in families} == {"not-in-class"}
    write_certificate(path, function, [(found.family, found.verdict) for found in families])
    assert mg.check(path).holds
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"table": mg.table("n1 + n2", p).tolist()}))
    assert mg.check(path).claims[0].holds is False


def test_what_is_left_open_is_not_called_proved(tmp_path, capsys):
    content = written(tmp_path, "n1 n2", "--mod", "11")
    additive, multiplicative = content["claims"]
    unknown = additive | {"verdict": "unknown", "obstruction": None}
    for claims, said in (
        ([], "nothing is claimed"),
        ([unknown], "nothing is claimed"),
        ([unknown, multiplicative], "every claim is proved, and 1 left open"),
        ([additive, multiplicative | {"absorbing": False}], "1 of 2 claims is refused"),
    ):
        (tmp_path / "some.json").write_text(json.dumps(content | {"claims": claims}))
        capsys.readouterr()
        cli.main(["check", str(tmp_path / "some.json")])
        assert capsys.readouterr().out.splitlines()[0] == f"n1 n2 mod 11: {said}"


def test_a_claim_about_all_smaller_groups_says_so(tmp_path):
    written(tmp_path, "n1 n2", "--mod", "6")
    groups = [claim.group for claim in mg.check(tmp_path / "proof.json").claims]
    assert groups == ["Z_6", "any group up to Z_5 with an absorbing element", "any group up to order 6"]


def test_a_claim_is_about_the_family_that_it_names(tmp_path):
    """A sum is neither constant nor a function of one variable, whatever its true witness is called."""
    content = written(tmp_path, "n1 + n2", "--mod", "7")
    for family, reason in (
        ("one-variable", "depends on 2 variables"),
        ("constant", "depends on 2 variables"),
        ("multiplicative", "has no such group"),
        ("product-group", "has no such group"),
        ("magic", "family must be one of"),
    ):
        claim = content["claims"][0] | {"family": family}
        (tmp_path / "named.json").write_text(json.dumps(content | {"claims": [claim]}))
        found = mg.check(tmp_path / "named.json")
        assert not found.holds and reason in found.claims[0].reason


def test_forged_claims_are_refused(tmp_path, capsys):
    content = written(tmp_path, "n1 n2", "--mod", "11")
    additive, multiplicative = content["claims"]
    witness = multiplicative["witness"]
    for claim, reason in (
        (multiplicative | {"witness": witness | {"h": witness["h"][::-1]}}, "does not give the table"),
        (multiplicative | {"absorbing": False}, "has no such group"),
        (multiplicative | {"group_order": 121}, "h must be a list of 121"),
        (additive | {"group_order": 10**9}, "group_order must be a whole number from 1 to 16384"),
        (additive | {"absorbing": True}, "has no such group"),
        (additive | {"absorbing": True, "family": "multiplicative"}, "not one case for each value"),
        (additive | {"obstruction": additive["obstruction"] | {"cases": []}}, "not one case for each value"),
        (additive | {"obstruction": additive["obstruction"] | {"axis": 7}}, "axis must be a whole number from 0 to 1"),
        (additive | {"obstruction": None}, "one not-in-class an obstruction"),
        (additive | {"verdict": "proved"}, "verdict must be one of"),
        ({"family": "additive"}, "a claim must have the keys"),
    ):
        (tmp_path / "forged.json").write_text(json.dumps(content | {"claims": [claim]}))
        found = mg.check(tmp_path / "forged.json")
        assert not found.holds and reason in found.claims[0].reason
        outcome = found.claims[0].outcome
        assert cli.main(["check", str(tmp_path / "forged.json")]) == {"refuted": 1, "unreadable": 2}[outcome]
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(InputError, match="is no certificate of modgrok"):
        mg.check(tmp_path / "none.json")


def test_a_tree_that_runs_in_circles_is_refused():
    table, order = searched()
    value = {"family": "additive", **verdict_to_json(decide(table, order, False))}
    nodes = value["obstruction"]["cases"][0][1]["tree"]["nodes"]
    nodes[-1][1] = [[0, 0]]
    with pytest.raises(Malformed, match="a child must be a whole number from"):
        prove_verdict(table, value)


def test_a_false_claim_about_symmetries_takes_no_factorial_time():
    """A table with one value off the diagonal has all permutations as symmetries, and most are no cycles."""
    table = [tuple(int(a == b) for b in range(12)) for a in range(12)]
    with pytest.raises(TooMuchWork, match="too long to check"):
        has_cyclic_automorphism(table, Work(1_000_000))


def test_a_witness_is_held_against_the_group_that_was_asked_about():
    """Over Z_{p²} every table has a witness, and ∞ turns any row to a constant: neither answers another question."""
    table = np.random.default_rng(0).integers(0, 5, (5, 5))
    witness = decide(table, 25, False).witness
    assert check_witness(table, 25, False, witness) and not check_witness(table, 5, False, witness)
    product = table_of(lambda a, b: a * b, 5)
    with_zero = decide(product, 4, True).witness
    assert check_witness(product, 4, True, with_zero) and not check_witness(product, 4, False, with_zero)


def test_reasons_are_given_once_for_all_constants():
    """One row of a table of three variables against the rest may be constant in p ways: one sentence says why not."""
    table = mg.table("n1 n2 + n3", 11)
    explanation = decide(table.reshape(11, 121), 10, True).obstruction.explanation
    assert "the same for each of 10 other constants" in explanation and len(explanation) < 400
