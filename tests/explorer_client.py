"""A server of the explorer in a process of its own, as a user starts it, and a browser's part in plain HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

PATIENCE = 300
"""Seconds until a test gives up; machines that test are busy."""


class Explorer:
    """`modgrok explore` in a folder, until `close`."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "modgrok", "explore", "--no-open", "--port", "0", *options]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.token = ""

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def page(self) -> str:
        text = self.request("GET", "/")[1].decode()
        self.token = re.search(r'name="modgrok-token" content="([^"]+)"', text)[1]
        return text

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        """Status and JSON of a question."""
        response, content = self.request("GET", f"{path}?{urlencode(query)}" if query else path)
        return response.status, json.loads(content)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Status and JSON of a change, with the page's token."""
        if not self.token:
            self.page()
        headers = {"X_Modgrok_Token": self.token, "Content_Type": "application/json"}
        response, content = self.request("POST", path, json.dumps(body).encode(), **headers)
        return response.status, json.loads(content)

    def events(self, last: str | None = None) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Name, data and id of each event from now on, or from the one after `last`."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/api/events", headers={"Last-Event-ID": last} if last else {})
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
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def close(self) -> int:
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code
