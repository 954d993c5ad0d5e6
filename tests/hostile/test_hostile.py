"""A bounded part of the harness, for every `make test`; `make hostile` runs the whole (tests/hostile/run.py)."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import certificate_forgeries
import compiled
import damaged_files
import expressions
import forged_certificates
import forged_networks
import kills
import large_certificates
import numpy as np
import options
import placements
import pytest
import random_expressions
import random_words
import run
import surroundings
import tables
import true_certificates
from tally import Tally

from modgrok.algebra.function import read_function
from modgrok.compiler.compiling import compile
from modgrok.networks import storage
from modgrok.networks.proving import own_table


def none_found(tally: Tally, at_least: int) -> None:
    assert not tally.found, "\n".join(tally.shown)
    assert sum(tally.tried.values()) >= at_least


def test_expressions(monkeypatch):
    monkeypatch.setattr(expressions, "BATCH", 400)
    none_found(expressions.run_batch(0), 400)


def test_a_wrong_value_would_be_found(monkeypatch):
    truth = expressions.evaluate
    monkeypatch.setattr(expressions, "evaluate", lambda tree, values, p: (truth(tree, values, p) + 1) % p)
    assert expressions.problems("n1 n2 + 3", random.Random(0), must_be_read=True)


def test_tables(monkeypatch):
    monkeypatch.setattr(tables, "SIZES", (5, 6, 7, 8, 11))  # the list of all 4 × 4 tables takes seconds
    monkeypatch.setattr(tables, "BATCH", 100)
    for batch in (0, 100, 1000):
        none_found(tables.run_batch(batch), 100)


def test_all_small_tables_are_among_those_that_are_tried():
    small = [tables.exhaustive(k) for k in range(2 * 2**4 + 1)]
    seen = {(table.tobytes(), order, absorbing) for table, order, absorbing in small[:-1]}
    assert len(seen) == 32 and small[-1][0].shape == (3, 3)
    assert tables.exhaustive(2 * 2**4 + 2 * 3**9) is None


def test_a_wrong_verdict_would_be_found():
    sums = np.add.outer(np.arange(3), np.arange(3)) % 3
    assert tables.truth(sums, 3, False) and not tables.truth(sums, 2, True)
    assert tables.problems(sums, 3, False, in_class=False) and not tables.problems(sums, 3, False, in_class=True)


@pytest.mark.usefixtures("unchecked")
def test_networks_of_every_production_of_the_grammar_compiled_in_every_way_are_right(monkeypatch):
    monkeypatch.setattr(compiled, "BATCH", 50)
    tally = compiled.run_batch(5)
    none_found(tally, 4 * 50)
    assert set(tally.seen) >= set(random_expressions.PRODUCTIONS)
    ways = {way.name for number in range(20) for way in compiled.ways(random.Random(number))}
    assert len(ways) == 8 and ways <= set(tally.tried)


@pytest.mark.usefixtures("unchecked")
def test_words_of_every_production_have_the_values_of_their_trees():
    chance = random.Random(6)
    cases = [random_words.random_case(chance) for _ in range(250)]
    for case in cases:
        found = read_function(case.text, **case.given)
        assert (found.sizes, found.table.reshape(-1).tolist()) == (case.sizes, case.answers), case.text
        assert np.array_equal(own_table(found), found.table), case.text
    tables_ = [random_words.random_table(chance) for _ in range(20)]
    assert {name for case in (*cases, *tables_) for name in case.used} == set(random_words.PRODUCTIONS)
    for case in (*cases[:12], *tables_[:4]):
        assert compiled.word_problems(chance, case)[1] == []


@pytest.mark.usefixtures("unchecked")
def test_a_network_for_another_word_would_be_found(monkeypatch):
    answers = [a * pow(b, 3, 5) % 5 if b else -1 for a in range(5) for b in range(5)]
    case = random_words.Case("modulo m", "x/y", {"mod": 5}, (5, 5), answers, random_words.Counter())
    assert compiled.word_problems(random.Random(1), case)[1] == []
    other = case._replace(answers=[-1 if v < 0 else (v + 1) % 5 for v in answers])
    assert "made for another table" in compiled.word_problems(random.Random(1), other)[1][0]
    monkeypatch.setattr(compiled, "proved", lambda network: compiled.mg.compile("x/y", 5))
    assert len(compiled.word_problems(random.Random(1), case)[1]) == 2


@pytest.mark.usefixtures("unchecked")
def test_a_proof_that_is_carried_over_would_be_found(tmp_path, monkeypatch):
    assert forged_networks.carried(tmp_path / "net", random.Random(0)) == []
    kept = forged_networks.replace

    def carried(thing, **changes):
        found = kept(thing, **changes)
        if getattr(thing, "proof", None) is not None:
            object.__setattr__(found, "proof", thing.proof)
        return found

    monkeypatch.setattr(forged_networks, "replace", carried)
    assert any("the proof is kept" in line for line in forged_networks.carried(tmp_path / "net", random.Random(0)))


@pytest.mark.usefixtures("unchecked")
def test_a_table_that_is_called_by_an_expression_would_be_found(tmp_path, monkeypatch):
    table = next(one for one in forged_networks.originals() if one.name == "table")
    about, tensors = table.stored
    named = about | {"function": about["function"] | {"name": "n1 n2 mod 3"}, "notes": ["proved"]}
    forged_networks.written(tmp_path / "net", random.Random(1), named, tensors)
    assert forged_networks.problems(tmp_path / "net", "counted", "named") == []
    monkeypatch.setattr(storage, "called_a_table", str)
    monkeypatch.setattr(storage, "notes_of", tuple)
    found = forged_networks.problems(tmp_path / "net", "counted", "named")
    assert len(found) == 2 and "called by an expression" in found[1]


def test_values_of_random_expressions_are_those_of_integers():
    x, y, z = (("variable", k) for k in (1, 7, 3))
    tree = ("sum", ("product", ("number", 10), ("power", x, 2), y), ("negative", ("power", z, 0)), ("power", y, 10**30))
    case = random_expressions.Case("", 4, tree, 4, (1, 3, 7), random_expressions.Counter())
    wanted = [(10 * a**2 * c - 1 + pow(c, 10**30, 4)) % 4 for a in range(4) for b in range(4) for c in range(4)]
    assert case.values() == wanted and case.rows == 64


@pytest.mark.parametrize("method", ["exact", "paper"])
def test_a_network_for_something_else_would_be_found(method, monkeypatch):
    tree = ("product", ("variable", 1), ("variable", 2))
    case = random_expressions.Case("n1 n2", 5, tree, 5, (1, 2), random_expressions.Counter())
    way = compiled.Way(method, {"method": method, "dtype": "float32"})
    truth = np.array(case.values())
    assert compiled.problems(case, way, truth)[1] == []
    assert len(compiled.problems(case, way, (truth + 1) % 5)[1]) >= 1
    made = compiled.mg.compile
    monkeypatch.setattr(compiled.mg, "compile", lambda text, mod, **settings: made("n1 n2 + 1", mod, **settings))
    assert len(compiled.problems(case, way, truth)[1]) >= 1


def test_a_network_whose_every_row_is_undecided_has_a_proof_that_says_so():
    """At so small an inverse temperature no answer is sharp enough for the next expert to be decided."""
    network = compiled.mg.compile("n1 n2 + n1", 3, method="paper", beta=1.0, mul_width=20, add_width=40)
    assert (network.proof.right, network.proof.wrong, network.proof.undecided) == (0, 0, 9)


def test_only_numbers_that_are_large_excuse_a_missing_proof():
    circuit = compiled.mg.compile("n1 n2 + n1", 3, method="paper", mul_width=20, add_width=40).circuit
    assert not compiled.may_overflow(circuit)
    (first, *others), large = circuit.experts, np.float32(1e20)
    experts = (replace(first, embed=first.embed * large), *others)
    assert compiled.may_overflow(replace(circuit, experts=experts)), "squares of 1e20 in float32"


def test_an_error_and_a_warning_of_the_compiler_would_be_found(monkeypatch):
    case, way = random_expressions.random_case(random.Random(0)), compiled.ways(random.Random(0))[0]
    truth = np.array(case.values())
    monkeypatch.setattr(compiled.mg, "compile", lambda *given, **settings: compiled.warnings.warn("overflow"))
    assert "UserWarning: overflow" in compiled.problems(case, way, truth)[1][0]
    monkeypatch.setattr(compiled.mg, "compile", lambda *given, **settings: 1 // 0)
    assert "ZeroDivisionError" in compiled.problems(case, way, truth)[1][0]


def test_forged_certificates():
    none_found(forged_certificates.run_batch(1), 1000)


def test_all_kinds_of_claims_are_forged():
    kinds = {true_certificates.kind_of(claim) for _, claim, _ in true_certificates.claims()}
    assert kinds == {*true_certificates.KINDS, "several", "in-class"}
    assert certificate_forgeries.damages()[-1] % true_certificates.STEP
    assert certificate_forgeries.damages()[-1] < certificate_forgeries.CLAIMS["one field"][0] * 1000


def test_a_false_claim_that_is_accepted_would_be_found(monkeypatch):
    def accepted(table, claim, work):
        told = {"family": claim["family"], "verdict": claim["verdict"], "group": "Z_3"}
        return SimpleNamespace(**told, outcome="proved", reason="")

    monkeypatch.setattr(forged_certificates, "check_claim", accepted)
    sums = np.add.outer(np.arange(3), np.arange(3)) % 3
    false = large_certificates.refuting((3,), {"kind": "distinct-lines"})
    one = true_certificates.of_table(sums, [false])
    assert any("accepted and false" in line for line in forged_certificates.judged_claim(one, sums, false))


def test_placements_agree_with_the_list_of_all_small_tables():
    for k in range(2 * 2**4 + 400):
        table, order, absorbing = tables.exhaustive(k)
        assert placements.in_class(table, (order,), absorbing) == tables.truth(table, order, absorbing)


@pytest.mark.usefixtures("unchecked")
def test_forged_networks(monkeypatch):
    monkeypatch.setattr(forged_networks, "BATCH", 150)
    none_found(forged_networks.run_batch(3), 150)


@pytest.mark.usefixtures("unchecked")
def test_a_proof_of_wrong_weights_would_be_found(tmp_path, monkeypatch):
    one, path = forged_networks.originals()[0], tmp_path / "forged.safetensors"
    about, tensors = one.stored
    proof = forged_networks.prove(compile("n1 + n2", 5))
    monkeypatch.setattr(forged_networks, "prove", lambda network: proof)
    forged_networks.written(
        path, random.Random(0), about, tensors | {"experts.0.embed": tensors["experts.0.embed"] * 0}
    )
    found = forged_networks.problems(path, "counted", "zeros")
    assert len(found) == 2 and "0 of 25 are right" in found[0]


@pytest.mark.parametrize("name", damaged_files.FORMATS)
@pytest.mark.usefixtures("unchecked")
def test_damaged_files(name):
    none_found(damaged_files.damages(name, every=401), 1)


def test_numeric_options():
    tally = Tally()
    for command, option, value in options.questions():
        if value == "-inf":  # refused before any work; the others are tried by `make hostile`
            tally.trial(command, *options.problems(command, option, value))
    none_found(tally, 60)


def test_streams_that_are_full():
    assert surroundings.without_streams("classify", "> /dev/full") == []


def test_what_a_kill_leaves_is_compared_and_must_be_whole(tmp_path):
    (tmp_path / "result.json").write_text('{"step": 3, "seconds": 1.5}')
    (tmp_path / "running.json").write_text("{")
    (tmp_path / "weights.bin").write_bytes(b"12")
    wanted = kills.content(tmp_path)
    (tmp_path / "result.json").write_text('{"step": 3, "seconds": 99}')
    assert kills.different(wanted, kills.content(tmp_path)) == [] and kills.not_whole(tmp_path) == []
    (tmp_path / "weights.bin").write_bytes(b"13")
    assert kills.different(wanted, kills.content(tmp_path)) == ["differ from an unbroken one: weights.bin"]
    (tmp_path / "half.safetensors").write_bytes(b"12")
    assert len(kills.not_whole(tmp_path)) == 1
    assert kills.TOTAL == 1000 == 10 * len(kills.BATCHES)


def test_the_counts_that_are_told_are_those_that_were_recorded():
    stored, told = run.json.loads(run.RESULTS.read_text()), (run.ROOT / "SECURITY.md").read_text()
    assert [line for line in run.table(stored) if line not in told] == []
    assert all(part["commit"] in told for part in stored["parts"].values())


def test_what_was_done_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(expressions, "TOTAL", 2000)
    for seconds, left in ((0, 2000), (3600, 0), (3600, 0)):
        code = run.main(
            ["--parts", "a", "--workers", "1", "--seconds", str(seconds), "--out", str(tmp_path / "hostile.json")]
        )
        stored = run.json.loads((tmp_path / "hostile.json").read_text())["parts"]["a"]
        assert code == 0 and stored["left"] == left and stored["trials"] == 2000 - left
