"""Faults put into compiler and search on purpose, each in a process of its own: nothing wrong may come out as proved.

`benchmarks/mutations.py` draws two hundred of them; these few are known ones.
"""

from __future__ import annotations

import random
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def mutations() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "mutations.py")))
    finally:
        sys.path.remove(str(BENCHMARKS))


FAULTS = {
    "a product of constants is lost": (
        "compiler/planner.py", "constant(0 if varying else c, m)", "constant(0, m)",
        "compile 1*2 + n1 + n2 mod 4", "16 proved wrong",
    ),
    "the parser drops a minus": (
        "algebra/expression.py", 'minus ^= sign.kind == "-"', "pass",
        "compile n1 - 2n2 + 3 mod 7", "what was typed and what is shown are not the same function",
    ),
    "the parser drops a minus of what is too large to be counted out": (
        "algebra/expression.py", 'minus ^= sign.kind == "-"', "pass",
        "compile 2n1^3 n2 n3 n4 n5 n6 - 1 mod 31 frequencies=minimal", "were not shown to compose",
    ),
    "another modulus than was asked for": (
        "algebra/structure_words.py", "Integers(check_modulus(modulus))", "Integers(check_modulus(modulus) + 1)",
        "compile 1*2 + n1 + n2 mod 4", "modulo 5, and 4 was asked for",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_network_of_a_faulty_compiler_is_refused(name, mutations):
    file, right, wrong, question, why = FAULTS[name]
    source = (mutations.ROOT / file).read_text(encoding="utf-8")
    assert source.count(right) == 1
    module = "modgrok." + file.removesuffix(".py").replace("/", ".")
    answer = mutations.ask({"module": module, "source": source.replace(right, wrong), "only": [question]}, 300)
    found = answer["questions"][question]
    assert found["outcome"] == "refused", answer
    assert "does not stand the kernel's test" in found["why"] and why in found["why"]


def test_a_wrong_network_is_seen_where_the_kernel_is_not_asked(mutations):
    """The questions themselves: without its door the same compiler gives out what is wrong."""
    source = (mutations.ROOT / "compiler/compiling.py").read_text(encoding="utf-8")
    asked = "if found.proof.holds if found.proof else stands(found, *texts, modulus=modulus):"
    other = "read_function('n1', 4)"
    for right, wrong in ((asked, "if True:"), ("function, settings), function.source,", f"{other}, settings), 'n1',"),
                         ("best_plan(tree, function.values,", f"best_plan({other}.tree, 4,")):  # fmt: skip
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    question = "compile 1*2 + n1 + n2 mod 4"
    answer = mutations.ask({"module": "modgrok.compiler.compiling", "source": source, "only": [question]}, 300)
    assert answer["questions"][question]["outcome"] == "wrong and proved", answer


def test_a_verdict_of_a_faulty_search_is_refused(mutations):
    """A line too many is counted, so that a table of the form is called none."""
    source = (mutations.ROOT / "separable/procedures/obstructions.py").read_text(encoding="utf-8")
    assert source.count("if max(reduced.shape) > order else None") == 1
    changed = source.replace("max(reduced.shape) > order else", "max(reduced.shape) + 1 > order else")
    (question,) = [each for each in mutations.verdicts() if each.name == "decide planted 7 × 7 over Z_7"]
    wanted = {"module": "modgrok.separable.procedures.obstructions", "source": changed, "only": [question.name]}
    answers = [mutations.ask(each, 300)["questions"][question.name] for each in ({"only": [question.name]}, wanted)]
    assert mutations.judge(question, answers[0], answers[0])["outcome"] == "as before"
    assert mutations.judge(question, answers[1], answers[0])["outcome"] == "refused", answers[1]


def test_what_is_false_and_proved_is_seen(mutations):
    """The judge itself: the same claim, with a proof that nobody should have made."""
    (question,) = [each for each in mutations.verdicts() if each.name == "decide planted 7 × 7 over Z_7"]
    claim = {"family": "additive", "status": "not-in-class", "moduli": [7], "absorbing": False, "up_to": False}
    told = claim | {"witness": None, "obstruction": "counting", "proved": False, "refused": ""}
    assert mutations.judge(question, {"claims": [told]}, {"claims": []})["outcome"] == "wrong and proved"
    g, h = [list(range(7))] * 2, [0] * 7
    told |= {"status": "in-class", "witness": [*g, h, None], "proved": True}
    assert mutations.judge(question, {"claims": [told]}, {"claims": []})["outcome"] == "wrong and proved"


def test_every_fault_is_another_program_and_none_is_in_the_call_of_the_kernel(mutations):
    everything = set(range(1, 1000))
    drawn = mutations.faults(60, dict.fromkeys(mutations.MODULES, everything))
    assert len(set(drawn)) == 60 and {fault.kind for fault in drawn} == set(mutations.KINDS)
    for fault in drawn:
        change = mutations.applied(fault)
        compile(change.source, fault.file, "exec")
        assert change.before != change.after
    places = mutations.places_in("compiler/compiling.py", everything)
    rng = random.Random(0)
    for kind, choices in places.items():
        for place, choice in rng.sample(choices, min(5, len(choices))):
            change = mutations.applied(mutations.Fault("compiler/compiling.py", kind, place, choice))
            for door in ("found = proved(network, *texts, modulus=modulus)", "function.source, modulus=mod)"):
                assert door in change.source
