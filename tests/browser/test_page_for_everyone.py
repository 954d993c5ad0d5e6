"""Census and paper on the explorer's page; and all of it without a mouse, on a phone, in the dark, by axe's rules."""

from __future__ import annotations

import re

import pytest

from browser.explorer_browser import BROWSER, PATIENCE, VIEWS, copied, expect, open_view, open_whole_view

pytestmark = BROWSER


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
    assert f'"{family}" = 1' in copied(page) and "moduli = [97]" in copied(page)
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
    card.get_by_role("button", name="Copy as command").click()
    expect(card.locator("pre")).to_have_text("modgrok paper figure1")
    expect(page.get_by_role("button", name="Compute all (quick versions)")).to_be_visible()
    assert copied(page) == "modgrok paper all --quick"


@pytest.mark.slow
def test_an_item_of_the_paper_is_computed_from_the_page(page, server):
    open_view(page, "paper")
    card = page.locator(".card", has_text="Exact networks")
    card.locator("summary").click()
    card.get_by_role("button", name="Compute it here").click()
    page.locator(".card", has_text="Exact networks").locator(".card-line b", has_text="measured").wait_for()
    assert (server.folder / "report").is_dir()


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
