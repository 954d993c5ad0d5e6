"""Sweeps: every combination once, one program for what is traced, and the same rows after a kill."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from math import inf

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pictures import is_drawn

import modgrok as mg
from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.experiments import sweep_plan, sweeps
from modgrok.experiments.sweep_plan import groups_of, plan_of, read_values
from modgrok.experiments.sweep_result import Median, cells, headings
from modgrok.training.ensemble import PROGRAMS

SMALL = {"mod": 7, "width": 16, "steps": 30}
WORDS = ("n1 n2", "--mod", "7", "--width", "16", "--steps", "30", "--weight-decay", "1,5", "--seeds", "3")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Six networks in two parts."""
    folder = tmp_path_factory.mktemp("sweep") / "unbroken"
    with pytest.MonkeyPatch.context() as patch, jax.numpy_rank_promotion("raise"):
        patch.setattr(sweep_plan, "LARGEST_PART", 4)
        PROGRAMS[False][0].clear_cache()  # what other files compiled does not count
        return mg.sweep("n1 n2", **SMALL, weight_decay=[1, 5], seeds=3, out=folder)


def test_every_combination_is_trained_with_every_seed(unbroken):
    assert [(row["weight_decay"], row["seed"]) for row in unbroken.rows] == [
        (decay, seed) for decay in (1.0, 5.0) for seed in (0, 1, 2)
    ]
    assert unbroken.compilations == 1 and unbroken.varied == {"weight_decay": [1, 5]}
    assert len({row["test_loss"] for row in unbroken.rows}) == 6


def test_a_part_that_is_not_full_is_filled_up(unbroken, monkeypatch):
    monkeypatch.setattr(sweep_plan, "LARGEST_PART", 4)
    found = mg.sweep("n1 n2", **SMALL, weight_decay=5.0, seeds=5)
    assert found.compilations == 0, "its parts of three and two are of the same size"
    assert [row["seed"] for row in found.rows] == [0, 1, 2, 3, 4]
    for ours, theirs in zip(found.rows[:3], unbroken.rows[3:], strict=True):
        assert ours == theirs | {"network": ours["network"]}


def test_a_row_is_the_run_of_its_settings(unbroken):
    for number in (1, 5):
        row = unbroken.rows[number]
        run = mg.train("n1 n2", **SMALL, weight_decay=row["weight_decay"], seed=row["seed"])
        curves = unbroken.curves(number)
        assert list(curves) == list(run.curves)
        for name, column in run.curves.items():
            np.testing.assert_allclose(curves[name], column, rtol=2e-3, atol=1e-6, err_msg=name)
        assert row["outcome"] == run.outcome and row["grokked_at"] == run.grokked_at
        assert row["test_accuracy"] == pytest.approx(run.final["test_accuracy"])


def test_the_folder_has_one_table_with_curves(unbroken):
    table = pq.read_table(unbroken.folder / "sweep.parquet")
    assert table.num_rows == 6 and table["train_loss_curve"][2].as_py() == list(unbroken.curves(2)["train_loss"])
    assert table["step_curve"][0].as_py() == [0, 10, 20, 30]
    assert sorted(path.name for path in unbroken.folder.iterdir()) == [
        *("curves.png", "curves.svg", "settings.png", "settings.svg", "sweep.json", "sweep.parquet"),
    ]
    again = mg.sweep("n1 n2", **SMALL, weight_decay=[1, 5], seeds=3, out=unbroken.folder)
    assert again.compilations == 0 and again.rows == unbroken.rows
    with pytest.raises(InputError, match="holds another sweep; choose another folder"):
        mg.sweep("n1 n2", **SMALL, weight_decay=[1, 5], seeds=4, out=unbroken.folder)


KILLED = """
import sys
from contextlib import nullcontext
from pathlib import Path
from modgrok.experiments import sweep_plan, sweeps

def progress(done, total):
    print(done, flush=True)
    if done > 3 * 30:
        sys.stdin.read()  # until it is killed

sweep_plan.LARGEST_PART = 4
sweeps.progress_bar = lambda console, what: nullcontext(progress)
sweeps.sweep("n1 n2", 7, seeds=3, width=16, steps=30, weight_decay=[1, 5], out=sys.argv[1], live=True)
"""


