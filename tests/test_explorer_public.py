"""A public explorer: nobody sees what others do, every limit holds, and nothing is kept."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="the explorer needs starlette and uvicorn")

from explorer_client import PATIENCE, Explorer

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.explorer import guard, rates, serving, visitors
from modgrok.explorer.jobs import SECONDS_TO_SAVE, Jobs
from modgrok.explorer.laboratory import OWN
from modgrok.explorer.limits import LOCAL, PUBLIC, VARIABLE
from modgrok.explorer.public import RECORDED, PublicGuard, PublicLaboratory, address_of
from modgrok.explorer.rates import ADDRESS, VISITOR, Account, Accounts, Bucket, TooMuch
from modgrok.explorer.serving import check_public
from modgrok.explorer.visitors import Guest, Visitor, Visitors, shrunk
from modgrok.explorer.words import QUESTIONS
from modgrok.explorer.workers import Reply, Worker

LINUX = sys.platform.startswith("linux")
SUM = {"expression": "n1 + n2", "mod": 7}
TINY = {"width": 8, "steps": 60, "snapshots": 2}
CSV = b"\n".join(b",".join(b"%d" % ((a + 2 * b) % 5) for b in range(5)) for a in range(5))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("public")


@pytest.fixture(scope="module")
def server(place):
    """A public explorer in a folder with runs and a report of its host's; its temporary folder is gone at its end."""
    if not LINUX:
        pytest.skip("visitors come from many addresses, of which this machine has one")
    for folder in ("temporary", "runs/secret", "report"):
        (place / folder).mkdir(parents=True)
    (place / "runs" / "secret" / "config.json").write_text("{}")
    (place / "report" / "report.html").write_text("the host's")
    with pytest.MonkeyPatch.context() as patch, open(place / "printed", "w+") as printed:
        patch.setenv("TMPDIR", str(place / "temporary"))
        with Explorer(place, "--public", stderr=printed, patient=True) as explorer:
            yield explorer
        printed.seek(0)
        assert "Traceback" not in printed.read()
    assert not list((place / "temporary").glob(f"{visitors.PREFIX}*"))


def trained(visitor, body):
    """The events of a training that this visitor begins, to its end."""
    seen = []
    for name, data, _ in visitor.events():
        if name == "hello":
            status, job = visitor.post("/api/trainings", body)
            assert status == 202, job
        seen.append((name, data))
        if name == "end":
            return job["run"], seen


# ------------------------------------------------------------------------------------------ one visitor and another


@pytest.fixture(scope="module")
def ann(server):
    """A visitor with a table and a run."""
    found = server.visitor("127.0.0.2")
    status, sent = found.post("/api/tables?name=anns.csv", CSV)
    assert status == 200, sent
    found.table = sent["table"]
    found.run, found.seen = trained(found, SUM | {"settings": TINY})
    return found


def test_the_cookie_is_for_no_script_and_no_other_site_and_cannot_be_made_up(server, ann):
    response, _ = server.request("GET", "/")
    words = response.getheader("set-cookie")
    assert re.fullmatch(r"modgrok_visitor=[\w-]{32}\.[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Lax", words)
    assert response.getheader("cache-control") == "no-store"
    name, _, signature = ann.cookie.removeprefix("modgrok_visitor=").partition(".")
    other = name[:-1] + ("B" if name.endswith("A") else "A")
    for forged in ("", "x", f"{name}.", f"{name}.{'0' * 64}", f"{other}.{signature}", f"{'é' * 32}.{signature}"):
        headers = {"Cookie": f"modgrok_visitor={forged}".encode().decode("latin-1")}
        response, content = server.request("GET", "/api/runs", headers=headers)
        assert response.status == 403 and "open the page first" in json.loads(content)["error"], forged
    assert ann.get("/api/runs")[0] == 200


