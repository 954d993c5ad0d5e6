"""The explorer under load: fifty pages that listen and two hundred requests a second for a minute, while it trains.

    python benchmarks/explorer_load.py [--seconds 60] [--out benchmarks/results/explorer-load.json]

starts `modgrok explore` in a temporary folder, opens the streams, begins a training, and asks in turn for the page and
its files, a function, a verdict, a network, the runs. It reports requests, errors, how long answers took, the events
that each stream got, and the memory of the server's process and of its two children every ten seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from explorer_client import Explorer
from writing import write_found

PATHS = (
    "/",
    "/page/main.js",
    "/api/function?expression=n1+n2&mod=97",
    "/api/verdict?expression=(2n1%2B3n2)%5E4&mod=97",
    "/api/network?expression=n1+n2&mod=97&frequencies=minimal",
    "/api/settings",
    "/api/flow?expression=n1+n2&mod=97&frequencies=minimal&n=12,34",
    "/api/function?expression=n1^n2&mod=97",
)
"""What is asked in turn; the last is an expression that is refused with status 400."""
EVERY_SECONDS = 10
"""Between two looks at the memory."""
EVERY_RUNS = 200
"""One request in so many asks for the list of runs, which is read from the disk each time."""


async def fetch(port: int, path: str, method: str = "GET", token: str = "", body: bytes = b"") -> tuple[int, bytes]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    if method == "POST":
        head += f"Content-Type: application/json\r\nX-Modgrok-Token: {token}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}\r\n".encode() + body)
    content = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(content.split(b" ", 2)[1]), content


async def listen(port: int, seen: Counter[str], until: asyncio.Event) -> None:
    """One page's stream of events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    ended = asyncio.ensure_future(until.wait())
    while not until.is_set():
        line = asyncio.ensure_future(reader.readline())
        await asyncio.wait((line, ended), return_when=asyncio.FIRST_COMPLETED)
        if line.done():
            if not line.result():
                seen["broken"] += 1
                break
            if line.result().startswith(b"event: "):
                seen[line.result()[7:].strip().decode()] += 1
        else:
            line.cancel()
    writer.close()


def memory(pid: int) -> float:
    """Resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


async def load(explorer: Explorer, seconds: float, streams: int, rate: int) -> dict:
    port = explorer.port
    explorer.page()
    for path in (*PATHS, "/api/runs"):  # what is asked for the first time is imported and compiled
        await fetch(port, path)
    until, seen = asyncio.Event(), [Counter() for _ in range(streams)]
    pages = [asyncio.ensure_future(listen(port, each, until)) for each in seen]
    body = {"expression": "n1 n2", "mod": 31, "settings": {"width": 64, "steps": 200_000}}
    status, _ = await fetch(port, "/api/trainings", "POST", explorer.token, json.dumps(body).encode())
    assert status == 202
    await asyncio.sleep(10)
    workers = explorer.children()
    watched = {"server": explorer.process.pid, "answers": workers[0], "trains": workers[1]}
    megabytes: dict[str, list[float]] = {name: [] for name in watched}
    took: list[float] = []
    statuses: Counter[int | str] = Counter()

    async def one(k: int) -> None:
        path = "/api/runs" if k % EVERY_RUNS == 0 else PATHS[k % len(PATHS)]
        began = time.perf_counter()
        try:
            status, _ = await fetch(port, path)
            expected = 400 if path == PATHS[-1] else 200
            statuses[status if status != expected else "as expected"] += 1
        except OSError as error:
            statuses[type(error).__name__] += 1
        took.append(time.perf_counter() - began)

    events_before = [each["point"] for each in seen]
    began, tasks = time.perf_counter(), set()
    for k in range(round(seconds * rate)):
        if k % round(rate * EVERY_SECONDS) == 0:
            for name, pid in watched.items():
                megabytes[name].append(round(memory(pid), 1))
        await asyncio.sleep(max(0.0, began + k / rate - time.perf_counter()))
        task = asyncio.ensure_future(one(k))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    passed = time.perf_counter() - began
    points = [each["point"] - first for each, first in zip(seen, events_before, strict=True)]
    for name, pid in watched.items():
        megabytes[name].append(round(memory(pid), 1))
    until.set()
    await asyncio.gather(*pages)
    quantiles = np.quantile(took, [0.5, 0.95, 0.99, 1.0]) * 1000
    return {
        "seconds": round(passed, 1),
        "streams": streams,
        "streams_broken": sum(each["broken"] for each in seen),
        "points_each_stream_per_second": [round(min(points) / passed, 1), round(max(points) / passed, 1)],
        "requests": len(took),
        "requests_per_second": round(len(took) / passed, 1),
        "errors": {str(name): count for name, count in statuses.items() if name != "as expected"},
        "milliseconds": dict(zip(("median", "p95", "p99", "worst"), quantiles.round(1).tolist(), strict=True)),
        f"megabytes_every_{EVERY_SECONDS}_seconds": megabytes,
        "children_replaced": explorer.children() != workers,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--rate", type=int, default=200, help="requests per second")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with TemporaryDirectory() as folder, Explorer(folder) as explorer:
        found = asyncio.run(load(explorer, args.seconds, args.streams, args.rate))
    print(json.dumps(found, indent=2))
    if args.out:
        write_found(__file__, args.out, found, args)


if __name__ == "__main__":
    main()
