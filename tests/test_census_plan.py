"""Plans: what they expand to, and what is refused."""

import json

import numpy as np
import pytest

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.censuses import store
from modgrok.censuses.families import make_table, own_functions
from modgrok.censuses.plan import load_plan, plan_from

SETTINGS = {"moduli": [11, 13], "widths": [20], "fractions": [0.5, 1]}
PLAN = {"steps": [10, 20], "tables": {"two-monomials": 3, "{a}x + {b}y^2": 2}, "settings": [SETTINGS]}


def test_every_table_is_trained_at_every_setting():
    plan = plan_from(PLAN)
    networks = list(plan.networks())
    assert plan.size() == len(networks) == 5 * 4
    assert [network.number for network in networks] == list(range(20))
    assert {(n.modulus, n.fraction, n.shape.train_rows) for n in networks} == {
        (11, 0.5, 60), (11, 1.0, 121), (13, 0.5, 84), (13, 1.0, 169)
    }  # fmt: skip
    assert plan_from(json.loads(json.dumps(plan.to_json()))) == plan


def test_share_takes_the_first_tables_and_seeds_train_them_again():
    plan = plan_from(PLAN | {"settings": [SETTINGS | {"share": 0.5, "seeds": 3, "moduli": [11], "fractions": [0.5]}]})
    networks = list(plan.networks())
    assert [(n.family[:3], n.table_seed) for n in networks] == [
        ("two", 0), ("two", 0), ("two", 0), ("two", 1), ("two", 1), ("two", 1), ("{a}", 0), ("{a}", 0), ("{a}", 0)
    ]  # fmt: skip
    assert len({(n.table_seed, n.seed) for n in networks}) == 6 and all(0 <= n.seed < 2**31 for n in networks)


def test_a_block_may_name_its_families():
    blocks = [SETTINGS | {"families": ["two-monomials"]}, SETTINGS | {"families": ["{a}x + {b}y^2"], "seeds": 3}]
    plan = plan_from(PLAN | {"settings": blocks})
    assert plan.size() == 4 * 3 + 4 * 2 * 3 == len(list(plan.networks()))
    assert plan_from(json.loads(json.dumps(plan.to_json()))) == plan


