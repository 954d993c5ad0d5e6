"""The parts of the explorer that need no server: the stream of events, the guard, the queue, the questions."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from modgrok.errors import InputError
from modgrok.explorer import censuses, functions, networks, papers, serving, settings, views
from modgrok.explorer import events as stream
from modgrok.explorer.guard import Guard
from modgrok.explorer.jobs import Jobs, QueueFull
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.limits import LONGEST_QUEUE
from modgrok.explorer.workers import Reply, Worker, WorkerDied
from modgrok.training.runs import train

PATIENCE = 60
"""Seconds until a test gives up; machines that test are busy."""
PLACES = {"runs": "runs", "tables": "tables", "report": "report", "census": ""}


def asked(question, **params):
    return question(PLACES | params)


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


# ------------------------------------------------------------------------------------------ events


async def parts_of(events, last, count):
    source = events.stream(last, {})
    found = [await anext(source) for _ in range(count)]
    await source.aclose()
    return found


def test_a_stream_resumes_after_the_last_event_and_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(stream, "KEPT", 3)

    async def check():
        events = stream.Events()
        for k in range(5):
            events.publish("point", {"k": k})
        hello, missed = await parts_of(events, f"{events.instance}-3", 2)
        assert b"event: hello" in hello and missed.count(b"event: point") == 2 and b'"k": 3' in missed
        _, reset = await parts_of(events, f"{events.instance}-1", 2)
        assert reset == b"event: reset\ndata: {}\n\n"
        for other in ("another-4", f"{events.instance}-x", f"{events.instance}-99"):
            assert b"event: reset" in (await parts_of(events, other, 2))[1]
        assert len(events.kept) == 3 and events.size == sum(map(len, events.kept))

    asyncio.run(check())


def test_a_slow_page_is_told_to_start_anew_and_all_streams_end_when_the_server_does(monkeypatch):
    monkeypatch.setattr(stream, "KEPT", 3)

    async def check():
        events = stream.Events()
        source = events.stream(None, {})
        await anext(source)
        for k in range(9):
            events.publish("point", {"k": k})
        assert b"event: reset" in await anext(source)
        waiting = asyncio.ensure_future(anext(source))
        await asyncio.sleep(0)
        events.publish("point", {"k": 9})
        assert b'"k": 9' in await waiting
        events.close()
        with pytest.raises(StopAsyncIteration):
            await anext(source)

    asyncio.run(check())


# ------------------------------------------------------------------------------------------ the guard


def statuses(guard, path, query=b"", **headers):
    """What the guard answers to a GET."""
    sent = []

    async def ask():
        pairs = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": pairs}

        async def send(message):
            sent.append(message)

        await guard(scope, fine_request, send)

    asyncio.run(ask())
    return sent[0]["status"], dict(sent[0]["headers"])


async def fine_request():
    return {"type": "http.request", "body": b""}


async def fine(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_who_comes_from_elsewhere_needs_the_token_in_the_address_of_the_page_and_in_a_cookie_from_then_on():
    guard = Guard(fine, token="secret", port=8765, open_to_others=True)
    for path, query in (("/", b""), ("/", b"token=wrong"), ("/api/settings", b"token=secret"), ("/page/main.js", b"")):
        assert statuses(guard, path, query, Host="box:8765")[0] == 403, (path, query)
    assert statuses(guard, "/", b"view=verdict&token=secret", Host="box:8765")[0] == 200
    assert statuses(guard, "/api/settings", Host="box:8765", Cookie="a=b; modgrok_token=secret")[0] == 200
    assert statuses(guard, "/api/settings", Host="box:8765", Cookie="modgrok_token=secre")[0] == 403


def test_every_reply_says_what_a_browser_must_not_do():
    guard = Guard(fine, token="secret", port=8765, open_to_others=False)
    status, headers = statuses(guard, "/api/settings", Host="localhost:8765", Origin="http://localhost:8765")
    assert status == 200 and headers[b"cache-control"] == b"no-store"
    assert headers[b"content-security-policy"].startswith(b"default-src 'none'")
    assert statuses(guard, "/page/x.js", Host="[::1]:8765")[1][b"cache-control"] == b"no-cache"
    visit = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert statuses(guard, "/", Host="127.0.0.1:8765", **visit)[0] == 200
    assert statuses(guard, "/", b"x" * 20_000, Host="127.0.0.1:8765")[0] == 413


# ------------------------------------------------------------------------------------------ jobs


class Mortal(Worker):
    """A child that dies at its first questions."""

    def __init__(self, deaths):
        super().__init__("mortal")
        self.deaths = deaths

    async def ask(self, name, params, on_event=None):
        if self.deaths:
            self.deaths -= 1
            raise WorkerDied("it died")
        return Reply("answer", json.dumps({"state": "finished", "outcome": "grokked"}).encode())


@pytest.mark.parametrize("deaths, state", [(0, "finished"), (2, "finished"), (3, "failed")])
def test_a_training_survives_some_deaths_of_its_child(deaths, state):
    async def check():
        events = stream.Events()
        jobs = Jobs(Mortal(deaths), events)
        jobs.start()
        jobs.add("training", "training", "n1 mod 5", {}, run="a")
        async with asyncio.timeout(PATIENCE):
            while jobs.jobs:
                await asyncio.sleep(0)
        await jobs.close()
        told = b"".join(events.kept)
        assert f'"state": "{state}"'.encode() in told
        assert told.count(b"event: worker") == min(deaths, 2)

    asyncio.run(check())


def test_a_training_that_is_stopped_before_its_child_is_there_is_stopped_when_it_is():
    class Late(Worker):
        """A child that begins, and hears, when it is told to."""

        async def ask(self, name, params, on_event=None):
            await begin.wait()
            self.heard = []
            on_event("point", b"{}")
            return Reply("answer", json.dumps({"state": self.heard[0], "outcome": None}).encode())

        def stop_current(self):
            if begin.is_set():
                self.heard.append("stopped")

    begin = asyncio.Event()

    async def check():
        jobs = Jobs(Late("late"), stream.Events())
        jobs.start()
        job = jobs.add("training", "training", "n1 mod 5", {}, run="a")
        async with asyncio.timeout(PATIENCE):
            while job.state != "running":
                await asyncio.sleep(0)
            assert jobs.stop(job) == "stopping"
            begin.set()
            while jobs.jobs:
                await asyncio.sleep(0)
        await jobs.close()
        assert b'"state": "stopped"' in b"".join(jobs.events.kept)

    asyncio.run(check())


def test_the_queue_is_finite_and_what_waits_can_be_taken_out():
    async def check():
        jobs = Jobs(Mortal(0), stream.Events())
        for k in range(LONGEST_QUEUE):
            jobs.add("training", "training", "", {}, run=str(k))
        with pytest.raises(QueueFull, match="wait already"):
            jobs.add("probe", "probe", "", {})
        assert jobs.stop(jobs.of_run("3")) == "removed" and jobs.of_run("3") is None
        assert jobs.add("probe", "probe", "", {}).job == f"probe-{LONGEST_QUEUE + 1}"

    asyncio.run(check())


@pytest.mark.parametrize(
    "command, patience, words",
    [(("sleep", "600"), 0.2, "more than 0.2 seconds"), (("cat",), None, "started again")],
    ids=["silence", "nonsense"],
)
def test_a_child_that_takes_too_long_or_talks_nonsense_is_replaced(monkeypatch, command, patience, words):
    monkeypatch.setattr("modgrok.explorer.workers.COMMAND", command)  # cat repeats the question: that is no reply

    async def check():
        worker = Worker("useless", patience=patience)
        await worker.start()
        first = worker.process.pid
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(WorkerDied, match=words):
                await worker.ask("function", {})
            assert worker.process.pid != first and worker.restarts == 1
            await worker.close()

    asyncio.run(check())


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="looks at a dead child without taking its exit code")
def test_ending_a_child_that_has_just_died_leaves_its_exit_code_to_asyncio():
    """Who takes it makes asyncio warn of an unknown child, and say 255."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    worker = Worker("useless")
    worker.process = child
    worker.kill()
    assert os.waitpid(child.pid, 0) == (child.pid, 0)
    child.returncode = 0


