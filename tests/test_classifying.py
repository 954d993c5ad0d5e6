"""classify, from Python: expressions and tables, one line that answers, and one expectation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from separable_cases import CASES, table_of

from modgrok.algebra.expression import parse
from modgrok.algebra.function import table
from modgrok.algebra.trees import to_text
from modgrok.answers import probe as probing
from modgrok.answers.classifying import Answer, classify
from modgrok.answers.outlook import outlook
from modgrok.base.errors import InputError
from modgrok.loss_law.expectation import Expectation
from modgrok.separable import check_obstruction, check_witness
from modgrok.separable.classification import Classification
from modgrok.separable.measures import completion
from modgrok.training import presets


@pytest.fixture
def rough(monkeypatch):
    """Tables complete themselves in two sweeps instead of 25: for tests of words that no expectation changes."""
    monkeypatch.setattr(completion, "SWEEPS", 2)


def same(first: Answer, second: Answer) -> bool:
    fields = ("verdict", "family", "group_order", "witness", "redundancy", "expected", "closed_form", "modulus")
    return all(getattr(first, name) == getattr(second, name) for name in fields)


def test_a_table_is_answered_like_its_expression():
    table = table_of(lambda a, b: a * a * b + 3, 31)
    written, given, told = classify("x^2 y + 3", mod=31), classify(table), classify(table.astype(np.uint8), mod=31)
    assert same(written, given) and same(given, told)
    assert written.expression == "n1^2 n2 + 3" and given.expression is None
    assert check_witness(table, given.group_order, given.witness.absorbing, given.witness)
    assert same(classify("x^2 y + 3 mod 31"), written) and classify("x^2 y + 3 mod 31").expression == "n1^2 n2 + 3"


def test_an_obstruction_is_a_proof_that_can_be_checked():
    found = classify("n1^2 + n1 n2 + n2^2", mod=23)
    (additive, *_), table = found.families, table_of(lambda a, b: a * a + a * b + b * b, 23)
    assert found.witness is None and found.obstruction.kind == "counting"
    assert check_obstruction(table, 23, False, additive.verdict.obstruction)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_the_repr_is_one_line_that_answers(case):
    table = table_of(case.function, 43)
    for found in (classify(table), classify(case.text, 43)):
        assert len(repr(found)) < 200 and "\n" not in repr(found)
        assert ("that is proved" not in repr(found)) == (found.verdict == "in-class")
        assert f"expected test accuracy {found.outlook.accuracy}>" in repr(found)
    assert repr(found).startswith(f"<Answer: {to_text(parse(case.text))}"[:40])


def test_the_html_escapes_and_names_every_family():
    text = classify("n1 n2", mod=97)._repr_html_()
    assert text.startswith("<table>") and "A network should learn it" in text and "multiplicative" in text


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("text, modulus, sentence", [
    ("n1 + n2", 97, "is a sum."),
    ("n1 n2", 23, "is a product."),
    ("x^2 y + 3", 31, "is a product in disguise: u + 3 with u = n1^2 n2."),
    ("(2n1 + 3n2)^4", 97, "is a sum in disguise: u^4 with u = 2 n1 + 3 n2."),
    ("n1 n2 + 2n1 + 3n2", 97, "is a product in disguise: u - 6 with u = (n1 + 3) (n2 + 2)."),
    ("n1 n2 n3 + 4", 7, "is a product in disguise: u + 4 with u = n1 n2 n3."),
    ("n1^2 + n1 n2 + n2^2", 23, "is neither a sum nor a product in disguise: that is proved."),
    ("n1 n2", 6, "is not h(g1 + g2) over Z_6 nor over any group up to Z_5 with an absorbing element, nor "
         "h(g1 · g2) over any group up to order 6: that is proved."),
    ("y - x", 9, "is the sum -n1 + n2."),
    ("x^2 - y^2", 31, "is a sum."),
    ("n1^2 + n2^2", 12, "is a sum."),
    ("(n1 + n2)^2", 15, "is a sum in disguise: u^2 with u = n1 + n2."),
    ("3n1 n2 - 1", 131, "is a product in disguise: 3 u - 1 with u = n1 n2."),
    ("n1 + n2", 1999, "is a sum."),
    ("n1^15 n2^15", 31, "is a product, and a sum in disguise as well."),
    ("2n1^15 n2^15 + 3", 31, "is a product in disguise: 2 u + 3 with u = n1^15 n2^15, and a sum in disguise as well."),
    ("n1^2", 7, "depends on one variable alone; this is about its table over n1 and n2, where `train` has n1 alone."),
    ("5", 7, "is constant; this is about its table over n1 and n2, where `train` has n1 alone."),
])  # fmt: skip
def test_the_first_sentence_says_what_it_is(text, modulus, sentence):
    found = classify(text, modulus)
    assert found.answer[0] == f"{to_text(parse(text))} mod {modulus} {sentence}"
    form = re.search(r" u = |is (a|the) (sum|product)( -n1.*|, and .*)?\.$", sentence)
    assert (found.closed_form is not None) == bool(form)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("text, modulus", [
    ("5n1^2 - 3n2 + 7", 30), ("(3n1 + n2)^3 + 1", 15), ("n1 n2 - n1 - n2", 23), ("7n1^3 n2^2 - 2", 131), ("n1 - n2", 9),
    ("3n1^2 n2^6 + 5", 31), ("4n1^5 n2^5", 31), ("n1^6 n2^3", 7),
])  # fmt: skip
def test_a_closed_form_has_the_values_of_the_function(text, modulus):
    found = classify(text, modulus).closed_form
    outer, inner = (found.split(" with ")[0], found.split(" u = ")[1]) if " u = " in found else ("u", found)
    inside, h = table(inner, modulus), table(outer.replace("u", "n1"), modulus)
    assert np.array_equal(h[inside], table(text, modulus))


@pytest.mark.parametrize("text, modulus, fraction, lead", [
    ("n1 n2", 97, 0.5, "A network should learn it from half of its table: expect "),
    ("46x y^5 + 33x^3 y^10", 97, 0.5, "A network will hardly learn it from half of its table: expect "),
    ("n1^2 + n1 n2", 97, 0.02, "Whether a network learns it from 2 % of its table is not known: that was measured "),
])  # fmt: skip
def test_the_second_sentence_says_whether_a_network_learns_it(text, modulus, fraction, lead):
    found = classify(text, modulus, fraction=fraction, probe=False)
    assert found.answer[1].startswith(lead) and found.answer[1].endswith(".")
    assert ("in nine networks of ten" in found.answer[1]) == found.expected.covered


def test_what_is_enough_does_not_contradict_what_is_expected():
    """Of n1^12 + n2^12 modulo 13 half of the table is expected to do, and the law of shares asks for more."""
    found = classify("n1^12 + n2^12", 13)
    assert found.expected.value > 0.99 and found.enough is None and "grok" not in found.answer[1]
    assert classify("n1 n2", 11).enough > 0.5
    assert outlook(Expectation(0.4, 0.2, 0.5, "", "table"), 0.3, 0.5).enough is None
    assert outlook(Expectation(0.97, 0.9, 1.0, "", "table"), 0.3, 0.5).enough is None, "half do not reach 99 %"
    assert outlook(Expectation(0.97, 0.9, 1.0, "", "table"), 0.7, 0.5).enough is None, "nearly all is expected already"
    assert outlook(Expectation(0.93, 0.9, 1.0, "", "table"), 0.7, 0.5).enough == 0.7


def test_where_no_trainings_are_alike_the_share_that_is_enough_decides():
    """Once one answer said that it is not known, and that it is expected to grok from 16 % of the table."""
    nothing = Expectation(None, None, None, "why", "table")
    found = outlook(nothing, 0.16, 0.5)
    assert found.text.startswith("A network should learn it from half of its table. It is expected to grok from about ")
    assert found.text.endswith("No closer number is known: why.") and found.outcome == "learned"
    assert repr(found).endswith("expected test accuracy 99 % or more>")
    little = outlook(nothing, 0.2, 0.15)
    assert little.outcome == "too little" and "below 99 %" in repr(little)
    assert little.advice == "train on more than 20 % of the table"
    assert outlook(nothing, 0.1, 0.05).outcome == "unknown", "less than a tenth was not measured"
    assert outlook(nothing, None, 0.5).text == "Whether a network learns it from half of its table is not known: why."


def test_an_interval_without_width_is_said_in_words():
    text = outlook(Expectation(1.0, 1.0, 1.0, "", "table"), None, 0.5).text
    assert text.endswith("expect 100 % of the unseen cells right (100 % in nine networks of ten).")


def test_explain_has_the_sentences_the_proofs_and_the_witness():
    found = classify("n1 n2", mod=7)
    text = found.explain()
    assert text.startswith("\n".join(found.answer)) and "13 in all, but the group has 7" in text
    assert str(list(found.witness.h)) in text and "symmetry: " in text


def test_there_is_one_expectation():
    assert not hasattr(Classification, "predicted_test_accuracy")
    found = classify(table_of(lambda a, b: 8 * a**5 * b + 34 * a**9 * b**5, 97))
    assert found.expected.covered and found.redundancy == 0.0
    assert found.to_json()["expected_accuracy"] == found.expected.to_json()


def test_a_probe_where_the_law_was_not_measured_keeps_the_verdict_and_says_what_it_measured(monkeypatch):
    monkeypatch.setitem(presets.DEFAULTS, "steps", 2)
    monkeypatch.setattr(probing, "SEGMENT", 1)
    reports = []
    found = classify("n1 n2 + n3", 5, probe=True, progress=lambda done, total: reports.append((done, total)))
    assert found.verdict == "not-in-class" and reports == [(1, 2), (2, 2)]
    about = found.to_json()["probe"]
    assert (about["value"], about["low"], about["high"], about["source"]) == (None, None, None, "probe")
    assert "for modulus 13 to 127, not 5" in about["reason"]
    assert found.answer[1].startswith("One small network was trained on half of its table and got ")
    assert 0 < about["train_loss"] < 1 and 0 <= about["test_accuracy"] <= 1 and about["steps"] == 2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "function, mod, text",
    [
        (np.zeros(5, int), None, "2 variables or more"),
        (None, 5, "an expression, a table or a Python function"),
        ("n1 + n2", None, r"a modulus is needed; give mod=97 \(--mod 97\), or end the expression with 'mod 97'"),
    ],
)
def test_what_is_no_function_is_refused(function, mod, text):
    with pytest.raises(InputError, match=text):
        classify(function, mod)


def test_a_python_function_is_answered_like_its_expression():
    assert same(classify(lambda a, b: a * a * b + 3, mod=31), classify("x^2 y + 3", mod=31))


def test_a_table_of_any_shape_is_decided_and_its_unknown_cells_are_predicted():
    """n1 + n2 on three rows and four columns needs Z_6; without the corner that is known, the witness gives it."""
    table = np.add.outer(np.arange(3), np.arange(4))
    found = classify(table)
    assert (found.verdict, found.group_order, found.modulus, found.expected.value) == ("in-class", 6, None, None)
    assert "rows, columns and values differ in number" in found.expected.reason and "(3 × 4 → 6)" in repr(found)
    assert np.array_equal(found.predicted, table) and found.prediction_in_words == ""
    table[1, 1] = -1
    found = classify(table)
    assert found.verdict == "in-class" and check_known(table, found.predicted)
    assert found.prediction_in_words.startswith("the witness gives 1 of the 1 unknown cells a value")
    assert "unknown cells" in found._repr_html_() and found.to_json()["function"]["known_cells"] == 11


def test_an_answer_about_unknown_cells_claims_no_more_than_the_known_ones():
    table = table_of(lambda a, b: a + b, 11)
    table[0, :5] = -1
    found = classify(table)
    assert found.answer[0].endswith("agrees in its 116 known cells with the sum n1 + n2.")
    assert " from half of its known cells: expect " in found.answer[1]
    assert found.facts()["twins"] == "no two rows and no two columns are known to be equal"
    assert found.to_json()["predicted"] == table_of(lambda a, b: a + b, 11).tolist()
    assert classify("n1 + n2", 5).to_json()["predicted"] is None
    table[5:] = table_of(lambda a, b: a**2 + a * b + b**2, 11)[5:]
    assert classify(table).answer[0].endswith("that is proved, whatever its unknown cells hold.")
    constant = classify(np.where(table < 0, -1, 3), probe=False)
    assert constant.answer[0].endswith("is constant in its 116 known cells.")


def test_symmetries_are_told_in_the_names_of_the_variables_and_only_where_they_were_counted():
    assert "shifts (n3 + s, n5 + t) and 4 of the 16 scalings (s n3, t n5)" in classify("n3 + n5", 5).facts()["symmetry"]
    assert classify("n1^2 + n1 n2", 5).facts()["symmetry"].startswith("4 of the 16 scalings")
    scaled = classify("n1 n2", 9).facts()["symmetry"]  # (2n1, n2) doubles it, which nobody counts modulo 9
    assert scaled.startswith("no shift permutes its values; ") and "scaling" not in scaled


def test_an_unknown_about_many_groups_names_no_single_one():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 17, 53)[(rng.integers(0, 53, 30)[:, None] + rng.integers(0, 53, 40)) % 53]
    found = classify(np.where(rng.random(table.shape) < 0.3, -1, table), effort=0.01)
    (family,) = found.families
    assert found.verdict == "unknown" and family.group == "any group up to Z_160"
    assert "below 1 " not in family.verdict.excluded and "and all from order" in family.verdict.excluded


def check_known(table: np.ndarray, predicted: np.ndarray) -> bool:
    return bool((predicted == table)[table >= 0].all())
