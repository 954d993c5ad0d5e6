"""A public explorer under fifty visitors and a hostile one: do the limits hold, does anybody see what is not theirs?

    python benchmarks/public_load.py [--seconds 90] [--out benchmarks/results/public-load.json]

starts `modgrok explore --public` in a temporary folder. Each visitor comes from an address of its own (Linux answers
at all of 127.0.0.0/8), asks about functions that have its number in them, sends a table, trains, listens, and looks for
the numbers of others in every byte that it is sent. First they are alone, then for as long with somebody at one more
address who hammers, sends without end, holds connections, guesses names of runs, tables and cookies, makes visitors one
after the other and says that requests come from elsewhere. Counts are exact; times depend on what else the machine
does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import numpy as np
from explorer_client import Explorer
from explorer_load import memory
from writing import write_found

from modgrok.explorer.limits import PUBLIC
from modgrok.explorer.rates import ADDRESS, VISITOR
from modgrok.explorer.serving import MOST_OF_ADDRESS
from modgrok.explorer.visitors import MOST_OF_ALL, newest_and_size

MODULUS = 31
HOSTILE = "127.9.9.9"
SETTINGS = {"width": 32, "steps": 400, "snapshots": 2}
MARK = re.compile(rb"(?:n1 n2 \+ |of-visitor-|n1_n2_\+_)(\d+)")
"""What every function, table and run of a visitor has in its name, with the visitor's number."""
SECONDS_BETWEEN = 4.0
"""What a visitor thinks between two questions, on average."""
EVERY_SECONDS = 5.0


@dataclass
class Seen:
    """What happened to some visitors."""

    statuses: Counter = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    events: Counter = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)

    def to_json(self) -> dict:
        quantiles = np.quantile(self.took, [0.5, 0.95, 1.0]).round(2).tolist() if self.took else []
        return {
            "requests": len(self.took),
            "statuses": {str(name): count for name, count in sorted(self.statuses.items(), key=str)},
            "seconds": dict(zip(("median", "p95", "worst"), quantiles, strict=False)),
            "events": dict(sorted(self.events.items())),
            "of_others_seen": len(self.strange),
        }


