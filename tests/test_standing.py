"""What one computed stands before what was recorded: on the page, in the explorer, and between two reports."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from modgrok import __version__, cli
from modgrok.base.errors import InputError
from modgrok.base.provenance import UNKNOWN
from modgrok.explorer import papers
from modgrok.report import page
from modgrok.report.comparing import Standing, paper_diff
from modgrok.report.document import Notice, Table
from modgrok.report.reproducing import paper
from modgrok.reproduction import evidence, records
from modgrok.reproduction.item import ItemResult, Verdict
from modgrok.reproduction.records import Recorded, is_as_large, read_recorded
from modgrok.reproduction.registry import ITEMS

ITEM = ITEMS["figure1"]
RECORDED = Path(records.__file__).parent / "recorded"
LARGE = {"modulus": 23, "inputs": 10_000, "seeds": 10}


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    found = read_recorded("figure1")
    assert found is not None and found.result.verdict is Verdict.REPRODUCED and found.result.settings == LARGE
    return found


def own(recorded: Recorded, verdict: Verdict = Verdict.DIFFERS, **settings: object) -> ItemResult:
    """A result of this machine: with the settings of the recorded one, but for these."""
    made = replace(UNKNOWN, version=__version__, settings={"size": "standard", "everything": False}, device="cpu")
    return replace(recorded.result, verdict=verdict, settings=LARGE | settings, provenance=(made,))


def claims_row(here: ItemResult | None, recorded: Recorded | None, tmp_path: Path) -> tuple[tuple[str, ...], list[str]]:
    """The item's row in the first table of the page, and what is said before it."""
    results, shown = ({} if found is None else {"figure1": found} for found in (here, recorded))
    document = page.compose(results, shown, tmp_path, "standard")
    first = next(k for k, block in enumerate(document.blocks) if isinstance(block, Table))
    (row,) = document.blocks[first].rows
    return row, [block.text for block in document.blocks[:first] if isinstance(block, Notice)]


def test_what_was_computed_here_at_full_size_is_the_verdict(recorded, tmp_path):
    row, said = claims_row(own(recorded), recorded, tmp_path)
    assert row[-1] == "differs\nreproduced (recorded)"
    assert row[-2].startswith("here and recorded: widths 64, 724"), "they measured the same"
    anchor = "[Figure 1](#figure-1-width-against-the-number-of-terms)"
    (sentence,) = said
    assert sentence.startswith("This machine and what was recorded come to different verdicts. ")
    assert f"{anchor}: differs (here), reproduced (recorded" in sentence
    row, said = claims_row(own(recorded, Verdict.REPRODUCED), recorded, tmp_path)
    assert row[-1] == "reproduced\nreproduced (recorded)" and said == []


def test_a_smaller_form_stands_beside_what_was_recorded(recorded, tmp_path):
    less = replace(own(recorded, seeds=2), rows=recorded.result.rows[:3])
    row, said = claims_row(less, recorded, tmp_path)
    assert row[-2].startswith("here, smaller: widths 64, 724") and "\nrecorded: widths 64, 724" in row[-2]
    assert row[-1] == "differs (here, smaller)\nreproduced (recorded)"
    assert len(said) == 1 and "differs (here, smaller), reproduced (recorded" in said[0]
    text = page.compose({"figure1": own(recorded, seeds=2)}, {"figure1": recorded}, tmp_path, "quick").html()
    first = text[text.index("<table>") : text.index("</table>")]
    assert '<span class="verdict bad">differs (here, smaller)</span><br>' in first
    assert text.index('class="notice"') < text.index("<table>") and "The same on this machine, smaller: differs" in text


def test_alone_it_is_the_verdict_whatever_its_size(recorded, tmp_path):
    assert claims_row(own(recorded, seeds=2), None, tmp_path)[0][-1] == "differs"
    assert claims_row(None, recorded, tmp_path)[0][-1] == "reproduced (recorded)"


