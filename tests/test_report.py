"""The report: what is stored and trusted, what the page says, and how a browser shows it."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest
from strong_rows import rows as strong_rows

from modgrok import cli
from modgrok.paper import strong_result
from modgrok.report import build, html, markdown, page, recorded, store
from modgrok.report.document import Bullets, Document, Heading, Paragraph, Table, typeset
from modgrok.report.pictures import png_files

QUICK_ITEMS = ("classes", "networks")
"""Items that are computed in seconds, whole."""
VOID = {"meta", "link", "img", "br"}


# ------------------------------------------------------------------------------------------ stored results

MADE_BY = {"item": "x", "size": "quick", "version": "1", "device": "cpu", "code": "abc"}


@pytest.fixture
def stored(tmp_path) -> Path:
    path = tmp_path / "x.json"
    store.write_result(path, {"measured": 0.125, "rows": [1, None, "β"]}, 2.5, MADE_BY)
    return path


def test_a_stored_result_comes_back_as_it_was(stored):
    assert store.read_result(stored, MADE_BY) == ({"measured": 0.125, "rows": [1, None, "β"]}, 2.5, "")


def test_what_is_not_stored_is_said(tmp_path):
    assert store.read_result(tmp_path / "x.json", MADE_BY) == (None, 0.0, "not stored yet")


@pytest.mark.parametrize("key", MADE_BY)
def test_a_result_of_another_making_is_not_taken(stored, key):
    assert store.read_result(stored, MADE_BY | {key: "other"}) == (None, 0.0, f"of another {key}")


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda text: text.replace("0.125", "0.126"), "damaged: its checksum is wrong"),
        (lambda text: text.replace("2.5", "3.5"), "damaged: its checksum is wrong"),
        (lambda text: text.replace('"quick"', '"full"'), "damaged: its checksum is wrong"),
        (lambda text: text[: len(text) // 2], "damaged: not a result"),
        (lambda text: "", "damaged: not a result"),
        (lambda text: "[1, 2]", "damaged: not a result"),
        (lambda text: "{}", "damaged: not a result"),
    ],
)
def test_damage_is_noticed(stored, damage, reason):
    stored.write_text(damage(stored.read_text()))
    assert store.read_result(stored, MADE_BY) == (None, 0.0, reason)


def test_bytes_that_are_no_text_are_noticed(stored):
    stored.write_bytes(b"\xff\xfe\x00")
    assert store.read_result(stored, MADE_BY).reason == "damaged: not a result"


def test_the_code_of_an_item_is_part_of_its_fingerprint():
    hashes = {store.fingerprint("x", "quick", f"modgrok.report.{name}")["code"] for name in ("classes", "networks")}
    assert len(hashes) == 2, "the item's own module counts"
    assert store.code_hash("modgrok.paper.table1") == store.code_hash("modgrok.paper.figure1"), (
        "all others count for all"
    )


# ------------------------------------------------------------------------------------------ building


def make(out: Path, items: tuple[str, ...]) -> tuple[dict, list[str]]:
    """The report's JSON, and the lines that were said."""
    said: list[str] = []

    @contextmanager
    def bar(item):
        yield lambda done, total: None

    return build.build(out, size="quick", say=said.append, bar=bar, items=items), said


@pytest.fixture
def nothing_recorded(monkeypatch):
    """Drawing what is recorded takes seconds."""
    monkeypatch.setattr(build, "read_recorded", lambda name: None)


@pytest.mark.usefixtures("nothing_recorded")
def test_missing_results_are_computed_and_whole_ones_reused(tmp_path):
    first, said = make(tmp_path, QUICK_ITEMS)
    assert said == ["classes: computing (not stored yet)", "networks: computing (not stored yet)"]
    assert [entry["reused"] for entry in first["items"]] == [False, False]

    second, said = make(tmp_path, QUICK_ITEMS)
    assert said == [] and all(entry["reused"] for entry in second["items"])
    assert [entry["measured"] for entry in second["items"]] == [entry["measured"] for entry in first["items"]]

    damaged = tmp_path / "results" / "networks.json"
    damaged.write_text(damaged.read_text().replace("962", "963"))
    third, said = make(tmp_path, QUICK_ITEMS)
    assert said == ["networks: computing (damaged: its checksum is wrong)"]
    assert third["items"][1]["measured"] == first["items"][1]["measured"]

    (tmp_path / "results" / "classes.json").unlink()
    fourth, said = make(tmp_path, QUICK_ITEMS)
    assert said == ["classes: computing (not stored yet)"]
    assert [entry["reused"] for entry in fourth["items"]] == [False, True]