@dataclass
class Visitor:
    """One browser's part, in plain HTTP from an address of its own."""

    port: int
    address: str
    seen: Seen
    number: int = -1
    cookie: str = ""
    token: str = ""
    table: str = ""
    run: str = ""

    async def fetch(
        self, path: str, method: str = "GET", body: bytes = b"", kind: str = "application/json", extra: str = ""
    ) -> tuple[int, bytes]:
        """One request on a connection of its own; status 0 where it was hung up on."""
        head = f"{self.head(method, path)}Connection: close\r\n{extra}"
        if method == "POST":
            head += f"Content-Type: {kind}\r\n"
            head += "" if "Content-Length" in extra else f"Content-Length: {len(body)}\r\n"
        began = time.perf_counter()
        try:
            reader, writer = await self.connect()
            try:
                writer.write(f"{head}\r\n".encode() + body)
                content = await reader.read()
            finally:
                writer.close()
        except OSError:
            content = b""
        self.seen.took.append(time.perf_counter() - began)
        status = int(content.split(b" ", 2)[1]) if content else 0
        self.seen.statuses[status] += 1
        if status < 400:  # a refusal may say again what was asked
            self.look_at(content)
        return status, content

    def head(self, method: str, path: str) -> str:
        """The first lines of a request."""
        who = f"Cookie: {self.cookie}\r\nX-Modgrok-Token: {self.token}\r\n"
        return f"{method} {path} HTTP/1.1\r\nHost: demo.example\r\n{who}"

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0), limit=1 << 22)

    def look_at(self, content: bytes) -> None:
        """Is there anything of somebody else's in what was sent?"""
        self.seen.strange += [
            f"{self.number} saw {found}" for found in MARK.findall(content) if int(found) != self.number
        ]

    async def arrive(self) -> bool:
        status, content = await self.fetch("/")
        found = re.search(rb"set-cookie: (modgrok_visitor=[^;]+);", content, re.IGNORECASE)
        token = re.search(rb'name="modgrok-token" content="([^"]+)"', content)
        if status == 200 and token:
            self.cookie, self.token = found[1].decode() if found else self.cookie, token[1].decode()
        return status == 200

    async def post(self, path: str, value: object) -> tuple[int, dict]:
        status, content = await self.fetch(path, "POST", json.dumps(value).encode())
        return status, answer(content)

    async def listen(self, until: asyncio.Event) -> None:
        """The page's stream, opened again where it ends, as browsers do."""
        while not until.is_set():
            with contextlib.suppress(OSError):
                reader, writer = await self.connect()
                writer.write(f"{self.head('GET', '/api/events')}\r\n".encode())
                await self.hear(reader, until)
                writer.close()
            await asyncio.sleep(1)

    async def hear(self, reader: asyncio.StreamReader, until: asyncio.Event) -> None:
        ended = asyncio.ensure_future(until.wait())
        while not until.is_set():
            line = asyncio.ensure_future(reader.readline())
            await asyncio.wait((line, ended), return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                line.cancel()
                return
            if not line.result():
                self.seen.events["stream ended"] += 1
                return
            self.look_at(line.result())
            if line.result().startswith(b"event: "):
                self.seen.events[line.result()[7:].strip().decode()] += 1

    async def live(self, until: asyncio.Event, rng: random.Random) -> None:
        """Ask, send and train as a person does."""
        function = f"expression={quote(f'n1 n2 + {self.number}')}&mod={MODULUS}"
        table = "\n".join(
            ",".join(str((a * b + self.number) % MODULUS) for b in range(MODULUS)) for a in range(MODULUS)
        )
        turn = 0
        while not until.is_set():
            await asyncio.sleep(rng.uniform(0.5, 1.5) * SECONDS_BETWEEN)
            turn += 1
            if turn % 6 == 1:
                await self.fetch(f"/api/function?{function}")
            elif turn % 6 == 2:
                await self.fetch(f"/api/verdict?{function}&fraction=0.{10 + turn}")
            elif turn % 6 == 3:
                name = f"/api/tables?name=of-visitor-{self.number}.csv"
                status, content = await self.fetch(name, "POST", table.encode(), "application/octet-stream")
                self.table = answer(content).get("table", "") if status == 200 else self.table
            elif turn % 6 == 4:
                body = {"expression": f"n1 n2 + {self.number}", "mod": MODULUS, "settings": SETTINGS | {"seed": turn}}
                status, found = await self.post("/api/trainings", body)
                self.seen.events[f"training {'taken' if status == 202 else 'refused'}"] += 1
                self.run = found.get("run", self.run)
            elif turn % 6 == 5:
                status, content = await self.fetch("/api/runs")
                runs = [each["run"] for each in answer(content).get("runs", [])]
                self.seen.strange += [run for run in runs if f"{self.number}" not in run]
            elif self.table:
                await self.fetch(f"/api/verdict?table={self.table}")


def answer(content: bytes) -> dict:
    """The JSON of a reply."""
    with contextlib.suppress(ValueError, IndexError):
        found = json.loads(content.split(b"\r\n\r\n", 1)[1])
        return found if isinstance(found, dict) else {}
    return {}


# ---------------------------------------------------------------------------------------------- the hostile one


class Enemy:
    """Everything at once, from one address. `got` counts what must be zero."""

    def __init__(self, port: int, victims: list[Visitor], until: asyncio.Event, seconds: float) -> None:
        self.port, self.victims, self.until = port, victims, until
        self.last_third = time.monotonic() + seconds * 2 / 3
        self.seen, self.did = Seen(), Counter()
        self.got = Counter({"half requests held for 40 s": 0, "dribbled bodies held for 40 s": 0})
        self.rng = random.Random(7)

    def visitor(self) -> Visitor:
        return Visitor(self.port, HOSTILE, self.seen, number=-2)

    def elsewhere(self) -> str:
        """A header that says that a request came from somewhere else."""
        return f"X-Forwarded-For: {'.'.join(str(self.rng.randrange(1, 250)) for _ in range(4))}\r\n"

    async def attack(self) -> None:
        ways = [self.send_much, self.dribble, self.hold, self.climb, self.listen]
        ways += 3 * [self.hammer] + 4 * [self.guess] + 4 * [self.multiply]
        await asyncio.gather(*(self.again(way) for way in ways))

    async def again(self, way) -> None:
        me = self.visitor()
        while not self.until.is_set():
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                if me.cookie or await me.arrive():
                    await way(me)
            await asyncio.sleep(0.05)

    async def hammer(self, me: Visitor) -> None:
        """Verdicts that were never asked for, as fast as they are answered, each said to come from elsewhere."""
        a, b, c = (self.rng.randrange(1, 96) for _ in range(3))
        path = f"/api/verdict?expression={quote(f'{a}x^{b % 12 + 1} y + {c}x y^{a % 12 + 1}')}&mod=113"
        status, _ = await me.fetch(path, extra=self.elsewhere())
        self.did[f"hammered: {status}"] += 1

    async def send_much(self, me: Visitor) -> None:
        """Bodies that say or are too much, and files that might run something."""
        for path, length in (("/api/tables?name=a.csv", 10**10), ("/api/trainings", 10**9)):
            status, _ = await me.fetch(path, "POST", b"", extra=f"Content-Length: {length}\r\n")
            self.did[f"huge: {status}"] += 1
        for name in ("a.pt", "a.onnx", "..%2f..%2fa.pt"):
            status, _ = await me.fetch(f"/api/networks?name={name}", "POST", b"\x80\x02x", "application/octet-stream")
            self.did[f"pickle or graph: {status}"] += 1
            self.got["pickles or graphs taken"] += status == 200
        reader, writer = await me.connect()
        writer.write(f"{me.head('POST', '/api/networks?name=a.npy')}Transfer-Encoding: chunked\r\n\r\n".encode())
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 50 << 20 and not reader.at_eof() and not writer.is_closing():
                writer.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                await writer.drain()
                sent += 1 << 20
        self.did["endless bodies"] += 1
        self.got["endless bodies read to 50 MB"] += sent >= 50 << 20
        writer.close()
        await asyncio.sleep(2)

    async def hold(self, me: Visitor) -> None:
        """Three times as many connections as one may have, with half a request each; last, since then no other way is
        left to one who holds all that an address may have."""
        if time.monotonic() < self.last_third:
            await asyncio.sleep(1)
            return
        held = []
        for _ in range(3 * MOST_OF_ADDRESS):
            with contextlib.suppress(OSError):
                reader, writer = await me.connect()
                writer.write(b"GET /api/settings HTTP/1.1\r\nHost: ")
                held.append((reader, writer))
        await asyncio.sleep(1)
        left = sum(not reader.at_eof() and reader.exception() is None for reader, _ in held)
        self.did["connections tried"] += len(held)
        self.did["most connections held"] = max(self.did["most connections held"], left)
        began = time.perf_counter()
        while held and not self.until.is_set() and any(not r.at_eof() and r.exception() is None for r, _ in held):
            await asyncio.sleep(0.5)
            if time.perf_counter() - began > 40:
                self.got["half requests held for 40 s"] += 1
                break
        for _, writer in held:
            writer.close()

    async def dribble(self, me: Visitor) -> None:
        """A body that comes a byte a second."""
        reader, writer = await me.connect()
        writer.write(f"{me.head('POST', '/api/tables?name=a.csv')}Content-Length: 200000\r\n\r\n".encode())
        began = time.perf_counter()
        with contextlib.suppress(ConnectionError):
            while not self.until.is_set() and not reader.at_eof() and not writer.is_closing():
                writer.write(b"1")
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 1)
                    break
                if time.perf_counter() - began > 40:
                    self.got["dribbled bodies held for 40 s"] += 1
                    break
        self.did["dribbled bodies"] += 1
        writer.close()

    async def guess(self, me: Visitor) -> None:
        """Names of runs and tables that others have, which are known by how they are made, and forged cookies."""
        victim = self.rng.choice(self.victims)
        run, table = victim.run or "none", victim.table or "none"
        for path in ("run", "run/film", "inspection", "download", "network"):
            await self.tries(me, f"/api/{path}?run={quote(run)}")
        await self.tries(me, f"/api/compared?compared={quote(run)}%0A{quote(victim.run)}-")
        for path in ("function", "verdict", "network"):
            await self.tries(me, f"/api/{path}?table={table}")
        for path, body in (("trainings/stop", {"run": run}), ("trainings/resume", {"run": run, "steps": 5000})):
            status, _ = await me.post(f"/api/{path}", body)
            self.got["runs of others stopped or gone on with"] += status in (200, 202)
        name, _, signature = victim.cookie.partition(".")
        for forged in (name, f"{name}.{'0' * 64}", f"{name}.{signature[::-1]}", victim.cookie.swapcase()):
            thief = Visitor(self.port, HOSTILE, self.seen, cookie=forged, token=me.token)
            await self.tries(thief, "/api/runs")
        status, _ = await Visitor(self.port, HOSTILE, self.seen, cookie=me.cookie, token=victim.token).post(
            "/api/trainings", {"expression": "n1", "mod": 5}
        )
        self.got["changes with another's token"] += status in (200, 202)

    async def tries(self, me: Visitor, path: str) -> None:
        status, _ = await me.fetch(path)
        self.did["guesses"] += 1
        self.got["guesses that were right"] += status == 200

    async def climb(self, me: Visitor) -> None:
        """Out of the folders that are served."""
        up = ("../", "..%2f", "%2e%2e/", "..%5c", "....//", "%252e%252e%252f")
        for path in [f"/page/{each * 8}etc/passwd" for each in up] + ["/page//etc/passwd", "/etc/passwd", "/report/"]:
            status, content = await me.fetch(path)
            self.did["climbs"] += 1
            self.got["files outside"] += status == 200 or b"root:" in content
        for each in ("../" * 8 + "etc", "/etc", ".", "..", "nothing", "../visitor-", "%2e%2e"):
            await self.tries(me, f"/api/run?run={quote(each)}")

    async def multiply(self, me: Visitor) -> None:
        """Many visitors, each with a training and a table."""
        other = self.visitor()
        if not await other.arrive():
            return
        self.did["visitors made"] += 1
        settings = {"steps": 5000, "width": 512, "seed": self.rng.randrange(9**9)}
        status, _ = await other.post("/api/trainings", {"expression": "n1 n2", "mod": 97, "settings": settings})
        self.did[f"training: {status}"] += 1
        await other.fetch("/api/tables?name=a.csv", "POST", b"0,1\n1,0", "application/octet-stream")

    async def listen(self, me: Visitor) -> None:
        """As many streams as one gets."""
        streams = []
        for _ in range(3 * VISITOR.at_once["streams"]):
            reader, writer = await me.connect()
            writer.write(f"{me.head('GET', '/api/events')}\r\n".encode())
            streams.append((reader, writer))
        first = await asyncio.gather(*(asyncio.wait_for(r.read(12), 5) for r, _ in streams), return_exceptions=True)
        taken = sum(each == b"HTTP/1.1 200" for each in first)
        self.did["most streams of one visitor"] = max(self.did["most streams of one visitor"], taken)
        for _, writer in streams:
            writer.close()
        await asyncio.sleep(3)


