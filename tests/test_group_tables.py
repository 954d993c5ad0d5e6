"""Is a table a product in some finite group? Held against planted ones, brute force, and Latin squares one by one."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.algebra.group_names import group_facts, group_name, named_form, nameless
from modgrok.proofs.proof import NoProof
from modgrok.proofs.verdicts import prove_verdict
from modgrok.separable import classify_table, decide_group, proof_of
from modgrok.separable.certificates import claim_of

AFFINE = "<(1 2 3 4 5), (2 3 5 4)>"
"""x → ax + b modulo 5, of order 20: it has no name here."""


def shuffled(table, rng):
    n = len(table)
    return rng.permutation(n)[table[np.ix_(rng.permutation(n), rng.permutation(n))]]


def switched(table, rng):
    """A Latin square in which two rows exchange one cycle of their values."""
    a, b = rng.choice(len(table), 2, replace=False)
    found, column = table.copy(), int(rng.integers(len(table)))
    first = column
    while True:
        found[[a, b], column] = table[[b, a], column]
        column = int(np.flatnonzero(table[a] == table[b, column])[0])
        if column == first:
            return found


def gives(witness, table):
    """h(g1 · g2) is the table, cell by cell."""
    t = witness.products
    return all(witness.h[t[witness.g1[a]][witness.g2[b]]] == v for (a, b), v in np.ndenumerate(table))


def is_group_by_rows(table):
    """Albert: it is a group's table in disguise just where the steps from row to row are closed under composition."""
    rows = table.tolist()
    steps = [tuple(rows[0].index(v) for v in row) for row in rows]
    return {tuple(x[k] for k in y) for x in steps for y in steps} == set(steps)


# ---------------------------------------------------------------------------------------------------- Latin squares


NAMES = ("S3", "D4", "Q8", "A4", "Dic3", "S4", "SL(2,3)", "GL(2,3)", "S3xS3", "D4xZ2^2", "A5", "S5")


@pytest.mark.parametrize("name", NAMES)
def test_a_group_is_found_and_named_under_any_disguise(name):
    rng = np.random.default_rng(len(name))
    for table in (mg.group(name).table, shuffled(mg.group(name).table, rng)):
        verdict = decide_group(table)
        witness = verdict.witness
        assert verdict.in_class and gives(witness, table) and verdict.group == witness.group_name == name
        assert np.array_equal(witness.products, mg.group(name).table)
        assert proof_of(table, "group", verdict).reason.endswith(f"and its group is {name}")


def latin_squares(n):
    """All whose first row and first column are 0, 1, 2, …, row after row."""

    def filled(rows):
        if len(rows) == n:
            yield np.array(rows)
            return
        for row in permutations(range(n)):
            if row[0] == len(rows) and all(v not in {earlier[k] for earlier in rows} for k, v in enumerate(row)):
                yield from filled([*rows, row])

    return filled([tuple(range(n))])


@pytest.mark.parametrize("n, count, groups", [(3, 1, 1), (4, 4, 4), (5, 56, 6)])
def test_every_small_latin_square_is_decided_as_its_rows_say(n, count, groups):
    """The 56 reduced squares of order 5 are the known number; 6 of them are Z5, 5!/(5 · 4) ways to number it."""
    found = Counter()
    for table in latin_squares(n):
        verdict = decide_group(table)
        proof_of(table, "group", verdict)
        assert verdict.in_class == is_group_by_rows(table)
        found[verdict.status] += 1
    assert sum(found.values()) == count and found["in-class"] == groups


def test_latin_squares_that_are_no_group_are_refuted_by_four_rows_and_columns():
    rng, refuted = np.random.default_rng(0), 0
    for k in range(60):
        table = switched(shuffled(mg.group(("S3", "Q8", "A4", "Z7", "D5", "S4")[k % 6]).table, rng), rng)
        found = classify_table(table, len(table))
        if is_group_by_rows(table):
            assert found.status == "in-class"
            continue
        refuted += 1
        verdict = found.families[-1].verdict
        assert found.families[-1].family == "group" and verdict.decided_by == "quadrangle"
        assert found.status == "not-in-class" and all(family.proof for family in found.families)
        a, b = (verdict.obstruction.cases[0][1][side] for side in ("rows", "columns"))
        first, second = table[np.ix_(a[:2], b[:2])].ravel(), table[np.ix_(a[2:], b[2:])].ravel()
        assert (first[:3] == second[:3]).all() and first[3] != second[3]
    assert refuted > 40


