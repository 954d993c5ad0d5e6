"""The whole page: what it says in both renderings, its numbers, and how a browser shows it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from html_elements import Elements
from strong_rows import strong_rows

from modgrok import cli
from modgrok.base.files import read_json
from modgrok.report import page
from modgrok.report.document import Paragraph
from modgrok.report.reproducing import write_report
from modgrok.reproduction import evidence as store
from modgrok.reproduction.item import Effort, ItemResult, ItemTable, Verdict
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ITEMS
from modgrok.reproduction.trainings import MONOTONE
from studies import strong_result


def training_result(item: str) -> ItemResult:
    """A made-up training with a mean IPR that falls once."""
    curves = {
        "step": [0, 10, 20],
        "train_loss": [0.1, 0.01, 0.001],
        "test_loss": [0.1, 0.05, 0.002],
        "train_accuracy": [0.1, 1.0, 1.0],
        "test_accuracy": [0.1, 0.5, 1.0],
        "ipr": [0.2, 0.1, 0.9],
        "ipr_alive": [0.2, 0.1, 0.9],
        "alive": [3, 3, 3],
    }
    claims = {"every training and test row is learned": True, MONOTONE: False}
    return ItemResult(
        item=item,
        title=f"{item}: made up",
        settings={"expression": "n1 n2", "modulus": 97, "width": 3, "power": None},
        published={"ipr": "rises"},
        measured={
            "test_accuracy": 1.0,
            "memorised_at": 10,
            "grokked_at": 20,
            "fall_of_ipr": 0.1,
            "fall_of_waves": 0.1,
            "claims": claims,
        },
        verdict=Verdict.PARTLY,
        notes=("A note with <angle brackets> & an ampersand, `code | bar` and 3 * 4.",),
        columns={"step": "step", "test_accuracy": "test accuracy"},
        rows=[{"step": k, "test_accuracy": a} for k, a in zip(curves["step"], curves["test_accuracy"], strict=True)],
        data={
            "curves": curves,
            "neurons": {"ipr_initial": [0.1, 0.2, 0.3], "ipr_final": [0.8, 0.9, 0.9], "alive": [True, True, True]},
        },
    )


def recorded_result(name: str) -> ItemResult:
    found = read_recorded(name)
    assert found is not None
    return found.result


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A report of every item: recorded, made up, or computed."""
    out = tmp_path_factory.mktemp("report")
    results = {
        "table2": recorded_result("table2"),
        "figure2": training_result("figure2"),
        "figure3": training_result("figure3"),
        "strong": strong_result.result_of(strong_rows("A") + strong_rows("B", {"(2n1 + 3n2)^4": 0.5}), []),
    }
    for item, result in results.items():
        made_by = store.fingerprint(item, "quick")
        store.write_result(out / "results" / f"{item}.json", replace(result, seconds=1.0), made_by)
    said: list[str] = []
    items = [ITEMS[name] for name in (*results, "classes", "networks", "errata")]
    report = write_report(items, out, Effort("quick", say=said.append))
    assert [line.split(":")[0] for line in said] == ["classes", "networks", "errata"]
    assert report.files == (out / "report.html", out / "report.md")
    return out


def test_the_page_is_whole_and_needs_nothing_else(folder):
    text = (folder / "report.html").read_text()
    elements = Elements(text)
    assert not elements.all("script")
    for image in elements.all("img"):
        assert image["src"].startswith("data:image/png;base64,")
        assert len(image["alt"]) > 40
    assert len(elements.all("img")) >= 6
    assert all(link["href"].startswith("data:") for link in elements.all("link"))
    assert "url(" not in text and "@import" not in text
    names = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    links = [link["href"] for link in elements.all("a")]
    assert len(set(names)) == len(names)
    assert set(links) == {f"#{name}" for name in names}, "the table of contents has every heading"


def test_the_page_says_what_was_found(folder):
    text = re.sub(r"data:image/png[^\"]*", "", (folder / "report.html").read_text())
    for words in (
        '<span class="verdict good">reproduced</span>',
        '<span class="verdict mixed">partly reproduced</span>',
        '<span class="verdict mixed">undecided (recorded)</span>',
        "it does not hold here that the mean IPR rises monotonically while the network groks (it falls by 0.10, since "
        "the readouts learn the mean of the answers first; without that constant it falls by 0.1000 at most until",
        "(living neurons), with a dip of 0.10 on the way",
        "962 neurons with error below",
        "Finding: exact and proved",
        "Circuits learn 0 of 14 cases from scratch",
        "Not trained on: (2n₁ + 3n₂)⁴ mod 23 in B: 50.0 %",
        "<code>modgrok paper table2</code>",
        "The same on this machine, smaller: partly reproduced",
        "Found besides".lower(),
        "72.32",
        "twins and guesses",
        "A proof in words",
        "angle brackets&gt; &amp; an ampersand, <code>code | bar</code> and 3 * 4",
        "loss law",
        "Amplitude of the multiplication expert",
        "max-width",
        "@media print",
    ):
        assert words in text, words


