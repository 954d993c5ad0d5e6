"""What no page sends: every field of every route with odd values, half a request, too many requests at once.

No reply is a 500, nothing is printed on the terminal, and nothing is left behind.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from contextlib import suppress
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("starlette", reason="the explorer needs starlette and uvicorn")

from explorer_client import PATIENCE, Explorer

from modgrok.explorer.limits import LOCAL
from modgrok.explorer.words import ADDRESSES

SUM = {"expression": "n1 + n2", "mod": "3"}
FUNCTION, NETWORK = ("expression", "mod", "table"), ("method", "frequencies", "seed", "mul_width", "add_width", "beta")
PAPER = SUM | {"method": "paper"}
QUESTIONS = {
    "/api/function": [(SUM, FUNCTION)],
    "/api/function/slice": [({"expression": "n1 n2 + n3", "mod": "3", "at": "1"}, ("at", "expression", "mod"))],
    "/api/representations": [({"expression": "a b in S3"}, FUNCTION)],
    "/api/verdict": [(SUM, ("fraction",))],
    "/api/network": [(SUM, (*NETWORK, "run", "network")), (PAPER, NETWORK)],
    "/api/verification": [(PAPER, NETWORK)],
    "/api/expert": [(SUM, ("expert", "run"))],
    "/api/flow": [(SUM | {"n": "1,2"}, ("n", "beta")), (PAPER | {"n": "1,2"}, ("n", "beta"))],
    "/api/inspection": [(SUM, ("run", "mod"))],
    "/api/download": [(SUM, ("format", "expression")), (PAPER, ("beta",))],
    "/api/shared": [(SUM | {"method": "exact"}, ("frequencies", "run")), ({"run": "{run}"}, ("network",))],
    "/api/looked": [({}, ("network",))],
    "/api/settings": [({}, ("run",))],
    "/api/runs": [({}, ("run",))],
    "/api/run": [({}, ("run",))],
    "/api/compared": [({}, ("compared",)), ({"compared": "{run}\n{run}"}, ("run",))],
    "/api/run/film": [({"run": "{run}"}, ("frames",)), ({"frames": "last"}, ("run",))],
    "/api/census": [({"modulus": "97", "most": "3"}, ("family", "modulus", "share", "across", "most"))],
    "/api/census/table": [({"family": "random", "modulus": "97", "seed": "0"}, ("family", "modulus", "seed"))],
    "/api/paper": [({}, ("item",))],
    "/api/paper/item": [({"item": "classes"}, ("item", "from"))],
    "/api/paper/figure": [({"item": "table2"}, ("item", "name", "from"))],
}
"""Every question: words that it is asked with, and those that are odd by turns."""
TRAINED = {"steps": 10, "width": 8}
BODIES = {
    "/api/trainings": [(SUM, (*FUNCTION, "settings"))],
    "/api/trainings/recipe": [(SUM, (*FUNCTION, "settings"))],
    "/api/trainings/resume": [({"run": "{run}"}, ("run", "steps"))],
    "/api/trainings/stop": [({}, ("run",))],
    "/api/probe": [(SUM, (*FUNCTION, "fraction"))],
    "/api/paper": [({"item": "classes"}, ("item", "size"))],
    "/api/jobs/cancel": [({}, ("job",))],
}
SETTINGS = ("steps", "width", "fraction", "seed", "model", "optimiser", "loss", "weight_decay", "depth", "order")
ODD_WORDS = (
    *("", " ", "\0", "a\0b", "\x1b[31m", "\u2028", "a" * 300, "é" * 200, "𝟘" * 64, "a" * 6000, "%", "'", "²", "١"),
    *("-1", "0", "2", "1.5", "1e999", "1e-300", "nan", "-inf", "9" * 30, "9" * 5000, "true", "null", "[]", "{}"),
    *(
        "..",
        ".",
        "/",
        "../..",
        "//",
        "/etc/passwd",
        "a/../b",
        "{run}/",
        "../runs/{run}",
        "{runs}/{run}",
        "x.csv",
        "all",
    ),
)
ODD_VALUES = (
    *(True, [], {}, [1], [[[]]], {"a": [1]}, {"\ud800": "\ud800"}, {"a" * 6000: 1}, "\ud800", "\ud83d\ude00", "\0"),
    *(0, -1, 1.5, 1e308, 10**30, 10**4000, float("nan"), float("inf"), "", "a" * 6000, "9" * 30, "..", "n1", None),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("attacked")


@pytest.fixture(scope="module")
def server(place):
    """A server that is busy with a training which stands still, so that what is begun by chance waits; no traceback."""
    (place / "temporary").mkdir()
    with pytest.MonkeyPatch.context() as patch, open(place / "printed", "w+") as printed:
        patch.setenv("TMPDIR", str(place / "temporary"))
        with Explorer(place, stderr=printed) as explorer:
            settings = {"width": 512, "steps": 200_000, "snapshots": 4}
            events = explorer.events()
            next(events)
            _, begun = explorer.post("/api/trainings", {"expression": "n1 n2", "mod": 31, "settings": settings})
            seen = next(number for name, data, number in events if name == "point" and data["measured"])
            explorer.run, explorer.instance = begun["run"], seen.partition("-")[0]
            events.close()
            folder = place / "runs" / explorer.run
            wait_for((folder / "snapshots.safetensors").exists)
            trainer = json.loads((folder / "running.json").read_text())["pid"]
            os.kill(trainer, signal.SIGSTOP)
            try:
                yield explorer
            finally:
                os.kill(trainer, signal.SIGCONT)
        printed.seek(0)
        assert printed.read().splitlines() == ["Press Ctrl-C to stop; press it again to stop within two seconds."]


def wait_for(condition):
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, "it did not come true"
        time.sleep(0.01)


def filled(server, value):
    """Odd values may have the name of the run that trains in them, and the path of its folder."""
    if isinstance(value, str):
        return value.replace("{run}", server.run).replace("{runs}", str(server.folder / "runs"))
    return value


def varied(server, turns, values):
    """Words with one of them odd."""
    for words, names in turns:
        for name in names:
            for value in values:
                yield {key: filled(server, each) for key, each in (words | {name: value}).items()}


def one_line(found):
    return found["error"] and "\n" not in found["error"] and len(found["error"]) < 1000


def posted(server, path, body):
    """Python's own JSON has NaN and halves of pairs of characters."""
    headers = {"X-Modgrok-Token": server.token, "Content-Type": "application/json"}
    response, content = server.request("POST", path, json.dumps(body).encode(), headers)
    return response.status, json.loads(content)