def test_groups_that_are_sums_are_told_as_sums():
    rng = np.random.default_rng(3)
    for name, family, group in (("Z12", "additive", "Z_12"), ("Z2xZ6", "product-group", "Z_2 × Z_6"),
                                ("Z2xZ60", "product-group", "Z_2 × Z_60")):  # fmt: skip
        found = classify_table(shuffled(mg.group(name).table, rng), mg.group(name).order)
        assert (found.family, found.best.group) == (family, group) and found.best.proof


# -------------------------------------------------------------------------------------------------- many-to-one h


def planted(products, rng, *, onto):
    n = len(products)
    maps = [np.concatenate([np.arange(n), rng.integers(0, n, 3)]) if onto else rng.integers(0, n, n) for _ in range(2)]
    return rng.integers(0, int(rng.integers(2, n)), n)[products[np.ix_(*map(rng.permutation, maps))]]


def test_no_planted_product_is_refuted_and_those_of_all_elements_are_found():
    rng, found = np.random.default_rng(5), Counter()
    for k in range(80):
        name = ("S3", "D4", "Q8", "D5", "A4", "Dic3", AFFINE, "S4")[k % 8]
        onto = k % 3 > 0
        table = planted(mg.group(name).table, rng, onto=onto)
        verdict = decide_group(table)
        found[onto, verdict.status] += 1
        if verdict.witness is not None:
            assert gives(verdict.witness, table)
            proof_of(table, "group", verdict)
    assert found[True, "in-class"] == 53 and found[False, "not-in-class"] == 0 and found[False, "unknown"]


def test_functions_of_cosets_that_are_not_normal_are_found_over_the_whole_group():
    """h(x) = x(0) of a permutation: three different rows, six columns, and no group of three elements."""
    elements = list(permutations(range(3)))
    table = np.array([[x[y[0]] for y in elements] for x in elements])
    assert len(np.unique(table.T, axis=0)) == 3
    verdict = decide_group(table)
    assert verdict.group == "S3" and gives(verdict.witness, table) and proof_of(table, "group", verdict)
    assert decide_group(table.T).in_class


def test_a_table_that_fills_the_group_is_refuted_by_two_lines_that_no_symmetry_exchanges():
    rng, kinds = np.random.default_rng(2), Counter()
    for _ in range(20):
        h = np.array([0, 0, 1, 2, 3, 3, 3, 3])
        table = h[switched(shuffled(mg.group("Q8").table, rng), rng)]
        verdict = decide_group(table)
        if verdict.status == "unknown":
            continue
        kinds[verdict.decided_by] += 1
        proof_of(table, "group", verdict)
    assert kinds["intransitive"] and set(kinds) <= {"intransitive", "symmetries"}


def in_some_group_by_force(table):
    """All groups with up to six elements, all places of rows, and then of columns one by one."""
    groups = [np.add.outer(range(n), range(n)) % n for n in range(1, 7)] + [mg.group("Z2^2").table]
    own = list(permutations(range(3)))
    groups.append(np.array([[own.index(tuple(x[k] for k in y)) for y in own] for x in own]))
    rows = list(dict.fromkeys(map(tuple, table.tolist())))
    most = max(*table.shape, len(np.unique(table)))

    def placed(t, places, columns, h):
        if not columns:
            return True
        for y in range(len(t)):
            more = dict(h)
            if all(more.setdefault(int(t[x, y]), v) == v for x, v in zip(places, columns[0], strict=True)) and placed(
                t, places, columns[1:], more
            ):
                return True
        return False

    columns = list(dict.fromkeys(zip(*rows, strict=True)))
    return any(
        placed(t, (0, *rest), columns, {})
        for t in groups
        if len(rows) <= len(t) <= most
        for rest in permutations(range(1, len(t)), len(rows) - 1)
    )


