"""An explorer in a process of its own, and a browser's part in plain HTTP: to test it and to measure it.

with Explorer(folder) as explorer:
    explorer.get("/api/verdict", expression="n1 n2", mod=97)
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from urllib.parse import urlencode

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.workers import environment

PATIENCE = 300
"""Seconds until an answer, or the end, is given up; machines that test are busy."""
PATIENT = """
import sys
from dataclasses import replace
from modgrok.explorer.laboratory import Laboratory

begin = Laboratory.__init__

def patient(self, *, limits, **places):
    begin(self, limits=replace(limits, seconds=None, patience=None), **places)

Laboratory.__init__ = patient
from modgrok.cli import main
sys.exit(main())
"""
"""A public explorer whose answers and trainings may take any time: what a busy machine needs is no question of ours."""


class Explorer:
    """`modgrok explore` in a folder, until `close`."""

    def __init__(self, folder: str | Path, *options: str, stderr: IO[str] | None = None, patient: bool = False) -> None:
        program = ("-c", PATIENT) if patient else ("-m", "modgrok")
        command = [sys.executable, *program, "explore", "--no-open", "--port", "0", *options]
        self.folder = Path(folder)
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=stderr, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        found = re.search(r":(\d+)/", self.address)
        assert found is not None, "modgrok explore prints its address as its first line"
        self.port = int(found[1])
        self.token = self.cookie = ""
        self.address_here = "127.0.0.1"

    def __enter__(self) -> Explorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(self.address_here, 0))

    def known(self) -> dict[str, str]:
        """By what a public explorer knows its visitors."""
        return {"Cookie": self.cookie} if self.cookie else {}

    def visitor(self, address: str = "127.0.0.1") -> Explorer:
        """Somebody else at the same explorer, from an address of this machine (Linux has all of 127.0.0.0/8)."""
        found = copy(self)
        found.token, found.cookie, found.address_here = "", "", address
        found.page()
        return found

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[HTTPResponse, bytes]:
        connection = self.connection()
        connection.request(method, path, body, self.known() | (headers or {}))
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def page(self) -> str:
        response, content = self.request("GET", "/")
        given, text = response.getheader("set-cookie"), content.decode()
        self.cookie = given.partition(";")[0] if given else self.cookie
        found = re.search(r'name="modgrok-token" content="([^"]+)"', text)
        assert found is not None, "the page has a token"
        self.token = found[1]
        return text

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        """Status and JSON of a question."""
        response, content = self.request("GET", f"{path}?{urlencode(query)}" if query else path)
        return response.status, json.loads(content)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Status and JSON of a change, with the page's token; bytes are sent as they are."""
        if not self.token:
            self.page()
        sent = body if isinstance(body, bytes) else json_bytes(body)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"X-Modgrok-Token": self.token, "Content-Type": kind}
        response, content = self.request("POST", path, sent, headers)
        return response.status, json.loads(content)

    def events(self, last: str | None = None) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Name, data and id of each event from now on, or from the one after `last`."""
        connection = self.connection()
        connection.request("GET", "/api/events", headers=self.known() | ({"Last-Event-ID": last} if last else {}))
        response = connection.getresponse()
        name = number = ""
        try:
            while line := response.readline().decode():
                field, _, value = line.rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "id":
                    number = value
                elif field == "data":
                    yield name, json.loads(value), number
                    name = number = ""
        finally:
            connection.close()

    def children(self) -> list[int]:
        """The processes that the server has started, on Linux: the one that answers, and the one that trains."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in found.read_text().split()] if found.exists() else []

    def close(self) -> int:
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code