# ---------------------------------------------------------------------------------------------- the measurement


class Watch:
    """Memory, files and disk of the server over time."""

    def __init__(self, explorer: Explorer, temporary: Path) -> None:
        self.explorer, self.temporary = explorer, temporary
        self.megabytes: dict[str, list[float]] = {"server": [], "answers": [], "trains": []}
        self.disk: list[float] = []
        self.open_files: list[int] = []
        self.children: set[int] = set(explorer.children())

    def look(self) -> None:
        children = self.explorer.children()
        self.children |= set(children)
        pids = [self.explorer.process.pid, *children][:3]
        for name, pid in zip(self.megabytes, pids, strict=False):
            with contextlib.suppress(OSError, TypeError):
                self.megabytes[name].append(round(memory(pid), 1))
        self.disk.append(round(newest_and_size(self.temporary)[1] / 2**20, 2))
        self.open_files.append(len(os.listdir(f"/proc/{self.explorer.process.pid}/fd")))

    async def always(self, until: asyncio.Event) -> None:
        while not until.is_set():
            self.look()
            await asyncio.sleep(EVERY_SECONDS)

    def to_json(self) -> dict:
        return {
            f"megabytes_every_{EVERY_SECONDS:g}_seconds": self.megabytes,
            f"megabytes_of_files_every_{EVERY_SECONDS:g}_seconds": self.disk,
            "most_open_files_of_the_server": max(self.open_files),
            "children_replaced": len(self.children) - 2,
        }


