"""The explorer's server as a browser meets it: who is answered, what is refused, how it trains."""

from __future__ import annotations

import base64
import json
import os
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the explorer needs starlette and uvicorn")

from explorer_client import Explorer

from modgrok import cli
from modgrok.base.files import UNFINISHED
from modgrok.explorer.serving import report_folder

LINUX = sys.platform.startswith("linux")
TINY = {"width": 8, "steps": 60, "snapshots": 4}
SUM = {"expression": "n1 + n2", "mod": 7}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("explored")


@pytest.fixture(scope="module")
def server(folder):
    """One server for all tests; at its end, Ctrl-C leaves nothing running and nothing half-written."""
    explorer = Explorer(folder)
    explorer.page()
    yield explorer
    children = explorer.children() if LINUX else []
    assert explorer.close() == 0
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    for run in folder.glob("runs/*"):
        assert not list(run.glob(".*")) and not (run / "running.json").exists()
        assert json.loads((run / "result.json").read_text())["step"] > 0


# ------------------------------------------------------------------------------------------ who is answered


def test_the_page_brings_its_token_and_a_policy_that_lets_nothing_else_in(server):
    response, content = server.request("GET", "/?expression=n1&mod=5")
    policy = response.getheader("content-security-policy")
    assert response.status == 200 and server.token in content.decode()
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert response.getheader("x-content-type-options") == "nosniff"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_requests_of_other_hosts_and_pages_are_refused(server, headers):
    response, content = server.request("GET", "/api/settings", headers=headers)
    assert response.status == 403 and "not answered" in json.loads(content)["error"]


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_changes_need_the_token(server, token):
    headers = {"Content-Type": "application/json"} | ({} if token is None else {"X-Modgrok-Token": token})
    response, content = server.request("POST", "/api/trainings", b"{}", headers)
    assert response.status == 403 and "token" in json.loads(content)["error"]


def test_nothing_outside_the_page_s_folder_is_served(server):
    for path in ("/page/../serving.py", "/page/%2e%2e/serving.py", "/page//etc/passwd", "/serving.py", "/page/"):
        response, _ = server.request("GET", path)
        assert response.status in (400, 403, 404), path


# ------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "query, position, words",
    [
        ({"expression": "n1^n2", "mod": 7}, 3, "exponents"),
        ({"expression": "<script>alert(1)</script>", "mod": 7}, 1, "unknown name 'script'"),
        ({"expression": "n1 +", "mod": 7}, 4, "ends too early"),
        ({"expression": "1" + "+1" * 2000, "mod": 7}, None, "4,000 characters"),
        ({"expression": "n1 n2", "mod": 100003}, None, "65,535 values"),
        ({"expression": "n1 n2", "mod": "seven"}, None, "whole number"),
        ({"expression": "/etc/passwd.csv", "mod": 7}, None, "drop the file"),
        ({"table": "../../etc"}, None, "no longer here"),
        ({"expression": "", "mod": 7}, None, "expression is needed"),
    ],
)
def test_bad_functions_are_refused_with_a_sentence_and_the_place(server, query, position, words):
    status, found = server.get("/api/function", **query)
    assert status == 400 and words in found["error"] and "\n" not in found["error"]
    assert found["position"] == position


@pytest.mark.parametrize(
    "query, words",
    [({"expression": "n1 n2", "mod": 263}, "257"), ({"expression": "n1 n2 n3 n4", "mod": 97}, "131,072")],
)
def test_what_is_too_large_is_seen_in_part_and_nothing_more_is_answered(server, query, words):
    status, found = server.get("/api/function", **query)
    assert status == 200 and words in found["too_large"]
    for question in ("verdict", "network"):
        status, refused = server.get(f"/api/{question}", **query)
        assert (status, refused["error"]) == (400, found["too_large"])


def test_a_page_that_asks_for_it_gets_refusals_as_answers(server):
    """Browsers write every reply of status 400 into their console."""
    path, page = "/api/function?expression=n1+%2B&mod=7", {"X-Modgrok-Refusals": "answers"}
    (plain, there), (asked, here) = server.request("GET", path), server.request("GET", path, headers=page)
    assert (
        (plain.status, asked.status) == (400, 200) and there == here and "ends too early" in json.loads(here)["error"]
    )
    assert server.request("GET", "/api/nothing", headers=page)[0].status == 404