def test_a_question_that_nobody_waits_for_is_not_asked(monkeypatch):
    monkeypatch.setattr("modgrok.explorer.workers.COMMAND", ("cat",))

    async def check():
        worker = Worker("useless")
        wanted, unwanted = (asyncio.ensure_future(worker.ask("function", {})) for _ in range(2))
        await asyncio.sleep(0)
        unwanted.cancel()
        await worker.start()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(WorkerDied):
                await wanted
            while worker.waiting:
                await asyncio.sleep(0)
            assert worker.asked == 1
            await worker.close()

    asyncio.run(check())


def test_who_asks_a_second_time_does_not_wait_for_a_training_to_save_itself(monkeypatch, tmp_path):
    monkeypatch.setattr("modgrok.explorer.workers.COMMAND", ("sleep", "600"))  # it does not hear that stdin ends

    async def check():
        laboratory = Laboratory(runs=tmp_path, report=tmp_path, census=None)
        await laboratory.open()
        trainer = laboratory.trainer
        training = asyncio.ensure_future(trainer.ask("training", {}))
        async with asyncio.timeout(PATIENCE):
            while trainer.current is None:
                await asyncio.sleep(0)
            closing = asyncio.ensure_future(laboratory.close())
            while not trainer.process.stdin.is_closing():
                await asyncio.sleep(0)
            assert trainer.process.returncode is None
            laboratory.end_at_once()
            await closing
        assert trainer.process.returncode is not None and trainer.restarts == 0
        training.cancel()

    asyncio.run(check())