def test_a_visitor_sees_their_own_runs_and_tables_and_nobody_else_s(server, ann):
    bob = server.visitor("127.0.0.3")
    assert [each["run"] for each in ann.get("/api/runs")[1]["runs"]] == [ann.run]
    assert ann.get("/api/run", run=ann.run)[1]["state"] == "finished"
    assert ann.get("/api/verdict", table=ann.table)[1]["verdict"] == "in-class"
    assert bob.get("/api/runs")[1] == {"folder": "", "runs": [], "queue": []}
    for path in ("/api/run", "/api/run/film", "/api/network", "/api/inspection", "/api/download"):
        for name in (ann.run, f"../{ann.run}", "secret", "../../runs/secret", "."):
            status, found = bob.get(path, run=name)
            assert status == 400 and "there is no run" in found["error"], (path, name, found)
    for path in ("/api/function", "/api/verdict", "/api/network"):
        status, found = bob.get(path, table=ann.table)
        assert status == 400 and "no longer here" in found["error"]
    for path, body in (("stop", {}), ("resume", {"steps": 100})):
        status, found = bob.post(f"/api/trainings/{path}", {"run": ann.run} | body)
        assert status in (400, 409) and "run" in found["error"]


def test_events_and_the_queue_are_each_visitor_s_own(server, ann):
    """Cem waits behind Dora: he is told that somebody is before him, and neither who nor what."""
    cem, dora = server.visitor("127.0.0.4"), server.visitor("127.0.0.5")
    listening = {who: who.events() for who in (cem, dora)}
    assert all(next(events) == ("hello", {"queue": []}, "") for events in listening.values())
    long = {"width": 512, "steps": 5000}  # minutes, so that neither ends before it is stopped
    _, first = dora.post("/api/trainings", {"expression": "n1 n2 + 4", "mod": 97, "settings": long})
    next(data for name, data, _ in listening[dora] if name == "begin")
    _, second = cem.post("/api/trainings", {"expression": "n1 + n2", "mod": 97, "settings": long})
    assert second["state"] == "queued"
    name, data, _ = next(event for event in listening[cem])
    assert name == "queue" and [(job["run"], job["before"]) for job in data["queue"]] == [(second["run"], 1)]
    assert cem.post("/api/jobs/cancel", {"job": first["job"]})[0] == 409
    assert cem.post("/api/trainings/stop", {"run": first["run"]})[0] == 409
    assert dora.post("/api/jobs/cancel", {"job": first["job"]})[1]["state"] == "stopping"
    heard = []
    for name, data, _ in listening[cem]:
        heard.append((name, data))
        if name == "point":
            break
    assert "n1 n2 + 4" not in json.dumps(heard) and first["run"] not in json.dumps(heard)
    assert {data["run"] for name, data in heard if name in ("begin", "point", "table", "neurons")} == {second["run"]}
    assert cem.post("/api/trainings/stop", {"run": second["run"]})[0] == 200
    for events in listening.values():
        events.close()


def test_one_s_token_does_not_serve_another_and_other_sites_are_refused(server, ann):
    bob = server.visitor("127.0.0.3")
    bob.token = ann.token
    assert bob.post("/api/trainings", SUM)[0] == 403
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert ann.request("GET", "/api/runs", headers=headers)[0].status == 403


# ------------------------------------------------------------------------------------------ the host


def test_nothing_of_the_host_is_shown(server, ann, place):
    """No path of this machine is in any answer, and neither its runs nor its report are there."""
    assert ann.request("GET", "/report/")[0].status == 403
    answers = [
        ann.request("GET", path)[1]
        for path in (
            "/",
            "/healthz",
            "/api/settings",
            "/api/runs",
            f"/api/run?run={ann.run}",
            "/api/run?run=none",
            f"/api/inspection?run={ann.run}",
            f"/api/download?run={ann.run}&format=safetensors",
            "/api/paper",
            "/api/paper/item?item=classes",
            "/api/census?modulus=97&most=3",
            f"/api/function?table={ann.table}",
        )
    ]
    answers += [json.dumps(ann.seen).encode(), ann.request("GET", "/api/nothing")[1]]
    for secret in (str(place), tempfile.gettempdir(), str(Path.home()), "site-packages", visitors.PREFIX, "secret"):
        assert not [answer[:200] for answer in answers if secret.encode() in answer], secret


def test_items_of_the_paper_are_shown_as_recorded_and_not_computed(server, ann):
    assert any(item["recorded"] for item in ann.get("/api/paper")[1]["items"])
    status, found = ann.post("/api/paper", {"item": "classes"})
    assert status == 403 and "computes none of it" in found["error"]