def test_a_killed_sweep_ends_with_the_same_rows(unbroken, tmp_path):
    """It is killed in its second part; what is there is kept, and parts stay as they were, whatever fits later."""
    folder = tmp_path / "sweep"
    command, pipe = [sys.executable, "-c", KILLED, folder], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert any(int(line) > 3 * 30 for line in process.stdout)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert sorted(path.name for path in folder.iterdir()) == ["part-00000.parquet", "running.json", "sweep.json"]
    resumed = mg.sweep("n1 n2", **SMALL, weight_decay=[1, 5], seeds=3, out=folder)
    assert resumed.rows == unbroken.rows
    files = [pq.read_table(each / "sweep.parquet") for each in (folder, unbroken.folder)]
    assert files[0].equals(files[1]), "dates and times are not among the rows"


def test_the_command_counts_its_programs_and_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", *WORDS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 6 and found["compilations"] <= 1 and found["varied"] == {"weight_decay": [1.0, 5.0]}
    assert found["best"] == max(found["medians"], key=lambda each: each["test_accuracy"])
    assert cli.main(["sweep", *WORDS]) == 0
    printed = capsys.readouterr().out
    assert found["words"][:40] in " ".join(printed.split()) and "0 programs compiled" in printed
    assert cli.main(["train", "n1 n2", *WORDS[1:7], "--seeds", "3", "--weight-decay", "5", "--json"]) == 0
    seeds = json.loads(capsys.readouterr().out)
    assert [row["seed"] for row in seeds["rows"]] == [0, 1, 2] and seeds["varied"] == {}


def test_settings_that_are_traced_share_a_program_and_others_do_not():
    traced = {"learning_rate": [0.01, 0.1], "fraction": [0.3, 0.9], "init_scale": [0.5, 1], "beta1": [0.8, 0.9]}
    plan = plan_of("n1 n2", 7, 2, width=16, steps=30, **traced)
    assert len(plan.configs) == 32
    ((shape, numbers),) = groups_of(plan.configs, [config.task() for config in plan.configs])
    assert len(numbers) == 32 and shape.train_rows == 44, "0.9 of 49 rows"
    plan = plan_of("n1 n2", [5, 7], 1, width=[8, 16], optimiser=["adamw", "muon"], steps=30)
    assert len(groups_of(plan.configs, [config.task() for config in plan.configs])) == 8


def test_training_sets_of_different_sizes_train_as_they_would_alone():
    found = mg.sweep("n1 n2", **SMALL, fraction=[0.4, 0.8])
    assert found.compilations <= 1
    for row in found.rows:
        run = mg.train("n1 n2", **SMALL, fraction=row["fraction"])
        assert row["train_loss"] == pytest.approx(run.final["train_loss"], rel=1e-3)
        assert row["test_accuracy"] == pytest.approx(run.final["test_accuracy"])


def test_a_table_does_where_an_expression_does(unbroken, tmp_path):
    table = np.outer(np.arange(7), np.arange(7)) % 7
    found = mg.sweep(
        table, **{k: v for k, v in SMALL.items() if k != "mod"}, weight_decay=[1, 5], seeds=3, out=tmp_path / "s"
    )
    assert [row["test_loss"] for row in found.rows] == pytest.approx(
        [row["test_loss"] for row in unbroken.rows], rel=1e-3
    )
    assert found.title.startswith("table ") and "7 × 7 → 7" in repr(found)
    again = mg.sweep(lambda a, b: a * b, **SMALL, weight_decay=[1, 5], seeds=3)
    assert [row["test_loss"] for row in again.rows] == pytest.approx([row["test_loss"] for row in found.rows], rel=1e-3)


def test_weights_are_kept_on_request(tmp_path):
    settings = {"mod": 7, "width": 8, "steps": 3, "model": "mlp", "norm": "batch"}
    found = mg.sweep("n1 n2", **settings, seeds=2, out=tmp_path / "sweep", keep_weights=True)
    run = mg.train("n1 n2", **settings, seed=1)
    kept = mg.load(tmp_path / "sweep" / "weights" / "00001.safetensors")
    rows = np.stack(np.unravel_index(np.arange(49), (7, 7)), axis=1)
    np.testing.assert_allclose(kept(rows), run.network(rows), rtol=1e-3, atol=1e-3)
    assert tmp_path / "sweep" / "weights" / "00001.safetensors" in found.files
    with pytest.raises(InputError, match="weights are kept in a folder; give one"):
        mg.sweep("n1 n2", **settings, keep_weights=True)