@pytest.mark.parametrize(
    "body, words",
    [
        ({"expression": "n1 n2", "mod": 5, "settings": {"steps": 10**9}}, "200,000"),
        ({"expression": "n1 n2", "mod": 5, "settings": {"width": 10**6}}, "4,096"),
        ({"expression": "n1 n2", "mod": 5, "settings": {"fraction": 2}}, "fraction"),
        ({"expression": "n1 n2", "mod": 5, "settings": {"colour": "red"}}, "no setting colour"),
        ({"expression": "n1 n2", "mod": 5, "settings": []}, "object"),
        ({"expression": "n1 ^", "mod": 5}, "exponent"),
    ],
)
def test_bad_trainings_are_refused_and_leave_no_folder(server, folder, body, words):
    before = sorted(folder.rglob("*"))
    status, found = server.post("/api/trainings", body)
    assert status == 400 and words in found["error"]
    assert sorted(folder.rglob("*")) == before


def test_what_is_no_object_or_too_large_is_refused(server):
    assert server.post("/api/trainings", [1])[0] == 400
    deep, headers = b"[" * 50_000, {"X-Modgrok-Token": server.token, "Content-Type": "application/json"}
    assert server.request("POST", "/api/trainings", deep, headers)[0].status == 400
    response, _ = server.request("POST", "/api/trainings", b"{}", {"X-Modgrok-Token": server.token})
    assert response.status == 400
    response, content = server.request("POST", "/api/trainings", b" " * (1 << 17), {"X-Modgrok-Token": server.token})
    assert response.status == 413 and "65,536" in json.loads(content)["error"]
    assert server.get("/api/nothing")[0] == 404
    assert server.post("/api/trainings/stop", {"run": "none"})[0] == 409
    assert server.get("/api/run", run="../..")[0] == 400


# ------------------------------------------------------------------------------------------ questions


def test_a_function_comes_with_the_table_that_integers_give(server):
    status, found = server.get("/api/function", expression="n1^2 n2 + 3", mod=7)
    table = struct.unpack("<49H", base64.b64decode(found["table"]))
    assert status == 200 and found["title"] == "n1^2 n2 + 3 mod 7"
    assert list(table) == [(a * a * b + 3) % 7 for a in range(7) for b in range(7)]


def test_a_table_that_is_sent_becomes_a_function_and_a_bad_one_does_not(server):
    content = "\n".join(",".join(str((2 * a + b) % 5) for b in range(5)) for a in range(5)).encode()
    status, sent = server.post("/api/tables?name=mine.csv", content)
    assert status == 200 and sent["name"] == "mine.csv"
    status, found = server.get("/api/verdict", table=sent["table"])
    assert status == 200 and found["verdict"] == "in-class" and found["family"] == "additive"
    for name, content in (("../../x.csv", b"1,2\n3"), ("x.exe", b"1"), ("x.npy", b"\x80\x04pickle")):
        status, reply = server.post(f"/api/tables?name={name}", content)
        assert status == 400 and "/tmp" not in reply["error"], reply


# ------------------------------------------------------------------------------------------ trainings


def trained(server, body):
    """The events of a training from its beginning to its end."""
    seen = []
    for name, data, number in server.events():
        if name == "hello":
            status, job = server.post("/api/trainings", body)
            assert status == 202, job
        seen.append((name, data, number))
        if name == "end" and data["run"] == job["run"]:
            return job["run"], seen


