"""Ways to keep a proof for something else than what was proved, each of which once said "proved" of what is wrong."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields, replace

import jax
import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.algebra import function as functions
from modgrok.algebra.function import read_function
from modgrok.algebra.groups import Group
from modgrok.algebra.structures import Structure
from modgrok.answers.wording import brief
from modgrok.base.errors import FaultError
from modgrok.base.results import plain
from modgrok.base.stores import write_tensors
from modgrok.explorer.network_answers import network_view
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.models import Mlp
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.network import Network
from modgrok.networks.proving import prove, proved
from modgrok.networks.storage import FILE_SAYS, load
from modgrok.proofs.proof import NoProof, Proof
from modgrok.separable.checking import CheckedClaim, check, write_certificate

STAMP = "proved right on every input"
PRODUCTS = np.multiply.outer(np.arange(5), np.arange(5)) % 5


@pytest.fixture(scope="module")
def sums() -> Network:
    return mg.compile("n1 + n2", 5)


@pytest.fixture
def liar(sums) -> Network:
    """The weights of a sum, said to compute products."""
    return replace(sums, function=read_function("n1 n2", 5))


@pytest.fixture
def looked_up() -> Network:
    """An MLP that is right on n1 + n2 modulo 3: a neuron for each pair, which only its pair makes positive."""
    pairs = [(a, b) for a in range(3) for b in range(3)]
    embed = np.array([[[8 * (float(pair[side] == x) - 0.75) for pair in pairs] for x in range(3)] for side in (0, 1)])
    readout = np.eye(3)[[sum(pair) % 3 for pair in pairs]] * 10
    weights = MlpWeights(embed, (), (), readout)
    return proved(Network(Mlp((3, 3), 3, width=9, depth=2), weights, read_function("n1 + n2", 3), "trained"))


# ------------------------------------------------------------------------------------------ the object itself


def test_numbers_of_a_proof_cannot_be_changed(sums, liar):
    found = prove(liar)
    with pytest.raises(TypeError, match="made by the kernel"):
        replace(found, right=found.rows, wrong=0)
    with pytest.raises(TypeError, match="made by the kernel"):
        replace(sums.proof, subject=liar.subject, words=liar.words)
    with pytest.raises(TypeError, match="made by the kernel"):
        replace(mg.classify("n1 + n2", 5).families[0].proof, reason="it is said")


@pytest.mark.usefixtures("unchecked")
def test_nobody_makes_proofs_of_another_kind(liar):
    with pytest.raises(TypeError, match="no other kinds of proof"):
        type("Own", (Proof,), {"__post_init__": lambda self: None})

    class Like:
        holds = True

        def about(self, *what):
            return True

        def summary(self):
            return STAMP

    assert replace(liar, proof=Like()).proof_text is None


# ------------------------------------------------------------------------------------------ another model or weights


class Turned(Mlp):
    def apply(self, params, rows, **options):
        return -super().apply(params, rows, **options)


@pytest.mark.parametrize("change", ["square", "gelu", Turned])
def test_a_proof_is_not_kept_for_another_model(looked_up, change):
    assert looked_up.proof.holds
    model = looked_up.model
    if isinstance(change, str):
        other = replace(model, activation=change)
    else:
        other = change(**{field.name: getattr(model, field.name) for field in fields(model)})
    assert replace(looked_up, model=other).proof is None
    assert replace(looked_up, notes=("looked at",)).proof is looked_up.proof


class Answering(Network):
    def logits(self, rows):
        return -super().logits(rows)


def test_a_proof_is_not_kept_for_a_network_that_answers_otherwise(sums):
    assert Answering(**{field.name: getattr(sums, field.name) for field in fields(sums)}).proof is None


def test_the_table_of_a_group_cannot_be_changed():
    table = np.add.outer(np.arange(3), np.arange(3)) % 3
    group = Group("the table", table[:], ("0", "1", "2"))
    network = mg.compile("a b", group=group)
    table[:] = 0
    assert (group.table == network.function.table).all() and group.table.any()
    with pytest.raises(ValueError, match="WRITEABLE"):
        group.table.flags.writeable = True


def test_a_layer_that_the_model_does_not_compute_proves_nothing(looked_up):
    turned = MlpWeights(looked_up.params.embed, (np.eye(9)[::-1].copy(),), (), looked_up.params.readout[::-1].copy())
    network = replace(looked_up, params=turned)
    assert (network.table() != looked_up.table()).any()
    with pytest.raises(NoProof, match="not kept as those of its model are"):
        prove(network)


def test_weights_that_somebody_else_holds_are_copied_before_they_are_proved(sums):
    held = np.array(sums.params.experts[0].embed)
    expert = Expert(held[:], sums.params.experts[0].readout, 2)
    network = proved(Network.of_circuit(replace(sums.params, experts=(expert,)), sums.function, "exact"))
    held[:] = 0
    assert network.proof.holds and mg.verify(network).accuracy == 1
    assert not any(leaf.flags.writeable for leaf in jax.tree.leaves(network.params))


def test_a_proof_is_not_kept_with_weights_that_somebody_can_change(sums):
    held = np.array(sums.params.experts[0].embed)
    expert = Expert(held, sums.params.experts[0].readout, 2)
    network = Network.of_circuit(replace(sums.params, experts=(expert,)), sums.function, "exact")
    assert replace(network, proof=prove(network)).proof is None


@pytest.mark.usefixtures("unchecked")
def test_experts_in_a_list_prove_nothing(sums):
    circuit = Circuit(list(sums.params.experts), sums.params.betas, sums.params.wires, 2)
    found = proved(Network.of_circuit(circuit, sums.function, "exact"))
    assert found.proof is None and "not kept as those" in found.unproved


def test_what_was_proved_cannot_be_made_writeable_again(sums):
    for held in (*jax.tree.leaves(sums.params), sums.function.table, mg.table("n1 n2", 5)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            held.flags.writeable = True


def test_arrays_of_jax_may_be_views_of_what_somebody_else_holds(sums):
    """What `jax.device_put` gives changes with the NumPy array behind it, where its memory lies well."""
    on_device = jax.tree.map(jax.device_put, sums.params)
    assert replace(sums, params=on_device).proof is None
    network = proved(replace(sums, params=on_device))
    assert network.proof.holds and all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(network.params))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kept", [lambda wires: [*map(list, wires)], lambda wires: tuple(map(list, wires))])
def test_wires_that_can_be_laid_otherwise_prove_nothing(sums, kept):
    network = proved(replace(sums, params=replace(sums.params, wires=kept(sums.params.wires))))
    assert network.proof is None and "not kept as those" in network.unproved


@pytest.mark.usefixtures("unchecked")
def test_a_power_that_can_be_raised_proves_nothing(sums):
    (expert,) = sums.params.experts
    network = proved(replace(sums, params=replace(sums.params, experts=(replace(expert, power=np.array(2)),))))
    assert network.proof is None and "not kept as those" in network.unproved


# ------------------------------------------------------------------------------------------ another function


def test_inputs_that_are_named_in_another_order_are_not_those_of_the_proof():
    network = mg.compile("n1 - n2", 5)
    turned = replace(network, function=replace(network.function, variables=("n2", "n1")))
    assert turned.proof is None and "not the variables" in proved(turned).unproved
    word = mg.compile("a b", group="S3")
    assert proved(replace(word, function=replace(word.function, variables=("b", "a")))).proof is None


@pytest.mark.parametrize("change", ["name", "tree"])
def test_a_function_that_is_typed_and_shown_or_computed_otherwise_is_not_proved(sums, change):
    other = read_function("n1 n2", 5)
    changed = replace(sums, function=replace(sums.function, **{change: getattr(other, change)}))
    assert changed.proof is None
    assert "not the same function" in proved(changed).unproved


def test_elements_that_are_called_otherwise_are_not_those_of_the_group():
    network = mg.compile("a b", group="S3")
    group = network.function.structure
    names = (*group.words_of_elements[:1], *group.words_of_elements[:0:-1])
    renamed = replace(network.function, structure=replace(group, words_of_elements=names))
    assert replace(network, function=renamed).proof is None
    assert "other names" in proved(replace(network, function=renamed)).unproved


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_a_function_is_no_other_one_under_its_digest(copied):
    function = read_function(PRODUCTS)
    assert function.digest
    same = copied(function)
    assert same == function
    with pytest.raises(ValueError, match="read-only"):
        same.table[1, 1] = 3


def test_what_was_proved_of_a_table_cannot_be_changed():
    given = (np.add.outer(np.arange(5), np.arange(5)) % 5).astype(np.int64)
    network = mg.compile(given)
    given[0, 0] = 3
    assert network.function.table[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        network.function.table[0, 0] = 3
    held = np.array(network.function.table)
    function = replace(network.function, given=held)
    held[:] = 0
    assert (function.table == network.function.table).all()
    with pytest.raises(ValueError, match="read-only"):
        read_function("n1 + n2", 5).table[0, 0] = 3


def test_what_is_shown_of_a_function_is_what_is_proved():
    network = mg.compile("a b", group="S3")
    shown = replace(network, function=replace(network.function, source="b a in S3"))
    assert shown.title == "b a in S3" and proved(shown).proof is None


def test_a_table_without_a_known_cell_is_not_proved(sums):
    nothing = replace(read_function(PRODUCTS), given=np.full((5, 5), -1))
    with pytest.raises(NoProof, match="does not fit"):
        prove(replace(sums, function=nothing))


class Shifted(Structure):
    """Sums that are one too large, under the name of the integers modulo 5, or under one of its own."""

    order = 5
    elements = "five"

    def __init__(self, words: str) -> None:
        self.called = words

    @property
    def words(self) -> str:
        return self.called

    name, element, constant = (staticmethod(kind) for kind in (str, int, int))
    multiply, power, negate = (staticmethod(lambda *of: of[0]) for _ in range(3))

    def add(self, left, right):
        return (np.add(left, right) + 1) % 5


def test_a_structure_of_a_users_own_has_no_name_that_the_kernel_knows():
    assert mg.compile("n1 + n2", Shifted("in five")).proof.holds
    with pytest.raises(FaultError, match="not that of its expression"):
        mg.compile("n1 + n2", Shifted("mod 5"))


# ------------------------------------------------------------------------------------------ the words of a file


def as_file(path, network, **changes):
    about, tensors = network.stored()
    function = about.get("function", {}) | changes.pop("function", {})
    write_tensors(path, about | changes | ({"function": function} if function else {}), tensors)
    return load(path)


@pytest.mark.parametrize("name", ["xy", "n1n2", "x", "abc", "n_1", "function n1 n2 mod 5", "function of x"])
def test_a_table_in_a_file_is_not_called_by_an_expression(tmp_path, name):
    network = as_file(tmp_path / "net", mg.compile(PRODUCTS + 0), function={"name": name})
    assert network.title == f"table '{name}' (5 × 5 → 5)" and proved(network).proof.holds


@pytest.mark.parametrize("name", ["mine", "table 172f02", "function 1d9846", "table 'x y'", "my file.csv", "fn_2"])
def test_the_name_of_a_table_in_a_file_is_kept(tmp_path, name):
    assert as_file(tmp_path / "net", mg.compile(PRODUCTS), function={"name": name}).title == f"{name} (5 × 5 → 5)"


def test_notes_of_a_file_are_shown_as_what_it_says(tmp_path, liar):
    path = tmp_path / "net.safetensors"
    network = as_file(path, liar, notes=[STAMP, f"{FILE_SAYS}{STAMP}"], method="wrapped")
    assert network.notes == (f"{FILE_SAYS}{STAMP}",) * 2
    assert load(network.save(path)).notes == network.notes


@pytest.mark.parametrize("made", [lambda: mg.compile("n1 n2 + n3", 3), lambda: mg.compile(PRODUCTS)])
def test_the_plan_of_a_file_is_of_formulas_and_names(tmp_path, made):
    network = made()
    path = network.save(tmp_path / "net.safetensors")
    assert load(path).plan == network.plan
    lying = tuple(replace(step, text=STAMP, inputs=(STAMP, *step.inputs[1:])) for step in network.plan)
    as_file(path, network, plan=[step.__dict__ | {"learned": None} for step in lying])
    about = network_view(load(path))
    assert STAMP not in json.dumps(plain(about)) and about["graph"]["nodes"][-1]["text"] == "…"
    assert [step.inputs[1:] for step in load(path).plan] == [step.inputs[1:] for step in network.plan]


def test_a_table_in_a_file_is_called_by_no_sentence(tmp_path):
    name = f"table {STAMP}"
    assert as_file(tmp_path / "net", mg.compile(PRODUCTS), function={"name": name}).title.startswith(
        f"table {name!r} ("
    )


def test_no_line_of_verify_is_a_note_of_a_file(tmp_path, capsys, liar):
    path = tmp_path / "net.safetensors"
    as_file(path, liar, notes=[STAMP], method="wrapped")
    assert cli.main(["verify", str(path)]) == 1
    assert STAMP not in capsys.readouterr().out.replace(f"{FILE_SAYS}{STAMP}", "")


def test_what_a_file_claims_of_one_function_is_not_claimed_of_another(tmp_path, sums):
    path = sums.save(tmp_path / "net.safetensors")
    assert mg.wrap(path, "n2 + n1", 5).claimed and not mg.wrap(path, "n1 n2", 5).claimed


def test_answers_that_are_words_of_a_group_whose_elements_are_numbered_otherwise_are_called_a_table():
    own = mg.group("S3").table
    order = [0, 2, 1, 3, 5, 4]
    moved = np.array(order)[own[np.ix_(order, order)]]
    for table, title in ((own, "a b in S3"), (moved, "table 'n1 n2 in S3' (6 × 6 → 6)")):
        expert = mg.compile(table + 0, frequencies="all").params.experts[0]
        found = proved(mg.wrap({"embed": np.array(expert.embed), "readout": np.array(expert.readout)}))
        assert found.title == title and found.proof.holds
        assert np.array_equal(found.function.table, table) and mg.recognise(table).formula == "n1 n2 in S3"


# ------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("text", "place"),
    [("n1^2 + n2", {"mod": 7}), ("a b", {"group": "S3"}), ("n1/n2", {"mod": 5}), ("n1^2", {"mod": 5})],
)
def test_a_verdict_is_proved_of_the_words_and_not_of_a_table_that_was_made_of_them(monkeypatch, text, place):
    assert all(family.proof for family in mg.classify(text, **place, expect=False).families)
    made = functions.value_table

    def wrong(*given):
        table = np.array(made(*given))
        table[[1, 2]] = table[[2, 1]]
        return table

    monkeypatch.setattr(functions, "value_table", wrong)
    found = mg.classify(text, **place, expect=False)
    assert not any(family.proof for family in found.families) and "proved" not in found.answer[0]
    assert found.verdict == "in-class" or "the kernel proves nothing" in " ".join(found.notes)


QUADRATIC = "n1^2 + n1 n2 + n2^2"


def says_proved(answer) -> bool:
    told = (*answer.answer, answer.summary(), answer.explain(), answer._repr_html_())
    return any("proved" in text for text in told) or any(each["proved"] for each in answer.to_json()["families"])


@pytest.fixture(scope="module")
def outside():
    answer = mg.classify(QUADRATIC, 7, expect=False)
    assert answer.verdict == "not-in-class" and says_proved(answer)
    return answer


def test_a_proof_of_one_verdict_is_not_one_of_another(outside):
    family = outside.families[0]
    assert replace(family).proof is family.proof
    for other in (
        {"family": "multiplicative"},
        {"verdict": replace(family.verdict, group_order=8)},
        {"verdict": replace(family.verdict, status="in-class")},
        {"verdict": mg.classify("n1 + n2", 7, expect=False).families[0].verdict},
    ):
        assert replace(family, **other).proof is None


def test_an_answer_about_another_function_has_no_proof(outside):
    for other in (read_function("n1 + n2", 7), read_function(QUADRATIC, 11), read_function(np.eye(7, dtype=int))):
        answer = replace(outside, function=other)
        assert not says_proved(answer) and other.title in answer.answer[0]
        assert "another table" in " ".join(answer.notes)
    named = replace(outside.function, name="n1 + n2", source="n1 + n2")
    assert not says_proved(replace(outside, function=named))
    again = replace(outside, function=read_function(f"{QUADRATIC} mod 7"))
    assert says_proved(again) and again.answer[0] == outside.answer[0]


@pytest.mark.parametrize("field", ["verdict", "family", "families", "witness", "answer", "expression"])
def test_what_an_answer_says_follows_from_what_was_found(outside, field):
    with pytest.raises(TypeError, match="unexpected keyword"):
        replace(outside, **{field: getattr(outside, field)})


def test_a_checked_claim_is_proved_by_a_proof_of_it(tmp_path, outside):
    files = []
    for answer in (outside, mg.classify("n1 + n2", 7, expect=False)):
        files.append(tmp_path / f"{len(files)}.json")
        write_certificate(files[-1], answer.function, [(each.family, each.verdict) for each in answer.families])
    first, second = map(check, files)
    assert first.holds and second.holds
    for change in (
        lambda: CheckedClaim(first.claims[0].claim, "proved", "it is said"),
        lambda: replace(second.claims[0], proof=first.claims[0].proof),
        lambda: replace(first.claims[0], claim=second.claims[0].claim),
        lambda: replace(first, function=second.function),
        lambda: replace(second, claims=first.claims),
    ):
        with pytest.raises(TypeError, match="proved"):
            change()
    assert not replace(first, claims=(replace(first.claims[0], proof=None),)).holds


def test_why_a_family_fits_says_who_checked_it(outside):
    whole = mg.classify("n1 + n2", 5, expect=False)
    partial = mg.classify(np.where(np.eye(5, dtype=bool), -1, whole.function.table), expect=False)
    (fits, *_), (rest, *_) = whole.families, outside.families
    assert brief(fits) == "a witness, checked on every cell"
    assert brief(partial.found.best) == "a witness, checked on every known cell"
    assert brief(replace(fits, proof=None)) == "a witness that the kernel has not checked"
    assert "search alone" in brief(replace(rest, proof=None)) and "search alone" not in brief(rest)


def test_a_network_is_called_exact_where_that_is_proved(tmp_path, liar, sums):
    assert "exact circuit" in repr(sums) and "exact" not in repr(liar)
    found = mg.load(liar.save(tmp_path / "net.safetensors"))
    assert "compiled circuit" in repr(found) and "exact" not in found._repr_html_() and found.method == "exact"
    assert "exact circuit" in repr(proved(mg.load(sums.save(tmp_path / "net.safetensors"))))


def test_the_table_of_a_proved_verdict_cannot_be_changed(outside):
    with pytest.raises(ValueError, match="read-only"):
        outside.families[0].proof.table[0, 0] = 3


def test_what_has_no_right_answer_is_not_proved_right():
    network = mg.compile("n1/n2", 5)
    assert (network.proof.rows, network.proof.unknown) == (20, 5)
    assert network.proof_text.startswith("proved right on every input whose answer is known (margin")
    assert mg.verify(network).verdict == "proved right on every input whose answer is known"
    assert mg.verify(mg.compile("n1 n2", 5)).verdict == STAMP


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_network_of_another_process_has_no_proof_and_can_be_proved_again(copied):
    network = mg.compile("n1 n2 + 3", mod=7)
    found = copied(network)
    assert network.proof is not None and found.proof is None
    assert found.table().tolist() == network.table().tolist() == [[(a * b + 3) % 7 for b in range(7)] for a in range(7)]
    assert mg.verify(found).proof.holds
    answer = mg.classify("n1 n2 + 3", mod=7)
    assert copied(answer.function) == answer.function