def test_moduli_need_not_be_primes():
    plan = plan_from(PLAN | {"settings": [SETTINGS | {"moduli": [12]}]})
    assert {network.train_rows for network in plan.networks()} == {72, 144}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"steps": [20, 10]}, "steps must be rising"),
        ({"steps": ["a"]}, "steps takes whole numbers, got 'a'"),
        ({"step": 3}, "unknown key 'step' in a plan; there are steps, tables, settings, fill"),
        ({"tables": {"randm": 3}}, "'randm' is neither a family"),
        ({"tables": {"random": 0}}, "tables.random must be from 1 to 1,000,000, got 0"),
        ({"tables": {}}, "at least one family"),
        ({"tables": {"random": 10**9}}, "from 1 to 1,000,000, got 1000000000"),
        ({"tables": {"random": 10**6, "two-monomials": 9}}, "at most 1,000,000 networks"),
        ({"settings": [SETTINGS | {"moduli": [1]}]}, "modulus must be at least 2, got 1"),
        ({"settings": [SETTINGS | {"families": ["random"]}]}, "settings ask for 'random', which has no number under"),
        ({"settings": [SETTINGS | {"families": []}]}, "settings.families is empty"),
        ({"settings": [SETTINGS | {"families": [3]}]}, "families takes names in quotes, got 3"),
        ({"fill": "a"}, "fill takes numbers, got 'a'"),
        ({"settings": [SETTINGS | {"moduli": []}]}, "settings.moduli is empty"),
        ({"settings": [SETTINGS | {"widths": [0]}]}, "width must be a whole number from 1"),
        ({"settings": [SETTINGS | {"fractions": [1.5]}]}, "fraction must be above 0 and at most 1, got 1.5"),
        ({"settings": [SETTINGS | {"share": 2}]}, "share must be above 0 and at most 1"),
        ({"settings": [SETTINGS | {"seeds": 0}]}, "from 1 to 1,000,000, got 0"),
        ({"settings": [{"moduli": [11]}]}, "settings needs the key 'widths'"),
        ({"settings": [SETTINGS, SETTINGS]}, "two blocks of settings ask for the same networks"),
    ],
)
def test_wrong_plans_say_what_is_wrong(change, message):
    with pytest.raises(InputError, match=message):
        plan_from(PLAN | change)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(InputError, match="cannot read "):
        load_plan(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("steps = [")
    with pytest.raises(InputError, match=r"bad\.toml is not TOML"):
        load_plan(tmp_path / "bad.toml")
    (tmp_path / "short.toml").write_text("steps = 3")
    with pytest.raises(InputError, match=r"short\.toml: a plan needs the key 'tables'"):
        load_plan(tmp_path / "short.toml")


def test_the_published_plans_are_plans():
    assert load_plan_size("plan.toml") >= 5000
    assert load_plan_size("small.toml") == 200
    assert load_plan_size("large.toml") >= 100_000


def load_plan_size(name):
    from pathlib import Path

    return load_plan(Path(__file__).parent.parent / "benchmarks" / "census" / name).size()


def test_own_tables_are_a_family(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sums = {p: np.add.outer(np.arange(p), np.arange(p)) % p for p in (5, 7)}
    for name, p in (("b.npy", 7), ("a.npy", 5)):
        np.save(tmp_path / name, sums[p])
    settings = [{"moduli": [5, 7], "widths": [4], "fractions": [0.5]}]
    plan = plan_from({"steps": 2, "tables": {"[ab].npy": 2, "random": 1}, "settings": settings})
    assert [(n.family, n.modulus, n.table_seed) for n in plan.networks()] == [
        ("[ab].npy", 5, 0),
        ("random", 5, 0),
        ("[ab].npy", 7, 1),
        ("random", 7, 0),
    ]
    assert plan.size() == 4 and np.array_equal(make_table("[ab].npy", 7, 1).values, sums[7])
    stored = json.loads(json.dumps(plan.to_json()))
    assert plan_from(stored) == plan
    stored["digests"]["[ab].npy"][0] = "of another table"
    assert plan_from(stored) != plan


def test_a_function_in_a_group_or_a_field_is_a_family_of_one_table():
    settings = [{"moduli": [6, 7, 9], "widths": [4], "fractions": [0.5]}]
    plan = plan_from({"steps": 2, "tables": {"a b in S3": 1, "x y + t in GF(9)": 1}, "settings": settings})
    found = [(n.family, n.modulus, n.table_seed) for n in plan.networks()]
    assert found == [("a b in S3", 6, 0), ("x y + t in GF(9)", 9, 0)]
    assert np.array_equal(make_table("a b in S3", 6, 0).values, mg.group("S3").table)
    assert plan_from(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    "tables, message",
    [
        ({"a b in S4": 1}, "a b in S4: no block of settings has the modulus 24"),
        ({"a b in Nobody": 1}, "unknown group 'Nobody'"),
        ({"x/y in GF(5)": 1}, "modulo one number, got n1/n2 in GF"),
        ({"none.csv": 1}, "no file is called none.csv"),
        ({"seven.npy": 1}, r"seven.npy \(7 × 7 → 7\): no block of settings has the modulus 7"),
        ({"five.npy": 2}, "asks for 2 tables, there are 1 such files"),
        ({"wide.npy": 1}, r"a census has whole tables of n1 and n2 modulo one number, got wide.npy \(2 × 3 → 2\)"),
        ({"partial.npy": 1}, "modulo one number, got partial.npy .* 1 of 4 cells unknown"),
    ],
)
def test_own_tables_that_cannot_be_counted_are_refused(tmp_path, monkeypatch, tables, message):
    monkeypatch.chdir(tmp_path)
    own_functions.cache_clear()
    for name, table in {
        "five": np.zeros((5, 5), int),
        "seven": np.zeros((7, 7), int),
        "wide": np.zeros((2, 3), int),
        "partial": np.array([[0, 1], [1, -1]]),
    }.items():
        np.save(tmp_path / f"{name}.npy", table)
    settings = [{"moduli": [5], "widths": [4], "fractions": [0.5]}]
    with pytest.raises(InputError, match=message):
        plan_from({"steps": 2, "tables": tables, "settings": settings})


def test_a_block_may_name_a_model_and_gets_what_suits_it():
    """Rates, loss and depth are those of `train`; a plan without a model is stored as it always was."""
    blocks = [{"moduli": [7], "widths": [16], "fractions": [0.5], "model": model} for model in ("mlp", "transformer")]
    plan = plan_from({"steps": 2, "tables": {"random": 1}, "settings": blocks})
    for network, model in zip(plan.networks(), ("mlp", "transformer"), strict=True):
        usual = mg.TrainConfig("n1 + n2", 7, model=model, width=16)
        assert (network.model, network.learning_rate) == (model, usual.learning_rate)
        assert (network.weight_decay, network.shape.loss) == (usual.weight_decay, "cross-entropy")
        assert network.shape.model == usual.network_model((7, 7))
    assert plan_from(json.loads(json.dumps(plan.to_json()))) == plan
    usual = plan_from({"steps": 2, "tables": {"random": 1}, "settings": [blocks[0] | {"model": "power"}]})
    assert "model" not in usual.to_json()["settings"][0] and next(usual.networks()).learning_rate == 0.005
    with pytest.raises(InputError, match="model must be power or mlp or transformer, got 'cnn'"):
        plan_from({"steps": 2, "tables": {"random": 1}, "settings": [blocks[0] | {"model": "cnn"}]})


def test_networks_of_several_models_train_as_single_runs_do(tmp_path):
    """A row of a census with its own split and seed beside the training of one network with the same settings."""
    block = {"moduli": [5], "widths": [8], "fractions": [0.6]}
    plan = plan_from({"steps": 3, "tables": {"random": 1}, "settings": [block | {"model": "mlp"}, block]})
    mg.census(plan, tmp_path / "census", annotate=False)
    rows = store.read_rows(tmp_path / "census").to_pylist()
    assert [row["model"] for row in rows] == ["mlp", "power"]
    for row in rows:
        table = make_table("random", 5, row["table_seed"]).values
        settings = {name: row[name] for name in ("model", "width", "fraction", "seed", "steps", "beside", "room")}
        run = mg.train(np.asarray(table), **settings, snapshots=0)
        assert float(run.metrics["train_loss"][-1]) == row["train_loss"]