# ------------------------------------------------------------------------------------------ odd words


def test_every_question_has_its_words_and_is_attacked():
    assert set(QUESTIONS) == {*ADDRESSES, "/api/runs"}


@pytest.mark.parametrize("path", QUESTIONS)
def test_odd_words_in_an_address_are_answered_or_refused_in_one_line(server, path):
    for words in varied(server, QUESTIONS[path], ODD_WORDS):
        response, content = server.request("GET", f"{path}?{urlencode(words)}")
        assert response.status == 200 or (response.status == 400 and one_line(json.loads(content))), (words, content)


@pytest.mark.parametrize("path", BODIES)
def test_odd_values_in_a_body_are_taken_or_refused_in_one_line(server, path):
    """What is taken waits behind the training that goes on, and is taken out again if it is not over by then."""
    bodies = list(varied(server, BODIES[path], ODD_VALUES))
    if path == "/api/trainings":
        bodies += [SUM | {"settings": TRAINED | {name: value}} for name in SETTINGS for value in ODD_VALUES]
    for body in bodies:
        status, found = posted(server, path, body)
        assert status in (200, 202) or (status in (400, 409) and one_line(found)), (body, status, found)
        if found.get("job") and found.get("run") != server.run:
            assert posted(server, "/api/jobs/cancel", {"job": found["job"]})[0] in (200, 409), body


@pytest.mark.parametrize(
    "path",
    ["/%00", "/page/%00", "/page/" + "a" * 5000, "/page/%ED%A0%80", "/page/a%0D%0Ab", "/report/%00", "//[", "/api/%00"],
)
def test_addresses_that_no_page_has_are_not_found(server, path):
    response, content = server.request("GET", path)
    assert response.status == 404 and one_line(json.loads(content)), content


def test_a_run_has_one_name_alone(server):
    assert server.get("/api/run", run=server.run)[0] == 200
    for name in (
        f"../runs/{server.run}",
        f"./{server.run}",
        f"{server.run}/",
        str(server.folder / "runs" / server.run),
    ):
        status, found = server.get("/api/run", run=name)
        assert status == 400 and "there is no run" in found["error"], found


