"""What the page offers to copy, carried out: the command by the command line's own parser, the Python by Python."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import modgrok as mg
from modgrok.censuses.plan import load_plan
from modgrok.cli import build_parser
from modgrok.commands import train as train_command
from modgrok.commands.common import given_function, structure_given
from modgrok.explorer import censuses, dropped, functions, network_answers, papers, run_answers, settings
from modgrok.training.config import TrainConfig

PLACES = {"runs": "runs", "tables": "tables", "report": "report", "census": ""}
FUNCTIONS = (
    {"expression": "2n1^4 n2 + 3", "mod": "97"},
    {"expression": "-n1", "mod": "7"},
    {"expression": "-n1 + n2", "mod": "7"},
    {"expression": "n1 n2 + n1 (mod 29)", "mod": "29"},
    {"expression": "x y z", "mod": "11"},
    {"expression": "a b a^-1 in S4", "mod": "97"},
    {"expression": "x y + t in GF(9)", "mod": ""},
    {"expression": "power2022:x/y", "mod": ""},
    {"expression": "n1 n2", "mod": "1009"},
)
SETTINGS = (
    {},
    {"model": "power", "optimiser": "adamw", "width": 128, "weight_decay": 0.5, "seed": 3},
    {"model": "transformer", "heads": 2, "bias": True, "learning_rate": 1e-05, "loss": "mse"},
    {"model": "mlp", "optimiser": "sgd", "depth": 3, "activation": "gelu", "fraction": 0.3, "snapshots": 7},
)


def parsed(command):
    """The words of a command as `modgrok` reads them."""
    first, name, *words = shlex.split(command)
    assert first == "modgrok"
    return build_parser(name).parse_args([name, *words])


def called(monkeypatch, verb, python):
    """What a verb of modgrok's is called with, where Python does what a recipe says."""
    seen = []
    monkeypatch.setattr(mg, verb, lambda *words, **options: seen.append((words, options)) or np)
    exec(compile(python, "recipe", "exec"), {})
    (found,) = seen
    return found


@pytest.mark.parametrize("asked", FUNCTIONS, ids=lambda asked: asked["expression"])
def test_a_copied_function_is_the_function_of_the_page(asked, monkeypatch):
    shown = functions.function(PLACES | asked)
    args = parsed(shown["recipe"].command)
    assert shown["recipe"].command.count("mod") - shown["recipe"].command.startswith("modgrok") <= 1
    by_command = mg.read_function(given_function(args, "classify"), args.mod, **structure_given(args), at_least=2)
    words, options = called(monkeypatch, "read_function", shown["recipe"].python + " = None")
    monkeypatch.undo()
    for found in (by_command, mg.read_function(*words, **options, at_least=2)):
        assert (found.title, list(found.sizes), found.values) == (shown["title"], shown["sizes"], shown["values"])


@pytest.mark.parametrize("asked", SETTINGS, ids=lambda asked: "-".join(map(str, asked.values())) or "defaults")
@pytest.mark.parametrize("expression", ["n1 n2", "-n1", "a b in S4"])
def test_a_copied_training_has_the_settings_of_the_form(asked, expression, monkeypatch):
    params = PLACES | {"expression": expression, "mod": "23", "settings": asked}
    wanted = settings.asked_config(params).to_json()
    recipe = settings.training_recipe(params)["recipe"]
    config, _ = train_command.config_and_folder(parsed(recipe.command))
    words, options = called(monkeypatch, "train", recipe.python)
    assert config.to_json() == TrainConfig.of(*words, **options).to_json() == wanted


def test_a_copied_verdict_has_the_share_of_the_page(monkeypatch):
    recipe = functions.verdict(PLACES | {"expression": "n1 + n2", "mod": "7", "fraction": "0.35"})["recipe"]
    args = parsed(recipe.command)
    assert (args.expression, args.mod, args.fraction) == ("n1 + n2", 7, 0.35)
    assert called(monkeypatch, "classify", recipe.python) == (("n1 + n2",), {"mod": 7, "fraction": 0.35})


@pytest.mark.parametrize(
    ("design", "expression"),
    [
        ({"method": "exact", "frequencies": "all"}, "n1 n2 + 1"),
        ({"method": "exact", "frequencies": "2"}, "n1 + n2"),
        ({"method": "exact", "frequencies": "minimal"}, "a b in S3"),
        ({"method": "paper", "seed": "4", "mul_width": "40", "add_width": "60", "beta": "7.5"}, "n1 n2 + n1"),
    ],
)
def test_a_copied_network_is_the_network_of_the_page(design, expression):
    """To the last weight."""
    params = PLACES | {"expression": expression, "mod": "5"} | design
    recipe = network_answers.network(params)["recipe"]
    names = {"modgrok": mg}
    exec(compile(recipe.python, "recipe", "exec"), names)
    theirs, ours = names["network"].circuit, network_answers.asked_network(params).network.circuit
    for there, here in zip(theirs.experts, ours.experts, strict=True):
        assert np.array_equal(there.embed, here.embed) and np.array_equal(there.readout, here.readout)
    args = parsed(recipe.command)
    given = {"method": args.method, "frequencies": args.frequencies, "seed": args.seed, "beta": args.beta}
    said = {name: value for name, value in given.items() if value is not None}
    assert {name: str(value) for name, value in said.items()} == {name: design[name] for name in said}


