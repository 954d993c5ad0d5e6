"""An explorer for strangers: who is who, what they may ask, and nothing of one for another.

A visitor is told by a cookie, an address by its connection or, behind proxies that are trusted, by what the first of
those says in X-Forwarded-For. Both have accounts (`rates`), and every request is paid for from both. `SECURITY.md` has
the adversaries and what holds them.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

from modgrok.base.compilation_cache import VARIABLE as CACHE
from modgrok.explorer.guard import (
    HEALTH,
    QUESTIONS,
    TOKEN_HEADER,
    UPLOADS,
    App,
    Guard,
    Message,
    Refused,
    Scope,
    Send,
    check_origin,
    cookies,
)
from modgrok.explorer.laboratory import Laboratory
from modgrok.explorer.limits import PUBLIC, VARIABLE
from modgrok.explorer.rates import ADDRESS, OF_FILE, OF_PAGE, VISITOR, Accounts, TooMuch, spend
from modgrok.explorer.visitors import SECONDS_KEPT, Guest, Visitor, Visitors, public_root

COOKIE = "modgrok_visitor"
RECORDED = ("paper", "paper_item", "paper_figure")
"""Questions whose answers last where nobody computes an item of the paper."""
SECONDS_BETWEEN_LOOKS = 1.0
VARIABLES = MappingProxyType({VARIABLE: "public", CACHE: "off"})
"""Of the children: the small limits, and no cache on the disk, which strangers would fill."""
NOT_HERE = {
    ("POST", "/api/paper"): "this public demo shows what was recorded of the paper and computes none of it; "
    "modgrok on your own machine (pip install modgrok) does",
    ("GET", "/report/"): "this public demo has no report",
}
"""What nobody may ask for here, and why."""


def told() -> str:
    """What a visitor is told on the page."""
    most = PUBLIC.settings
    return (
        f"This is a public demo: it trains networks of up to {most['width']} neurons for up to {most['steps']:,} steps "
        f"and {PUBLIC.seconds:g} s, takes moduli up to {PUBLIC.modulus}, and deletes what you send and train "
        f"{SECONDS_KEPT / 60:g} minutes after your last visit. On your own machine (pip install modgrok) it does more."
    )


class PublicLaboratory(Laboratory):
    """A laboratory in which visitors have folders of their own, and children of a size that stays."""

    def __init__(self) -> None:
        temporary = public_root()
        nothing = Path(temporary.name) / "nothing"
        super().__init__(
            runs=nothing, report=nothing, census=None, limits=PUBLIC, variables=VARIABLES, temporary=temporary
        )
        self.registry = Visitors(Path(temporary.name))
        self.registry.busy = lambda visitor: bool(self.jobs.of(visitor))
        self.registry.on_leave = self.forget
        self.tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        await super().open()
        self.tasks = [asyncio.create_task(each) for each in (self.registry.tidy_always(), self.watch())]

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await super().close()

    async def watch(self) -> None:
        """Children that grow are replaced."""
        while self.limits.memory is not None:
            for worker in (self.answerer, self.trainer):
                worker.keep_level(self.limits.memory)
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    def visitors(self) -> list[Visitor]:
        return list(self.registry.kept.values())

    def make_room(self, guest: Guest) -> None:
        self.registry.make_room(guest.visitor, guest.accounts[-1])

    def lasts(self, name: str) -> bool:
        return super().lasts(name) or name in RECORDED


class PublicGuard(Guard):
    """Around the app of a public explorer. `proxies` is how many proxies stand before it, all of them trusted."""

    limits = PUBLIC

    def __init__(self, app: App, registry: Visitors, *, proxies: int = 0) -> None:
        self.app, self.registry, self.proxies = app, registry, proxies
        self.accounts, self.addresses = Accounts(VISITOR), Accounts(ADDRESS)

    def check(self, scope: Scope) -> None:
        try:
            self.admit(scope, dict(scope["headers"]))
        except TooMuch as error:
            raise Refused(429, error.reason, error.seconds) from None

    def door(self, scope: Scope, send: Send) -> Send:
        """Whoever sends something that is refused is hung up on: the rest of it would be read to be thrown away."""
        if scope["method"] in QUESTIONS:
            return send

        async def send_and_close(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        return send_and_close

    def admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        method, path = scope["method"], scope["path"]
        if path == HEALTH:
            return self.check_size(scope, headers)
        address = self.addresses.of(address_of(scope, self.proxies))
        name = next(filter(None, map(self.registry.named, self.given(headers))), None)
        payers = (address,) if name is None else (self.accounts.of(name), address)
        spend(payers[-1:] if path.startswith("/page/") else payers, cost(path))
        said = headers.get(b"x-forwarded-proto", b"").strip().lower()
        secure = bool(self.proxies) and said == b"https"  # the browser speaks TLS, with a proxy that is trusted
        host = headers.get(b"host", b"").decode("latin-1").lower()
        check_origin(scope, headers, f"{'https' if secure else 'http'}://{host}")
        self.check_size(scope, headers)
        if reason := NOT_HERE.get((method, path)):
            raise Refused(403, reason)
        if name is None and path.startswith("/api/"):
            raise Refused(403, "open the page first: it gives you the cookie by which this demo knows what is yours")
        if name is None and path == "/":
            name = secrets.token_urlsafe(24)
            scope["added_headers"] = [(b"set-cookie", self.cookie(name, secure))]
        if name is None:
            return
        visitor = self.registry.of(name)
        if method not in QUESTIONS and not hmac.compare_digest(headers.get(TOKEN_HEADER, b""), visitor.token.encode()):
            raise Refused(403, "what changes something needs the page's token; load the page again")
        scope["guest"] = Guest(visitor, payers)

    def given(self, headers: dict[bytes, bytes]) -> list[str]:
        return [value.decode("latin-1") for value in cookies(headers, COOKIE)]

    def cookie(self, name: str, secure: bool) -> bytes:
        """No script reads it, other sites' requests do not bring it, and it ends with the browser."""
        words = f"{COOKIE}={self.registry.cookie(name)}; Path=/; HttpOnly; SameSite=Lax"
        return (words + "; Secure" * secure).encode()


def cost(path: str) -> float:
    """What a request costs, beside the time that it makes us compute."""
    if path.startswith("/page/"):
        return OF_PAGE
    return OF_FILE if path in UPLOADS else 1.0


def address_of(scope: Scope, proxies: int) -> str:
    """Whom a request comes from: an IPv4 address, or the /64 that one customer has of IPv6.

    Each proxy adds whom it heard, so with N of them the Nth from the end is what the first of ours saw; whatever stands
    before it was sent to us, and may be made up.
    """
    peer = (scope.get("client") or ("",))[0]
    said = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    chain = [word.strip() for word in said.split(",")]
    text = chain[-proxies] if 0 < proxies <= len(chain) else peer
    try:
        found = ip_address(text.strip("[]"))
    except ValueError:
        return peer
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or found.exploded[:19])