def test_the_markdown_says_the_same(folder):
    text = (folder / "report.md").read_text()
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(pictures) == len(Elements((folder / "report.html").read_text()).all("img"))
    assert all((folder / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(bars) == 1, block
    headings = re.findall(r"<h[23] id=[^>]*>(.*?)</h", (folder / "report.html").read_text())
    for heading in headings:
        assert f"# {heading}" in text
    assert "&lt;angle brackets> & an ampersand, `code | bar` and 3 \\* 4." in text


def test_published_and_ours_stand_in_columns_of_their_own():
    table = ItemTable("", {"p": "polynomial", "loss": "loss\npublished, ours"}, [{"p": "n1, n2", "loss": "0.1, 0.2"}])
    block = page.table_block(table, "caption")
    assert block.headings == ("polynomial", "loss, published", "loss, ours")
    assert block.rows == (("n1, n2", "0.1", "0.2"),)


def test_what_is_not_recorded_says_how_to_make_it(tmp_path):
    document = page.compose({}, {}, tmp_path, "quick")
    texts = [block.text for block in document.blocks if isinstance(block, Paragraph)]
    for item in ("law", "strong", "endtoend"):
        assert any(
            "Neither computed here nor recorded" in text and f"`{ITEMS[item].recorded_by}`" in text for text in texts
        )


def result_in(folder: Path, item: str) -> ItemResult:
    return ItemResult.from_json(read_json(folder / "results" / f"{item}.json")["result"])


def test_the_numbers_beyond_the_paper(folder):
    """962 and 28 neurons; in the class: three polynomials of Table 2 at two moduli, and two disguised products."""
    classes, networks = result_in(folder, "classes"), result_in(folder, "networks")
    assert classes.verdict is Verdict.REPRODUCED
    assert classes.measured == {"in_class": 8, "not_in_class": 11, "unknown": 0, "table2_agrees": True}
    assert list(networks.measured["neurons"].values()) == [3500, 962, 28]
    assert networks.measured["largest_error"] < 1e-25
    assert networks.verdict is Verdict.FINDING and networks.why.startswith("exact and proved")


def test_the_commands_of_the_errata_exist(folder):
    found = result_in(folder, "errata").rows
    assert len(found) == 8
    for row in found:
        for command in row["command"].split(" && "):
            program, name, *rest = shlex.split(command)
            assert program == "modgrok"
            assert cli.build_parser(name).parse_args([name, *rest]).command == name


def test_the_errata_are_measured(folder):
    """Against numbers worked out by hand: (499/2)^2 = 62,250; half a cosine's power in each of two bins."""
    evidence = result_in(folder, "errata").measured
    amplitude, optimiser = evidence["amplitude of the multiplication expert"], evidence["the optimiser of Section 3"]
    logit, wrong = re.match(r"mean correct logit ([\d.]+) .*, ([\d,]+) with", amplitude).groups()
    assert float(logit) == pytest.approx(1, abs=0.02)
    assert float(wrong.replace(",", "")) == pytest.approx(62_250, rel=0.02)
    assert "1.000 one-sided, 0.500 two-sided" in evidence["inverse participation ratio"]
    assert "33 of 97 rows differ; twins give away 74.2 %" in evidence["72.32 % outside the form"]
    decoupled, coupled = re.search(r"loss ([\d.]+) with AdamW, ([\d.]+) with L2", optimiser).groups()
    assert float(decoupled) < 0.005
    assert float(coupled) == pytest.approx(1 / 23, abs=1e-4)


# ------------------------------------------------------------------------------------------ a browser


CHECK = """<script>
document.documentElement.dataset.errors = "0";
window.addEventListener("error", () => document.documentElement.dataset.errors = "1", true);
window.addEventListener("load", () => {
  const images = [...document.images];
  document.documentElement.dataset.images = images.length;
  document.documentElement.dataset.broken = images.filter(i => !(i.complete && i.naturalWidth > 100)).length;
  document.documentElement.dataset.wide = document.documentElement.scrollWidth > window.innerWidth;
});
</script>"""


@pytest.mark.parametrize("width", [390, 1200], ids=["phone", "desktop"])
def test_a_browser_shows_every_picture_without_an_error(folder, tmp_path, width):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine: the report was not rendered")
    text = (folder / "report.html").read_text()
    copy = tmp_path / "checked.html"
    copy.write_text(text.replace("<head>", "<head>" + CHECK, 1))
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    flags += " --disable-component-update --disable-dev-shm-usage"
    command = [browser, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom", copy.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    root = dict(re.findall(r'(data-\w+)="([^"]*)"', shown[: shown.index("<head>")]))
    assert root["data-errors"] == "0"
    assert root["data-broken"] == "0"
    assert int(root["data-images"]) == text.count("<img ")
    assert root["data-wide"] == "false", "wide tables scroll in boxes of their own"
