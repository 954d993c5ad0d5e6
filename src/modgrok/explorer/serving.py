"""The verb explore: bind a port, say the address, serve until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from modgrok.base.errors import InputError
from modgrok.base.interrupts import handled
from modgrok.base.results import Result
from modgrok.explorer.guard import LOOPBACK
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.public import PublicLaboratory
from modgrok.explorer.server import build_app

MOST_CONNECTIONS, MOST_OF_ADDRESS = 500, 40
"""Of a public explorer, in all and from one address: a process may have 1,024 files open."""

Silence: TypeAlias = set[tuple[Any, Any]]
"""Connections of uvicorn that ask nothing, and their last requests."""


def silent(connections: Iterable[Any]) -> Silence:
    """Those that ask nothing now, each with the last request that it made, so that one who asks is told apart."""
    return {(each, each.cycle) for each in connections if each.cycle is None or each.cycle.response_complete}


def counted(proxies: int) -> type:
    """uvicorn's protocol, which hangs up on whoever has too many connections; behind a proxy all are the proxy's."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Counted(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        """One connection."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            mine = self.client and self.client[0]
            neighbours = sum(bool(each.client) and each.client[0] == mine for each in self.connections)
            if len(self.connections) > MOST_CONNECTIONS or (not proxies and neighbours > MOST_OF_ADDRESS):
                transport.abort()

    return Counted


HERE = "127.0.0.1"
PORT, PORTS_TRIED = 8765, 20
"""The usual port; where it is taken and none was asked for, the next free one."""
SECONDS_TO_CLOSE = 3
"""How long answers that are on their way may take at the end."""
SECONDS_TO_ASK = 10
"""After so long, or twice that, a connection that has not sent a whole request is closed."""
SECONDS_OF_GRACE = 2
"""How long after a second Ctrl-C a training may still save itself."""
YEAR = 31_536_000
MISSING = "the explorer needs Starlette and uvicorn; install them with: pip install starlette uvicorn"
RUNS, REPORT = "runs", "report"
MOST_PROXIES = 10


@dataclass(frozen=True, repr=False)
class Explored(Result):
    """An explorer that was served: where, with the runs of which folder (None for a public one), and for how long."""

    address: str
    folder: Path | None
    seconds: float

    def summary(self) -> str:
        what = "as a public demo" if self.folder is None else f"with the runs in {self.folder}"
        return f"{self.address} was served for {self.seconds:.0f} s, {what}"


