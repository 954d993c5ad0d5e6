"""Connections as uvicorn holds them: which ask nothing and are closed, and how many there may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

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
