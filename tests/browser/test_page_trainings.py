"""Trainings on the explorer's page: watched, left and found again, stopped, gone on with, and killed."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any
from urllib.parse import unquote

import pytest

from browser.explorer_browser import BROWSER, PATIENCE, copied, expect, open_view, until

pytestmark = BROWSER
ENDLESS = {"width": 512, "steps": 200000}
"""A training that somebody has to stop; modulo 31 and more it takes minutes."""


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
    page.get_by_label("Step", exact=True).fill("0")
    expect(page.locator(".wave-grid canvas").first).to_have_attribute("aria-label", re.compile("at step 0$"))
    assert shown_step(page) == 0
    page.locator("header").get_by_role("button", name="Look inside").click()
    page.get_by_role("cell", name="frequencies used").wait_for()


def test_runs_are_drawn_on_one_axis_and_fill_the_form(page, server):
    """Losses that measure different things have an axis each."""
    made = ({"width": 32}, {"width": 32, "weight_decay": 0.5}, {"model": "mlp", "width": 32, "loss": "cross-entropy"})
    for chosen in made:
        server.post("/api/trainings", {"expression": "n1 + n2", "mod": 11, "settings": {"steps": 60, **chosen}})
    open_view(page, "training", "n1 + n2", 11)
    page.get_by_text("starting").or_(page.locator(".run-row")).first.wait_for()
    until(lambda: server.get("/api/runs")[1]["queue"] == [])
    page.reload()
    rows = page.locator(".run-row", has_text="n1 + n2 mod 11")
    expect(rows).to_have_count(3)
    for k in range(3):
        rows.nth(k).get_by_role("checkbox").check()
    overlay = page.locator(".overlay")
    overlay.get_by_text("3 runs on one axis").wait_for()
    titles = overlay.locator(".curves h3")
    shown = titles.all_text_contents()
    assert sorted(shown) == ["Accuracy", "IPR", "Loss: cross-entropy", "Loss: mean squared error"]
    lines = [overlay.locator(".curves").nth(at).locator(".legend > span").count() for at in range(4)]
    wanted = {"Accuracy": 6, "IPR": 3, "Loss: mean squared error": 4, "Loss: cross-entropy": 2}
    assert dict(zip(shown, lines, strict=True)) == wanted
    assert copied(page).count("runs/") == 3 and copied(page).startswith("modgrok compare ")
    page.reload()
    overlay.get_by_text("3 runs on one axis").wait_for()
    rows.filter(has_text="mlp").locator(".run-line").click()
    page.locator(".verdict-line").wait_for()
    expect(overlay).to_be_hidden()
    for name, value in (("model", "mlp"), ("width", "32"), ("steps", "60")):
        expect(page.get_by_label(name, exact=True)).to_have_value(value)
    expect(page.get_by_label("loss", exact=True)).to_have_value("cross-entropy")
    assert copied(page) == 'modgrok train "n1 + n2" --mod 11 --width 32 --steps 60 --model mlp'
    page.get_by_label("width", exact=True).fill("48")
    assert "--width 48" in copied(page)


@pytest.mark.parametrize(
    "last, words", [(None, "The first steps come when it is done"), (4.2, "about 4.2 s as the last time")]
)
def test_a_training_that_compiles_says_so_and_for_how_long(page, server, last, words):
    """The first words come before the first point; the run that follows says how long the last one took. The queue is
    made up here, since a real training may compile faster than anybody looks."""
    job = {"job": 1, "kind": "training", "title": "n1 + n2 mod 13", "run": "made-up", "state": "running"}
    queue = [job | {"before": 0, "compiling": 2.5, "compiled_in": last}]
    open_view(page, "training", "n1 + n2", 13)
    page.route("**/api/runs", lambda route: route.fulfill(json={"runs": [], "queue": queue, "folder": "runs"}))
    page.route("**/api/trainings", lambda route: route.fulfill(json={"run": "made-up", "state": "queued"}))
    start_training(page, width=24, steps=40, seed=31)
    compiling = page.locator(".compiling")
    expect(compiling).to_have_text(re.compile(rf"Compiling for \d+ s.*{words}"))
    page.unroute_all(behavior="wait")
    open_view(page, "training", "n1 + n2", 13)
    start_training(page, width=24, steps=40, seed=31)
    page.locator(".verdict-line").wait_for()
    expect(compiling).to_be_hidden()


def test_two_trainings_stand_in_a_queue_and_can_be_stopped(page, server):
    open_view(page, "training", "n1 n2", 31)
    start_training(page, **ENDLESS, seed=1)
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    for picture in (".stage canvas.cells", ".stage .wave-grid canvas"):
        expect(page.locator(picture)).to_be_visible()
    start_training(page, **ENDLESS, seed=2)
    page.wait_for_url("**seed2*")
    page.locator(".run-line", has_text="waiting").wait_for()
    for picture in (".stage canvas.cells", ".stage .wave-grid canvas"):
        expect(page.locator(picture)).to_be_hidden()  # those of the first are not the second's
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
    """Its network is written at the end: its table and neurons come with events until then."""
    refused = []
    page.on("response", lambda response: refused.append(response.url) if response.status >= 400 else None)
    open_view(page, "training", "n1 + n2", 31)
    start_training(page, **ENDLESS, seed=6)
    page.wait_for_url("**run=*")
    until(lambda: shown_step(page) > 0)
    page.reload()
    until(lambda: shown_step(page) > 0)
    expect(page.locator("canvas.cells")).to_have_attribute("aria-label", re.compile("training cells"))
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Go on").wait_for()
    page.get_by_role("button", name="Save as GIF").wait_for()
    assert refused == []


def test_a_training_that_ends_while_the_page_opens_is_not_shown_as_running(page, server):
    """The page asks how the run is; before it has the answer the run ends, which it hears of at once."""
    open_view(page, "training", "n1 + n2", 31)
    start_training(page, **ENDLESS, seed=5)
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