def row(network, seed, accuracy, grokked_at, decay=1.0):
    about = {"network": network, "weight_decay": decay, "seed": seed, "train_accuracy": 1.0, "test_loss": 0.1}
    return about | {"test_accuracy": accuracy, "grokked_at": grokked_at}


def test_medians_and_the_best_setting(unbroken):
    rows = [
        row(k, k, a, s) for k, (a, s) in enumerate([(0.2, None), (1.0, 100), (0.6, None), (0.4, None), (0.8, None)])
    ]
    rows += [row(5 + k, k, 1.0, s, 5.0) for k, s in enumerate([300, 100, None, 200, 400])]
    found = replace(unbroken, networks=pa.Table.from_pylist(rows), seeds=tuple(range(5)))
    one, five = found.medians
    assert (one.test_accuracy, one.low, one.high, one.grokked, one.grokked_at) == (0.6, 0.4, 0.8, 0.2, None)
    assert (five.grokked, five.grokked_at, five.network_numbers) == (0.8, 300.0, (5, 6, 7, 8, 9)), (
        "None counts as later"
    )
    assert found.best == five
    assert (
        found.words
        == "Best with weight_decay 5: median test accuracy 100 % over 5 seeds, 99 % from step 300; 4 of 5 grok."
    )
    lost = [each | {"outcome": "diverged"} for each in rows[:2]] + [
        each | {"outcome": "improving"} for each in rows[2:]
    ]
    lost = replace(found, networks=pa.Table.from_pylist(lost))
    assert lost.words.endswith(" grok. 2 of 10 trainings diverged.")
    nothing = Median({}, 1, np.nan, np.nan, np.nan, 1.0, np.nan, 0.0, None, (0,))
    assert nothing.rank == (-inf, 1.0, 0.0, -inf, -inf)
    assert repr(nothing) == "<Median: train accuracy 100 % over one seed; no test set>"
    assert len(repr(five)) < 200 and repr(five).startswith("<Median: weight_decay 5: median test accuracy 100 %")


