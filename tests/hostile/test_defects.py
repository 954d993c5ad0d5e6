"""What was found once, from outside, and must stay mended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.base.stores import DamagedError, write_tensors
from modgrok.censuses import runner, store
from modgrok.censuses.annotation import annotate
from modgrok.censuses.fitting import fit
from modgrok.censuses.plan import plan_from
from modgrok.censuses.querying import query
from modgrok.censuses.reporting import report
from modgrok.compiler.compiling import compile
from modgrok.networks.storage import load
from modgrok.training.run import load_run
from modgrok.training.train import train

PLAN = plan_from(
    {
        "steps": [1, 2],
        "tables": {"random": 10},
        "settings": [{"moduli": [5], "widths": [4], "fractions": [0.5]}],
    }
)


@pytest.fixture
def modgrok(capfd, tmp_path, monkeypatch):
    """Runs the command line in an empty folder: exit code, and what it printed; never a traceback."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: object) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            code = cli.main([str(word) for word in argv])
        except SystemExit as stop:
            code = stop.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("defects") / "census"
    assert runner.census(PLAN, folder).finished
    return folder


@pytest.fixture
def census(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "census"))


# ------------------------------------------------------------------------------------------ trainings that diverge


@pytest.mark.parametrize("options", [("--init-scale", "1e20"), ("--learning-rate", "1e30")], ids=lambda o: o[0])
def test_a_training_that_diverges_says_so(modgrok, options):
    code, out, _ = modgrok("train", "n1 n2", "--mod", 5, "--steps", 2, "--width", 3, *options, "--out", "d")
    assert code == 1 and "Diverged" in out
    code, out, _ = modgrok("train", "--resume", "d", "--json")
    found = json.loads(out)
    assert code == 1 and found["diagnosis"]["outcome"] == "diverged" and found["final"]["train_loss"] is None
    assert found["final"]["train_accuracy"] == 0, "what is not a number is no answer"


def test_experts_that_diverge_are_a_network_that_is_wrong(modgrok):
    code, out, _ = modgrok(
        *("mix", "n1 n2 + n1", "--mod", 5, "--steps", 3, "--width", 8, "--learning-rate", "1e30"),
        *("--out", "f.safetensors", "--json"),
    )
    found = json.loads(out)
    assert code == 1 and found["experts"][0]["margin"] is None and Path("f.safetensors").exists()
    assert modgrok("verify", "f.safetensors")[0] == 1


# ------------------------------------------------------------------------------------------ questions in SQL


def test_whatever_a_query_answers_has_a_json_form(modgrok, census):
    sql = """SELECT sum(alive) AS whole, avg(alive) AS mean, 1.5::decimal(4, 2) AS decimal, date '2020-01-02' AS date,
        time '10:11:12' AS time, timestamp '2020-01-02 10:11:12' AS timestamp, 'a\\x00'::blob AS blob,
        '101'::bit AS bit,
        170141183460469231731687303715884105727::hugeint AS huge, interval 3 days AS interval, [1, NULL] AS list,
        {'a': 1} AS struct, 'nan'::float AS nothing, '-inf'::double AS less, NULL AS null FROM census"""
    code, out, _ = modgrok("census", "query", census, sql, "--json")
    (row,) = json.loads(out)["rows"]
    assert code == 0
    assert row["decimal"] == 1.5 and row["date"] == "2020-01-02" and row["time"] == "10:11:12"
    assert row["timestamp"] == "2020-01-02T10:11:12" and row["blob"] == "a\x00" and row["bit"] == "101"
    assert row["huge"] == 2**127 - 1 and row["interval"] == "3 days, 0:00:00" and row["list"] == [1, None]
    assert row["struct"] == {"a": 1} and row["nothing"] is row["less"] is row["null"] is None
    assert row["whole"] == row["mean"] * len(PLAN.steps) * PLAN.size()


@pytest.mark.parametrize("sql", ["", ";", "  ", "-- nothing"])
def test_a_query_that_asks_for_nothing_is_refused(modgrok, census, sql):
    code, _, err = modgrok("census", "query", census, sql)
    assert code == 2 and "asks for nothing" in err and err.count("\n") == 1


def test_columns_of_one_name_are_both_there(census):
    assert query(census, "SELECT 1 AS a, 2 AS a").rows == ({"a": 1, "a_1": 2},)


def test_values_are_printed_as_they_are(modgrok, census):
    code, out, _ = modgrok("census", "query", census, "SELECT '[/x] [bold] :smile:' AS \"[/y]\", chr(27) AS escape")
    assert code == 0 and "[/x] [bold] :smile:" in out and "[/y]" in out
    assert "\x1b" not in out and "\\x1b" in out, "no value drives the terminal"


def test_names_of_files_are_printed_as_they_are(modgrok):
    code, out, _ = modgrok("compile", "n1 + n2", "--mod", 3, "--out", "[/x] [bold].safetensors")
    assert code == 0 and "[/x] [bold].safetensors" in out
    code, _, err = modgrok("verify", "[/nowhere]\x1b")
    assert code == 2 and "[/nowhere]\\x1b" in err


# ------------------------------------------------------------------------------------------ numbers and plans


@pytest.mark.parametrize(
    "argv, message",
    [
        (("verify", "net.safetensors", "--seed", "-1"), "seed"),
        (("paper", "strong", "--time-limit", "-1", "--quick"), "time limit"),
        (("census", "deep.toml", "--out", "c"), "nested too deeply"),
    ],
)
def test_bad_numbers_and_plans_are_one_line(modgrok, argv, message):
    modgrok("compile", "n1 + n2", "--mod", 3, "--out", "net.safetensors")
    Path("deep.toml").write_text("a = " + "[" * 3000 + "]" * 3000)
    code, _, err = modgrok(*argv)
    assert code == 2 and message in err and err.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["deep.toml", "net.safetensors"]


