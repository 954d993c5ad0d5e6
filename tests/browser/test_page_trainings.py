"""Trainings on the explorer's page: watched, left and found again, stopped, gone on with, and killed."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any
from urllib.parse import unquote

import pytest

from browser.explorer_browser import BROWSER, PATIENCE, expect, open_view, until

pytestmark = BROWSER


def start_training(page: Any, **settings: object) -> None:
    page.get_by_label("steps", exact=True).wait_for()
    for name, value in settings.items():
        page.get_by_label(name.replace("_", " "), exact=True).fill(str(value))
    page.get_by_role("button", name="Start training").click()


def shown_step(page: Any) -> int:
    found = re.match(r"[\d,]+", page.locator(".tiles dd").first.text_content())
    return int(found.group().replace(",", "")) if found else 0


def test_a_training_is_watched_left_and_found_again(page, server):
    """Start, reload in the middle, look from a second tab, stop, go on, and read the diagnosis."""
    open_view(page, "training", "n1 + n2", 7)
    start_training(page, width=32, steps=3000, snapshots=4)
    page.wait_for_url("**run=*")
    until(lambda: shown_step(page) > 0)
    page.reload()
    second = page.context.new_page()
    second.goto(page.url)
    for tab in (page, second):
        tab.get_by_text("3,000 of 3,000").wait_for()
        tab.locator(".verdict-line").wait_for()
    run = server.folder / "runs" / unquote(page.url.split("run=")[1])
    result = json.loads((run / "result.json").read_text())
    assert result["step"] == 3000
    counts = f"of {result['test_rows']} test cells .* of {result['train_rows']} training cells"
    expect(page.locator("canvas.cells")).to_have_attribute("aria-label", re.compile(counts))
    page.get_by_label("Snapshot", exact=True).fill("0")
    page.get_by_text("at step 0,").wait_for()
    page.get_by_role("button", name="Look inside").click()
    page.get_by_role("cell", name="frequencies used").wait_for()


def test_two_trainings_stand_in_a_queue_and_can_be_stopped(page, server):
    open_view(page, "training", "n1 n2", 7)
    start_training(page, width=32, steps=200000, seed=1)
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    start_training(page, width=32, steps=200000, seed=2)
    page.wait_for_url("**seed2*")
    page.locator(".run-line", has_text="waiting").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator(".run-line", has_text="waiting").wait_for(state="detached")
    page.locator(".run-line", has_text="training").click()
    until(lambda: shown_step(page) > 0)
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Go on").wait_for()
    page.reload()
    page.get_by_role("button", name="Go on").wait_for()
    until(lambda: shown_step(page) > 0)
    before = shown_step(page)
    page.get_by_role("button", name="Go on").click()
    until(lambda: shown_step(page) > before)
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Go on").wait_for()


def test_a_run_that_trains_is_asked_for_nothing_that_it_does_not_have_yet(page, server):
    """Its network is written at the end, and this one keeps no snapshots: its table and neurons come with events."""
    refused = []
    page.on("response", lambda response: refused.append(response.url) if response.status >= 400 else None)
    open_view(page, "training", "n1 + n2", 31)
    start_training(page, width=128, steps=200000, seed=6)
    page.wait_for_url("**run=*")
    until(lambda: shown_step(page) > 0)
    page.reload()
    until(lambda: shown_step(page) > 0)
    expect(page.locator("canvas.cells")).to_have_attribute("aria-label", re.compile("training cells"))
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Go on").wait_for()
    expect(page.locator(".run")).to_contain_text("Weights on")
    assert refused == []


def test_a_training_that_ends_while_the_page_opens_is_not_shown_as_running(page, server):
    """The page asks how the run is; before it has the answer the run ends, which it hears of at once."""
    open_view(page, "training", "n1 + n2", 7)
    start_training(page, width=32, steps=200000, seed=5)
    page.wait_for_url("**run=*")
    until(lambda: shown_step(page) > 0)
    run = unquote(page.url.split("run=")[1])
    token = page.locator("meta[name=modgrok-token]").get_attribute("content")
    stop = {"data": {"run": run}, "headers": {"X-Modgrok-Token": token}}
    states = []

    def hold(route: Any) -> None:
        answer = route.fetch(timeout=1000 * PATIENCE)
        states.append(answer.json()["state"])
        if len(states) == 1:
            page.request.post("/api/trainings/stop", timeout=1000 * PATIENCE, **stop)
            until((server.folder / "runs" / run / "result.json").exists)
        route.fulfill(response=answer)

    page.route("**/api/run?*", hold)
    page.reload()
    page.get_by_role("button", name="Go on").wait_for()
    assert states[0] == "running"
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.slow
def test_a_worker_that_is_killed_is_started_again_and_its_run_goes_on(page, server):
    open_view(page, "training", "n1 n2", 11)
    start_training(page, width=64, steps=20000, seed=3)
    until(lambda: shown_step(page) > 2000)
    for pid in server.children():
        os.kill(pid, signal.SIGKILL)
    page.locator(".notice", has_text="started again").wait_for()
    page.get_by_text("20,000 of 20,000").wait_for()
    page.locator(".verdict-line").wait_for()


@pytest.mark.slow
def test_a_product_is_grokked_while_the_page_stays_responsive(page, server):
    """n1 n2 mod 97 to 100 % of the test cells; no task of the page takes 100 ms, where nothing else runs beside it."""
    open_view(page, "training", "n1 n2", 97)
    page.evaluate("longTasks.length = 0")
    start_training(page, steps=200)
    page.locator(".verdict-line").wait_for(timeout=600_000)
    assert max(page.evaluate("longTasks"), default=0) < 100
    assert page.locator(".tiles dd").nth(2).text_content() == "100 %"