def test_health_is_told_to_anybody_and_costs_nothing(server):
    for _ in range(3):
        response, content = server.request("GET", "/healthz", headers={"Host": "elsewhere"})
        assert (response.status, json.loads(content)) == (200, {"healthy": True})


# ------------------------------------------------------------------------------------------ what is refused


@pytest.fixture(scope="module")
def eve(server):
    """A visitor who asks for too much."""
    return server.visitor("127.0.0.11")


@pytest.mark.parametrize(
    "body, words",
    [
        ({"expression": "n1 n2", "mod": 131}, "moduli up to 128"),
        ({"expression": "n1 n2 n3", "mod": 31}, "16,384 cells"),
        (SUM | {"settings": {"steps": 5001}}, "steps may be 5,000 at most in this public demo"),
        (SUM | {"settings": {"width": 513}}, "width may be 512"),
        (SUM | {"settings": {"snapshots": 21}}, "snapshots may be 20"),
        (SUM | {"settings": {"room": 10**9}}, "room may be 16,384"),
        (SUM | {"settings": {"power": 7}}, "power may be 6"),
        (SUM | {"settings": {"model": "transformer", "width": 512}}, "up to 300,000 weights, this one has"),
    ],
)
def test_trainings_beyond_the_limits_are_refused_and_told_what_takes_more(eve, body, words):
    status, found = eve.post("/api/trainings", body)
    assert status == 400 and words in found["error"] and "pip install modgrok" in found["error"], found


def test_presets_stay_within_the_limits(monkeypatch):
    """A transformer with SGD trains 10,000 steps elsewhere; here the form and the training have 5,000 alike."""
    from modgrok.explorer.settings import asked_config, settings

    body = SUM | {"settings": {"model": "transformer", "optimiser": "sgd"}}
    assert asked_config(body).steps == settings({"runs": ""})["presets"]["transformer"]["sgd"]["steps"] == 10_000
    monkeypatch.setenv(VARIABLE, "public")
    assert asked_config(body).steps == settings({"runs": ""})["presets"]["transformer"]["sgd"]["steps"] == 5000
    for model, of in settings({"runs": ""})["presets"].items():
        for optimiser in of:
            config = asked_config(SUM | {"settings": {"model": model, "optimiser": optimiser}})
            assert all(
                value is None or value <= PUBLIC.settings[name]
                for name, value in of[optimiser].items()
                if name in PUBLIC.settings
            ), (model, optimiser)
            assert config.task().shape.model.parameters() <= PUBLIC.parameters


def test_files_that_could_run_something_or_are_too_large_are_refused_and_leave_nothing(server, place):
    ann = server.visitor("127.0.0.12")
    for name in ("a.pt", "a.pth", "a.bin", "a.ckpt", "a.onnx"):
        status, found = ann.post(f"/api/networks?name={name}", b"x")
        assert status == 400 and "this public demo takes a network as .safetensors or .npy" in found["error"], found
    assert "a table as .csv or .npy" in ann.post("/api/tables?name=a.parquet", b"PAR1")[1]["error"]
    for path, most in (("/api/tables?name=a.csv", PUBLIC.upload), ("/api/networks?name=a.npy", PUBLIC.network)):
        said = {"X-Modgrok-Token": ann.token, "Content-Length": str(most + 1)}
        response, _ = ann.request("POST", path, b"1", said)
        assert response.status == 413 and response.getheader("connection") == "close"
    assert ann.post("/api/networks?name=a.safetensors", b"\xff" * 100)[0] == 400
    assert not list((place / "temporary").glob(f"{visitors.PREFIX}*/*/tables/incoming-*"))


def test_who_hammers_is_told_to_wait_and_others_are_answered(server):
    """Request after request until one is refused, with a time; another address is not concerned.

    An account fills up meanwhile, so that nobody knows how many they are where the machine is slow.
    """
    eve, bob = server.visitor("127.0.0.6"), server.visitor("127.0.0.7")
    last = time.monotonic() + PATIENCE
    while (reply := eve.request("GET", "/api/settings")[0]).status == 200:
        assert time.monotonic() < last
    assert reply.status == 429 and 1 <= int(reply.getheader("retry-after")) <= 60
    assert bob.get("/api/settings")[0] == 200
    again = [server.visitor("127.0.0.6") for _ in range(3)]
    assert all(each.get("/api/settings")[0] == 200 for each in again), "an address has more than a visitor"


