"""A network of somebody else's, dropped on the explorer's page: its views fill, and bad files get a sentence."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from safetensors.numpy import save

from browser.explorer_browser import BROWSER, cells, expect, open_view, until

pytestmark = BROWSER
P = 11


def mlp() -> bytes:
    """A network that is right on every row of n1 + n2 but (2, 3): a ReLU neuron for each row."""
    rows = [(a, b) for a in range(P) for b in range(P)]
    hidden = np.array([[*np.eye(P)[a], *np.eye(P)[b]] for a, b in rows], np.float32)
    right = [(a + b + ((a, b) == (2, 3))) % P for a, b in rows]
    readout = np.ascontiguousarray(np.eye(P, dtype=np.float32)[right].T)
    return save({"0.weight": hidden, "0.bias": np.full(P * P, -1, np.float32), "2.weight": readout})


def logits() -> bytes:
    away = np.add.outer(np.add.outer(np.arange(P), np.arange(P)), -np.arange(P))
    file = BytesIO()
    np.save(file, np.cos(2 * np.pi * 3 * away / P) + np.cos(2 * np.pi * 5 * away / P))
    return file.getvalue()


def drop(page, name, content):
    page.locator("#own-table").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def test_a_file_of_weights_fills_the_views(page):
    open_view(page, "function", "n1 n2", 23)
    drop(page, "theirs.safetensors", mlp())
    network = page.get_by_role("region", name="Your network")
    expect(network.get_by_role("heading", name=f"n1 + n2 mod {P}")).to_be_visible()
    expect(page.locator("#expression")).to_have_value("n1 + n2")
    expect(network.locator(".tiles")).to_contain_text(f"{P * P - 1} of {P * P}")
    page.locator(f"canvas.cells[data-rows='{P}']").wait_for()
    found = [cell for row in cells(page) for cell in row]
    odd = min(set(found), key=found.count)
    assert [k for k, cell in enumerate(found) if cell == odd] == [2 * P + 3]
    page.set_viewport_size({"width": 390, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    network.get_by_role("button", name="Compile its function instead").click()
    expect(page.locator(".tiles dd").filter(has_text="100 %").first).to_be_visible()


def test_an_array_of_logits_shows_its_frequencies(page):
    open_view(page, "function", "n1 n2", 23)
    drop(page, "logits.npy", logits())
    expect(page.get_by_role("region", name="Your network").locator(".tiles")).to_contain_text("3, 5")


@pytest.mark.parametrize(
    "name, content, sentence",
    [
        ("theirs.safetensors", b"\x80\x04\x95 a pickle in disguise", "is not a safetensors file"),
        ("theirs.pt", b"\x80\x04\x95 a pickle", "is not opened"),
        (
            "theirs.safetensors",
            save({"a": np.ones((3, 4), np.float32), "b": np.ones(9, np.float32)}),
            "no layout is known",
        ),
    ],
)
def test_a_bad_file_gets_a_sentence_and_the_page_stays(page, name, content, sentence):
    open_view(page, "function", "n1 n2", 23)
    drop(page, name, content)
    expect(page.locator(".drop .notice")).to_contain_text(sentence)
    expect(page.locator("#expression")).to_have_value("n1 n2")