def test_a_file_that_was_sent_is_named_in_quotes_and_said_to_be_needed(tmp_path):
    name = "it's; rm -rf (1).csv"
    (tmp_path / name).write_text("0,1\n1,0\n")
    found = functions.table(PLACES | {"tables": str(tmp_path), "file": str(tmp_path / name)})
    shown = functions.verdict(PLACES | {"tables": str(tmp_path), "table": found["table"]})["recipe"]
    assert parsed(shown.command).table == Path(name) and shown.needs == name
    compile(shown.python, "recipe", "exec")


def test_a_function_that_no_file_holds_has_no_recipe(tmp_path):
    """A run that was trained on an array, in Python."""
    mg.train(np.eye(5, dtype=int), steps=10, width=4, out=tmp_path / "a")
    assert run_answers.run(PLACES | {"runs": str(tmp_path), "tables": str(tmp_path), "run": "a"})["recipe"] is None


def test_a_network_that_was_dropped_is_inspected_by_its_own_name(tmp_path):
    file = tmp_path / "incoming" / "-theirs.npy"
    file.parent.mkdir()
    np.save(file, np.eye(5)[np.add.outer(np.arange(5), np.arange(5)) % 5])
    place = PLACES | {"tables": str(tmp_path)}
    found = dropped.dropped(place | {"file": str(file)})
    recipe = dropped.looked(place | {"network": found["network"]})["recipe"]
    assert parsed(recipe["command"]).network == Path("-theirs.npy") and recipe["needs"] == "-theirs.npy"


def test_runs_say_how_they_were_trained_and_how_they_are_compared(tmp_path, monkeypatch):
    place = PLACES | {"runs": str(tmp_path), "tables": str(tmp_path)}
    for name, chosen in (("a", {"width": 8}), ("b c", {"width": 8, "weight_decay": 0.5, "loss": "cross-entropy"})):
        mg.train("n1 + n2", mod=5, steps=20, out=tmp_path / name, **chosen)
    stored = run_answers.run(place | {"run": "b c"})
    config, _ = train_command.config_and_folder(parsed(stored["recipe"]["command"]))
    assert config.to_json() == stored["config"]
    found = run_answers.compared(place | {"compared": "a\nb c"})
    args = parsed(found["recipe"]["command"])
    assert args.runs == [tmp_path / "a", tmp_path / "b c"]
    assert called(monkeypatch, "compare", found["recipe"]["python"])[0] == tuple(map(str, args.runs))
    assert [run["loss"] for run in found["runs"]] == ["mse", "cross-entropy"]
    assert [run["label"] for run in found["runs"]] == ["power", "power, weight decay 0.5, loss cross-entropy"]
    assert found["runs"][0]["curves"]["step"] == [0, 10, 20]


def test_the_census_is_asked_for_or_planned_again(tmp_path):
    shown = censuses.census(PLACES | {"family": "{a}x + {b}y", "modulus": "97", "share": "0.3", "most": "5"})
    begun, _, rest = shown["recipe"].command.partition("\n")
    plan, _, commands = rest.partition("END\n")
    assert begun == "cat > plan.toml <<'END'"
    (tmp_path / "plan.toml").write_text(plan)
    read = load_plan(tmp_path / "plan.toml")
    assert [(each.family, each.modulus, each.fraction) for each in read.networks()] == [("{a}x + {b}y", 97, 0.3)]
    assert [parsed(line).command for line in commands.splitlines()] == ["census", "explore"]
    names = {}
    exec(compile(shown["recipe"].python.split("mg.census")[0], "recipe", "exec"), names)
    assert names["plan"] == read
    whole = censuses.census(PLACES | {"most": "5"})["recipe"]
    (tmp_path / "whole.toml").write_text(whole.command.split("\n", 1)[1].split("END\n")[0])
    assert set(load_plan(tmp_path / "whole.toml").tables) == set(shown["families"])


def test_every_item_of_the_paper_that_can_be_computed_here_says_how(tmp_path, monkeypatch):
    found = papers.paper(PLACES | {"report": str(tmp_path)})
    assert parsed(found["recipe"].command).item == "all"
    for item in found["items"]:
        assert (item["recipe"] is None) == (item["computed"] == "elsewhere")
        if item["recipe"] is not None:
            assert parsed(item["recipe"].command).item == item["item"]
            assert called(monkeypatch, "paper", item["recipe"].python) == ((item["item"],), {})