def test_the_size_of_a_result_is_that_of_its_settings_or_all_there_is(recorded):
    assert is_as_large(own(recorded), recorded.result) and not is_as_large(own(recorded, seeds=9), recorded.result)
    everything = replace(UNKNOWN, version="1", settings={"everything": True})
    less = replace(own(recorded, seeds=1), provenance=(everything,))
    assert is_as_large(less, recorded.result)
    cut = replace(everything, settings={"everything": True, "time_limit": 60.0})
    assert not is_as_large(replace(less, provenance=(cut,)), recorded.result)
    assert not is_as_large(replace(own(recorded), settings={}), recorded.result), "nothing says so"


def test_every_version_says_where_it_comes_from(recorded, tmp_path):
    unknown = Recorded(replace(recorded.result, provenance=(UNKNOWN,)), recorded.command)
    text = page.compose({"figure1": own(recorded)}, {"figure1": unknown}, tmp_path, "standard").html()
    assert f"modgrok {__version__} (commit not known)" in text
    assert "The same as it was recorded: reproduced, version unknown" in text
    assert "on a machine that was not written down: <code>modgrok paper figure1</code>; version unknown" in text
    assert Standing(ITEM, None, unknown).verdict_of is unknown.result


# ------------------------------------------------------------------------------------------ the verb and the explorer


def store_own(folder: Path, result: ItemResult, size: str = "quick") -> None:
    path = folder / "results" / f"{result.item}.json"
    evidence.write_result(path, result, evidence.fingerprint(result.item, size))


