"""Pages that are shared: what is in them is what integers say, nothing of it is run, and nothing leaves them."""

from __future__ import annotations

import ast
import base64
import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import jax
import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.algebra.function import read_function
from modgrok.commands import train as train_command
from modgrok.explorer import bundle
from modgrok.explorer.sharing import network_again, page_of, run_again, share
from modgrok.networks import verification

SMALL = {"width": 12, "steps": 40, "snapshots": 5}
KINDS = {
    "power": {"function": "n1 n2", "mod": 7},
    "mlp": {"function": "n1 + n2", "mod": 7, "model": "mlp"},
    "transformer": {"function": "n1 + n2", "mod": 7, "model": "transformer", "heads": 2},
    "group": {"function": "a b", "group": "S3"},
    "three": {"function": "n1 + n2 + n3", "mod": 3},
    "whole": {"function": "n1 + n2", "mod": 5, "fraction": 1.0},
}


@pytest.fixture(scope="module", params=KINDS)
def run(request):
    return mg.train(**KINDS[request.param] | SMALL)


class Elements(HTMLParser):
    """The names of a page's elements, the attributes that could load something, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loads: list[str] = []
        self.scripts: list[str] = []
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.inside = tag
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        self.loads += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)


def data_of(page: str) -> dict:
    return json.loads(Elements(page).scripts[0])


def bits(text: str, count: int) -> list[int]:
    return [byte >> (7 - k) & 1 for byte in base64.b64decode(text) for k in range(8)][:count]


def test_the_film_has_right_what_integers_say_is_right(run):
    """Cell by cell, at every kept step, from the networks themselves and the function's values."""
    found, page = page_of(run)
    film = data_of(page)["film"]
    wanted = run.config.function.table.reshape(-1)
    assert film["steps"] == list(run.snapshots) and len(film["steps"]) == 5
    stride = -(-len(wanted) // 8)
    packed = base64.b64decode(film["right"])
    trained = np.array(bits(film["trained"], len(wanted)), bool)
    assert trained.sum() == run.train_rows
    for k, (step, network) in enumerate(run.snapshots.items()):
        hits = network.table().reshape(-1) == wanted
        assert bits(base64.b64encode(packed[k * stride : (k + 1) * stride]).decode(), len(wanted)) == hits.tolist(), (
            step
        )
        assert film["numbers"]["train_accuracy"][k] == pytest.approx(hits[trained].mean(), abs=1e-5)
        others = None if trained.all() else pytest.approx(hits[~trained].mean(), abs=1e-5)
        assert film["numbers"]["test_accuracy"][k] == others
    last = {name: column[-1] for name, column in run.curves.items()}
    for name in ("train_loss", "test_loss"):
        wanted = None if np.isnan(last[name]) else pytest.approx(last[name], rel=1e-3)
        assert film["numbers"][name][-1] == wanted
    assert found["kind"] == "run" and len(page) < 3_000_000


def test_a_neuron_of_the_film_is_the_weights_of_the_network(run):
    """In 127ths of the largest that it ever is, in the order of the places."""
    if run.config.model != "power" or run.config.function.modulus != 7:
        pytest.skip("of the power network alone")
    waves = page_of(run)[0]["film"]["neurons"]
    drawn = np.frombuffer(base64.b64decode(waves["waves"]), np.int8).reshape(5, len(waves["shown"]), waves["period"])
    weights = np.array([[net.params.embed[0][:, k] for k in waves["shown"]] for net in run.snapshots.values()])
    powers = [pow(3, k, 7) for k in range(6)]  # 3 generates the residues modulo 7
    for k, place in enumerate(waves["shown"]):
        own = weights[:, k][:, powers]
        steps = np.round(127 * own / np.abs(own).max()).astype(int)
        rotations = [np.roll(steps, turn, axis=1) for turn in range(6)]
        rotations += [turned[:, ::-1] for turned in rotations]  # another generator, or another sign
        assert any(np.abs(drawn[:, k] - turned).max() <= 1 for turned in rotations), place


@pytest.mark.parametrize("what", ["run", "network", "function"])
def test_a_page_loads_nothing_and_runs_only_its_own_scripts(what, tmp_path):
    things = {
        "run": lambda: mg.train("n1 + n2", 5, width=4, steps=4, fraction=0.8),
        "network": lambda: mg.compile("n1 n2 + 3", 7),
        "function": lambda: mg.read_function("n1^2 + n1 n2 + n2^2", 11),
    }
    result = share(things[what](), out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = Elements(page)
    assert result.kind == what and result.page_bytes == len(page.encode()) and not list(tmp_path.glob(".*"))
    assert [load for load in found.loads if not load.startswith(("data:", "#"))] == []
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src &#x27;none&#x27;" in policy and "unsafe" not in policy and "http" not in policy
    for script in found.scripts[1:]:
        assert bundle.digest(script).replace("'", "&#x27;") in policy


def test_words_of_a_stranger_stay_words():
    """A table's name, a network's texts: no element, no script, no end of the data."""
    enemy = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028{{scripts}}'\"&"
    plain = mg.read_function(np.add.outer(range(5), range(5)) % 5)
    named = replace(plain, name=enemy, source=enemy, variables=("<b>n1", "<i>n2"))
    for thing in (named, replace(mg.compile("n1 + n2", 5), function=named)):
        data, page = page_of(thing)
        found, clean = Elements(page), Elements(page_of(plain)[1])
        assert found.names == clean.names and found.loads == clean.loads
        assert "alert(1)" in json.dumps(data_of(page)), "it is there, as text"
        assert data["function"]["variables"] == ["<b>n1", "<i>n2"]


def test_the_same_run_gives_the_same_page_without_a_folder_of_this_machine(tmp_path):
    mg.train("n1 n2", 7, width=6, steps=6, out=tmp_path / "somewhere")
    pages = [page_of(mg.load_run(tmp_path / "somewhere"))[1] for _ in range(2)]
    assert pages[0] == pages[1] and str(tmp_path) not in pages[0]


def test_modules_become_one_script_in_which_every_name_is_known():
    text = bundle.bundled("shared.js", {"api.js": "shared_api.js"})
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    exported: dict[str, set[str]] = {}
    for line in text.splitlines():
        if taken := re.match(r'const \{(.*)\} = modules\["([^"]+)"\];', line):
            names = {pair.split(":")[0].strip() for pair in taken[1].split(",")} - {""}
            assert names <= exported[taken[2]], f"{line}: {names - exported[taken[2]]}"
        if begun := re.match(r'modules\["([^"]+)"\] = ', line):
            now = begun[1]
        if given := re.match(r"return \{(.*)\};", line):
            exported[now] = {pair.split(":")[0].strip() for pair in given[1].split(",")} - {""}
    assert {"shared.js", "shared_api.js", "views/stage.js", "player.js"} <= set(exported) and "api.js" not in exported


def test_what_a_page_says_makes_the_same_again(run):
    """The command is read as the command line reads it, and gives the same settings."""
    made = run_again(run.config)
    first, second = made.command.splitlines()
    words = shlex.split(first)
    config, folder = train_command.config_and_folder(cli.build_parser("train").parse_args(words[1:]))
    assert replace(config, function=None).to_json() == replace(run.config, function=None).to_json()
    assert config.function == run.config.function and shlex.split(second)[2] == str(folder)
    _, assigned, _ = ast.parse(made.python).body
    call = assigned.value
    given = [ast.literal_eval(each) for each in call.args], {e.arg: ast.literal_eval(e.value) for e in call.keywords}
    again = mg.TrainConfig.of(*given[0], **given[1])
    assert ast.unparse(call.func) == "mg.train"
    assert again.function == run.config.function and again.changed() == run.config.changed()


def test_a_compiled_network_says_how_it_is_made_and_a_trained_ones_weights_do_not():
    network = mg.compile("n1 n2 + 3", 7, frequencies="minimal")
    words = shlex.split(network_again(network).command)
    assert words[:5] == ["modgrok", "compile", "n1 n2 + 3", "--mod", "7"]
    assert words[words.index("--frequencies") + 1] == "minimal"
    assert "written down by a formula" in page_of(network)[0]["about"]
    scaled = replace(network, params=jax.tree.map(lambda weights: 2 * weights, network.params))
    strange = [{"mul_width": 10**9}, {"add_width": "x"}, {"seed": [1]}, {"frequencies": 10**30}, {"dtype": "x"}]
    for other in (scaled, *(replace(network, settings=settings) for settings in strange)):
        assert network_again(other) is None and "formula" not in page_of(other)[0]["about"]
    assert network_again(mg.train("n1 + n2", 5, width=4, steps=1, fraction=0.8).network) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["n1 n2"], "modulus"),
        (["nowhere.safetensors"], "no such network"),
        (["{folder}"], "no run and no network"),
        (["n1 n2", "--mod", "7", "--out", "{folder}"], "is a folder"),
        (["n1 n2", "--mod", "7", "--out", "{folder}/mine.html"], "no page of modgrok's"),
        (["{net}", "--mod", "7"], "knows its function"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_one_line(words, said, tmp_path, capsys, monkeypatch):
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    mg.compile("n1 + n2", 5).save(tmp_path / "net.safetensors")
    places = {"folder": str(tmp_path), "net": str(tmp_path / "net.safetensors")}
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(cli.main(["share", *(word.format(**places) for word in words)]))
    told = capsys.readouterr().err.strip()
    assert ended.value.code == 2 and said in told and len(told.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"


def test_a_page_of_ours_is_replaced_and_others_with_overwrite_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [str(path) for path in share("n1 + n2", 5).files] == ["n1+n2mod5.html"]
    assert share("n1 + n2", 5).page_bytes == (tmp_path / "n1+n2mod5.html").stat().st_size
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    assert share("n1 + n2", 5, out="mine.html", overwrite=True).files[0].read_text().startswith("<!doctype html>")


def test_of_a_table_with_too_many_cells_some_are_drawn():
    found = page_of(mg.read_function("n1 + n2", 401))[0]["function"]
    rows, columns = found["shown"]
    values = np.frombuffer(base64.b64decode(found["table"]), "<u2").reshape(rows, columns)
    assert found["every"] > 1 and values[3, 5] == (3 + 5) * found["every"] % 401


def test_the_story_says_that_all_is_learned_by_heart_only_where_it_is():
    kept = {"width": 100, "steps": 300, "mod": 13}
    memorised = page_of(mg.train("n1^2 + n1 n2 + n2^2", **kept))[0]["about"]
    assert "by heart, and that is all: of the 85 cells" in memorised
    improving = mg.train("n1 n2", 17, width=128, steps=200)
    assert improving.memorised_at is not None and improving.outcome not in ("memorised", "grokked")
    assert "by heart, and after 200 steps, of the 145 cells" in page_of(improving)[0]["about"]


def test_a_page_says_of_a_network_what_was_found_and_not_what_its_file_says(tmp_path, monkeypatch):
    network = mg.compile("n1 + n2", 5)
    assert "neurons for n1 + n2 mod 5." in page_of(network)[0]["about"]
    assert "It is proved right on every input: 25 of them." in page_of(network)[0]["about"]
    liar = replace(network, function=read_function("n1 n2", 5))
    about = page_of(mg.load(liar.save(tmp_path / "net.safetensors")))[0]["about"]
    assert "It is wrong on 21 of 25 inputs." in about and "formula" not in about and "computes" not in about
    monkeypatch.setattr(verification, "LARGEST_PROVED", 10)  # no input is computed where all are proved
    assert "It is proved right on every input: 25 of them." in page_of(network)[0]["about"]
    divided = mg.compile("n1/n2", 5)
    assert "It is proved right on every input whose answer is known: 20 of them." in page_of(divided)[0]["about"]
    trained = mg.train("n1 + n2", 5, model="transformer", heads=2, width=8, steps=1).network
    assert "proved" not in page_of(trained)[0]["about"]
