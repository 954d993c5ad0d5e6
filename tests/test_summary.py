"""The page on two pages: every number of it is a stored one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import modgrok as mg

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def words_of(name: str) -> str:
    """A page without its line breaks."""
    return " ".join(text_of(name).split())


def stored(name: str) -> dict:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def test_the_summary_has_the_stored_numbers_of_networks_and_proofs():
    page = words_of("docs/summary.md")
    four = next(row for row in stored("widths.json")["rows"] if row["terms"] == 4)
    two = next(row for row in stored("widths.json")["rows"] if row["terms"] == 2)
    assert f"**{two['minimal']} hidden neurons add two residues" in page
    assert (
        f"has {four['flat']} neurons if its logits are to be an exact one-hot vector, and {four['minimal']} if" in page
    )
    assert f"With random phases it has {four['random']:,}; with the published closed forms" in page
    assert f"largest margin, {four['literature']:,} (" in page
    proofs = stored("proofs.json")["rows"]
    least = next(row for row in proofs if row["kind"] == "minimal" and row["expression"].startswith("2n1^4"))
    assert f"takes {least['neurons']} neurons, right on all {least['rows']:,} inputs" in page
    assert "where the paper has 3,500" in page and '{"neurons": 3500' in text_of("src/modgrok/reproduction/networks.py")
    long = next(row for row in proofs if "n99" in row["expression"])
    assert len(str(long["rows"])) == 349 and "10³⁴⁸ inputs" in page and long["prove_seconds"] < 1
    assert f"99 residues modulo {long['modulus']:,}" in page
    kernel = sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src/modgrok/proofs").glob("*.py"))
    assert kernel < 3000 and "under 3,000 lines" in page
    hostile, mutations = stored("hostile.json")["parts"], stored("mutations.json")
    assert not hostile["h"]["found"] and f"{hostile['h']['trials']:,} forged certificates" in page
    assert not hostile["i"]["found"] and f"{hostile['i']['trials']:,} forged networks" in page
    assert f"of {mutations['faults']} faults" in page and not {"wrong", "called proved"} & set(mutations["outcomes"])


def test_the_summary_has_the_stored_numbers_of_decisions_and_laws():
    page = words_of("docs/summary.md")
    total = stored("truth.json")["total"]
    assert f"Of {total['tables']:,} tables" in page and f"{total['unknown']:,} stayed open" in page
    assert not total["wrong"]
    strong = json.loads(text_of("src/modgrok/reproduction/recorded/strong.json"))
    assert "8n1^5 n2 + 34n1^9 n2^5 mod 97: 14 settings go beyond the 1 % of twins and guesses, 5 of them" in str(strong)
    assert "by 19 kinds of networks" in page and "5 of the 19 learn it" in page
    assert mg.classify("8x^5 y + 34x^9 y^5", mod=97).verdict == "not-in-class"
    assert "Learned 79 of 81 times" in text_of("docs/strong.md") and "learned in 79 of 81 cases" in page
    report = json.loads(text_of("benchmarks/census/large/report/report.json"))
    assert f"{report['evaluated']:,} networks at {len(report['errors_by_setting'])} settings" in page
    assert f"error is {report['error_one_curve']:.3f} on unseen tables" in page
    families = next(each for each in report["errors_held_out"] if each["held_out"] == "families")
    assert f"{families['error']:.3f} on unseen families" in page
    assert f"{report['networks_left_out']:,} of the census's {report['networks']:,}" in page
    rows = stored("questions-kinds.json")["rows"]
    told = [(row, reached) for row in rows if row["value"] is not None for reached in row["reached"]]
    assert f"Of {len(rows)} questions about {len({row['kind'] for row in rows})} kinds of tables" in page
    assert f"{np.mean([row['value'] is None for row in rows]):.0%} get no number".replace("%", " %") in page
    inside = np.mean([row["low"] <= reached <= row["high"] for row, reached in told])
    assert f"{100 * inside:.0f} % of the trainings of the others" in page
    missed = np.mean([abs(row["value"] - reached) for row, reached in told])
    assert f"the mean error is {missed:.3f}" in page


def test_the_summary_has_the_stored_numbers_of_groups_complexity_and_decompiling():
    page = words_of("docs/summary.md")
    found = stored("group-networks.json")
    rows = {row["group"]: row for row in found["groups"]["rows"]}
    assert not found["groups"]["wrong_cells"] and not found["groups"]["not_proved"]
    assert f"All {found['groups']['groups']} groups tried" in page
    assert [rows[name]["minimal"] for name in ("S5", "A5", "D30", "Z97")] == [5, 4, 3, 3]
    assert "5 multiply in S₅, 4 in A₅, 3 in D₃₀ and in Z₉₇" in page
    for name, said in (("A5", "9.5 · 10⁻⁵ in A₅"), ("S5", "1.6 · 10⁻⁶ in S₅"), ("A6", "2.2 · 10⁻⁸ in A₆")):
        margin = mg.compile("a b", group=name).proof.margin  # the one that the command prints
        assert margin == pytest.approx(rows[name]["minimal_margin"], rel=1e-3)
        digits, power = said[:3], said.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")).partition("⁻")[2][0]
        assert f"{margin:.1e}" == f"{digits}e-0{power}" and said in page
    assert f"takes {rows['S5']['one_hot']} in S₅ and {rows['A5']['one_hot']} in A₅" in page
    assert not found["fields"]["wrong_rows"] and f"{found['fields']['polynomials']:,} random polynomials" in page
    table = text_of("docs/group-networks.md")
    for row, said in (
        ("S5", "77 to 79 % for S₅"),
        ("A5", "98.1 % for A₅"),
        ("D30", "99.6 % of the logits' variance for D₃₀"),
    ):
        shares = re.search(rf"^\| {row} \| power \| 100.0 % \| ([\d.]+)(?: to ([\d.]+))? % \|", table, re.MULTILINE)
        assert shares and said in page
        assert all(f"{float(each):.0f}" in said or each in said for each in shares.groups() if each)
    tables = stored("complexity.json")["tables"]
    assert f"a sum has {tables['sum']['estimate']:.2f}, xor (taken modulo 59) {tables['xor']['estimate']:.2f}" in page
    assert f"a random table about {tables['random']['estimate']:.1f}" in page
    needed = stored("share-needed.json")
    ranks = [f"{found['complexity']['spearman']:.2f}" for found in needed["models"].values()]
    assert "is {} for x² networks, {} for MLPs and {} for transformers".format(*ranks) in page
    assert "1.32 r^1.16 n^−0.59" in page and round(needed["group_law"]["c"], 2) == 1.32
    groups = stored("decompile.json")["by_group"]
    assert f"all of {groups['grokked']['good']} grokked" in page
    assert all(counted["good"] == counted["networks"] for counted in groups.values())
    assert f"of {sum(groups[kind]['networks'] for kind in ('memorised', 'untrained', 'shuffled'))} that had" in page


def test_the_summary_and_the_page_on_the_zoo_have_the_stored_numbers_of_it():
    found, zoo = stored("zoo.json"), words_of("docs/zoo.md")
    right, outcomes = found["right"], found["outcomes"]
    assert found["megabytes"] < 300 and found["snapshots_of_each"] == [20] and len(found["rows"]) == found["networks"]
    assert f"looked at the {found['networks']} networks" in zoo and f"have {found['megabytes']:.0f} MB" in zoo
    assert ", ".join(f"{outcomes[word]} {word}" for word in ("learned", "partly", "memorised")) in zoo
    assert not found["not_as_their_files_say"] and f"{found['with_a_proof']} have a proof" in zoo
    asked = found["learned_with_a_proof"], found["learned_and_proved_on_every_row"]
    assert "Of the {} of these that learned, {} are proved right on every input".format(*asked) in zoo
    assert f"right, of {found['asked']} |" in zoo and f"| `mg.decompile` | {right['decompile']} |" in zoo
    page = words_of("docs/summary.md")
    assert f"{found['networks']} trained networks with 20 snapshots" in page
    assert f"of {found['megabytes']:.0f} MB, made from seeds" in page
    all_of_them = "all" if right["decompile"] == found["asked"] else right["decompile"]
    assert f"Of the {found['asked']} that learned or memorised our decompiler is right about {all_of_them}" in page