def test_a_visitor_has_two_jobs_in_the_queue_and_an_address_four(server):
    def begun(visitor, seed):
        body = {"expression": "n1 n2", "mod": 97, "settings": {"steps": 5000, "seed": seed}}
        status, found = visitor.post("/api/trainings", body)
        return status, found

    first, second, third = (server.visitor("127.0.0.8") for _ in range(3))
    answers = [begun(who, seed) for who in (first, second, third) for seed in (1, 2, 3)]
    assert [status for status, _ in answers] == [202, 202, 429, 202, 202, 429, 429, 429, 429]
    assert "2 jobs in the queue are all that you may have" in answers[2][1]["error"]
    assert "4 jobs in the queue are all that your address may have" in answers[6][1]["error"]
    for status, found in answers:
        if status == 202:
            for who in (first, second):
                who.post("/api/trainings/stop", {"run": found["run"]})


def test_no_address_has_more_connections_than_it_may(server):
    """What is beyond is hung up on at once; other addresses are answered."""
    channels = [
        socket.create_connection(("127.0.0.1", server.port), PATIENCE, ("127.0.0.9", 0))
        for _ in range(serving.MOST_OF_ADDRESS + 5)
    ]
    closed = 0
    for channel in channels[-5:]:
        try:
            closed += channel.recv(1) == b""
        except ConnectionResetError:
            closed += 1
    assert closed == 5
    assert server.visitor("127.0.0.10").get("/api/settings")[0] == 200
    for channel in channels:
        channel.close()


# ------------------------------------------------------------------------------------------ the parts


def test_a_bucket_fills_and_owes_no_more_than_it_holds(monkeypatch):
    now = 0.0
    monkeypatch.setattr(rates.time, "monotonic", lambda: now)
    bucket = Bucket(10, 2)
    bucket.spend(9)
    assert bucket.wait(1) == 0 and bucket.wait(3) == 1
    bucket.spend(100)
    assert bucket.level() == -1 and bucket.wait(1) == 5.5
    now = 5.0
    assert bucket.level() == 0
    now = 100.0
    assert bucket.level() == 1 and bucket.wait(10**6) == 0


def test_jobs_an_hour_are_counted_for_the_visitor_and_the_address(monkeypatch):
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 0.0))
    visitor, address = Account(VISITOR), Account(ADDRESS)
    for _ in range(VISITOR.jobs_an_hour):
        rates.begin((visitor, address))
    with pytest.raises(TooMuch, match="20 trainings an hour for you; wait 180 s, or install modgrok"):
        rates.begin((visitor, address))
    for _ in range(ADDRESS.jobs_an_hour - VISITOR.jobs_an_hour):
        rates.begin((Account(VISITOR), address))
    with pytest.raises(TooMuch, match="60 trainings an hour for your address"):
        rates.begin((Account(VISITOR), address))


def test_only_so_many_accounts_are_kept(monkeypatch):
    monkeypatch.setattr(rates, "MOST_ACCOUNTS", 3)
    accounts = Accounts(VISITOR)
    first = accounts.of("a")
    for name in ("b", "c", "a", "d"):
        accounts.of(name)
    assert set(accounts.known) == {"c", "a", "d"} and accounts.of("a") is first


def test_what_is_held_is_given_back_whatever_happens():
    account = Account(VISITOR)
    with rates.held((account,), "files"):
        with pytest.raises(TooMuch, match="1 files at once"), rates.held((account,), "files"):
            pass
        assert account.held["files"] == 1
    with pytest.raises(ZeroDivisionError), rates.held((account,), "files"):
        raise ZeroDivisionError
    assert account.held["files"] == 0


