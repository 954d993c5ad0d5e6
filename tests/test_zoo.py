"""The zoo: what is planned, what a build writes, that it goes on after a stop, and who is right about what."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.base import repository
from modgrok.base.errors import InputError
from modgrok.experiments import zoo as zoos, zoo_plan
from modgrok.experiments.zoo_plan import ALIKE, HIDDEN, RANDOM, Entry, entries, table_of
from modgrok.separable.classification import classify_table

EXAMPLES = Path(__file__).parents[1] / "benchmarks" / "zoo"
TINY = (
    Entry("power-sum-5-0", "sum", "power", "n1 + n2", 5, None, 0),
    Entry("transformer-group-6-0", "group", "transformer", "a b", 6, "S3", 0),
    Entry("power-memorised-5-0", "memorised", "power", RANDOM, 5, None, 3),
)
SMALL = {
    "power": {"width": 16, "steps": 60},
    "transformer": {"width": 8, "heads": 2, "steps": 25},
}

POLYNOMIALS = {
    "n1 + n2": lambda a, b: a + b,
    "n1 - n2": lambda a, b: a - b,
    "3n1 + 2n2 + 1": lambda a, b: 3 * a + 2 * b + 1,
    "n1 + n2 + 5": lambda a, b: a + b + 5,
    "n1 n2": lambda a, b: a * b,
    "3n1 n2 + 2": lambda a, b: 3 * a * b + 2,
    "(n1 + 2n2)^2": lambda a, b: (a + 2 * b) ** 2,
    "n1^2 + 3n2^2": lambda a, b: a**2 + 3 * b**2,
    "(n1 + n2)^2": lambda a, b: (a + b) ** 2,
    "n1^2 + n2^2": lambda a, b: a**2 + b**2,
    "n1 n2 + n1 + n2": lambda a, b: a * b + a + b,
    "n1^3 + n1 n2": lambda a, b: a**3 + a * b,
}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(zoo_plan, "MODELS", SMALL)
    monkeypatch.setattr(zoos, "entries", lambda: TINY)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo_plan, "MODELS", SMALL)
        patch.setattr(zoos, "entries", lambda: TINY)
        return zoos.build_zoo(tmp_path_factory.mktemp("zoo") / "zoo")


# ------------------------------------------------------------------------------------------------ the plan


def test_two_hundred_networks_of_every_model_and_kind_are_planned_each_with_a_name_and_a_seed():
    found = entries()
    assert len(found) == 200 == len({entry.name for entry in found})
    assert {(entry.model, entry.kind) for entry in found} == {
        (model, kind)
        for model in ("power", "mlp", "transformer")
        for kind in ("sum", "product", "disguised", "group", "memorised")
    }
    assert len({(each.model, each.function, each.size, each.group, each.seed) for each in found}) == 200
    for entry in found:
        config = entry.config()
        assert config.snapshots == 20 and config.model == entry.model and config.function.sizes == (entry.size,) * 2


def test_every_polynomial_of_the_plan_is_what_integers_say():
    written = {entry.function: entry for entry in entries() if entry.function in POLYNOMIALS}
    assert set(written) == set(POLYNOMIALS)
    for text, value in POLYNOMIALS.items():
        n = written[text].size
        right = [[value(a, b) % n for b in range(n)] for a in range(n)]
        assert written[text].config().function.table.tolist() == right, text
    others = {entry.function for entry in entries() if entry.group is None} - set(POLYNOMIALS)
    assert others == {HIDDEN, ALIKE, RANDOM}


def test_tables_without_a_formula_are_what_their_names_say():
    hidden, alike, random = (table_of(name, 7, 1) for name in (HIDDEN, ALIKE, RANDOM))
    for table in (hidden, alike):  # of a group in disguise: all rows and columns are permutations
        assert all(sorted(line) == list(range(7)) for line in [*table.tolist(), *table.T.tolist()])
        found = classify_table(table, 7)
        witness, n = found.to_json()["witness"], found.to_json()["group_order"]
        sums = [[witness["h"][(g1 + g2) % n] for g2 in witness["g2"]] for g1 in witness["g1"]]
        assert n == 7 and sums == table.tolist()
    assert (alike == alike.T).all() and (hidden != hidden.T).any()
    assert not all(sorted(row) == list(range(7)) for row in random.tolist())


# ------------------------------------------------------------------------------------------------ a build


def test_a_network_of_the_zoo_has_all_that_is_known_of_it(built):
    assert built.names == ("power-memorised-5-0", "power-sum-5-0", "transformer-group-6-0")
    specimen = built["power-sum-5-0"]
    right = np.array([[(a + b) % 5 for b in range(5)] for a in range(5)])
    truth, answers = specimen.truth, specimen.network.table()
    assert (specimen.table == right).all()
    assert truth["accuracy"] == pytest.approx((answers == right).mean())
    assert truth["function"] == "n1 + n2 mod 5" and truth["verdict"] == "in-class"
    g1, g2, h = (truth["witness"][name] for name in ("g1", "g2", "h"))
    assert [[h[(g1[a] + g2[b]) % truth["group_order"]] for b in range(5)] for a in range(5)] == right.tolist()
    proof = truth["proof"]
    assert proof["right"] + proof["wrong"] + proof["undecided"] == 25
    assert truth["proved_accuracy"] == proof["right"] / 25 <= truth["accuracy"]
    assert len(specimen.snapshots) == 20 == len(truth["snapshots"]) and list(specimen.snapshots)[-1] == 60
    assert (specimen.snapshots[60].table() == answers).all()
    stored = np.load(specimen.folder / "split.npy")
    assert stored.sum() == 20 and (stored == specimen.split).all()
    assert "test_accuracy" in specimen.run.metrics
    trained = (answers == right).ravel()[stored].mean()
    assert truth["train_accuracy"] == pytest.approx(trained)


def test_a_transformer_has_a_state_dict_for_transformer_lens_and_no_proof(built):
    transformer, power = built["transformer-group-6-0"], built["power-sum-5-0"]
    assert {"lens.py", "lens.safetensors", "lens.json"} <= {path.name for path in transformer.folder.iterdir()}
    assert not list(power.folder.glob("lens*"))
    assert transformer.truth["proved_accuracy"] is None and "transformer" in transformer.truth["unproved"]
    assert transformer.truth["group"] == "S3" and transformer.truth["witness"] is None


def test_no_word_about_its_function_goes_with_an_anonymous_network(built):
    network = built["power-sum-5-0"].anonymous()
    assert not network.function.table.any() and not network.settings
    assert (network.table() == built["power-sum-5-0"].network.table()).all()


def test_the_card_counts_what_is_there(built):
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: cc-by-4.0\n") and "\n3 networks, each at 20 steps" in card
    assert all(f"| {name} |" in card for name in built.names)


def test_a_build_that_was_stopped_goes_on_with_what_is_missing(tiny, tmp_path, monkeypatch):
    trained, real = [], zoos.train_config

    def interrupted(config, **options):
        trained.append(config.title)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return real(config, **options)

    monkeypatch.setattr(zoos, "train_config", interrupted)
    with pytest.raises(KeyboardInterrupt):
        zoos.build_zoo(tmp_path / "zoo")
    assert mg.zoo(tmp_path / "zoo").names == ("power-sum-5-0",)
    assert len(zoos.build_zoo(tmp_path / "zoo")) == 3 and len(trained) == 4
    zoos.build_zoo(tmp_path / "zoo")
    assert len(trained) == 4


def test_a_network_of_another_plan_is_not_taken_for_one_of_this(built, tiny, monkeypatch):
    monkeypatch.setitem(SMALL["power"], "width", 17)
    with pytest.raises(InputError, match="width is 16 there and 17 here"):
        zoos.build_zoo(built.folder)


# ------------------------------------------------------------------------------------------------ wrong calls


def told(words, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["zoo", *map(str, words)])
    text = capsys.readouterr().err
    assert end.value.code == 2 and text.count("\n") == 1
    return text


def test_wrong_calls_are_told_in_a_line(built, tmp_path, capsys, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.md").write_text("mine")
    assert "is no zoo; choose another folder" in told(["build", "--out", tmp_path / "other"], capsys)
    assert (tmp_path / "other" / "README.md").read_text() == "mine"
    assert "names are like power-sum-19-0" in told(["build", "--out", tmp_path / "new", "--only", "x*"], capsys)
    assert not (tmp_path / "new").exists()
    assert "no zoo in" in told(["list", tmp_path / "other"], capsys)
    assert "--only is for building" in told(["score", built.folder, "--only", "power-*"], capsys)
    assert "leave one of them out" in told(["build", tmp_path, "--out", tmp_path], capsys)
    with pytest.raises(InputError, match=r"has no network '\.\./x'; its 3 are called"):
        built["../x"]
    monkeypatch.setenv("MODGROK_ZOO", str(tmp_path / "nowhere"))
    monkeypatch.setattr(repository, "STUDIES", tmp_path)  # no clone, no examples
    assert "make one: modgrok zoo build" in told(["list"], capsys)


@pytest.mark.parametrize("change", [{"outcome": 3}, {"accuracy": "1"}, {"size": 2.5}, {"name": None}])
def test_a_truth_of_another_shape_is_named(built, change, tmp_path):
    truth = json.loads((built["power-sum-5-0"].folder / "truth.json").read_text())
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "truth.json").write_text(json.dumps(truth | change))
    with pytest.raises(InputError, match=f"'{next(iter(change))}' is of another type"):
        mg.zoo(tmp_path)


# ------------------------------------------------------------------------------------------ the examples, the score


def test_the_examples_are_small_and_of_every_model(monkeypatch, tmp_path):
    monkeypatch.setenv("MODGROK_ZOO", str(tmp_path))  # nothing there: the examples of the clone are taken
    found = mg.zoo()
    assert found.folder == EXAMPLES
    assert sum(path.stat().st_size for path in EXAMPLES.rglob("*")) <= 5e6
    planned = {entry.name: entry for entry in entries()}
    assert {specimen.truth["model"] for specimen in found} == {"power", "mlp", "transformer"}
    assert {specimen.truth["outcome"] for specimen in found} >= {"learned", "memorised"}
    for specimen in found:
        assert specimen.run.config == planned[specimen.name].config()
        assert len(specimen.snapshots) == 20


def test_what_an_example_says_is_proved_is_proved_again():
    found = mg.zoo(EXAMPLES)
    for specimen in (each for each in found if each.truth["proof"] is not None):
        checked = mg.verify(specimen.network)
        assert checked.proof is not None
        assert checked.proof.right / checked.rows_total == specimen.truth["proved_accuracy"]


def test_a_contestant_is_right_about_what_it_knows():
    found = mg.zoo(EXAMPLES)
    outcomes = [specimen.truth["outcome"] for specimen in found]
    silent = mg.zoo_score(found, lambda network: None)
    assert silent.right == outcomes.count("memorised") and silent.networks == len(found) - outcomes.count("partly")
    parrot = mg.zoo_score(
        found, lambda network: network.table()
    )  # what it answers itself is no function of a memoriser
    whole = [each for each in found if each.truth["outcome"] == "learned" and each.truth["accuracy"] == 1]
    assert parrot.right == len(whole) > 0
    assert all(row["answered"] for row in parrot.rows)


def test_our_decompiler_knows_the_examples():
    score = mg.zoo_score(EXAMPLES)
    assert score.right == score.networks == sum(kind["networks"] for kind in score.by_kind)