def test_words_that_a_question_does_not_take_are_named_with_those_that_it_takes(server):
    status, found = server.get("/api/function", expression="n1", mod=5, junk="x")
    assert (status, found["error"]) == (400, "function takes expression, mod, table; got 'junk', leave it out")
    status, found = server.post("/api/trainings/stop", {"run": "none", "now": True})
    assert (status, found["error"]) == (400, "stop takes run; got 'now', leave it out")
    status, found = server.get("/api/function", expression="n1 " * 6000)
    assert status == 413 and "16,384 characters, got 18,0" in found["error"]


def test_a_question_with_a_body_and_a_number_of_an_event_without_end_are_refused(server):
    response, content = server.request("GET", "/api/settings", b"x" * 10)
    assert response.status == 400 and "no body" in json.loads(content)["error"]
    with connected(server) as channel:
        channel.sendall(head(server, "GET", "/api/events", "Transfer-Encoding: chunked") + b"FFFF\r\n" + b"x" * 65535)
        assert answer_of(channel).startswith(b"HTTP/1.1 400")
    events = server.events(last=f"{server.instance}-{'9' * 5000}")
    assert [next(events)[0], next(events)[0]] == ["hello", "reset"]
    events.close()


# ------------------------------------------------------------------------------------------ half a request


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def head(server, method, path, *headers):
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"X-Modgrok-Token: {server.token}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def answer_of(channel):
    """What is answered first, or nothing where the connection was closed."""
    try:
        return channel.recv(1 << 16)
    except ConnectionResetError:
        return b""


def left_behind(place):
    return [path.name for path in (place / "temporary").glob("modgrok-explorer-*/incoming-*")]


def test_uploads_that_break_off_or_are_too_large_or_have_no_name_leave_nothing(server, place):
    """The last one is answered after those before it have been seen to end."""
    for _ in range(5):
        with connected(server) as channel:
            channel.sendall(head(server, "POST", "/api/tables?name=a.csv", "Content-Length: 1000") + b"0,1\n")
    with connected(server) as channel:
        channel.sendall(head(server, "POST", "/api/tables?name=a.csv", "Transfer-Encoding: chunked"))
        with suppress(ConnectionError):  # it need not read to the end what it refuses
            for _ in range(5):
                channel.sendall(b"100000\r\n" + b"1" * (1 << 20) + b"\r\n")
        assert b"413" in answer_of(channel)[:20]
    for name, words in (
        ("a.csv%00", "character '\\x00'"),
        ("", "name is missing"),
        ("a.exe", ".csv, .npy or .parquet"),
        (quote("𝟘" * 60 + "." + "𝟘" * 10), ".csv, .npy or .parquet"),
        ("a" * 300 + ".csv", "255 characters, got 304"),
    ):
        status, found = server.post(f"/api/tables?name={name}", b"0,1\n1,0\n")
        assert status == 400 and words in found["error"], (name, found)
    assert server.post(f"/api/tables?name={quote('𝟘' * 80 + '.csv')}", b"0,1\n1,0\n")[0] == 200
    assert left_behind(place) == []


@pytest.mark.slow
def test_who_sends_half_a_request_is_hung_up_on_and_who_listens_is_not(server):
    """It takes one to two times ten seconds."""
    events = server.events()
    next(events)
    halves = [connected(server) for _ in range(50)]
    for channel in halves:
        channel.sendall(b"GET /api/settings HTTP/1.1\r\nHost: ")
    assert [answer_of(channel) for channel in halves] == [b""] * 50
    for channel in halves:
        channel.close()
    server.post("/api/trainings", SUM | {"settings": {"seed": 77}})
    next(data for name, data, _ in events if name == "queue" and data["queue"])
    events.close()


# ------------------------------------------------------------------------------------------ too many at once


def test_no_more_pages_listen_than_may_however_close_together_they_come(server):
    """Some places may still be taken by pages that have just gone; those that pages leave are given to others."""
    channels = [connected(server) for _ in range(LOCAL.streams + 50)]
    for channel in channels:
        channel.sendall(head(server, "GET", "/api/events"))
    answers = [answer_of(channel)[:12] for channel in channels]
    for channel in channels:
        channel.close()
    assert 0 < answers.count(b"HTTP/1.1 200") <= LOCAL.streams
    assert answers.count(b"HTTP/1.1 200") + answers.count(b"HTTP/1.1 429") == len(channels)
    wait_for(lambda: listens(server))


def listens(server):
    with connected(server) as channel:
        channel.sendall(head(server, "GET", "/api/events"))
        return answer_of(channel).startswith(b"HTTP/1.1 200")