def test_pictures_are_drawn_when_they_must_be(tmp_path):
    drawings = []

    def draw(data, folder):
        drawings.append(data)
        path = folder / "a.png"
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(data))
        return [path, folder / "a.svg"]

    def drawn(data) -> int:
        assert png_files("a", draw, data, tmp_path / "images") == [tmp_path / "images" / "a.png"]
        assert (tmp_path / "images" / "a.png").read_text() == str(data)
        return len(drawings)

    assert [drawn({"x": 1}), drawn({"x": 1}), drawn({"x": 2}), drawn({"x": 2})] == [1, 1, 2, 2]
    (tmp_path / "images" / "a.png").write_text("damaged")
    assert drawn({"x": 2}) == 3
    (tmp_path / "images" / "a.png").unlink()
    assert drawn({"x": 2}) == 4
    (tmp_path / "images" / "a.json").write_text("{}")
    assert [drawn({"x": 2}), drawn({"x": 2})] == [5, 5]


@pytest.mark.usefixtures("nothing_recorded")
def test_the_command_lists_every_item(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(build, "PAPER", ())
    monkeypatch.setattr(build, "BEYOND", ("classes",))
    arguments = ["paper", "all", "--quick", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"items", "report", "markdown", "seconds"} <= set(printed)
    assert [set(entry) for entry in printed["items"]] == [
        {"item", "published", "measured", "verdict", "reused", "seconds"}
    ]
    assert Path(printed["report"]).read_text().startswith("<!doctype html>")
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "reused" in shown and "report.html" in shown


def test_refused_together(capsys):
    with pytest.raises(SystemExit):
        cli.main(["paper", "all", "--quick", "--full"])
    assert "give one or the other" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["paper", "all", "--time-limit", "3"])
    assert "all takes no --time-limit" in capsys.readouterr().err


def test_the_default_report_has_every_item_of_the_paper():
    assert build.PAPER == ("table1", "table2", "figure1", "figure2", "figure3")
    for item in (*build.PAPER, *build.BEYOND, *build.STUDIES):
        assert item in page.NAMES


# ------------------------------------------------------------------------------------------ the whole page