def test_neurons_that_die_give_their_places_to_the_largest_of_the_others():
    network = train("n1 + n2", 7, width=30, steps=2).network
    shown = views.still_shown(network, None)
    dead = shown[2]
    embed, readout = (np.array(weights) for weights in (network.params.embed, network.params.readout))
    embed[..., dead], readout[dead] = 0, 0
    dying = replace(network, params=replace(network.params, embed=embed, readout=readout))
    later = views.still_shown(dying, shown)
    assert dead not in later and len(set(later)) == len(shown) == views.MOST_NEURONS
    assert [k for k in later if k in shown] == [k for k in shown if k != dead]


# ------------------------------------------------------------------------------------------ serving


def test_what_is_missing_or_taken_is_said_in_a_sentence(monkeypatch, tmp_path):
    pytest.importorskip("uvicorn", reason="the explorer needs its extra: pip install 'modgrok[explore]'")
    taken = serving.bound("127.0.0.1", 0)
    try:
        taken.listen()
        with pytest.raises(InputError, match="cannot listen at .* give another with --port"):
            serving.bound("127.0.0.1", taken.getsockname()[1])
    finally:
        taken.close()
    with pytest.raises(InputError, match="a number from 0 to 65535"):
        serving.bound("127.0.0.1", 1 << 20)
    with pytest.raises(InputError, match="there is no folder"):
        serving.explore(census=tmp_path / "none")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InputError, match=r"pip install 'modgrok\[explore\]'"):
        serving.explore()


# ------------------------------------------------------------------------------------------ questions


def test_the_order_by_the_witness_puts_equal_values_on_diagonals():
    found = asked(functions.verdict, expression="(2n1 + 3n2)^4", mod="31")
    rows, columns = found["order"]["rows"], found["order"]["columns"]
    assert sorted(rows) == sorted(columns) == list(range(31))
    picture = [[(2 * a + 3 * b) ** 4 % 31 for b in columns] for a in rows]
    for i in range(31):
        for j in range(31):
            assert picture[i][j] == picture[(i + 1) % 31][(j - 1) % 31]


