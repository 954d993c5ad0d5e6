"""The routes: each takes what a page sends, asks a child or adds a job, and passes on what comes back.

Nothing is computed here. `docs/explorer.md` lists the routes with what they take and give.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from modgrok.algebra.table_files import SUFFIXES, SUFFIXES_TEXT
from modgrok.base.errors import InputError
from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.guard import COOKIE, App, Guard, Receive, Refused, Scope, Send
from modgrok.explorer.jobs import QueueFull
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.words import ADDRESSES, VIEWS, needed, words_of
from modgrok.explorer.workers import Reply, WorkerDied

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PAGE = Path(__file__).parent / "page"
PLACE = '<meta name="modgrok-{}" content="{}">'
"""Where the page has what it is told: its token, and the views."""
STATUS = {"answer": 200, "refusal": 400, "failure": 500}
FILE_TYPES = {".png": "image/png", ".onnx": "application/octet-stream", ".safetensors": "application/octet-stream"}
MOST_STREAMS = 100
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
"""The report is one file with its style and pictures inside, and no script."""


def build_app(laboratory: Laboratory, *, token: str, port: int, open_to_others: bool) -> Guard:
    """The whole application, behind its guard."""
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await laboratory.open()
        yield
        await laboratory.close()

    routes = Routes(laboratory, token, open_to_others)
    gets = {"/": routes.page, "/report/": routes.report, "/api/runs": routes.runs, "/api/events": routes.events}
    posts = {
        "/api/trainings": routes.train,
        "/api/trainings/resume": routes.resume,
        "/api/trainings/stop": routes.stop,
        "/api/probe": routes.probe,
        "/api/paper": routes.reproduce,
        "/api/jobs/cancel": routes.cancel,
        "/api/tables": routes.upload,
    }
    app = Starlette(
        routes=[
            *(Route(path, routes.question(name)) for path, name in ADDRESSES.items()),
            *(Route(path, handler) for path, handler in gets.items()),
            *(Route(path, handler, methods=["POST"]) for path, handler in posts.items()),
            Mount("/page", StaticFiles(directory=PAGE)),
        ],
        lifespan=lifespan,
        exception_handlers={
            InputError: lambda request, error: refusal(400, str(error)),
            Refused: lambda request, error: refusal(error.status, error.reason),
            ClientDisconnect: lambda request, error: refusal(499, "the page went away before it had sent all"),
            QueueFull: lambda request, error: refusal(429, str(error)),
            WorkerDied: lambda request, error: refusal(503, str(error)),
            Exception: lambda request, error: refusal(500, f"modgrok failed here ({type(error).__name__}: {error})"),
            404: lambda request, error: refusal(404, f"there is nothing at {request.scope['path'][:200]!r}"),
            405: lambda request, error: refusal(405, f"{request.method} is not for {request.scope['path'][:200]!r}"),
        },
    )
    return Guard(app, token=token, port=port, open_to_others=open_to_others)


def refusal(status: int, text: str) -> Response:
    return in_json({"error": text, "position": None}, status)


def in_json(value: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(json_bytes(value), status, media_type="application/json")


def passed_on(reply: Reply, status: int | None = None) -> Response:
    """A child's reply as it is: JSON, a picture, or a file to keep."""
    from starlette.responses import Response

    code = STATUS[reply.kind] if status is None else status
    if reply.file is None:
        return Response(reply.payload, code, media_type="application/json")
    kind = FILE_TYPES[Path(reply.file).suffix]
    headers = {} if kind == "image/png" else {"Content-Disposition": f'attachment; filename="{reply.file}"'}
    return Response(reply.payload, code, headers, media_type=kind)


