"""The routes: each takes what a page sends, asks a child or adds a job, and passes on what comes back.

Nothing is computed here. `docs/explorer.md` lists the routes with what they take and give.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from modgrok.base.errors import InputError
from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.guard import COOKIE, HEALTH, App, Guard, Message, Receive, Refused, Scope, Send
from modgrok.explorer.jobs import QueueFull
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.public import PublicGuard, PublicLaboratory, told
from modgrok.explorer.rates import TooMuch, held
from modgrok.explorer.visitors import Guest
from modgrok.explorer.words import ADDRESSES, VIEWS, needed, words_of
from modgrok.explorer.workers import Reply, WorkerDied

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PAGE = Path(__file__).parent / "page"
PLACE = '<meta name="modgrok-{}" content="{}">'
"""Where the page has what it is told: its token, the views, and that it is a public demo."""
STATUS = {"answer": 200, "refusal": 400, "failure": 500}
FILE_TYPES = {
    ".png": "image/png",
    ".html": "text/html",
    ".onnx": "application/octet-stream",
    ".safetensors": "application/octet-stream",
}
IN_WORDS = (b"x-modgrok-refusals", b"answers")
"""The header of a page that wants refusals as answers: objects with an `error`."""
KEEPING = ("census_table",)
"""Questions that put something among what a visitor has sent."""
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
"""The report is one file with its style and pictures inside, and no script."""


def build_app(laboratory: Laboratory, *, port: int, open_to_others: bool, proxies: int = 0) -> Guard:
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

    public = isinstance(laboratory, PublicLaboratory)
    routes = Routes(laboratory, token_as_cookie=open_to_others and not public)
    gets = {
        "/": routes.page,
        HEALTH: routes.health,
        "/report/": routes.report,
        "/api/runs": routes.runs,
        "/api/events": routes.events,
    }
    posts = {
        "/api/trainings": routes.train,
        "/api/trainings/recipe": routes.say,
        "/api/trainings/resume": routes.resume,
        "/api/trainings/stop": routes.stop,
        "/api/probe": routes.probe,
        "/api/paper": routes.reproduce,
        "/api/jobs/cancel": routes.cancel,
        "/api/tables": routes.upload,
        "/api/networks": routes.drop,
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
            TooMuch: lambda request, error: refusal(429, error.reason, error.seconds),
            WorkerDied: lambda request, error: refusal(503, str(error)),
            Exception: lambda request, error: refusal(500, failed(error, public)),
            404: lambda request, error: refusal(404, f"there is nothing at {request.scope['path'][:200]!r}"),
            405: lambda request, error: refusal(405, f"{request.method} is not for {request.scope['path'][:200]!r}"),
        },
    )
    telling = told_in_words(app)
    if isinstance(laboratory, PublicLaboratory):
        return PublicGuard(telling, laboratory.registry, proxies=proxies)
    return Guard(telling, token=laboratory.everyone.token, port=port, open_to_others=open_to_others)


def told_in_words(app: App) -> App:
    """For pages that ask for it, refusals are answers like others.

    A browser writes every reply of status 400 into its console as a failure of the page. Half an expression, as it is
    being typed, is none: the page asked how it reads, and shows what it is told.
    """

    async def telling(scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message.get("status") == 400:
                message["status"] = 200
            await send(message)

        await app(scope, receive, told if IN_WORDS in scope.get("headers", ()) else send)

    return telling


def failed(error: Exception, public: bool) -> str:
    """That something went wrong; strangers are not told what."""
    return "modgrok failed here" + ("" if public else f" ({type(error).__name__}: {error})")


def refusal(status: int, text: str, seconds: int | None = None) -> Response:
    headers = None if seconds is None else {"Retry-After": str(seconds)}
    return in_json({"error": text, "position": None}, status, headers)


def in_json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(json_bytes(value), status, headers, media_type="application/json")


def passed_on(reply: Reply) -> Response:
    """A child's reply as it is: JSON, a picture, or a file to keep."""
    from starlette.responses import Response

    code = STATUS[reply.kind]
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

    def __init__(self, laboratory: Laboratory, *, token_as_cookie: bool) -> None:
        self.laboratory, self.token_as_cookie = laboratory, token_as_cookie
        self.public = told() if isinstance(laboratory, PublicLaboratory) else ""
        self.streams = 0

    def guest(self, request: Request) -> Guest:
        """Who asks: whom the guard of a public explorer has let in, or the one there is."""
        found: Guest | None = request.scope.get("guest")
        return found or Guest(self.laboratory.everyone)

    # -------------------------------------------------------------------------------------- pages

    async def page(self, request: Request) -> Response:
        """The page with the token in it; where others may come, the address's token becomes a cookie."""
        from starlette.responses import HTMLResponse

        text = (PAGE / "index.html").read_text(encoding="utf-8")
        views, token = {name: view._asdict() for name, view in VIEWS.items()}, self.guest(request).visitor.token
        for name, said in {"token": token, "views": json_bytes(views).decode(), "public": self.public}.items():
            text = text.replace(PLACE.format(name, ""), PLACE.format(name, escape(said)))
        response = HTMLResponse(text)
        if self.token_as_cookie:
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return response

    async def health(self, request: Request) -> Response:
        """Whether it answers, and has not begun to end."""
        healthy = not self.laboratory.answerer.closing
        return in_json({"healthy": healthy}, 200 if healthy else 503)

    async def report(self, request: Request) -> Response:
        from starlette.responses import FileResponse

        path = Path(self.guest(request).visitor.places["report"]) / "report.html"
        if not path.exists():
            return refusal(404, "there is no report yet; compute it on the page, in the view Paper")
        return FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY})

    async def events(self, request: Request) -> App:
        from starlette.responses import StreamingResponse

        guest, most = self.guest(request), self.laboratory.limits.streams
        if self.streams >= most:
            raise Refused(429, f"{most} pages listen already; close one of them")
        places = ExitStack()
        places.enter_context(held(guest.accounts, "streams"))
        places.enter_context(self.listening(guest))
        hello = {"queue": self.laboratory.jobs.listed(guest.visitor)}
        stream = guest.visitor.events.stream(request.headers.get("last-event-id"), hello)

        async def listening(scope: Scope, receive: Receive, send: Send) -> None:
            with places:
                headers = {"X-Accel-Buffering": "no"}  # proxies pass on what happens when it happens
                await StreamingResponse(stream, 200, headers, "text/event-stream")(scope, receive, send)

        return listening

    @contextmanager
    def listening(self, guest: Guest) -> Iterator[None]:
        """One page more that listens; nothing is awaited between the count and this."""
        self.streams += 1
        guest.visitor.streams += 1
        try:
            yield
        finally:
            self.streams -= 1
            guest.visitor.streams -= 1
            guest.visitor.seen = time.monotonic()

    # -------------------------------------------------------------------------------------- questions

    def question(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def handler(request: Request) -> Response:
            words = words_of(name, request.query_params)
            guest = self.guest(request)
            if name in KEEPING:
                self.laboratory.make_room(guest)
            return passed_on(await while_wanted(request, self.laboratory.ask(guest, name, words)))

        return handler

    async def runs(self, request: Request) -> Response:
        """The runs in the folder, and those that wait for their turn, which have no folder yet."""
        guest = self.guest(request)
        reply, found = await self.laboratory.found(guest, "runs", words_of("runs", request.query_params))
        if reply.kind != "answer":
            return passed_on(reply)
        jobs = {job.run: job for job in self.laboratory.jobs.of(guest.visitor) if job.run is not None}
        for run in found["runs"]:
            if run["run"] in jobs:
                run["state"] = jobs[run["run"]].state
        return in_json({**found, "queue": self.laboratory.jobs.listed(guest.visitor)})

    # -------------------------------------------------------------------------------------- long work

    async def train(self, request: Request) -> Response:
        return await self.begin(self.guest(request), "training_plan", await body_of(request, "train"))

    async def say(self, request: Request) -> Response:
        """How to do a training without the page; nothing is begun."""
        words = await body_of(request, "say")
        return passed_on(await self.laboratory.ask(self.guest(request), "training_recipe", words))

    async def resume(self, request: Request) -> Response:
        words = await body_of(request, "resume")
        needed(words, "run")
        return await self.begin(self.guest(request), "resume_plan", words | {"resume": True})

    async def begin(self, guest: Guest, plan: str, params: dict[str, Any]) -> Response:
        """Check a training, and put it into the queue unless it is there or was finished before."""
        reply, found = await self.laboratory.found(guest, plan, params)
        if reply.kind != "answer":
            return passed_on(reply)
        job = self.laboratory.jobs.of_run(guest.visitor, found["run"])
        if job is None and found["finished"]:
            return in_json({"run": found["run"], "job": None, "state": "finished"})
        if job is None and found["running"]:
            raise Refused(409, f"another process trains {found['run']}; wait for it, or stop it there")
        if job is None:
            asked = params | {"run": found["run"]}
            job = self.laboratory.add(guest, "training", "training", found["title"], asked, run=found["run"])
        return in_json({"run": job.run, "job": job.job, "state": job.state}, 202)

    async def stop(self, request: Request) -> Response:
        run = needed(await body_of(request, "stop"), "run")
        job = self.laboratory.jobs.of_run(self.guest(request).visitor, run)
        if job is None:
            raise Refused(409, "this run is not trained here; one that another process trains is stopped there")
        return in_json({"run": run, "state": self.laboratory.jobs.stop(job)})

    async def cancel(self, request: Request) -> Response:
        name = needed(await body_of(request, "cancel"), "job")
        job = self.laboratory.jobs.named(self.guest(request).visitor, name)
        if job is None:
            raise Refused(409, "there is no such job any more")
        return in_json({"job": job.job, "state": self.laboratory.jobs.stop(job)})

    async def probe(self, request: Request) -> Response:
        words, guest = await body_of(request, "probe"), self.guest(request)
        function = {name: word for name, word in words.items() if name != "fraction"}
        reply, found = await self.laboratory.found(guest, "function", function)
        if reply.kind != "answer":
            return passed_on(reply)
        job = self.laboratory.add(guest, "probe", "probe", f"probe of {found['title']}", words)
        return in_json({"job": job.job}, 202)

    async def reproduce(self, request: Request) -> Response:
        words, guest = await body_of(request, "reproduce"), self.guest(request)
        item, size = needed(words, "item"), words.get("size", "quick")
        if size not in ("quick", "standard"):
            raise Refused(400, "size must be quick or standard")
        if item != "all":
            reply, _ = await self.laboratory.found(guest, "known_item", {"item": item})
            if reply.kind != "answer":
                return passed_on(reply)
        asked = {"item": item, "size": size}
        job = self.laboratory.add(guest, "paper", "reproduction", f"paper {item}", asked, item=item)
        return in_json({"job": job.job}, 202)

    async def upload(self, request: Request) -> Response:
        """A table: its bytes go to a file of the name that it was sent with, which a child reads and checks."""
        return await self.incoming(request, "table", "a table", self.laboratory.limits.tables)

    async def drop(self, request: Request) -> Response:
        """A network of somebody else's, as a table is sent."""
        return await self.incoming(request, "dropped", "a network", self.laboratory.limits.networks)

    async def incoming(self, request: Request, ask: str, what: str, endings: tuple[str, ...]) -> Response:
        sent = needed(words_of("upload", request.query_params), "name")
        wanted = f"{self.laboratory.limits.place} takes {what} as {', '.join(endings[:-1])} or {endings[-1]}"
        name = file_name(sent, endings, wanted)
        guest = self.guest(request)
        with held(guest.accounts, "files"):
            content = await request.body()  # all of it, before anything is made that would be left behind
            self.laboratory.make_room(guest)
            with TemporaryDirectory(prefix="incoming-", dir=guest.visitor.places["tables"]) as folder:
                path = Path(folder) / name
                path.write_bytes(content)
                return passed_on(await self.laboratory.ask(guest, ask, {"file": str(path)}))


def file_name(given: str, endings: tuple[str, ...], wanted: str) -> str:
    """A name that any file may have, close to the one that a file was sent with."""
    sent = Path(given.replace("\\", "/"))
    if sent.suffix.lower() not in endings:
        raise InputError(f"{wanted}, got {sent.name!r}; save it as one of them")
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