@pytest.mark.parametrize(
    "peer, said, proxies, expected",
    [
        ("9.9.9.9", "1.1.1.1", 0, "9.9.9.9"),
        ("9.9.9.9", "1.1.1.1", 1, "1.1.1.1"),
        ("9.9.9.9", "6.6.6.6, 1.1.1.1", 1, "1.1.1.1"),
        ("9.9.9.9", "6.6.6.6, 1.1.1.1, 2.2.2.2", 2, "1.1.1.1"),
        ("9.9.9.9", "1.1.1.1", 2, "9.9.9.9"),
        ("9.9.9.9", "nonsense", 1, "9.9.9.9"),
        ("9.9.9.9", "", 1, "9.9.9.9"),
        ("::ffff:1.2.3.4", "", 0, "1.2.3.4"),
        ("2001:db8:1:2:aaaa::1", "", 0, "2001:0db8:0001:0002"),
        ("2001:db8:1:2:bbbb::9", "", 0, "2001:0db8:0001:0002"),
    ],
)
def test_an_address_is_what_a_trusted_proxy_says_and_nobody_else(peer, said, proxies, expected):
    assert address_of({"client": (peer, 1), "headers": [(b"x-forwarded-for", said.encode())]}, proxies) == expected


def test_two_headers_of_a_chain_are_one_chain():
    headers = [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"1.1.1.1")]
    assert address_of({"client": ("9.9.9.9", 1), "headers": headers}, 1) == "1.1.1.1"


def admitted(door, **headers):
    """The scope of a visit that is let in."""
    pairs = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": pairs}
    door.check(scope)
    return scope


def test_behind_a_proxy_that_speaks_tls_the_cookie_is_for_tls_alone_and_pages_of_https_are_ours(tmp_path):
    behind = PublicGuard(lambda *words: None, Visitors(tmp_path), proxies=1)
    scope = admitted(behind, Host="demo.example", X_Forwarded_Proto="https", Origin="https://demo.example")
    ((_, cookie),) = scope["added_headers"]
    assert cookie.endswith(b"SameSite=Lax; Secure")
    direct = PublicGuard(lambda *words: None, Visitors(tmp_path))
    ((_, cookie),) = admitted(direct, Host="demo.example", X_Forwarded_Proto="https")["added_headers"]
    assert not cookie.endswith(b"Secure")
    with pytest.raises(Exception, match="other pages"):
        admitted(direct, Host="demo.example", X_Forwarded_Proto="https", Origin="https://demo.example")


def test_a_body_that_does_not_come_to_its_end_is_not_waited_for(monkeypatch):
    """Who has sent everything may wait as long as they like for the answer."""
    monkeypatch.setattr(guard, "SECONDS_TO_SEND", 0.05)

    async def check():
        async def dribble():
            await asyncio.sleep(0.02)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def all_of(receive):
            while await receive():
                pass

        with pytest.raises(guard.Refused, match="may take 0.05 s to send"):
            await all_of(guard.limited(dribble, 1000))

        async def whole():
            return {"type": "http.request", "body": b"x"}

        receive = guard.limited(whole, 1000)
        await receive()
        await asyncio.sleep(0.1)
        assert await receive()

    asyncio.run(check())


def test_who_is_gone_is_forgotten_with_all_that_they_had(tmp_path, monkeypatch):
    async def check():
        registry, left = Visitors(tmp_path), []
        registry.on_leave = lambda visitor: left.append(visitor.name)
        gone, listens, works, looks = (registry.of(name) for name in ("gone", "listens", "works", "looks"))
        for visitor in (gone, listens, works):
            registry.make_room(visitor, Account(ADDRESS))
        listens.streams = 1
        registry.busy = lambda visitor: visitor is works
        for visitor in (gone, listens, works):
            visitor.seen -= visitors.SECONDS_KEPT + 1
        await registry.tidy()
        assert left == ["gone"] and not gone.folder.exists() and gone.events.closed
        assert listens.folder.exists() and works.folder.exists() and "looks" in registry.kept
        looks.seen -= visitors.SECONDS_KNOWN + 1
        await registry.tidy()
        assert set(registry.kept) == {"listens", "works"}

    asyncio.run(check())


def test_an_address_displaces_its_own_visitors_before_anybody_else(tmp_path, monkeypatch):
    monkeypatch.setattr(visitors, "MOST_VISITORS", 60)
    registry, here, there = Visitors(tmp_path), Account(ADDRESS), Account(ADDRESS)
    innocent = registry.of("innocent")
    registry.make_room(innocent, there)
    for k in range(ADDRESS.at_once["visitors"] + 10):
        registry.make_room(registry.of(f"eve{k}"), here)
    assert innocent.folder.exists() and len(registry.having()) == ADDRESS.at_once["visitors"] + 1
    assert len(list(tmp_path.iterdir())) == len(registry.having())


