"""The abstract says what the results say: five sentences, and none of what was not measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from strong_rows import strong_points, strong_rows

from modgrok.report.page import abstract, strong_hypothesis
from modgrok.reproduction.item import ItemResult, Verdict
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ALL
from studies import strong_result

NETWORKS = {"neurons": {"paper": 3500, "exact": 962, "fewest": 28}}


def recorded() -> dict[str, ItemResult]:
    found = {item.name: read_recorded(item.name) for item in ALL}
    return {name: record.result for name, record in found.items() if record is not None}


def made_up(item: str, verdict: Verdict = Verdict.REPRODUCED, **fields) -> ItemResult:
    empty = ItemResult(item, "", {}, {"neurons": 3500}, {}, verdict, (), {}, [])
    return replace(empty, **fields)


def test_the_abstract_has_five_sentences():
    results = recorded() | {"networks": made_up("networks", measured=NETWORKS)}
    text = abstract(results, [item.name for item in ALL if item.claim])
    assert len(re.findall(r"\.(?= [A-Z]|$)", text)) == 5 and text.endswith(".")
    assert "962 neurons compute exactly what the paper's 3,500 approximate, 28 are right on every input" in text


def test_what_was_not_measured_is_not_said():
    assert abstract({}, ["table1"]) == ""
    assert abstract({"table1": made_up("table1")}, ["table1", "table2"]) == (
        "Of 1 claims of the paper, computed again with code of our own, 1 comes out as published."
    )


def test_claims_are_counted_by_their_verdicts():
    verdicts = {"table1": Verdict.REPRODUCED, "figure1": Verdict.REPRODUCED, "figure2": Verdict.UNDECIDED}
    results = {name: made_up(name, verdict) for name, verdict in verdicts.items()}
    assert "2 come out as published and 1 stays open in some cases." in abstract(results, list(verdicts))


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (
            [0.5] * 12,
            "learned in 0 of 1 cases by 1 settings of architecture, loss, optimiser and regulariser modulo 23,",
        ),
        ([0.1] * 6 + [1.0] * 6, "learned in 1 of 1 cases by 1 settings of architecture, "),
    ],
)
def test_the_sentence_on_the_strong_hypothesis_follows_from_the_rows(curve, words):
    result = strong_result.result_of(strong_rows("A", {"(2n1 + 3n2)^4": 0.5}), strong_points("A", curve))
    text = strong_hypothesis({"strong": result})
    assert words in text
    assert ("none came to rest" in text) == (curve[-1] == 1.0)


@pytest.mark.parametrize(
    ("learned", "held", "words"),
    [
        ([], {"a": True, "b": False}, "in settings in which the same circuits learn n1 + n2 (1 of 2 circuits)."),
        (["a mod 5", "b mod 5"], {"a": True}, "circuits of experts learn what is outside the form: a mod 5; b mod 5."),
    ],
)
def test_the_sentence_on_training_from_scratch_follows_from_the_result(learned, held, words):
    result = made_up("endtoend", measured={"controls": held, "learned": {"scratch": learned}})
    text = abstract({"endtoend": result}, [])
    assert text.endswith(words) and ("are not learned from scratch" in text) == (not learned)
