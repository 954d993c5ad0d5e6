"""The explorer's page in a real browser: what a person types, sees, hears and does, with nothing faked behind it.

One server and one browser serve the file. What a page shows is compared with Python's integers. Every page is watched:
an error in its console, an error in its code, or a request to another host fails the test that opened it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from urllib.parse import quote, unquote

import pytest
from explorer_browser import CELLS, CHROMIUM, PATIENCE, Explorer, explorer, still, until, watched_page

import modgrok as mg

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; `make dev` installs it")
pytest.importorskip("starlette", reason="the extra explore is not installed; `make dev` installs it")
expect = sync_api.expect
expect.set_options(timeout=1000 * PATIENCE)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt-get install chromium"),
]

VIEWS = {
    "function": ".facts a",
    "verdict": ".answer h2",
    "network": ".tiles dd:has-text('100 %')",
    "training": ".settings button:enabled",
    "census": ".scatter canvas",
    "paper": ".card",
}
"""Each view, and what is there once it shows all that it has."""
HOSTILE = ("<script>document.title='taken'</script>", "<img src=x onerror=alert(1)>", "(" * 4000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    with explorer(tmp_path_factory.mktemp("explorer")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(server, browser) -> Iterator[sync_api.Page]:
    with watched_page(browser, server.address) as found:
        yield found


def open_view(page: sync_api.Page, view: str, expression: str = "n1 n2", mod: int = 23, **rest: str) -> None:
    more = "".join(f"&{name}={quote(value)}" for name, value in rest.items())
    page.goto(f"/?expression={quote(expression)}&mod={mod}&view={view}{more}")


def open_whole_view(page: sync_api.Page, view: str) -> None:
    open_view(page, view)
    page.locator(VIEWS[view]).first.wait_for()
    until(lambda: still(page))


def cells(page: sync_api.Page) -> list[list[str]]:
    return page.locator("canvas.cells[data-rows]").first.evaluate(CELLS)


# ---------------------------------------------------------------------------------------------- function


def test_the_table_has_one_colour_for_each_value(page):
    open_view(page, "function", "3n1^2 + n1 n2", 23)
    page.locator("canvas.cells[data-rows='23']").wait_for()
    found = cells(page)
    colours = {(3 * a * a + a * b) % 23: found[a][b] for a in range(23) for b in range(23)}
    assert len(set(colours.values())) == 23
    assert found == [[colours[(3 * a * a + a * b) % 23] for b in range(23)] for a in range(23)]


def test_a_cell_says_its_value_to_mouse_and_keys(page):
    open_view(page, "function", mod=97)
    table = page.locator("canvas.cells")
    page.locator("canvas.cells[data-rows='97']").wait_for()
    size = table.bounding_box()["width"] / 97
    table.hover(position={"x": 34.5 * size, "y": 12.5 * size})
    expect(page.locator(".readout").first).to_have_text(f"n1 = 12, n2 = 34: value {12 * 34 % 97}")
    table.press("ArrowDown")
    table.press("ArrowRight")
    expect(page.locator("#live")).to_have_text(f"n1 = 13, n2 = 35: value {13 * 35 % 97}")


def test_a_sum_in_disguise_falls_into_stripes(page):
    open_view(page, "function", "(2n1 + 3n2)^4", 97)
    page.get_by_text("is a sum in disguise").wait_for()
    before = cells(page)
    page.get_by_label("by the witness").check(force=True)
    page.get_by_text("A sum or a product in disguise falls into stripes").wait_for()
    page.locator("canvas.cells[data-order='witness']").wait_for()
    striped = cells(page)
    diagonal = [{striped[row][(start - row) % 97] for row in range(97)} for start in range(97)]
    assert before != striped
    assert all(len(colours) == 1 for colours in diagonal)
    assert len(set(map(frozenset, diagonal))) == len({pow(u, 4, 97) for u in range(97)})


def test_a_bad_expression_shows_the_place_and_a_good_one_mends_it(page):
    open_view(page, "function", "n1^n2 + 3", 97)
    trouble = page.locator(".trouble")
    assert "exponents must be non-negative integers" in trouble.text_content()
    first, second = trouble.locator("pre").text_content().split("\n")
    assert (first, second) == ("n1^n2 + 3", "   ^")
    page.locator("#expression").fill("n1^2 + 3")
    page.locator("math").wait_for()
    expect(trouble).not_to_be_visible()
    page.wait_for_url("**expression=n1%5E2*")


@pytest.mark.parametrize("text", HOSTILE, ids=("script", "image", "long"))
def test_a_hostile_expression_is_text(page, text):
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    open_view(page, "verdict", text, 97)
    page.locator(".trouble").wait_for()
    assert page.title() != "taken"
    assert page.evaluate("document.querySelectorAll('body script, img[onerror]').length") == 0


def test_an_own_table_is_read_and_judged(page, server):
    rows = "\n".join(",".join(str((2 * a + b) % 7) for b in range(7)) for a in range(7))
    open_view(page, "function")
    page.locator("#own-table").set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_url("**table=*")
    page.locator("canvas.cells[data-rows='7']").wait_for()
    page.get_by_role("link", name="Verdict").click()
    expect(page.locator(".answer h2")).to_contain_text("sum")


# ---------------------------------------------------------------------------------------------- verdict


def test_a_verdict_comes_with_its_witness(page):
    open_view(page, "verdict", "(2n1 + 3n2)^4", 97)
    assert "is a sum in disguise" in page.locator(".answer h2").text_content()
    expect(page.locator(".witness canvas")).to_have_count(3)
    expect(page.locator("canvas.cells[aria-label*='stripes']")).to_be_visible()


def test_a_refusal_is_drawn_into_the_table(page):
    open_view(page, "verdict", "8x^5 y + 34x^9 y^5", 97)
    assert "neither a sum nor a product" in page.locator(".answer h2").text_content()
    assert re.fullmatch(r"\d+ %", page.locator(".large").text_content())
    marked = json.loads(page.locator("canvas.cells[data-marked]").first.get_attribute("data-marked"))
    row = marked["rows"][0] if marked["rows"] else None
    values = [(8 * row**5 * b + 34 * row**9 * b**5) % 97 for b in range(97)]
    assert len(set(values)) < 97  # a value stands more than once in the row that is shown


@pytest.mark.slow
def test_a_probe_trains_and_says_what_its_loss_tells(page):
    open_view(page, "verdict", "n1 n2", 47)
    page.get_by_role("button", name="Probe").click()
    page.locator(".probe .interval").wait_for()
    assert "loss" in page.locator(".probe").text_content()


@pytest.mark.slow
def test_a_verdict_stands_within_a_second_of_the_last_key(page):
    """On a machine that does nothing else; it takes half a second of one core."""
    open_view(page, "verdict", "n1 n2", 97)
    page.locator(".large").wait_for()
    page.locator("#expression").fill("")
    page.locator("#expression").type("8x^5 y + 34x^9 y^5")
    last_key = time.monotonic()
    page.locator(".answer", has_text="neither a sum nor a product").wait_for()
    page.locator(".large").wait_for()
    assert time.monotonic() - last_key < 1


# ---------------------------------------------------------------------------------------------- network


def test_an_input_flows_through_the_plan(page):
    open_view(page, "network", "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", 97)
    page.get_by_label("minimal", exact=True).check(force=True)
    page.locator("dd", has_text=re.compile("^28$")).wait_for()
    a, b = 12, 34
    steps = [a**4 * b, a**2 * b**2, a * b**3, 2 * a**4 * b + a**2 * b**2, 2 * a**4 * b + a**2 * b**2 + 3 * a * b**3]
    expect(page.locator(".plan .expert .value")).to_have_text([str(step % 97) for step in steps])
    page.get_by_text(f"n1 = {a}, n2 = {b} gives {steps[-1] % 97}").wait_for()
    page.locator(".plan .expert").first.press("Enter")
    page.get_by_text("Expert e1: what its neurons do").wait_for()
    expect(page.locator(".blocks canvas")).to_have_count(3)
    expect(page.locator(".blocks .circle")).to_have_count(3)
    for link in page.locator("a[download]").all():
        answer = page.request.get(link.get_attribute("href"), timeout=1000 * PATIENCE)
        assert answer.ok and "attachment" in answer.headers["content-disposition"]


def test_fewer_frequencies_are_fewer_neurons(page):
    open_view(page, "network", "n1 + n2", 23)
    page.get_by_label("chosen").check(force=True)
    widths = [mg.compile("n1 + n2", 23, frequencies=frequencies).width for frequencies in (8, 2)]
    assert widths[0] > widths[1]
    for frequencies, width in zip(("8", "2"), widths, strict=True):
        page.locator("input[type=range]").first.fill(frequencies)
        expect(page.locator(".tiles dd").first).to_have_text(str(width))


# ---------------------------------------------------------------------------------------------- training


def start_training(page: sync_api.Page, **settings: object) -> None:
    page.get_by_label("steps", exact=True).wait_for()
    for name, value in settings.items():
        page.get_by_label(name.replace("_", " "), exact=True).fill(str(value))
    page.get_by_role("button", name="Start training").click()


def shown_step(page: sync_api.Page) -> int:
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

    def hold(route: sync_api.Route) -> None:
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


# ---------------------------------------------------------------------------------------------- census and paper


@pytest.mark.parametrize("family", ["two-monomials", "relabelled-sum"])
def test_a_dot_of_the_census_opens_its_function(page, family):
    """Also where the function is a table that no expression writes."""
    open_view(page, "census")
    page.locator(".scatter canvas").wait_for()
    page.locator("main").get_by_label("Family").select_option(family)
    page.wait_for_url(f"**family={family}*")
    page.locator("main").get_by_label("Modulus").select_option("97")
    page.wait_for_url("**modulus=97*")
    shown = page.request.get(f"/api/census?family={family}&modulus=97", timeout=1000 * PATIENCE).json()["shown"]
    scatter = page.locator(".scatter")
    expect(scatter).to_have_attribute("aria-label", re.compile(f"Scatter of {shown:,} trainings"))
    for _ in range(3):
        scatter.press("ArrowRight")
    expect(page.locator(".readout").last).to_contain_text(f" mod 97 · {family} · ")
    said = page.locator(".readout").last.text_content()
    expression = said.split(" mod 97 · ")[0]
    assert (expression == "a table") == (family == "relabelled-sum")
    scatter.press("Enter")
    page.wait_for_url("**view=verdict*")
    page.locator(".answer h2").wait_for()
    expect(page.locator("#expression")).to_have_value("" if expression == "a table" else expression)


def test_an_item_of_the_paper_shows_published_beside_measured(page):
    open_view(page, "paper")
    card = page.locator(".card", has_text="Figure 1")
    expect(card).to_contain_text("published")
    expect(card).to_contain_text("measured")
    card.locator("summary").click()
    card.locator("table").first.wait_for()
    expect(card.get_by_role("button", name="Compute it here")).to_be_visible()


# ---------------------------------------------------------------------------------------------- for everyone


def test_the_page_can_be_used_without_a_mouse(page):
    page.goto("/")
    page.locator("canvas.cells[data-rows]").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the view"
    page.locator("#expression").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("n1 + n2")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("11")
    page.locator("canvas.cells[data-rows='11']").wait_for()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('canvas.cells')"):
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#live")).to_have_text("n1 = 1, n2 = 0: value 1")


@pytest.mark.slow
def test_an_item_of_the_paper_is_computed_from_the_page(page, server):
    open_view(page, "paper")
    card = page.locator(".card", has_text="Exact networks")
    card.locator("summary").click()
    card.get_by_role("button", name="Compute it here").click()
    page.locator(".card", has_text="Exact networks").locator(".card-line b", has_text="measured").wait_for()
    assert (server.folder / "report").is_dir()


@pytest.mark.parametrize(("theme", "rules"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})])
def test_no_view_has_a_barrier_that_axe_knows(page, theme, rules):
    """In the light every rule, in the dark what depends on colours."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed; `make dev` does it"
    )
    page.emulate_media(color_scheme=theme)
    found = {}
    for view in VIEWS:
        open_whole_view(page, view)
        for barrier in axe.Axe().run(page, options=rules).response["violations"]:
            found[view, barrier["id"]] = [node["html"][:200] for node in barrier["nodes"]][:3]
    assert found == {}


def test_a_narrow_page_does_not_scroll_sideways(page):
    page.set_viewport_size({"width": 390, "height": 800})
    for view in VIEWS:
        open_whole_view(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


def test_the_theme_can_be_chosen_and_is_kept(page):
    page.emulate_media(color_scheme="light")
    page.goto("/")
    page.get_by_role("button", name="Dark").click()
    page.reload()
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    expect(page.get_by_role("button", name="Light")).to_be_visible()