def test_the_disk_stays_level(tmp_path, monkeypatch):
    """Of one visitor the oldest things go, of all the visitors who were away longest."""
    monkeypatch.setattr(visitors, "MOST_OF_ALL", 2500)
    registry = Visitors(tmp_path)
    for name in ("old", "newer", "newest"):
        registry.make_room(visitor := registry.of(name), Account(ADDRESS))
        run = visitor.folder / "runs" / "a"
        run.mkdir()
        (run / "weights").write_bytes(bytes(1000))
    asyncio.run(registry.tidy())
    assert set(registry.kept) == {"newer", "newest"}
    folder = registry.of("newest").folder
    for k in range(4):
        table = folder / "tables" / str(k)
        table.mkdir()
        (table / "t.csv").write_bytes(bytes(400))
        os.utime(table / "t.csv", (time.time() + k, time.time() + k))
    assert shrunk(folder, 1000) == 800 and sorted(path.name for path in (folder / "tables").iterdir()) == ["2", "3"]
    assert shrunk(folder, 1) == 400, "the newest stays whatever its size"


def test_what_vanishes_while_it_is_looked_at_stops_nobody(tmp_path, monkeypatch):
    """A run ends, a file is sent: folders come and go while they are measured, and the next look is taken as well."""
    monkeypatch.setattr(visitors, "SECONDS_BETWEEN_LOOKS", 0.01)
    registry, looks = Visitors(tmp_path), []

    def vanished(folder):
        looks.append(folder)
        raise FileNotFoundError(folder)

    async def check():
        registry.make_room(registry.of("ann"), Account(ADDRESS))
        tidying = asyncio.create_task(registry.tidy_always())
        async with asyncio.timeout(PATIENCE):
            while len(looks) < 3:
                await asyncio.sleep(0.01)
        tidying.cancel()

    deep = tmp_path / "deep" / "folder"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"123")
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: vanished(path) if Path(path) == deep else scandir(path))
    assert visitors.newest_and_size(tmp_path / "deep") == (0.0, 0)
    monkeypatch.setattr(visitors, "shrunk", vanished)
    looks.clear()
    asyncio.run(check())


def test_folders_that_killed_servers_have_left_are_removed_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("modgrok-public-dead", "modgrok-public-alive", "other"):
        (tmp_path / name / "x").mkdir(parents=True)
    (tmp_path / "modgrok-public-link").symlink_to(tmp_path / "other")
    long_ago = time.time() - visitors.SECONDS_UNTIL_DEAD - 10
    for name in ("modgrok-public-dead", "other"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    with visitors.public_root() as root:
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"modgrok-public-alive", "modgrok-public-link", "other", Path(root).name}


def test_a_job_s_time_is_limited_and_its_visitor_told_so():
    class Endless(Worker):
        """A child that trains until it is told to stop."""

        async def ask(self, name, params, on_event=None, payers=()):
            await self.told.wait()
            return Reply("answer", json.dumps({"state": "stopped", "outcome": None}).encode())

        def stop_current(self):
            self.told.set()

    async def check():
        worker = Endless("endless")
        worker.told = asyncio.Event()
        jobs, guest = Jobs(worker, limits), Guest(Visitor({}, ""))
        jobs.start()
        jobs.add(guest, "training", "training", "n1 mod 5", {}, run="a")
        async with asyncio.timeout(PATIENCE):
            while jobs.jobs:
                await asyncio.sleep(0.01)
        await jobs.close()
        told = b"".join(guest.visitor.events.kept)
        assert b'"state": "stopped"' in told and b"this public demo works on one thing for 0.05 s" in told

    limits = replace(PUBLIC, seconds=0.05)
    asyncio.run(check())


