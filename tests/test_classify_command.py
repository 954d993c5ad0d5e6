"""modgrok classify: the JSON object, what people see, and bad input."""

from __future__ import annotations

import argparse
import json

import pytest
from rich.console import Console

from modgrok.answers.classifying import classify as ask
from modgrok.base.errors import InputError
from modgrok.commands import classify
from modgrok.commands.common import csv_text


def run(*words: str) -> dict:
    return answer(*words).to_json()


def answer(*words: str):
    parser = argparse.ArgumentParser()
    classify.add_arguments(parser)
    return classify.run(parser.parse_args(words), Console(stderr=True))


def shown(result, width: int = 200, proof: bool = False, certificate: str | None = None) -> str:
    console = Console(width=width, record=True, quiet=True)
    with console.capture() as captured:
        console.quiet = False
        classify.show(result, console, argparse.Namespace(proof=proof, certificate=certificate, curve=None))
    return captured.get()


def test_a_certificate_that_was_written_is_named():
    text = shown(ask("n1 n2", 7), certificate="proof.json")
    assert "written to  proof.json; prove it again with: modgrok check proof.json" in text and "FILE" not in text


def test_symmetries_and_twins_are_shown_where_there_is_something_to_say():
    plain, squared = ask("n1 + n2", 7), ask("n1^2 + n2", 7)
    assert "symmetry" not in shown(plain) and "twins" not in shown(plain)
    assert "symmetry" in shown(plain, proof=True) and "no two rows" in shown(plain, proof=True)
    assert "have a twin in half of its table" in shown(squared)


def test_an_object_that_a_family_has_not_is_no_column_of_the_csv():
    lines = csv_text(classify, answer("n1 n2", "--mod", "7")).splitlines()
    names = lines[0].split(",")
    assert {"witness.g1", "obstruction.kind"} < set(names) and not {"witness", "obstruction"} & set(names)
    assert [line.split(",")[0] for line in lines[1:]] == ["additive", "multiplicative"]


def test_json_of_a_function_in_the_class():
    result = json.loads(json.dumps(run("(4n1 + n2^2)^3", "--mod", "97")))
    assert (result["verdict"], result["family"], result["group_order"]) == ("in-class", "additive", 97)
    witness = result["witness"]
    assert [len(witness[key]) for key in ("g1", "g2", "h")] == [97, 97, 97]
    for n1 in range(97):
        for n2 in range(97):
            assert witness["h"][(witness["g1"][n1] + witness["g2"][n2]) % 97] == (4 * n1 + n2**2) ** 3 % 97
    assert result["redundancy"] == pytest.approx(0.495, abs=0.001)
    assert isinstance(result["seconds"], float) and result["seconds"] > 0


def test_json_of_a_function_outside_the_class():
    result = run("n1^2 + n1 n2 + n2^2", "--mod", "97")
    assert (result["verdict"], result["family"], result["group_order"]) == ("not-in-class", None, None)
    assert result["obstruction"]["kind"] == "counting"
    assert "194 in all, but the group has 97" in result["obstruction"]["explanation"]


def test_the_expectation_is_an_object_and_no_other_key_predicts():
    result = run("8n1^5 n2 + 34n1^9 n2^5", "--mod", "97")
    assert set(result["expected_accuracy"]) == {"value", "low", "high", "reason", "source"}
    assert result["expected_accuracy"]["source"] == "table" and result["probe"] is None
    assert [key for key in result if "predicted" in key] == ["predicted"] and result["predicted"] is None
    assert result["expected_accuracy"] == ask("8n1^5 n2 + 34n1^9 n2^5 mod 97").expected.to_json()


def test_variables_that_do_not_occur():
    assert run("n2^2", "--mod", "7")["variables"] == ["n1", "n2"]
    assert run("n1^2 + n3", "--mod", "7")["variables"] == ["n1", "n3"]
    result = run("5", "--mod", "7")
    assert (result["family"], result["witness"]["h"][0]) == ("constant", 5)


def test_what_people_see():
    found = answer("n1 n2", "--mod", "7")
    text, proved = shown(found), shown(found, proof=True)
    assert "multiplicative" in text and "Z_6 ∪ {∞}" in text and "its values need a larger group" in text
    assert "13 in all, but the group has 7" in proved and "13 in all" not in text
    assert "h(∞)" in proved and "--proof" in text
    text = shown(answer("n1 n2 + n3", "--mod", "5"))
    assert "not-in-class" in text and "not learnable" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_lines_answer(width):
    lines = shown(answer("x^2 y + 3", "--mod", "31"), width).splitlines()
    assert lines[0] == "n1^2 n2 + 3 mod 31 is a product in disguise: u + 3 with u = n1^2 n2."
    assert lines[1].startswith("A network ") and max(map(len, lines)) <= width and len(lines) <= 20
    lines = shown(answer("n1 n2 + n3", "--mod", "23"), width).splitlines()
    assert lines[0] == "n1 n2 + n3 mod 23 is neither a sum nor a product in disguise: that is proved."
    assert max(map(len, lines)) <= width and len(lines) <= 25


def test_bad_input():
    with pytest.raises(InputError, match=r"between 0 and 1, got 2\.0"):
        run("n1 + n2", "--mod", "7", "--fraction", "2")
    with pytest.raises(InputError, match="effort must be above 0"):
        run("n1 + n2", "--mod", "7", "--effort", "0")
    with pytest.raises(InputError, match="above the limit"):
        run("n1 + n2", "--mod", "5003")
    with pytest.raises(InputError, match=r"a modulus is needed; give mod=97 \(--mod 97\)"):
        run("n1 + n2")