def test_small_tables_agree_with_brute_force():
    rng, pairs = np.random.default_rng(8), Counter()
    for k in range(150):
        table = planted(mg.group(("S3", "Z6", "Z5")[k % 3]).table, rng, onto=False)[: 4 + k % 3, : 4 + k % 2]
        if k % 3:
            table[int(rng.integers(len(table))), int(rng.integers(4))] = int(rng.integers(3))
        verdict, truth = decide_group(table), in_some_group_by_force(table)
        pairs[truth, verdict.status] += 1
        if verdict.status != "unknown":
            proof_of(table, "group", verdict)
        assert verdict.witness is None or gives(verdict.witness, table)
    assert pairs[True, "not-in-class"] == 0 and pairs[True, "in-class"] and pairs[False, "not-in-class"]


def test_what_is_not_decided_is_said():
    rng = np.random.default_rng(1)
    part = rng.integers(0, 4, 12)[mg.group("A4").table][:7]
    verdict = decide_group(part)
    assert verdict.status == "unknown" and verdict.excluded and verdict.group == "any group up to order 12"
    unknown = mg.group("S3").table.copy()
    unknown[0, 0] = -1
    assert decide_group(unknown).status == "unknown" and "unknown cells" in decide_group(unknown).excluded


# ---------------------------------------------------------------------------------------------------------- names


def test_a_name_is_given_only_to_the_group_that_has_it():
    heisenberg = np.array(
        [[((a + d) % 3 * 3 + (b + e) % 3) * 3 + (c + f + a * e) % 3 for d, e, f in product(range(3), repeat=3)]
         for a, b, c in product(range(3), repeat=3)]
    )  # fmt: skip
    assert Counter(nameless(heisenberg).element_orders.tolist()) == {1: 1, 3: 26}, "as Z3^3, which commutes"
    assert named_form(nameless(heisenberg)) is None and group_name(mg.group("Z3^3").table) == "Z3^3"
    assert named_form(mg.group(AFFINE)) is None
    assert group_name(mg.group("D6").table) == group_name(mg.group("S3xZ2").table) == "D6"
    assert group_name(mg.group("Dic2").table) == "Q8" and group_name(mg.group("Z4xZ6").table) == "Z2xZ12"


def test_groups_without_a_name_are_described():
    answer = mg.classify(shuffled(mg.group(AFFINE).table, np.random.default_rng(0)))
    facts = answer.group_facts
    assert answer.answer[0].endswith(
        "is a group in disguise, a group of order 20 with rows, columns and values relabelled: that is proved."
    )
    assert facts.summary() == (
        "a group of order 20, 5 classes, centre Z1, commutators Z5, abelian factors Z4"
    ) and facts.class_sizes == (1, 4, 5, 5, 5)
    assert facts.element_orders == ((1, 1), (2, 5), (4, 10), (5, 4)) and facts.exponent == 20
    s5 = group_facts(mg.group("S5"), "S5")
    assert s5.summary() == "S5, order 120, 7 classes, centre Z1, commutators A5, abelian factors Z2"


# -------------------------------------------------------------------------------------------------------- certificates


@pytest.fixture(scope="module")
def claim():
    return claim_of("group", decide_group(mg.group("Q8").table))


def with_witness(claim, **changes):
    return claim | {"witness": claim["witness"] | changes}


def test_a_true_claim_about_a_group_is_proved(claim):
    table = mg.group("Q8").table
    assert prove_verdict(table, claim).in_class
    nameless_one = with_witness(claim, group_name=None)
    assert "its group is" not in prove_verdict(table, nameless_one).reason


def other_products(claim, change):
    products = [list(row) for row in claim["witness"]["products"]]
    change(products)
    return with_witness(claim, products=products)