def test_who_has_spent_least_is_answered_first_and_pays_for_the_time(monkeypatch):
    """Eve has asked for much before; her question came first and is answered last."""
    monkeypatch.setattr("modgrok.explorer.workers.COMMAND", ("cat",))
    asked, charged = [], []
    monkeypatch.setattr("modgrok.explorer.workers.charge", lambda payers, cost: charged.append((payers, cost)))

    class Slow(Worker):
        async def answered(self, question):
            asked.append(question.params["who"])
            await asyncio.sleep(0.05)
            return Reply("answer", b"{}")

    async def check():
        accounts = {who: Account(VISITOR) for who in ("eve", "ann", "bob")}
        accounts["eve"].points.spend(VISITOR.points / 2)
        worker = Slow("slow")
        questions = [
            asyncio.ensure_future(worker.ask("function", {"who": who}, payers=(account,)))
            for who, account in accounts.items()
        ]
        await asyncio.sleep(0)
        await worker.start()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*questions)
        await worker.close()
        assert asked == ["ann", "bob", "eve"]
        assert [payer for payer, _ in charged] == [(accounts[who],) for who in asked]
        assert all(cost >= 0.04 * rates.OF_SECOND for _, cost in charged)

    asyncio.run(check())


@pytest.mark.skipif(not LINUX, reason="reads the memory of a process from /proc")
def test_a_child_that_has_grown_is_replaced_when_it_rests_and_killed_at_work(monkeypatch):
    monkeypatch.setattr("modgrok.explorer.workers.COMMAND", (sys.executable, "-c", "import sys; sys.stdin.read()"))

    async def check():
        worker = Worker("grown")
        await worker.start()
        first = worker.process.pid
        async with asyncio.timeout(PATIENCE):
            worker.keep_level(1 << 40)
            await asyncio.sleep(0.1)
            assert worker.process.pid == first
            worker.keep_level(1)
            while worker.process.pid == first or worker.process.returncode is not None:
                await asyncio.sleep(0.01)
            second = worker.process.pid
            question = asyncio.ensure_future(worker.ask("function", {}))
            while worker.current is None:
                await asyncio.sleep(0.01)
            worker.keep_level(1)
            with pytest.raises(Exception, match="more memory than there is"):
                await question
            assert worker.process.pid != second and worker.restarts == 2
            await worker.close()

    asyncio.run(check())


def test_what_goes_with_public_and_what_does_not():
    for words, given in (
        ("goes with public", {"public": False, "proxies": 1, "folders": False}),
        ("0 to 10, got 11", {"public": True, "proxies": 11, "folders": False}),
        ("no folder of this machine", {"public": True, "proxies": 0, "folders": True}),
    ):
        with pytest.raises(InputError, match=words):
            check_public(**given)
    with pytest.raises(InputError, match="leave --runs"):
        mg.explore(public=True, runs="mine")


def test_answers_that_are_shared_are_about_nothing_of_a_visitor_s():
    """Who adds a word to a question whose answers are kept says here that it names nothing that a visitor has."""
    free = {
        "expression",
        "mod",
        "fraction",
        "method",
        "frequencies",
        "seed",
        "mul_width",
        "add_width",
        "beta",
        "expert",
    }
    free |= {"expert", "n", "at", "family", "modulus", "share", "across", "most", "item", "from", "name", "only"}
    lasting = [question for name, question in QUESTIONS.items() if question.lasts or name in RECORDED]
    assert {word for question in lasting for word in question.words} <= free | OWN
    assert not free & OWN


def test_answers_about_a_visitor_s_things_are_forgotten_with_them():
    laboratory = PublicLaboratory()
    try:
        visitor = laboratory.registry.of("ann")
        laboratory.make_room(Guest(visitor, (Account(VISITOR), Account(ADDRESS))))
        laboratory.keep(("verdict", (("table", "x"),), "ann"), Reply("answer", b"{}"))
        laboratory.keep(("verdict", (("expression", "n1"),), ""), Reply("answer", b"{}"))
        laboratory.registry.forget(visitor)
        assert [key[2] for key in laboratory.answers] == [""] and laboratory.bytes > 0
    finally:
        laboratory.temporary.cleanup()