def test_the_table_of_two_settings_fits_80_columns(unbroken):
    medians = [
        Median({"learning_rate": 0.00316, "weight_decay": 0.5}, 10, 0.999, 0.123, 0.999, 1.0, 0.1, 0.9, 12345.0, (0,))
    ]
    table = replace(unbroken, varied={"learning_rate": [0.00316], "weight_decay": [0.5]})
    lines = [headings(table), *(cells(each) for each in medians)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    assert sum(widths) + 2 * (len(widths) - 1) <= 80


def test_one_training_is_no_plural(unbroken):
    one = replace(unbroken, networks=pa.Table.from_pylist([row(0, 0, 0.5, None)]), varied={}, seeds=(0,))
    assert one.heading == "n1 n2 mod 7, 1 training"
    assert repr(one) == "<Sweep: n1 n2 mod 7, 1 training. Test accuracy 50.00 % over one seed; none groks.>"


def test_seeds_may_be_listed_or_counted_but_not_both():
    assert plan_of("n1 n2", 7, 1, seed=[4, 2]).seeds == [4, 2] and plan_of("n1 n2", 7, 2, seed=4).seeds == [4, 5]
    with pytest.raises(InputError, match=r"seed lists the seeds, \[4, 2\], and seeds counts them"):
        plan_of("n1 n2", 7, 3, seed=[4, 2])


def test_one_setting_makes_a_line_with_the_reach_of_half_of_the_seeds(unbroken):
    figure = unbroken.phase_diagram()
    drawn = figure.axes[0].containers[0]
    assert list(drawn.lines[0].get_ydata()) == [each.test_accuracy for each in unbroken.medians]
    for (low, high), each in zip(drawn.lines[2][0].get_segments(), unbroken.medians, strict=True):
        assert low.tolist() == pytest.approx([each.settings["weight_decay"], each.low])
        assert high.tolist() == pytest.approx([each.settings["weight_decay"], each.high])
    assert is_drawn(figure)


def test_two_settings_make_a_phase_diagram():
    found = mg.sweep("n1 n2", **SMALL, weight_decay=[1, 5], learning_rate=[0.001, 0.01, 0.1])
    figure = found.phase_diagram()
    cells = figure.axes[0].images[0].get_array()
    assert cells.shape == (2, 3) and figure.axes[0].get_xlabel() == "learning_rate"
    at = {(each.settings["learning_rate"], each.settings["weight_decay"]): each.test_accuracy for each in found.medians}
    assert cells[1, 2] == at[0.1, 5.0] and cells[0, 1] == at[0.01, 1.0]
    assert len(found.plot().axes[0].get_lines()) == 6
    assert is_drawn(figure) and is_drawn(found.plot())
    assert "learning_rate" in found._repr_html_() and len(found.table["network"]) == 6


def test_lists_and_ranges_are_read():
    assert read_values("0.001:0.1:5log", float) == [0.001, 0.00316, 0.01, 0.0316, 0.1]
    assert read_values("0, 1:3:3", float) == [0.0, 1.0, 2.0, 3.0]
    assert read_values("50:400:4log", int) == [50, 100, 200, 400]
    for text in ("", "1,,2", "a", "0:1:4log", "1:2", "1:x:3", "1:5:0"):
        with pytest.raises(InputError, match="eps takes a number, several with commas, or a range FIRST:LAST:COUNT"):
            read_values(text, float, "eps")
    with pytest.raises(InputError, match="width takes a whole number, .* got '10.5'; give 100,200"):
        read_values("10.5", int, "width")


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"weight_decay": [1, 1]}, r"weight_decay must list different values, got \[1, 1\]"),
        ({"weight_decay": []}, "weight_decay must list different values"),
        ({"colour": [1, 2]}, "a sweep has no setting colour; there are activation, "),
        ({"snapshots": 5}, "a sweep has no setting snapshots"),
        ({"seeds": 0}, "seeds is how many trainings each setting has, from 1 to 100,000, got 0"),
        ({"width": [8, 0]}, "width must be a whole number from 1"),
        ({"model": ["power", "cnn"]}, "model must be power or mlp or transformer, got 'cnn'"),
        ({"seeds": 10**30}, "from 1 to 100,000, got 10{30}"),
        ({"seeds": 60_000, "beta1": [0.8, 0.9]}, "the sweep has 120,000 trainings, more than 100,000"),
    ],
)
def test_what_cannot_be_trained_leaves_no_folder(tmp_path, settings, text):
    with pytest.raises(InputError, match=text):
        mg.sweep("n1 n2", 7, **settings, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_the_default_folder_belongs_to_the_plan():
    plans = [plan_of("n1 n2", 7, 2, weight_decay=[1, 5]), plan_of("n1 n2", 7, 3, weight_decay=[1, 5])]
    names = {str(sweeps.default_folder(plan)) for plan in plans}
    assert len(names) == 2 and all(name.startswith("sweeps/n1n2-mod7-weight_decay-") for name in names)


def test_sweeps_of_0_2_are_found_in_their_default_folders():
    """Recorded with 0.2.0: a setting that came later must not change them as long as it is what it was before."""
    plans = {
        "n1n2-mod7-weight_decay-430153": plan_of("n1 n2", 7, 2, weight_decay=[1, 5]),
        "n1+n2-mod5-seeds-415466": plan_of("n1 + n2", 5, 3, model="mlp"),
        "table1091b2-1091b2bc-width-61e94b": plan_of(np.arange(9).reshape(3, 3) % 3, None, 2, width=[3, 4]),
    }
    assert [sweeps.default_folder(plan).name for plan in plans.values()] == list(plans)


@pytest.mark.parametrize("model", ["power", "mlp"])
def test_a_single_run_repeats_a_row_to_the_last_bit(model, tmp_path):
    """With what the row says of its program: how many networks trained side by side, with room for how many rows."""
    found = mg.sweep("n1 n2", mod=7, model=model, width=16, steps=30, fraction=[0.4, 0.8], seeds=3, out=tmp_path / "s")
    row = found.rows[2]
    assert (row["beside"], row["room"], row["fraction"]) == (6, 39, 0.4)
    settings = {name: row[name] for name in ("model", "width", "steps", "fraction", "seed", "beside", "room")}
    run = mg.train("n1 n2", mod=7, **settings)
    assert run.final == {name: row[name] for name in run.final}
    resumed = mg.train("n1 n2", mod=7, out=tmp_path / "run", **settings | {"steps": 20})
    assert mg.resume(resumed.folder, steps=30).final == run.final
