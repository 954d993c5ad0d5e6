"""Who may ask: pages of this server only, with its token; and how much they may send.

A page of another site can make a browser send requests here. It cannot choose the Host (which is checked against DNS
names that lead here by a trick), nor hide its Origin, nor read the token; so what it sends is refused. Where the server
listens to more than this machine, every request needs the token: in the address once, in a cookie from then on.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.limits import LARGEST_REQUEST, LOCAL, Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
UPLOADS = {"/api/tables": "upload", "/api/networks": "network"}
"""Where files are sent to, and the limit of their size."""
HEALTH = "/healthz"
"""Where those who look after a server ask whether it answers; it tells nothing else, and so needs no token."""
SECONDS_TO_SEND = 20.0
"""How long the body of a request may take, all of it."""
COOKIE = "modgrok_token"
TOKEN_HEADER = b"x-modgrok-token"
LONGEST_QUERY = 16_384
QUESTIONS = ("GET", "HEAD")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Refused(Exception):
    """A request that is not answered, with its status and why; `seconds` is when to ask again."""

    def __init__(self, status: int, reason: str, seconds: int | None = None) -> None:
        self.status, self.reason, self.seconds = status, reason, seconds
        super().__init__(reason)


class Guard:
    """Around the whole app. `open_to_others` is whether it listens to more than this machine."""

    limits: Limits = LOCAL

    def __init__(self, app: App, *, token: str, port: int, open_to_others: bool) -> None:
        self.app, self.token, self.open = app, token, open_to_others
        self.hosts = {f"{name}:{port}" for name in LOOPBACK} | (set(LOOPBACK) if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            self.check(scope)
            door = with_headers(scope, self.door(scope, send))
            await self.app(scope, limited(receive, self.most_sent(scope)), door)
        except Refused as refused:
            await refuse(self.door(scope, send), refused)

    def door(self, scope: Scope, send: Send) -> Send:
        """How replies leave; one's own browser may send on what was refused, and is answered then."""
        return send

    def check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self.open and host not in self.hosts:
            raise Refused(
                403, f"requests for the host {host[:80]!r} are not answered; use the address that was printed"
            )
        check_origin(scope, headers, f"http://{host}")
        self.check_size(scope, headers)
        if self.open and scope["path"] != HEALTH and not self.knows(scope, headers):
            raise Refused(403, "this address needs the token that `modgrok explore` printed: open the whole address")
        if scope["method"] not in QUESTIONS and not self.same(headers.get(TOKEN_HEADER, b"")):
            raise Refused(403, "what changes something needs the page's token; load the page again")

    def knows(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether a request from elsewhere has the token, in its cookie or, for the page itself, in its address."""
        if scope["path"] == "/" and f"token={self.token}".encode() in scope["query_string"].split(b"&"):
            return True
        return any(self.same(value) for value in cookies(headers, COOKIE))

    def same(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self.token.encode())

    def most_sent(self, scope: Scope) -> int:
        """How many bytes a request may bring."""
        limit = UPLOADS.get(scope["path"])
        return LARGEST_REQUEST if limit is None else getattr(self.limits, limit)

    def check_size(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """How much a request says that it brings; what it does bring is counted by `limited`."""
        if (size := len(scope["query_string"])) > LONGEST_QUERY:
            raise Refused(
                413, f"the query of an address may have {LONGEST_QUERY:,} characters, got {size:,}; ask for less"
            )
        length = headers.get(b"content-length", b"0")
        if scope["method"] in QUESTIONS and (length != b"0" or b"transfer-encoding" in headers):
            raise Refused(400, "a question has no body; put what you ask into the address")
        if length.isdigit() and int(length) > self.most_sent(scope):
            raise too_large(self.most_sent(scope))


def cookies(headers: dict[bytes, bytes], name: str) -> list[bytes]:
    """The values that a browser sends under the name of a cookie."""
    pairs = (each.strip().partition(b"=") for each in headers.get(b"cookie", b"").split(b";"))
    return [value for key, _, value in pairs if key == name.encode()]


def check_origin(scope: Scope, headers: dict[bytes, bytes], own: str) -> None:
    """Whether the browser says that a page of ours asks; `own` is the scheme and host of our pages."""
    origin = headers.get(b"origin")
    if (origin is not None and origin.decode("latin-1").lower() != own) or (
        foreign(headers) and not is_visit(scope, headers)
    ):
        raise Refused(403, "requests from other pages are not answered")


def foreign(headers: dict[bytes, bytes]) -> bool:
    """Whether the browser says that another page asks."""
    return headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none")


def is_visit(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """A link on another page that leads here is no danger: it opens the page and changes nothing."""
    return scope["method"] == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"


def too_large(most: int) -> Refused:
    return Refused(413, f"that is too large: {most:,} bytes are the limit here")


def limited(receive: Receive, most: int) -> Receive:
    """What is sent to us, up to so many bytes, whatever its length was said to be, and in time."""
    received, whole, last = 0, False, asyncio.get_running_loop().time() + SECONDS_TO_SEND

    async def receive_some() -> Message:
        nonlocal received, whole
        try:
            async with asyncio.timeout_at(None if whole else last):
                message = await receive()
        except TimeoutError:
            raise Refused(408, f"a request may take {SECONDS_TO_SEND:g} s to send") from None
        received += len(message.get("body", b""))
        whole = whole or not message.get("more_body", False)
        if received > most:
            raise too_large(most)
        return message

    return receive_some


def with_headers(scope: Scope, send: Send) -> Send:
    """Every reply tells the browser what it must not do with it; the page's files may be kept if they are the same."""
    kept = b"no-cache" if scope["path"].startswith("/page/") else b"no-store"

    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            added = [*HEADERS, (b"content-security-policy", POLICY.encode()), (b"cache-control", kept)]
            added += scope.get("added_headers", ())
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in names)]
        await send(message)

    return send_with


async def refuse(send: Send, refused: Refused) -> None:
    body = json_bytes({"error": refused.reason, "position": None})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    if refused.seconds is not None:
        headers.append((b"retry-after", str(refused.seconds).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