def explore(
    *,
    port: int | None = None,
    host: str = HERE,
    runs: str | Path = RUNS,
    report: str | Path | None = None,
    census: str | Path | None = None,
    seconds: float | None = None,
    public: bool = False,
    behind_proxy: int = 0,
    on_ready: Callable[[str], None] | None = None,
) -> Explored:
    """Serve the explorer until Ctrl-C: the whole laboratory in a browser.

    Args:
        port: where to listen; by default 8765, or the next one that is free; 0 is any.
        host: the address to listen at. Another than this machine's own lets others in, if they have the token.
        runs: the folder of the runs that are shown and made.
        report: the folder of the paper's report; by default `report` in the folder of the runs where there is one, else
            `report`.
        census: the folder of a census to show, instead of the sample that comes with the package.
        seconds: how long to serve; until Ctrl-C if not given.
        public: serve strangers: small limits, nobody sees what others do, nothing is kept, no folder is shown.
        behind_proxy: how many proxies stand before a public explorer, whose X-Forwarded-For is trusted.
        on_ready: called with the address as soon as it can be opened.

    Returns:
        An `Explored`, once it is over.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise InputError(MISSING) from None
    if seconds is not None and not 0 < seconds <= YEAR:
        raise InputError(
            f"seconds must be above 0 and at most {YEAR:,} (a year), got {seconds:g}; without it, Ctrl-C ends it"
        )
    if not host.strip():
        raise InputError(f"host must be an address of this machine, got {host!r}; {HERE} is the usual one")
    if census is not None and not Path(census).is_dir():
        raise InputError(f"there is no folder {census}; give that of a census: modgrok census PLAN --out DIR makes one")
    check_public(public, behind_proxy, folders=(str(runs), report, census) != (RUNS, None, None))
    listening = bound(host, port)
    chosen, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    open_to_others = host not in (*LOOPBACK, "::1")
    if public:
        laboratory: Laboratory = PublicLaboratory()
    else:
        shown_census, shown_report = None if census is None else Path(census), report_folder(report, Path(runs))
        laboratory = Laboratory(runs=Path(runs), report=shown_report, census=shown_census, token=token)
    app = build_app(laboratory, port=chosen, open_to_others=open_to_others, proxies=behind_proxy)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{chosen}/" + (f"?token={token}" if open_to_others and not public else "")
    started = time.perf_counter()

    class Server(uvicorn.Server):
        """Says when it is ready, and ends its streams itself; signals are held by `signals_held`."""

        loop: asyncio.AbstractEventLoop | None = None

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

        def end(self) -> None:
            """Ends it; who asks again does not wait long for a training to save itself."""
            if self.should_exit and self.loop is not None:
                self.loop.call_soon_threadsafe(self.loop.call_later, SECONDS_OF_GRACE, laboratory.end_at_once)
            self.should_exit = True

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            self.loop = asyncio.get_running_loop()
            self.loop.call_later(SECONDS_TO_ASK, self.sweep, set())
            await super().startup(sockets)
            if on_ready is not None and not self.should_exit:
                on_ready(address)
            if seconds is not None:
                self.loop.call_later(seconds, self.end)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            laboratory.refuse_all()
            asyncio.get_running_loop().call_later(SECONDS_TO_CLOSE / 2, self.hang_up)
            await super().shutdown(sockets)

        def sweep(self, before: Silence) -> None:
            """Hang up on who was silent at the last sweep and still is: uvicorn waits for ever for half a request."""
            now = silent(self.server_state.connections)
            for connection, _ in now & before:
                connection.transport.abort()
            asyncio.get_running_loop().call_later(SECONDS_TO_ASK, self.sweep, now)

        def hang_up(self) -> None:
            """Pages that do not read what they are sent would be waited for."""
            for connection in list(self.server_state.connections):
                connection.transport.abort()

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whom they speak for is decided in `public`
        http=counted(behind_proxy) if public else "auto",
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_CLOSE,
    )
    server = Server(config)
    with closing(listening), signals_held(server.end):
        server.run(sockets=[listening])
    return Explored(address, None if public else Path(runs), time.perf_counter() - started)


def report_folder(given: str | Path | None, runs: Path) -> Path:
    """Where the report is: `make demo` puts it beside its runs, `modgrok paper all` into the folder it is called in."""
    if given is not None:
        return Path(given)
    return beside if (beside := runs / REPORT).is_dir() else Path(REPORT)


def check_public(public: bool, proxies: int, *, folders: bool) -> None:
    """What goes together with `public` and what does not; `folders` is whether some were named."""
    if proxies and not public:
        raise InputError(f"behind_proxy goes with public, got {proxies} without it; add --public, or leave it out")
    if not 0 <= proxies <= MOST_PROXIES:
        raise InputError(f"behind_proxy is how many proxies are trusted, 0 to {MOST_PROXIES}, got {proxies}; give 1")
    if public and folders:
        raise InputError("a public explorer shows no folder of this machine; leave --runs, --report and --census out")


@contextmanager
def signals_held(end: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `end`, however often they come, and interrupt nothing that ends then.

    SIGTERM comes again when all is over, for those who want to know how the process ended.
    """
    if threading.current_thread() is not threading.main_thread():  # there no signal can be held
        yield
        return
    terminated = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = terminated or number == signal.SIGTERM
        end()

    with handled((signal.SIGINT, signal.SIGTERM), handle):
        yield
    if terminated:
        signal.raise_signal(signal.SIGTERM)


def address_option() -> int:
    """A port that was just given up can be taken again; on Windows that option takes ports that are in use, too."""
    return int(getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR))


def bound(host: str, port: int | None) -> socket.socket:
    """A socket at the port; without one, at the usual port or the next that is free."""
    if port is not None and not 0 <= port < 1 << 16:
        raise InputError(f"a port is a number from 0 to 65535, got {port}; give 8765, for example")
    tried = [port] if port is not None else range(PORT, PORT + PORTS_TRIED)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason = ""
    for number in tried:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, address_option(), 1)
        try:
            listening.bind((host.strip("[]"), number))
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
    raise InputError(f"cannot listen at {host}, port {tried[-1]}: {reason}; give another with --port, or --port 0")