@pytest.mark.parametrize("text", ["null", "3", "[]", '"plan"', "{}", '{"steps": 2, "tables": null, "settings": []}'])
def test_a_plan_that_is_none_is_refused_by_every_action(census, text):
    (census / "plan.json").write_text(text)
    for action in (annotate, report, fit, lambda folder: query(folder, "SELECT 1"), lambda f: runner.census(PLAN, f)):
        with pytest.raises(InputError, match=r"plan\.json is not the plan of a census .*; write it anew"):
            action(census)


# ------------------------------------------------------------------------------------------ impossible numbers


@pytest.mark.parametrize(
    "words, said",
    [
        ("bench train --seconds inf", "rounds of at most 3,600 seconds, got 5 of inf"),
        (f"bench train --rounds {10**30}", "bench takes 1 to 1,000 rounds"),
        ("train n1 --mod 5 --checkpoint-seconds nan", "checkpoint_seconds must be 0 or more, got nan"),
        ("train n1 --mod 5 --checkpoint-seconds -1", "checkpoint_seconds must be 0 or more, got -1"),
        ("explore --no-open --port 0 --seconds nan", "seconds must be above 0"),
        ("explore --no-open --port 0 --seconds 1e300", "a year"),
        ("explore --no-open --port 0 --host=", "host must be an address"),
    ],
)
def test_numbers_that_mean_nothing_or_forever_are_refused(modgrok, words, said):
    code, out, err = modgrok(*words.split())
    assert code == 2 and out == "" and said in err and err.count("\n") == 1


# ------------------------------------------------------------------------------------------ damaged parts


def without_column(rows: pa.Table) -> pa.Table:
    return rows.drop_columns("seed")


def half_of_its_steps(rows: pa.Table) -> pa.Table:
    return rows.filter(np.asarray(rows["steps"]) == 1)


def of_another_type(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index("alive")
    return rows.set_column(place, "alive", rows["alive"].cast(pa.string()))


def without_networks(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index("network")
    return rows.set_column(place, "network", pa.nulls(len(rows), pa.int64()))


def of_other_networks(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index("network")
    return rows.set_column(place, "network", pa.array(np.asarray(rows["network"]) + PLAN.size()))


def twice(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows])


@pytest.mark.parametrize(
    "damage", [without_column, half_of_its_steps, of_another_type, without_networks, of_other_networks, twice]
)
def test_a_damaged_part_is_named_by_readers_set_aside_and_trained_again(census, whole, damage):
    (census / store.WHOLE).unlink()
    part = sorted(census.glob("part-*"))[0]
    pq.write_table(damage(pq.read_table(part)), part)
    for action in (annotate, report, fit, lambda folder: query(folder, "SELECT 1")):
        with pytest.raises(DamagedError, match=rf"{part.name}.*; run the census again, which sets it aside"):
            action(census)
    found = runner.census(PLAN, census)
    assert found.finished and found.networks == PLAN.size() and part.with_name(f"{part.name}.damaged").exists()
    assert store.read_rows(census) == store.read_rows(whole), "to the last bit"


def test_one_flipped_bit_in_a_part_is_noticed_or_changes_no_row(census, whole):
    """Pages have checksums; what pages say of themselves has none, and is not needed."""
    (census / store.WHOLE).unlink()
    part = sorted(census.glob("part-*"))[0]
    content, rows, noticed = part.read_bytes(), store.read_rows(census), []
    for place in range(4, len(content), 101):
        flipped = bytearray(content)
        flipped[place] ^= 1
        part.write_bytes(flipped)
        try:
            assert store.read_rows(census) == rows
        except DamagedError:
            noticed.append(bytes(flipped))
    assert len(noticed) > 10
    part.write_bytes(noticed[0])
    with pytest.raises(DamagedError, match=part.name):
        store.read_rows(census)
    assert runner.census(PLAN, census).finished and store.read_rows(census) == store.read_rows(whole)


def test_a_part_in_the_place_of_another_does_not_count_for_it(census, whole):
    (census / store.WHOLE).unlink()
    first, second = sorted(census.glob("part-*"))[:2]
    shutil.copy(first, second)
    found = runner.census(PLAN, census)
    assert found.finished and found.networks == PLAN.size() and store.read_rows(census) == store.read_rows(whole)


def test_verdicts_that_are_missing_are_found_again(census, whole):
    rows = pq.read_table(census / store.WHOLE)
    place = rows.schema.get_field_index("verdict")
    pq.write_table(rows.set_column(place, "verdict", pa.nulls(len(rows), pa.string())), census / store.WHOLE)
    with pytest.raises(InputError, match="not annotated yet"):
        report(census)
    assert annotate(census).rows_annotated == len(rows)
    assert store.read_annotated(census)["verdict"] == store.read_annotated(whole)["verdict"]


# ------------------------------------------------------------------------------------------ files that contradict


def test_a_certificate_of_no_expert_proves_nothing(tmp_path):
    about, tensors = compile("n1 + n2", 5).stored()
    write_tensors(tmp_path / "old", about | {"certificate": {"dtype": "float64", "experts": []}}, tensors)
    assert load(tmp_path / "old").proof is None


def test_a_run_whose_config_is_another_s_is_refused(tmp_path):
    train("n1 n2", 5, width=4, steps=2, out=tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace("n1 n2", "x"))
    with pytest.raises(DamagedError, match="the config of 'x' and the network of 'n1 n2'; .* makes it again"):
        load_run(tmp_path / "run")