def test_the_lines_of_a_proof_hold_so_many_equal_cells_that_the_group_is_too_small():
    found = asked(functions.verdict, expression="8x^5 y + 34x^9 y^5", mod="97")
    assert found["verdict"] == "not-in-class"
    proof = {part["family"]: part for part in found["proof"]}["multiplicative"]
    table = [[(8 * a**5 * b + 34 * a**9 * b**5) % 97 for b in range(97)] for a in range(97)]
    columns = list(zip(*table, strict=True))
    lines = [set_of(table, a, columns) for a in proof["rows"]] + [set_of(columns, b, table) for b in proof["columns"]]
    most = {}
    for line in lines:
        for value, count in line.items():
            most[value] = max(most.get(value, 1), count)
    others = {value for row in table[1:] for value in row[1:]} - set(most)
    assert sum(most.values()) + len(others) > 96
    shown, of_all = re.search(r"makes (\d+) of the (\d+)", proof["note"]).groups()
    assert (
        proof["rows"] == [19] and f"{of_all} in all" in proof["text"]
    )  # one total, in the sentence and below the table
    assert int(shown) == max(most.values()) + len({value for row in table[1:] for value in row[1:]}) - 1
    assert found["expected_accuracy"]["value"] is not None and "%" in found["expected_text"]


def set_of(lines, k, across):
    """How often each value stands in a line, equal lines across it counted once; constant lines are absorbed."""
    counted, seen = {}, set()
    for other, value in zip(across, lines[k], strict=True):
        if len(set(other)) > 1 and other not in seen:
            seen.add(tuple(other))
            counted[value] = counted.get(value, 0) + 1
    return counted


def test_the_flow_of_an_input_ends_in_the_value_that_integers_give_and_frequencies_add_up():
    for method, n in (("exact", (4, 6)), ("exact", (0, 5))):
        found = asked(networks.flow, expression="2n1^2 n2 + n1", mod="7", method=method, n=f"{n[0]},{n[1]}")
        value = (2 * n[0] ** 2 * n[1] + n[0]) % 7
        assert found["value"] == found["expected"] == value and found["correct"]
        logits = floats(found["logits"])
        parts = [floats(part["logits"]) for part in found["by_frequency"]]
        parts += [floats(found["rest"])] if found["rest"] else []
        assert logits.argmax() == value and np.allclose(np.sum(parts, axis=0), logits, atol=1e-5)
        wires = {wire["id"]: wire for wire in found["wires"]}
        product = wires["e1"]
        assert product["value"] == floats(product["distribution"]).argmax()
        assert np.isclose(floats(product["distribution"]).sum(), 1)


def test_a_network_s_graph_has_every_wire_and_its_expert_s_waves_are_its_weights():
    found = asked(networks.network, expression="n1 n2 + n1", mod="7", frequencies="minimal")
    ids = [node["id"] for node in found["graph"]["nodes"]]
    assert ids[:2] == ["n1", "n2"] and found["graph"]["output"] == ids[-1]
    assert all(source in ids and target in ids for source, target in found["graph"]["edges"])
    one = asked(networks.expert, expression="3n1 + n2", mod="7")
    waves = floats(one["waves"]).reshape(len(one["shown"]), len(one["blocks"]), one["period"])
    neurons, place = one["neurons"], np.arange(7)
    for row, k in ((row, k) for row, k in zip(waves, one["shown"], strict=True) if neurons["frequency"][k]):
        for block, weights in enumerate(row):
            angle = 2 * np.pi * neurons["frequency"][k] * place / 7 + neurons["phase"][k][block]
            assert np.allclose(neurons["amplitude"][k][block] * np.cos(angle), weights, atol=1e-5)