def training_result(item: str) -> dict:
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
    claims = {"every training and test row is learned": True, "the mean IPR rises monotonically": False}
    return {
        "item": item,
        "title": f"{item}: made up",
        "settings": {"expression": "n1 n2", "modulus": 97, "width": 3, "power": None},
        "published": {"ipr": "rises"},
        "measured": {
            "test_accuracy": 1.0,
            "memorised_at": 10,
            "grokked_at": 20,
            "fall_of_ipr": 0.1,
            "claims": claims,
        },
        "verdict": "partly reproduced",
        "notes": ["A note with <angle brackets> & an ampersand, `code | bar` and 3 * 4."],
        "columns": {"step": "step", "test_accuracy": "test accuracy"},
        "rows": [{"step": k, "test_accuracy": a} for k, a in zip(curves["step"], curves["test_accuracy"], strict=True)],
        "curves": curves,
        "neurons": {"ipr_initial": [0.1, 0.2, 0.3], "ipr_final": [0.8, 0.9, 0.9], "alive": [True, True, True]},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A report of every item: recorded, made up, or computed."""
    out = tmp_path_factory.mktemp("report")
    results = {
        "table2": recorded.read_recorded("table2").result,
        "figure1": recorded.read_recorded("figure1").result,
        "figure2": training_result("figure2"),
        "figure3": training_result("figure3"),
        "endtoend": recorded.read_recorded("endtoend").result,
        "strong": strong_result.result_of(strong_rows("A") + strong_rows("B", {"(2n1 + 3n2)^4": 0.5})),
    }
    for item, result in results.items():
        made_by = store.fingerprint(item, "quick", f"modgrok.paper.{item}")
        store.write_result(out / "results" / f"{item}.json", result, 1.0, made_by)
    report, said = make(out, (*results, "classes", "networks", "errata"))
    assert [line.split(":")[0] for line in said] == ["classes", "networks", "errata"]
    assert report["report"] == str(out / "report.html")
    return out


class Elements(HTMLParser):
    """Every element with its attributes; tags must close in the order in which they opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


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
    assert sorted(links) == sorted(f"#{name}" for name in names), "the table of contents has every heading"


def test_the_page_says_what_was_found(folder):
    text = re.sub(r"data:image/png[^\"]*", "", (folder / "report.html").read_text())
    for words in (
        '<span class="verdict good">reproduced</span>',
        '<span class="verdict mixed">partly reproduced</span>',
        "not so here: the mean IPR rises monotonically (it falls by 0.100 at most)",
        "962 neurons with error below",
        "Contradicts the hypothesis: (2n₁ + 3n₂)⁴ mod 23 in B: 50.0%",
        "Recorded on one NVIDIA H200: <code>modgrok paper table2</code>",
        "72.32",
        "angle brackets&gt; &amp; an ampersand, <code>code | bar</code> and 3 * 4",
        "loss law",
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


def test_what_is_not_recorded_says_how_to_make_it(tmp_path):
    document = page.compose({}, {}, tmp_path, "quick")
    texts = [block.text for block in document.blocks if isinstance(block, Paragraph)]
    for item in ("census", "strong", "endtoend"):
        assert any("Not recorded yet" in text and f"`{recorded.COMMANDS[item]}`" in text for text in texts)


def result_in(folder: Path, item: str) -> dict:
    return json.loads((folder / "results" / f"{item}.json").read_text())["result"]


def test_the_numbers_beyond_the_paper(folder):
    """962 and 28 neurons; in the class: three polynomials of Table 2 at two moduli, and two disguised products."""
    classes, networks = result_in(folder, "classes"), result_in(folder, "networks")
    assert classes["verdict"] == "reproduced"
    assert classes["measured"] == {"in_class": 8, "not_in_class": 11, "unknown": 0, "table2_agrees": True}
    assert list(networks["measured"]["neurons"].values()) == [3500, 962, 28]
    assert networks["measured"]["largest_error"] < 1e-25
    assert networks["verdict"] == "exact and proved"


def test_the_commands_of_the_errata_exist(folder):
    found = result_in(folder, "errata")["rows"]
    assert len(found) == 8
    for row in found:
        for command in row["command"].split(" && "):
            program, name, *rest = shlex.split(command)
            assert program == "modgrok"
            assert cli.build_parser(name).parse_args([name, *rest]).command == name


def test_the_errata_are_measured(folder):
    """Against numbers worked out by hand: (499/2)^2 = 62,250; half a cosine's power in each of two bins."""
    evidence = result_in(folder, "errata")["measured"]
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
    command = [browser, *flags.split(), "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom", copy.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    root = dict(re.findall(r'(data-\w+)="([^"]*)"', shown[: shown.index("<head>")]))
    assert root["data-errors"] == "0"
    assert root["data-broken"] == "0"
    assert int(root["data-images"]) == text.count("<img ")
    assert root["data-wide"] == "false", "wide tables scroll in boxes of their own"


# ------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    "plain, printed",
    [
        ("2n1^4 n2 - n2^12", "2n₁⁴\u202fn₂ − n₂¹²"),
        ("h(g1(n1) + g2(n2))", "h(g₁(n₁) + g₂(n₂))"),
        ("n1 + … + nS over Z_97", "n₁ + … + nₛ over Z₉₇"),
        ("A = N^(-1/(S+1)), learning rate 1e-08", "A = N^(-1/(S+1)), learning rate 1e-08"),
        ("(x^2 + 1)^3", "(x² + 1)³"),
    ],
)
def test_polynomials_are_typeset(plain, printed):
    assert typeset(plain) == printed


def test_both_renderings_of_a_small_document(tmp_path):
    table = Table(("item", "n1^2"), (("a|b", "1.5"), ("differs", "–")), "caption")
    document = Document("T", "s", (Heading(2, "First one"), Bullets(("a_b", "`x<y`")), table))
    page_text = html.render(document)
    Elements(page_text)
    assert '<td class="number">1.5</td>' in page_text and '<span class="verdict bad">differs</span>' in page_text
    assert "<li>a_b</li><li><code>x&lt;y</code></li>" in page_text
    assert markdown.render(document, tmp_path) == (
        "# T\n\ns\n\n- [First one](#first-one)\n\n"
        '<a id="first-one"></a>\n\n## First one\n\n- a\\_b\n- `x<y`\n\ncaption\n\n'
        "| item | n₁² |\n| --- | --- |\n| a\\|b | 1.5 |\n| differs | – |\n"
    )


def test_recorded_results_are_those_of_the_benchmarks():
    """Run `python benchmarks/record.py` when a recorded result has changed."""
    script = Path(__file__).parent.parent / "benchmarks" / "record.py"
    spec = importlib.util.spec_from_file_location("record", script)
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    sources = json.loads(json.dumps(record.recordable()))
    shipped = {path.stem: json.loads(path.read_text()) for path in record.PACKAGE.glob("*.json")}
    assert shipped == sources, "run: python benchmarks/record.py"
    assert sum(path.stat().st_size for path in record.PACKAGE.glob("*.json")) < 300_000
