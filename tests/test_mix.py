"""Trained experts joined into networks: relabelling, β, the mixture on whole tables, the command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import VALID, Valid
from perfect_experts import perfect_expert

from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.commands.mix import advice, shares_words
from modgrok.compiler.choosing import candidate_plans
from modgrok.compiler.compiling import assemble
from modgrok.networks.description import Learned
from modgrok.networks.network import Network
from modgrok.networks.predicting import predict
from modgrok.networks.storage import load
from modgrok.networks.verification import verify
from modgrok.training import mixture
from modgrok.training.mixture import (
    LearnedExpert,
    MixSettings,
    choose_beta,
    mix,
    own_table,
    relabelled,
    task_modulus,
    task_of,
)

POLYNOMIAL = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"
QUICK = {"width": 200, "steps": 300, "fraction": 0.8}
RATES = {"learning_rate": 0.005, "weight_decay": 5.0}
SMALL_CASES = [case for case in VALID if case.modulus <= 13 and case.modulus ** len(case.variables) < 20_000]


@pytest.mark.parametrize("case", SMALL_CASES, ids=lambda case: f"{case.text} mod {case.modulus}")
def test_one_sum_and_one_product_serve_every_step_of_every_plan(case: Valid):
    tree, p = parse(case.text, case.modulus), case.modulus
    plans = {tuple((step.inputs, step.order) for step in plan.steps): plan for plan in candidate_plans(tree, p)}
    for plan in plans.values():
        experts = [relabelled(perfect_expert(task_of(step), task_modulus(step)), step) for step in plan.steps]
        assert all(own_table(expert, step)[0] == 1.0 for expert, step in zip(experts, plan.steps, strict=True))
        network = Network.of_circuit(
            assemble(plan, experts, np.full(len(experts), 60.0)), read_function(case.text, p), "mix"
        )
        assert verify(network).accuracy == 1.0


def test_experts_that_never_saw_the_polynomial_compute_it_on_its_whole_table():
    network = mix(POLYNOMIAL, 13, **QUICK)
    assert [step.learned.task for step in network.plan] == ["n1 n2"] * 3 + ["n1 + n2"] * 2
    for x in range(13):
        for y in range(13):
            assert predict(network, x, y).value == (2 * x**4 * y + x**2 * y**2 + 3 * x * y**3) % 13
    for step in network.plan:
        assert step.learned == Learned(step.learned.task, fraction=0.8, task_accuracy=1.0)
        assert step.own_accuracy == 1.0
        assert step.beta == pytest.approx(np.log(13 / np.finfo(np.float32).eps) / step.margin)
    assert network.settings == {"trained": "all", "separate": False, "seed": 0, **RATES, **QUICK}


@pytest.mark.parametrize("trained, kinds", [("sums", {"sum"}), ("products", {"product"}), ("none", set())])
def test_trained_and_analytical_experts_mix(trained: str, kinds: set[str]):
    network = mix(POLYNOMIAL, 13, trained=trained, **QUICK)
    assert verify(network).accuracy == 1.0
    for step in network.plan:
        assert (step.learned is not None) == (step.kind in kinds)
        assert step.learned is not None or step.margin == pytest.approx(1, abs=1e-4)


def test_experts_are_shared_between_steps_unless_they_are_separate():
    shared = mix("n1 + n2 + n3", 13, trained="sums", **QUICK | {"steps": 1})
    separate_sums = mix("n1 + n2 + n3", 13, separate=True, **QUICK | {"steps": 1})
    for network, same in ((shared, True), (separate_sums, False)):
        one, two = network.circuit.experts
        assert np.array_equal(one.embed, two.embed) is same


def test_products_are_right_where_a_factor_is_zero():
    network = mix("n1 n2^2", 13, **QUICK)
    assert {predict(network, 0, y).value for y in range(13)} | {predict(network, x, 0).value for x in range(13)} == {0}


def test_sums_work_for_composite_moduli():
    assert verify(mix("2n1 + n2^2 + 1", 12, **QUICK)).accuracy == 1.0


def test_the_share_of_a_table_grows_where_its_modulus_is_small():
    assert [MixSettings().fractions(p)[0] for p in (97, 40, 31, 20, 13, 10, 7, 2)] == [0.5] * 2 + [0.65] * 2 + [
        0.8,
        0.8,
        0.9,
        0.9,
    ]
    assert MixSettings().fractions(13)[-1] == 1.0 and MixSettings(fraction=0.3).fractions(13) == (0.3,)


def test_an_expert_that_did_not_learn_its_table_is_trained_again_with_more_of_it(monkeypatch):
    """Made-up trainings in which the product needs 90 % of its table, and the sum 80 %."""
    asked = []

    def made_up(configs, progress):
        asked.append([(config.expression, config.fraction, config.seed) for config in configs])
        needs = {"n1 n2": 0.9, "n1 + n2": 0.8}
        return [LearnedExpert(None, float(c.fraction >= needs[c.expression]), c.fraction) for c in configs]

    monkeypatch.setattr(mixture, "train_experts", made_up)
    found = mixture.train_tasks(["product", "sum"], 13, MixSettings(seed=4))
    assert asked == [[("n1 n2", 0.8, 4), ("n1 + n2", 0.8, 5)], [("n1 n2", 0.9, 4)]]
    assert [(expert.accuracy, expert.fraction) for expert in found] == [(1.0, 0.9), (1.0, 0.8)]
    asked.clear()
    (given,) = mixture.train_tasks(["product"], 13, MixSettings(fraction=0.5))
    assert given.accuracy == 0 and len(asked) == 1, "what was asked for is kept to"


def test_the_command_says_which_share_it_chose(capsys):
    assert main(["mix", "n1 n2 + n1^2", "--mod", "5"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "of n1 n2" in words and "(--fraction sets another share)" in words
    plan = mix("n1 n2", 5, trained="none").plan
    assert shares_words(plan, 5) == ""
    whole = replace(plan[0], learned=Learned("n1 n2", 1.0, 1.0))
    assert "No smaller part of the table of n1 n2 was enough: modulo 5 it has too few cells" in shares_words(
        (whole,), 5
    )


def random_polynomial(rng: np.random.Generator, p: int) -> str:
    terms = rng.integers(1, 4)
    return " + ".join(f"{rng.integers(1, p)}n1^{rng.integers(0, 6)} n2^{rng.integers(0, 6)}" for _ in range(terms))


@pytest.mark.slow
@pytest.mark.parametrize("p", [7, 11, 13, 23, 31])
def test_ten_random_polynomials_come_out_right_with_defaults(p: int, monkeypatch):
    """Experts are those of the modulus, whatever the polynomial, so they are trained once."""
    original = mixture.train_tasks
    kept = {}

    def once(tasks, modulus, settings, progress=None):
        key = (tuple(tasks), modulus)
        if key not in kept:
            kept[key] = original(tasks, modulus, settings, progress)
        return kept[key]

    monkeypatch.setattr(mixture, "train_tasks", once)
    rng = np.random.default_rng(p)
    for _ in range(10):
        text = random_polynomial(rng, p)
        assert verify(mix(text, p)).accuracy == 1.0, text


def test_an_expert_that_did_not_learn_is_reported():
    network = mix(POLYNOMIAL, 13, **QUICK | {"steps": 1})
    assert verify(network).accuracy < 0.5
    assert all(step.own_accuracy < 0.5 and step.beta == 100 for step in network.plan)
    assert "e1, e2, e3, e4, e5 did not learn" in advice(network.plan)


def test_beta_leaves_a_rounding_unit_to_wrong_classes():
    beta = choose_beta(0.5, 97)
    assert 97 * np.exp(-beta * 0.5) == pytest.approx(np.finfo(np.float32).eps)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"trained": "some"}, "trained must be all or sums or products or none"),
        ({"width": 0}, "width must be a whole number from 1"),
        ({"steps": 0}, "steps must be a whole number from 1"),
        ({"fraction": 1.5}, "fraction must be above 0 and at most 1"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number >= 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str):
    with pytest.raises(InputError, match=message):
        MixSettings(**settings)
    with pytest.raises(InputError, match=message):
        mix("n1 + n2", 13, **settings)


def test_the_command_prints_json_and_writes_a_network(capsys, tmp_path):
    file = tmp_path / "mix.safetensors"
    flags = ["--width", "200", "--steps", "300", "--fraction", "0.8", "--out", str(file), "--json"]
    assert main(["mix", "n1 n2 + n1^2", "--mod", "13", *flags]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["accuracy"], result["rows_checked"], result["method"]) == (1.0, 169, "mix")
    assert result["min_margin"] > 0 and result["mse"] < 0.02
    assert [step["kind"] for step in result["experts"]] == ["product", "sum"]
    assert result["files"] == [str(file)] and result["seconds"] > 0
    loaded = load(file)
    assert predict(loaded, 5, 7).value == (5 * 7 + 25) % 13
    assert [step.learned.task for step in loaded.plan] == ["n1 n2", "n1 + n2"]


def test_the_command_fails_and_advises_when_the_network_is_wrong(capsys):
    assert main(["mix", "n1 n2", "--mod", "13", "--steps", "1", "--width", "200", "--fraction", "0.8"]) == 1
    assert "try more --steps" in " ".join(capsys.readouterr().out.split())
