"""A public demo in two browsers: each sees what it began, and neither what the other did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser.explorer_browser import BROWSER, CHROMIUM, expect, explorer, open_view, watched_page

pytestmark = BROWSER


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with explorer(tmp_path_factory.mktemp("public"), "--public", patient=True) as found:
        yield found


def filled(page: Any, expression: str, mod: int, **settings: object) -> Any:
    """The button that begins a training with these settings."""
    open_view(page, "training", expression, mod)
    for name, value in settings.items():
        page.get_by_label(name, exact=True).fill(str(value))
    button = page.get_by_role("button", name="Start training")
    expect(button).to_be_enabled()
    return button


def test_two_profiles_wait_for_each_other_and_see_nothing_of_each_other(server, browser):
    """The second is told that one is before it, and the address of the first's run opens nothing for it."""
    assert CHROMIUM
    with watched_page(browser, server.address) as ann, watched_page(browser, server.address) as bob:
        longest = filled(ann, "n1 n2 + 5", 97, steps=5000, width=512)  # minutes, which nobody waits for
        short = filled(bob, "n1 + 3n2", 31, steps=20, width=8)
        longest.click()
        ann.wait_for_url("**run=*")
        short.click()
        bob.get_by_text("waiting, 1 before you").first.wait_for()
        expect(bob.locator(".run-line")).to_have_count(1)
        expect(ann.locator(".run-line")).to_have_count(1)
        theirs = ann.url
        ann.get_by_role("button", name="Stop", exact=True).click()
        bob.wait_for_url("**run=*")
        bob.locator(".verdict-line").wait_for()
        bob.goto(theirs)
        bob.get_by_text("there is no run").wait_for()
        assert "n1 n2 + 5" not in bob.locator(".runs").inner_text()
        expect(ann.locator(".run-line")).to_have_count(1)
        assert "n1 + 3 n2" not in ann.locator(".runs").inner_text()


def test_the_page_says_what_a_demo_does_not_do(server, page):
    open_view(page, "paper")
    expect(page.locator("#public")).to_contain_text("up to 512 neurons for up to 5,000 steps and 60 s")
    page.locator(".card").first.wait_for()
    expect(page.get_by_role("button", name="Compute all (quick versions)")).to_have_count(0)
    open_view(page, "training")
    page.get_by_label("steps", exact=True).fill("6000")
    page.get_by_role("button", name="Start training").click()
    page.get_by_text("steps may be 5,000 at most in this public demo").wait_for()
    expect(page.locator("#footer")).to_contain_text("nobody else sees what you do here")
