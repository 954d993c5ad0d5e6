"""The parts of the explorer that need no server: the stream of events, the guard, the queue and its children."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from modgrok.base.errors import InputError
from modgrok.explorer import events as stream, serving
from modgrok.explorer.guard import Guard
from modgrok.explorer.jobs import Jobs, QueueFull
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.limits import LOCAL
from modgrok.explorer.visitors import Guest, Visitor
from modgrok.explorer.workers import Reply, Worker, WorkerDied

PATIENCE = 60
"""Seconds until a test gives up; machines that test are busy."""


# ------------------------------------------------------------------------------------------ events


async def parts_of(events, last, count):
    source = events.stream(last, {})
    found = [await anext(source) for _ in range(count)]
    await source.aclose()
    return found


def test_a_stream_resumes_after_the_last_event_and_forgets_the_oldest():
    async def check():
        events = stream.Events(3)
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


def test_a_slow_page_is_told_to_start_anew_and_all_streams_end_when_the_server_does():
    async def check():
        events = stream.Events(3)
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
        jobs, guest = Jobs(Mortal(deaths)), Guest(Visitor({}, ""))
        jobs.start()
        jobs.add(guest, "training", "training", "n1 mod 5", {}, run="a")
        async with asyncio.timeout(PATIENCE):
            while jobs.jobs:
                await asyncio.sleep(0)
        await jobs.close()
        told = b"".join(guest.visitor.events.kept)
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
        jobs, guest = Jobs(Late("late")), Guest(Visitor({}, ""))
        jobs.start()
        job = jobs.add(guest, "training", "training", "n1 mod 5", {}, run="a")
        async with asyncio.timeout(PATIENCE):
            while job.state != "running":
                await asyncio.sleep(0)
            assert jobs.stop(job) == "stopping"
            begin.set()
            while jobs.jobs:
                await asyncio.sleep(0)
        await jobs.close()
        assert b'"state": "stopped"' in b"".join(guest.visitor.events.kept)

    asyncio.run(check())


def test_the_queue_says_how_long_a_training_compiles_and_how_long_the_last_one_of_its_model_did(monkeypatch):
    class Compiling(Worker):
        async def ask(self, name, params, on_event=None):
            clock.now += 3
            seen.append(listed())
            clock.now += params["more"]
            on_event("point", b"{}")
            seen.append(listed())
            return Reply("answer", json.dumps({"state": "finished", "outcome": None}).encode())

    clock, seen = SimpleNamespace(now=10.0, monotonic=lambda: clock.now), []
    monkeypatch.setattr("modgrok.explorer.jobs.time", clock)

    def listed():
        return [(job["compiling"], job["compiled_in"]) for job in jobs.listed(guest.visitor)]

    async def check():
        nonlocal jobs
        jobs = Jobs(Compiling("compiling"))
        jobs.start()
        for model, more in (("mlp", 1.5), ("mlp", 0.0), ("power", 0.0)):
            asked = {"settings": {"model": model}, "more": more}
            jobs.add(guest, "training", "training", "n1 mod 5", asked, run=model)
            async with asyncio.timeout(PATIENCE):
                while jobs.jobs:
                    await asyncio.sleep(0)
        await jobs.close()

    jobs, guest = None, Guest(Visitor({}, ""))
    asyncio.run(check())
    assert seen == [[(3.0, None)], [(None, 4.5)], [(3.0, 4.5)], [(None, 3.0)], [(3.0, None)], [(None, 3.0)]]


def test_the_queue_is_finite_and_what_waits_can_be_taken_out():
    async def check():
        jobs, guest = Jobs(Mortal(0)), Guest(Visitor({}, ""))
        for k in range(LOCAL.queue):
            jobs.add(guest, "training", "training", "", {}, run=str(k))
        with pytest.raises(QueueFull, match="wait already"):
            jobs.add(guest, "probe", "probe", "", {})
        assert jobs.stop(jobs.of_run(guest.visitor, "3")) == "removed"
        assert jobs.of_run(guest.visitor, "3") is None
        probe = jobs.add(guest, "probe", "probe", "", {})
        assert probe.job.startswith("probe-") and jobs.named(guest.visitor, probe.job) is probe
        assert [job["before"] for job in jobs.listed(guest.visitor)] == list(range(LOCAL.queue))

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


# ------------------------------------------------------------------------------------------ answers that are kept


@pytest.fixture
def laboratory(tmp_path):
    found = Laboratory(runs=tmp_path, report=tmp_path, census=None)
    yield found
    found.temporary.cleanup()


def asked_one_after_the_other(laboratory, words, payload):
    """Ask about a function with each of the words; the child answers the same."""

    class Same(Worker):
        async def ask(self, name, params, on_event=None, payers=()):
            return Reply("refusal", payload)

    async def check():
        laboratory.answerer = Same("same")
        for word in words:
            await laboratory.ask(Guest(laboratory.everyone), "function", {"expression": word})

    asyncio.run(check())


def test_what_answers_were_asked_with_counts_as_they_do(monkeypatch, laboratory):
    monkeypatch.setattr("modgrok.explorer.laboratory.KEPT_BYTES", 100_000)
    asked_one_after_the_other(laboratory, (f"{k:04}" * 1000 for k in range(100)), b"no")
    kept = [dict(words)["expression"] for _, words, _ in laboratory.answers]
    assert kept == [f"{k:04}" * 1000 for k in range(100 - len(kept), 100)]
    assert 10 < len(kept) < 25 and sum(map(len, kept)) < laboratory.bytes <= 100_000


def test_so_many_answers_are_kept_and_no_more_however_small_they_are(monkeypatch, laboratory):
    monkeypatch.setattr("modgrok.explorer.laboratory.KEPT_ANSWERS", 7)
    asked_one_after_the_other(laboratory, map(str, range(50)), b"")
    assert [dict(words)["expression"] for _, words, _ in laboratory.answers] == list(map(str, range(43, 50)))


# ------------------------------------------------------------------------------------------ serving


@dataclass(eq=False)
class Cycle:
    """What uvicorn has of a request, as far as it is looked at."""

    response_complete: bool


@dataclass(eq=False)
class Connection:
    """And of a connection: its last request."""

    cycle: Cycle | None


def test_who_asks_nothing_between_two_sweeps_is_told_from_who_asks():
    fresh, resting, asking = Connection(None), Connection(Cycle(True)), Connection(Cycle(False))
    before = serving.silent([fresh, resting, asking])
    assert before == {(fresh, None), (resting, resting.cycle)} == serving.silent([fresh, resting, asking])
    resting.cycle = Cycle(True)
    asking.cycle.response_complete = True
    assert before & serving.silent([fresh, resting, asking]) == {(fresh, None)}


def test_what_is_missing_or_taken_is_said_in_a_sentence(monkeypatch, tmp_path):
    pytest.importorskip("uvicorn", reason="the explorer needs starlette and uvicorn")
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
    with pytest.raises(InputError, match="pip install starlette uvicorn"):
        serving.explore()