def test_the_docs_have_the_numbers_of_the_code():
    """Every limit that the page on the explorer and the threat model give is the one that holds."""
    root = Path(__file__).parents[1]
    explorer, security = ((root / name).read_text(encoding="utf-8") for name in ("docs/explorer.md", "SECURITY.md"))
    most, mine, address = PUBLIC.settings, VISITOR.at_once, ADDRESS.at_once
    for line in (
        f"| {PUBLIC.modulus}; {PUBLIC.cells:,} | {LOCAL.modulus}; {LOCAL.cells:,} |",
        f"| {most['width']}; {most['steps']:,}; {most['snapshots']} |",
        f"| {PUBLIC.parameters:,} |",
        f"| {PUBLIC.seconds:g} | any |",
        f"| {PUBLIC.queue}; {address['jobs']}; {mine['jobs']} | {LOCAL.queue} |",
        f"| {ADDRESS.jobs_an_hour}; {VISITOR.jobs_an_hour} |",
        f"| {PUBLIC.upload >> 10} kB; {PUBLIC.network >> 20} MB | {LOCAL.upload >> 20} MB; {LOCAL.network >> 20} MB |",
        f"| {PUBLIC.patience:g} | {LOCAL.patience:g} |",
        f"| {address['questions']}; {mine['questions']} |",
        f"| {PUBLIC.streams}; {address['streams']}; {mine['streams']} | {LOCAL.streams} |",
        f"| {serving.MOST_CONNECTIONS}; {serving.MOST_OF_ADDRESS} |",
        f"{visitors.MOST_OF_VISITOR >> 20} MB of one or {visitors.MOST_OF_ALL >> 20} MB of all",
        f"A visitor has {VISITOR.points} and gets six a second, an address has {ADDRESS.points} and gets "
        f"{ADDRESS.per_second};",
    ):
        assert line in explorer, line
    for line in (
        f"moduli to {PUBLIC.modulus}, {PUBLIC.cells:,} cells, {PUBLIC.parameters:,} weights",
        f"a job {PUBLIC.seconds:g} s and {SECONDS_TO_SAVE:g} to save itself",
        f"{visitors.MOST_OF_VISITOR >> 20} MB a visitor and {visitors.MOST_OF_ALL >> 20} MB in all",
        f"{visitors.MOST_VISITORS} visitors have files, {address['visitors']} of one address",
        f"more than {PUBLIC.memory / 1000 / (1 << 20):g} GB at rest",
        f"{serving.MOST_OF_ADDRESS} of an address, {serving.MOST_CONNECTIONS} in all",
        f"a body that dribbles after {guard.SECONDS_TO_SEND:g} s",
        f"{mine['streams']} streams a visitor, {address['streams']} an address, {PUBLIC.streams} in all",
        f"accounts ({rates.MOST_ACCOUNTS:,})",
    ):
        assert line in security, line
    assert (rates.OF_SECOND, rates.OF_FILE, rates.OF_PAGE, VISITOR.per_second) == (8, 20, 0.1, 6)
    assert (visitors.SECONDS_KEPT, visitors.SECONDS_BETWEEN_LOOKS) == (1800, 5)


def test_the_page_says_what_fifty_visitors_and_a_hostile_one_were_measured_to_do():
    root = Path(__file__).parents[1]
    found = json.loads((root / "benchmarks" / "results" / "public-load.json").read_text(encoding="utf-8"))
    page = " ".join((root / "docs" / "explorer.md").read_text(encoding="utf-8").split())
    alone, beside, hostile = found["alone"], found["beside_the_hostile_one"], found["hostile"]
    assert not any(hostile["must_be_zero"].values()) and found["healthy_at_the_end"]
    assert alone["of_others_seen"] == beside["of_others_seen"] == found["files_left_at_the_end"] == 0
    assert f"sent {alone['requests'] + beside['requests']:,} requests in four minutes" in page
    assert f"a hostile one with {hostile['requests']:,}: {hostile['did']['guesses']:,} guesses" in page
    medians = (each["seconds"]["median"] for each in (alone, beside))
    assert "at most {} s alone and {} s beside the hostile one".format(*medians) in page
    held = found["megabytes_every_5_seconds"]
    assert f"from {held['server'][0]:.0f} to {held['server'][-1]:.0f} MB" in page
    assert max(held["trains"]) < found["limits"]["megabytes_of_a_child_at_rest"]
    assert f"half-way to {held['trains'][-1]:.0f} MB" in page