async def phase(visitors: list[Visitor], seconds: float, enemy: Enemy | None, until: asyncio.Event) -> Seen:
    """The visitors for so long, with or without the enemy; what they saw."""
    seen = Seen()
    for visitor in visitors:
        visitor.seen = seen
    rng = random.Random(len(visitors))
    tasks = [
        asyncio.ensure_future(each(visitor))
        for visitor in visitors
        for each in (lambda one: one.listen(until), lambda one: one.live(until, random.Random(rng.random())))
    ]
    if enemy is not None:
        tasks.append(asyncio.ensure_future(enemy.attack()))
    await asyncio.sleep(seconds)
    until.set()
    await asyncio.gather(*tasks)
    return seen


async def load(explorer: Explorer, temporary: Path, count: int, seconds: float) -> dict:
    visitors = [Visitor(explorer.port, f"127.1.0.{k + 1}", Seen(), k + 100) for k in range(count)]
    for visitor in visitors:
        assert await visitor.arrive()
        await visitor.fetch("/api/settings")
    watch, over = Watch(explorer, temporary), asyncio.Event()
    watching = asyncio.ensure_future(watch.always(over))
    alone = await phase(visitors, seconds, None, asyncio.Event())
    attacked = asyncio.Event()
    enemy = Enemy(explorer.port, visitors, attacked, seconds)
    beside = await phase(visitors, seconds, enemy, attacked)
    await asyncio.sleep(5)
    over.set()
    await watching
    health, _ = await visitors[0].fetch("/healthz")
    return {
        "visitors": count,
        "seconds_each": seconds,
        "alone": alone.to_json(),
        "beside_the_hostile_one": beside.to_json(),
        "hostile": {
            "requests": len(enemy.seen.took),
            "statuses": {str(name): n for name, n in sorted(enemy.seen.statuses.items())},
            "did": dict(sorted(enemy.did.items())),
            "must_be_zero": dict(sorted(enemy.got.items())),
            "of_others_seen": len(enemy.seen.strange),
        },
        "limits": {
            "megabytes_of_a_child_at_rest": PUBLIC.memory >> 20,
            "megabytes_of_files": MOST_OF_ALL >> 20,
            "connections_of_an_address": MOST_OF_ADDRESS,
            "streams_of_a_visitor": VISITOR.at_once["streams"],
            "jobs_in_the_queue_of_an_address": ADDRESS.at_once["jobs"],
            "trainings_an_hour_of_an_address": ADDRESS.jobs_an_hour,
        },
        **watch.to_json(),
        "healthy_at_the_end": health == 200,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90, help="of each of the two parts")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        temporary = Path(folder) / "temporary"
        temporary.mkdir()
        os.environ["TMPDIR"] = str(temporary)
        with Explorer(folder, "--public") as explorer:
            found = asyncio.run(load(explorer, temporary, args.visitors, args.seconds))
        found["files_left_at_the_end"] = len(list(temporary.rglob("*")))
    print(json.dumps(found, indent=2))
    if args.out:
        write_found(__file__, args.out, found, args)


if __name__ == "__main__":
    main()