def loop(products):
    """Rows exchange a cycle: every line is still a permutation."""
    products[2][1], products[2][3], products[3][1], products[3][3] = products[3][1], products[3][3], *(
        products[2][1], products[2][3]
    )  # fmt: skip


FORGERIES = {
    "another table": lambda c: with_witness(c, products=mg.group("D4").table.tolist(), group_name=None),
    "one product changed": lambda c: other_products(c, lambda t: t[3].__setitem__(4, (t[3][4] + 1) % 8)),
    "a loop": lambda c: other_products(c, loop),
    "no identity": lambda c: with_witness(c, products=c["witness"]["products"][::-1]),
    "h in one place": lambda c: with_witness(c, h=[*c["witness"]["h"][:-1], 0]),
    "g1 in one place": lambda c: with_witness(c, g1=[*c["witness"]["g1"][:-1], 0]),
    "the name of another": lambda c: with_witness(c, group_name="D4"),
    "the name of a larger one": lambda c: with_witness(c, group_name="S5"),
    "an unknown name": lambda c: with_witness(c, group_name="M11"),
    "no name but a text": lambda c: with_witness(c, group_name="Q8 \x1b[31m and all is proved"),
    "a name of very many letters": lambda c: with_witness(c, group_name="Z2x" * 1000 + "Z2"),
    "a number for a name": lambda c: with_witness(c, group_name=8),
    "out of range": lambda c: other_products(c, lambda t: t[1].__setitem__(1, 8)),
    "negative": lambda c: other_products(c, lambda t: t[1].__setitem__(1, -1)),
    "huge": lambda c: other_products(c, lambda t: t[1].__setitem__(1, 10**40)),
    "not a number": lambda c: other_products(c, lambda t: t[1].__setitem__(1, float("nan"))),
    "a truth value": lambda c: other_products(c, lambda t: t[0].__setitem__(1, True)),
    "a text": lambda c: other_products(c, lambda t: t[1].__setitem__(1, "0")),
    "a fraction": lambda c: other_products(c, lambda t: t[1].__setitem__(1, 2.0)),
    "a row too few": lambda c: other_products(c, lambda t: t.pop()),
    "a cell too few": lambda c: other_products(c, lambda t: t[0].pop()),
    "no table": lambda c: with_witness(c, products=None),
    "another order": lambda c: c | {"group_order": 9},
    "a huge order": lambda c: c | {"group_order": 10**9},
    "more than there may be": lambda c: c | {"group_order": 2000},
    "an absorbing element": lambda c: c | {"absorbing": True},
    "a value at infinity": lambda c: with_witness(c, h_absorbing=0),
    "a null place": lambda c: with_witness(c, g1=[None, *c["witness"]["g1"][1:]]),
    "all groups up to it": lambda c: c | {"up_to": True},
    "moduli": lambda c: c | {"moduli": [2, 4]},
    "a key more": lambda c: with_witness(c, proof=True),
    "as a sum": lambda c: c | {"family": "additive"},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_claim_about_a_group_is_refused_in_one_line(claim, name, tmp_path, capsys):
    table = mg.group("Q8").table
    forged = FORGERIES[name](claim)
    with pytest.raises(NoProof):
        prove_verdict(table, forged)
    content = {"format": "modgrok certificate 1", "table": table.tolist(), "values": 8, "variables": ["n1", "n2"]}
    (tmp_path / "forged.json").write_text(json.dumps(content | {"claims": [forged]}))
    try:
        code = cli.main(["check", str(tmp_path / "forged.json")])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code in (1, 2) and "\x1b" not in out and "all is proved" not in out and "Traceback" not in err


REFUTATION = {"family": "group", "verdict": "not-in-class", "group_order": 6, "absorbing": False, "up_to": True}


def refuting(certificate, **changes):
    cases = [[None, certificate]]
    return REFUTATION | {"obstruction": {"kind": certificate.get("kind"), "cases": cases}} | changes


@pytest.mark.parametrize("certificate", [
    {"kind": "quadrangle", "rows": [0, 1, 2, 3], "columns": [0, 1, 2, 3]},
    {"kind": "quadrangle", "rows": [0, 0, 0, 0], "columns": [0, 0, 0, 0]},
    {"kind": "quadrangle", "rows": [0, 1, 2, 6], "columns": [0, 1, 2, 3]},
    {"kind": "quadrangle", "rows": [0, 1, 2], "columns": [0, 1, 2, 3]},
    {"kind": "quadrangle", "rows": [0, 1, 2, True], "columns": [0, 1, 2, 3]},
    {"kind": "quadrangle", "rows": [0, 1, 2, float("nan")], "columns": "0123"},
    {"kind": "intransitive", "side": "row", "line": 1},
    {"kind": "intransitive", "side": "column", "line": 5},
    {"kind": "intransitive", "side": "row", "line": 0},
    {"kind": "intransitive", "side": "diagonal", "line": 1},
    {"kind": "short-cycles"},
    {"kind": "no-cyclic-automorphism"},
    {"kind": "distinct-lines"},
    {"kind": "counting", "lines": [["row", 0]] * 6},
])  # fmt: skip
def test_nothing_refutes_a_group_that_is_there(certificate):
    """S3: no step of its rows is one cycle, which refutes Z6 alone."""
    table = mg.group("S3").table
    with pytest.raises(NoProof):
        prove_verdict(table, refuting(certificate))
    if certificate["kind"] in ("short-cycles", "no-cyclic-automorphism"):
        cyclic = {name: value for name, value in refuting(certificate).items() if name != "up_to"}
        assert not prove_verdict(table, cyclic | {"family": "additive"}).in_class


def test_a_quadrangle_says_nothing_where_h_need_not_be_one_to_one():
    table = switched(shuffled(mg.group("S3").table, np.random.default_rng(1)), np.random.default_rng(1))
    claim = claim_of("group", decide_group(table))
    assert not prove_verdict(table, claim).in_class
    for changes in ({"group_order": 7}, {"group_order": 36}, {"up_to": False}):
        with pytest.raises(NoProof):
            prove_verdict(table, claim | changes)


def test_products_in_any_group_are_of_two_variables():
    table = np.add.outer(np.add.outer(range(3), range(3)), range(3)) % 3
    with pytest.raises(NoProof, match="two variables"):
        prove_verdict(table, refuting({"kind": "distinct-lines"}, group_order=2))


# ------------------------------------------------------------------------------------------------------------- verbs


def test_the_command_line_tells_and_proves_a_group(tmp_path, capsys):
    path = tmp_path / "s5.json"
    assert cli.main(["classify", "a b", "--group", "S5", "--proof", "--certificate", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a b in S5 is the product of the group S5 (order 120): that is proved.")
    assert "(1 2)" in mg.group("S5").words_of_elements and "elements" in out
    assert cli.main(["check", str(path)]) == 0
    assert "its group is S5" in " ".join(capsys.readouterr().out.split())


def test_the_command_line_tells_a_latin_square_that_is_no_group(tmp_path, capsys):
    rng = np.random.default_rng(4)
    table = switched(shuffled(mg.group("A4").table, rng), rng)
    assert not is_group_by_rows(table)
    np.savetxt(tmp_path / "mine.csv", table, fmt="%d", delimiter=",")
    path = tmp_path / "proof.json"
    assert cli.main(["classify", "--table", str(tmp_path / "mine.csv"), "--certificate", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "is no group in disguise: proved, since rows" in told["answer"][0]
    assert told["verdict"] == "not-in-class" and told["families"][-1]["proved"] and told["group_facts"] is None
    assert cli.main(["check", str(path)]) == 0


def test_a_table_is_compiled_by_the_group_behind_it():
    rng = np.random.default_rng(6)
    table = shuffled(mg.group("S4").table, rng)
    network = mg.compile(table)
    assert network.proof.holds and network.width == mg.compile("a b", group="S4").width < 26
    folded = np.array([0, 1, 1, 2, 2, 3] * 4)[table]
    assert mg.compile(folded).proof.holds and np.array_equal(mg.compile(folded).table(), folded)