def test_settings_are_read_as_the_command_line_reads_them():
    config = settings.asked_config(PLACES | {"expression": " n1 n2 ", "mod": 7, "settings": {"weight_decay": 5}})
    assert config.expression == "n1 n2" and isinstance(config.weight_decay, float) and config.changed() == {}
    with pytest.raises(InputError, match="must be a word"):
        settings.asked_config(PLACES | {"expression": "n1", "mod": 7, "settings": {"loss": 3}})
    offered = asked(settings.settings)
    assert set(offered["help"]) <= set(offered["presets"]["mlp"]["sgd"]) and "depth" in offered["own"]["mlp"]


def test_the_census_comes_filtered_and_thinned():
    found = asked(censuses.census, most="500")
    assert found["shown"] == 500 == len(found["expression"]) == len(floats(found["accuracy"]))
    family = found["families"][3]
    one = asked(censuses.census, family=family, modulus="97")
    shown = struct.unpack(f"<{one['shown']}H", base64.b64decode(one["modulus"]))
    assert set(shown) == {97} and set(base64.b64decode(one["family"])) == {3}
    assert floats(one["accuracy"]).min() >= 0 and floats(one["accuracy"]).max() <= 1
    for wrong in ({"family": "none"}, {"modulus": "98"}, {"share": "0.55"}, {"across": "none"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be one of"):
            asked(censuses.census, **wrong)


def test_losses_of_the_census_are_measured_against_those_of_random_tables():
    noise = asked(censuses.census, family="random", modulus="97", share="0.5")
    assert set(floats(noise["fraction"]).round(3)) == {np.float32(0.5)}
    assert floats(noise["x"]).mean() == pytest.approx(1, abs=0.01)
    sums = asked(censuses.census, family="{a}x + {b}y", modulus="97", share="0.5")
    assert floats(sums["x"]).max() < 0.1 and floats(sums["accuracy"]).min() > 0.99
    law = noise["law"]["accuracy"]
    assert law == sorted(law, reverse=True) and law[0] == 1 and law[-1] < 0.05
    loss = asked(censuses.census, family="random", modulus="97", share="0.5", across="loss")
    assert loss["x"] == loss["loss"] and loss["law"] is None and loss["shown"] == noise["shown"]
    small = asked(censuses.census, modulus="5")
    assert small["shown"] == 0 and "memorised almost for free" in small["text"]
    assert asked(censuses.census, modulus="5", across="loss")["shown"] > 400


def test_a_table_of_the_census_that_is_no_expression_can_be_opened(tmp_path):
    found = asked(censuses.census, family="relabelled-sum", modulus="23", across="loss")
    params = PLACES | {"tables": str(tmp_path), "family": "relabelled-sum", "modulus": "23"}
    opened = censuses.census_table(params | {"seed": str(found["seed"][0])})
    shown = functions.verdict(PLACES | {"tables": str(tmp_path), "table": opened["table"]})
    assert shown["verdict"] == "in-class" and shown["family"] == "additive" and shown["modulus"] == 23
    for wrong in ({"family": "/etc/*.csv"}, {"seed": "-1"}, {"modulus": "24"}):
        with pytest.raises(InputError, match="must be one of"):
            censuses.census_table(params | {"seed": str(found["seed"][0])} | wrong)


def test_items_of_the_paper_are_listed_with_what_was_recorded(tmp_path):
    params = PLACES | {"report": str(tmp_path)}
    listed = {item["item"]: item for item in papers.paper(params)["items"]}
    assert listed["table2"]["recorded"]["published"] and listed["table2"]["result"] is None
    found = papers.paper_item(params | {"item": "table2", "from": "recorded"})
    assert all(len(row) == len(table["headings"]) for table in found["tables"] for row in table["rows"])
    with pytest.raises(InputError, match="has not been computed here"):
        papers.paper_item(params | {"item": "table1"})
    with pytest.raises(InputError, match="item must be one of"):
        papers.paper_item(params | {"item": "<script>"})