def test_a_report_can_be_of_this_machine_alone(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr("modgrok.report.reproducing.report_items", lambda size: [ITEM])
    store_own(tmp_path, own(recorded))
    report = paper("all", out=tmp_path, quick=True, recorded=False)
    assert report.recorded == () and report.differing == ()
    text = (tmp_path / "report.html").read_text()
    assert "(recorded)" not in text and "nothing recorded elsewhere" in text
    with pytest.raises(InputError, match="table1 is computed here in any case; only all can leave out"):
        paper("table1", recorded=False)
    assert cli.main(["paper", "all", "--quick", "--no-recorded", "--out", str(tmp_path)]) == 0


def test_the_explorer_never_calls_a_recorded_result_ones_own(recorded, tmp_path):
    params = {"item": "figure1", "report": str(tmp_path)}
    found = papers.paper_item(params)
    assert found["origin"] == "recorded" and all("from=recorded" in figure["url"] for figure in found["figures"])
    listed = {entry["item"]: entry for entry in papers.paper({"report": str(tmp_path)})["items"]}
    assert listed["figure1"]["result"] is None and listed["figure1"]["first"] == "recorded"
    store_own(tmp_path, own(recorded, seeds=2))
    found, listed = papers.paper_item(params), papers.listed(ITEM, tmp_path)
    assert found["origin"] == "result" and found["provenance"][0]["version"] == __version__
    assert listed["first"] == "recorded" and listed["differs"], "a smaller form is not the verdict"
    for size in ("standard", "full"):
        store_own(tmp_path, own(recorded), size)
        listed = papers.listed(ITEM, tmp_path)
        assert listed["first"] == "result" and listed["result"]["size"] == size
    law = read_recorded("law")
    store_own(tmp_path, law.result)
    assert papers.paper_item(params | {"item": "law"})["origin"] == "recorded"
    assert "version unknown" in papers.paper_item(params | {"item": "law"})["made"] or law.result.provenance[0].is_known


# ------------------------------------------------------------------------------------------ two reports


def test_two_reports_are_compared_claim_by_claim(recorded, tmp_path, capsys):
    store_own(tmp_path, replace(own(recorded), measured=recorded.result.measured | {"rate": 9.5}))
    (tmp_path / "results" / "table2.json").write_text("{}")
    assert cli.main(["paper", "diff", str(tmp_path), "recorded", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["same"] is False and found["reports"] == [str(tmp_path), "recorded"]
    claims = {claim["item"]: claim for claim in found["claims"]}
    assert claims["figure1"]["numbers"] == {"rate": [9.5, recorded.result.measured["rate"]]}
    assert [side["verdict"] for side in claims["figure1"]["sides"]] == ["differs", "reproduced"]
    assert claims["figure1"]["outcome"] == "another verdict" and claims["strong"]["outcome"] == "only in the second"
    assert len(found["damaged"]) == 1 and "table2.json" in found["damaged"][0]
    assert cli.main(["paper", "diff", str(tmp_path), "recorded"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"figure1 +differs +reproduced +another verdict", shown) and "rate: 9.5, " in shown
    assert f"modgrok {__version__}" in shown


def test_reports_that_agree_have_exit_code_0(recorded, tmp_path, capsys):
    store_own(tmp_path, own(recorded, Verdict.REPRODUCED))
    assert cli.main(["paper", "diff", str(tmp_path / "results"), "recorded"]) == 0
    assert "1 item is in both" in capsys.readouterr().out
    assert paper_diff(tmp_path, tmp_path).same


@pytest.mark.parametrize(
    "words, message",
    [
        (["diff"], "diff takes two reports, got 0: modgrok paper diff A B"),
        (["diff", "recorded", "nowhere"], "nowhere is no folder; give that of a report, or recorded"),
        (["diff", "empty", "recorded"], "nothing to compare: empty has no result, recorded has table2"),
        (["table1", "recorded"], "table1 takes no reports, got recorded; only diff does"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="2"):
        cli.main(["paper", *words])
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1


def test_an_item_that_was_changed_by_hand_is_left_out_of_a_comparison(tmp_path):
    """Whether its checksum is there and wrong, or was taken off a result of a report."""
    path = paper("classes", out=tmp_path, quick=True).files[0]
    whole = path.read_text()
    assert paper_diff(tmp_path, tmp_path).same
    path.write_text(whole.replace('"verdict": "reproduced"', '"verdict": "differs"'))
    store_own(tmp_path, read_recorded("widths").result)
    assert [text.partition(" is ")[0] for text in paper_diff(tmp_path, "recorded").damaged] == [str(path)]
    path.write_text(json.dumps({"result": json.loads(whole)}))
    assert "its checksum is wrong" in paper_diff(tmp_path, "recorded").damaged[0]


def test_a_recorded_result_that_was_changed_by_hand_is_named(tmp_path, monkeypatch):
    recorded = {path.name: path.read_text() for path in RECORDED.iterdir()}
    (tmp_path / "recorded").mkdir()
    monkeypatch.setattr(records, "files", lambda package: tmp_path)
    for name, text, said in (
        ("figure1", recorded["figure1.json"].replace('"verdict":"reproduced"', '"verdict":"differs"'), "checksum"),
        ("figure1", recorded["figure1.json"].replace('"checksum"', '"seal"'), "checksum"),
        ("figure2", recorded["figure1.json"], "holds the item 'figure1'"),
    ):
        (tmp_path / "recorded" / f"{name}.json").write_text(text)
        with pytest.raises(InputError, match=f"{name}.json.*{said}.*; install modgrok again"):
            read_recorded(name)


@pytest.mark.parametrize("damage", ["[]", "null", '{"result": 3}', '{"item": "figure1", "rows": 3}', "{"])
def test_no_damaged_result_stops_a_comparison(damage, recorded, tmp_path):
    store_own(tmp_path, replace(read_recorded("widths").result, provenance=(UNKNOWN,)))
    (tmp_path / "results" / "figure1.json").write_text(damage)
    found = paper_diff(tmp_path, "recorded")
    assert len(found.damaged) == 1 and {claim.item for claim in found.claims if claim.same_verdict} == {"widths"}