def same_files(run: Path, other: Path) -> None:
    names = sorted(path.name for path in other.iterdir())
    assert sorted(path.name for path in run.iterdir()) == names and "weights.safetensors" in names
    for name in names:
        if name == "result.json":
            timings = ("seconds", "steps_per_second", "provenance")
            first, second = (json.loads((place / name).read_text()) for place in (run, other))
            assert [made["command"] for made in first["provenance"]] == ["modgrok explore"]
            assert {k: v for k, v in first.items() if k not in timings} == {
                k: v for k, v in second.items() if k not in timings
            }
        else:
            assert (run / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture(scope="module")
def training(server):
    return trained(server, {"expression": "n1 n2", "mod": 7, "settings": TINY | {"weight_decay": 5}})


@pytest.mark.draws
def test_a_training_is_that_of_the_command_line_bit_for_bit(training, folder, tmp_path, monkeypatch):
    run, _ = training
    monkeypatch.chdir(tmp_path)
    words = [word for name, value in TINY.items() for word in (f"--{name}", str(value))]
    assert cli.main(["train", "n1 n2", "--mod", "7", "--weight-decay", "5", *words, "--json"]) == 0
    same_files(folder / "runs" / run, tmp_path / "runs" / run)


def test_a_training_is_seen_at_every_measured_step_and_between(training):
    run, events = training
    points = [data for name, data, _ in events if name == "point"]
    assert [point["step"] for point in points if point["measured"]] == [10, 20, 30, 40, 50, 60]
    steps = [point["step"] for point in points]
    assert steps == sorted(set(steps)) and len(steps) > 6
    tables = [data for name, data, _ in events if name == "table"]
    assert tables[-1]["step"] == 60 and len(base64.b64decode(tables[-1]["cells"])) == 49
    end = next(data for name, data, _ in events if name == "end")
    assert end["state"] == "finished" and end["error"] is None


def bits(text: str, count: int) -> list[int]:
    return [byte >> (7 - k) & 1 for byte in base64.b64decode(text) for k in range(8)][:count]


def test_the_end_of_the_film_is_what_the_metrics_say(server, training):
    run, events = training
    last = [data for name, data, _ in events if name == "point"][-1]
    status, found = server.get("/api/run/film", run=run, frames="last")
    trained, right = bits(found["trained"], 49), bits(found["right"], 49)
    assert status == 200 and found["steps"] == [60] and sum(trained) == round(49 / 2)
    for part, own in (("test", 0), ("train", 1)):
        hits = [hit for hit, trains in zip(right, trained, strict=True) if trains == own]
        assert abs(sum(hits) / len(hits) - last[f"{part}_accuracy"]) < 1e-6
        assert abs(found["numbers"][f"{part}_accuracy"][0] - last[f"{part}_accuracy"]) < 1e-6
        assert abs(found["numbers"][f"{part}_loss"][0] - last[f"{part}_loss"]) < 1e-5
    assert abs(found["numbers"]["ipr"][0] - last["ipr"]) < 1e-5


def test_runs_are_listed_and_opened_with_their_snapshots(server, training):
    run, _ = training
    _, listed = server.get("/api/runs")
    assert [entry["run"] for entry in listed["runs"]] == [run]
    status, found = server.get("/api/run", run=run)
    assert status == 200 and found["state"] == "finished" and found["curves"]["step"] == [0, 10, 20, 30, 40, 50, 60]
    assert found["snapshots"][0] == 0 and found["snapshots"][-1] == 60
    film = server.get("/api/run/film", run=run)[1]
    assert film["steps"] == found["snapshots"]
    assert len(base64.b64decode(film["right"])) == len(film["steps"]) * 7, "seven bytes hold 49 cells"
    period = film["neurons"]["period"]
    waves = base64.b64decode(film["neurons"]["waves"])
    assert (
        len(waves) == len(film["steps"]) * len(film["neurons"]["shown"]) * period and waves[:period] != waves[-period:]
    )
    assert server.get("/api/run/film", run=run, frames="first")[0] == 400


def test_the_same_training_again_is_there_already_and_more_steps_go_on(server, training):
    run, _ = training
    body = {"expression": "n1 n2", "mod": 7, "settings": TINY | {"weight_decay": 5.0}}
    assert server.post("/api/trainings", body) == (200, {"run": run, "job": None, "state": "finished"})
    status, found = server.post("/api/trainings", body | {"settings": TINY | {"weight_decay": 5, "steps": 20}})
    assert status == 400 and "60 steps, more than 20" in found["error"]


def test_a_page_that_was_away_gets_what_it_missed_and_one_of_another_time_starts_anew(server, training):
    _, events = training
    numbered = [event for event in events if event[2]]
    missed = server.events(last=numbered[3][2])
    assert next(missed)[0] == "hello"
    assert [next(missed) for _ in numbered[4:]] == numbered[4:]
    missed.close()
    other = server.events(last="ffffffff-3")
    assert [next(other)[0], next(other)[0]] == ["hello", "reset"]
    other.close()


def killed_at_work(server, folder, body):
    """The run of a training whose process is killed as soon as it is seen to train; None if it was too fast."""
    killed, told = False, []
    for name, data, _ in server.events():
        if name == "hello":
            _, job = server.post("/api/trainings", body)
        elif name == "point" and data["step"] > 100 and not killed:
            killed = True
            with suppress(FileNotFoundError):  # it has come to its end before we saw this
                pid = json.loads((folder / "runs" / job["run"] / "running.json").read_text())["pid"]
                assert pid in server.children()
                os.kill(pid, signal.SIGKILL)
        elif name == "worker" and killed:
            told.append(data["text"])
            assert server.get("/api/function", expression="n1", mod=5)[0] == 200
        elif name == "end":
            assert data["state"] == "finished" and all("goes on from its last checkpoint" in text for text in told)
            return job["run"] if told else None


@pytest.mark.draws
@pytest.mark.skipif(not LINUX, reason="asks /proc who works")
def test_a_killed_worker_is_replaced_and_the_run_ends_as_if_nothing_had_been(server, folder, tmp_path, monkeypatch):
    """A training that ended before its kill is followed by one of twice as many steps."""
    steps = 1500
    settings = {"width": 8, "seed": 3}
    while not (run := killed_at_work(server, folder, {**SUM, "settings": settings | {"steps": steps}})):
        steps *= 2
    left = list((folder / "runs" / run).glob(f".*{UNFINISHED}*"))
    assert len(left) <= 1, "what was being written at the kill goes when the folder is written to a minute later"
    for path in left:
        path.unlink()
    monkeypatch.chdir(tmp_path)
    words = ["--mod", "7", "--width", "8", "--steps", str(steps), "--seed", "3", "--json"]
    assert cli.main(["train", "n1 + n2", *words]) == 0
    same_files(folder / "runs" / run, tmp_path / "runs" / run)


@pytest.mark.slow
@pytest.mark.draws
def test_the_product_modulo_97_is_learned_on_the_page_as_on_the_command_line(server, folder, tmp_path, monkeypatch):
    run, events = trained(server, {"expression": "n1 n2", "mod": 97, "settings": {}})
    points = [data for name, data, _ in events if name == "point"]
    assert points[-1]["test_accuracy"] == 1.0 and points[-1]["step"] == 1000
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", "n1 n2", "--mod", "97", "--json"]) == 0
    same_files(folder / "runs" / run, tmp_path / "runs" / run)


def test_long_work_that_is_cancelled_ends_with_its_child_and_what_waits_behind_it_is_taken_out(server):
    """The whole paper takes minutes, so it is still under way."""
    events = server.events()
    assert next(events)[0] == "hello"
    assert server.post("/api/paper", {"item": "none"})[0] == 400
    assert server.post("/api/paper", {"item": "all", "size": "huge"}) == (
        400,
        {"error": "size must be quick or standard", "position": None},
    )
    _, paper = server.post("/api/paper", {"item": "all"})
    _, probe = server.post("/api/probe", {"expression": "n1 n2", "mod": 23})
    next(
        data
        for name, data, _ in events
        if name == "queue" and [job["state"] for job in data["queue"]] == ["running", "queued"]
    )
    for job, state in ((probe, "removed"), (paper, "stopping")):
        assert server.post("/api/jobs/cancel", {"job": job["job"]}) == (200, {"job": job["job"], "state": state})
    answer = next(data for name, data, _ in events if name == "answer")
    assert (answer["job"], answer["error"], answer["result"]) == (paper["job"], "it was stopped", None)
    next(data for name, data, _ in events if name == "queue" and not data["queue"])
    assert server.post("/api/jobs/cancel", {"job": paper["job"]})[0] == 409
    assert server.get("/report/")[0] == 404
    events.close()


def test_the_queue_stopping_and_going_on(server):
    """The run that goes on at the end is there when the server is told to end: see the fixture."""
    long = {"width": 512, "steps": 200_000, "snapshots": 4}  # minutes, so that it does not end before it is stopped
    bodies = [{"expression": "n1 n2", "mod": 31, "settings": long | {"seed": seed}} for seed in (8, 9)]
    events = server.events()
    assert next(events)[0] == "hello"
    first, second = (server.post("/api/trainings", body)[1] for body in bodies)
    assert server.post("/api/trainings", bodies[0])[1]["job"] == first["job"]
    next(data for name, data, _ in events if name == "point" and data["measured"])
    assert server.post("/api/trainings", bodies[0])[1]["job"] == first["job"]
    queue = server.get("/api/runs")[1]["queue"]
    assert [(job["run"], job["state"]) for job in queue] == [(first["run"], "running"), (second["run"], "queued")]
    assert server.post("/api/trainings/stop", {"run": second["run"]})[1]["state"] == "removed"
    assert server.post("/api/trainings/stop", {"run": first["run"]})[1]["state"] == "stopping"
    end = next(data for name, data, _ in events if name == "end")
    assert end["state"] == "stopped" and end["run"] == first["run"]
    stopped = server.get("/api/run", run=first["run"])[1]
    assert stopped["state"] == "stopped" and 0 < stopped["step"] < 200_000
    assert server.post("/api/trainings/resume", {"run": first["run"]})[0] == 202
    further = next(data for name, data, _ in events if name == "point" and data["measured"])
    assert further["step"] > stopped["step"]
    events.close()


def test_the_report_beside_the_runs_is_found(tmp_path):
    """`make demo` writes demo/report, and ends with `modgrok explore --runs demo`."""
    (tmp_path / "demo" / "report").mkdir(parents=True)
    (tmp_path / "demo" / "report" / "report.html").write_text("<p>all of it</p>")
    assert report_folder(None, tmp_path / "runs") == Path("report")
    assert report_folder("elsewhere", tmp_path / "demo") == Path("elsewhere")
    with Explorer(tmp_path, "--runs", "demo") as explorer:
        response, content = explorer.request("GET", "/report/")
    assert (response.status, content) == (200, b"<p>all of it</p>")