async def body_of(request: Request, ask: str) -> dict[str, Any]:
    """The words in the JSON object that a page sends."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refused(400, "send JSON, with the content type application/json")
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"that is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused(400, "send a JSON object")
    return words_of(ask, found)


class Routes:
    """The handlers, with what they share."""

    def __init__(self, laboratory: Laboratory, token: str, open_to_others: bool) -> None:
        self.laboratory, self.token, self.open = laboratory, token, open_to_others
        self.streams = 0

    # -------------------------------------------------------------------------------------- pages

    async def page(self, request: Request) -> Response:
        """The page with the token in it; where others may come, the address's token becomes a cookie."""
        from starlette.responses import HTMLResponse

        text = (PAGE / "index.html").read_text(encoding="utf-8")
        views = {name: view._asdict() for name, view in VIEWS.items()}
        for name, told in {"token": self.token, "views": escape(json_bytes(views).decode())}.items():
            text = text.replace(PLACE.format(name, ""), PLACE.format(name, told))
        response = HTMLResponse(text)
        if self.open:
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return response

    async def report(self, request: Request) -> Response:
        from starlette.responses import FileResponse

        path = Path(self.laboratory.places["report"]) / "report.html"
        if not path.exists():
            return refusal(404, "there is no report yet; compute it on the page, in the view Paper")
        return FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY})

    async def events(self, request: Request) -> App:
        from starlette.responses import StreamingResponse

        if self.streams >= MOST_STREAMS:
            raise Refused(429, f"{MOST_STREAMS} pages listen already; close one of them")
        hello = {"queue": self.laboratory.jobs.listed()}
        stream = self.laboratory.events.stream(request.headers.get("last-event-id"), hello)

        async def listening(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await StreamingResponse(stream, media_type="text/event-stream")(scope, receive, send)
            finally:
                self.streams -= 1

        self.streams += 1  # nothing was awaited since they were counted, so nobody else got this place
        return listening

    # -------------------------------------------------------------------------------------- questions

    def question(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def handler(request: Request) -> Response:
            words = words_of(name, request.query_params)
            return passed_on(await while_wanted(request, self.laboratory.ask(name, words)))

        return handler

    async def runs(self, request: Request) -> Response:
        """The runs in the folder, and those that wait for their turn, which have no folder yet."""
        reply, found = await self.laboratory.found("runs", words_of("runs", request.query_params))
        if reply.kind != "answer":
            return passed_on(reply)
        jobs = {job.run: job for job in self.laboratory.jobs.jobs if job.run is not None}
        for run in found["runs"]:
            if run["run"] in jobs:
                run["state"] = jobs[run["run"]].state
        return in_json({**found, "queue": self.laboratory.jobs.listed()})

    # -------------------------------------------------------------------------------------- long work

    async def train(self, request: Request) -> Response:
        return await self.begin("training_plan", await body_of(request, "train"))

    async def resume(self, request: Request) -> Response:
        words = await body_of(request, "resume")
        needed(words, "run")
        return await self.begin("resume_plan", words | {"resume": True})

    async def begin(self, plan: str, params: dict[str, Any]) -> Response:
        """Check a training, and put it into the queue unless it is there or was finished before."""
        reply, found = await self.laboratory.found(plan, params)
        if reply.kind != "answer":
            return passed_on(reply)
        job = self.laboratory.jobs.of_run(found["run"])
        if job is None and found["finished"]:
            return in_json({"run": found["run"], "job": None, "state": "finished"})
        if job is None and found["running"]:
            raise Refused(409, f"another process trains {found['run']}; wait for it, or stop it there")
        if job is None:
            asked = params | {"run": found["run"]}
            job = self.laboratory.add("training", "training", found["title"], asked, run=found["run"])
        return in_json({"run": job.run, "job": job.job, "state": job.state}, 202)

    async def stop(self, request: Request) -> Response:
        run = needed(await body_of(request, "stop"), "run")
        job = self.laboratory.jobs.of_run(run)
        if job is None:
            raise Refused(409, "this run is not trained here; one that another process trains is stopped there")
        return in_json({"run": run, "state": self.laboratory.jobs.stop(job)})

    async def cancel(self, request: Request) -> Response:
        job = self.laboratory.jobs.named(needed(await body_of(request, "cancel"), "job"))
        if job is None:
            raise Refused(409, "there is no such job any more")
        return in_json({"job": job.job, "state": self.laboratory.jobs.stop(job)})

    async def probe(self, request: Request) -> Response:
        words = await body_of(request, "probe")
        reply, found = await self.laboratory.found("function", {k: v for k, v in words.items() if k != "fraction"})
        if reply.kind != "answer":
            return passed_on(reply)
        job = self.laboratory.add("probe", "probe", f"probe of {found['title']}", words)
        return in_json({"job": job.job}, 202)

    async def reproduce(self, request: Request) -> Response:
        words = await body_of(request, "reproduce")
        item, size = needed(words, "item"), words.get("size", "quick")
        if size not in ("quick", "standard"):
            raise Refused(400, "size must be quick or standard")
        if item != "all":
            reply, _ = await self.laboratory.found("known_item", {"item": item})
            if reply.kind != "answer":
                return passed_on(reply)
        job = self.laboratory.add("paper", "reproduction", f"paper {item}", {"item": item, "size": size}, item=item)
        return in_json({"job": job.job}, 202)

    async def upload(self, request: Request) -> Response:
        """A table: its bytes go to a file of the name that it was sent with, which a child reads and checks."""
        name = file_name(needed(words_of("upload", request.query_params), "name"))
        content = await request.body()  # all of it, before anything is made that would be left behind
        with TemporaryDirectory(prefix="incoming-", dir=self.laboratory.tables) as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            return passed_on(await self.laboratory.ask("table", {"file": str(path)}))


def file_name(given: str) -> str:
    """A name that any file may have, close to the one that a table was sent with."""
    sent = Path(given.replace("\\", "/"))
    if sent.suffix.lower() not in SUFFIXES:
        raise InputError(f"a table is a {SUFFIXES_TEXT} file, got {sent.name!r}; save it as one of them")
    stem = "".join(c if c.isalnum() or c in "-_ ()" else "_" for c in sent.stem)[:60].strip()
    return f"{stem or 'table'}{sent.suffix.lower()}"


async def while_wanted(request: Request, asked: Awaitable[Reply]) -> Reply:
    """The reply, unless the page goes away before: then nobody waits for it, and it may never be begun."""
    answer = asyncio.ensure_future(asked)
    gone = asyncio.ensure_future(departure(request))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise Refused(499, "the page no longer waits for this")
        return answer.result()
    finally:
        answer.cancel()
        gone.cancel()


async def departure(request: Request) -> None:
    """Returns when the browser has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
