"""Finished parts of a study: found by their settings, and counted under what they were made by."""

from __future__ import annotations

import pytest

from modgrok.base.files import write_json
from studies.resuming import Parts


@pytest.mark.parametrize("text", ["", "[{", '{"a": 1}', "[1, 2]"])
def test_damaged_parts_count_as_none(tmp_path, text):
    file = tmp_path / "parts.json"
    file.write_text(text)
    parts = Parts(file)
    assert parts.get({"a": 1}) is None
    parts.add({"a": 1}, {"b": 2})
    assert Parts(file).get({"a": 1}) == {"b": 2} and (tmp_path / "parts.json.damaged").read_text() == text


def test_parts_are_found_by_their_settings(tmp_path):
    write_json(
        tmp_path / "parts.json", [{"settings": {"seed": 0}, "result": 5}, {"settings": {"seed": 1}, "result": 7}]
    )
    assert Parts(tmp_path / "parts.json").get({"seed": 1}) == 7
    known = Parts(tmp_path / "parts.json", {"code": "a"})
    assert known.get({"seed": 1}) is None, "nobody knows what it was made by"
    known.add({"seed": 1}, 8)
    assert known.get({"seed": 1}) == Parts(known.path, {"code": "a"}).get({"seed": 1}) == 8
    assert Parts(known.path, {"code": "b"}).get({"seed": 1}) is None and len(Parts(known.path).parts) == 3
    memory = Parts(None)
    memory.add({"seed": 3}, 9)
    assert memory.get({"seed": 3}) == 9
