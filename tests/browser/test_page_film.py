"""The film of a training: it plays by itself when the training ends, obeys the keyboard and those who prefer no motion,
is saved as a GIF, and is shared as a page that opens from a disk, with no network, on a desk and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modgrok as mg
from browser.explorer_browser import BROWSER, PATIENCE, complaint, expect, open_view, still, until
from browser.test_page_trainings import shown_step, start_training

pytestmark = BROWSER

SMALL = {"width": 24, "steps": 60}
SHARED = {
    "power": lambda: mg.train("n1 n2", 11, **SMALL),
    "mlp": lambda: mg.train("n1 + n2", 7, model="mlp", **SMALL),
    "transformer": lambda: mg.train("n1 + n2", 7, model="transformer", heads=2, **SMALL),
    "group": lambda: mg.train("a b", group="S3", **SMALL),
    "three": lambda: mg.train("n1 + n2 + n3", 3, **SMALL),
    "compiled": lambda: mg.compile("n1 n2 + n1^2", 11, frequencies="minimal"),
    "compiled, group": lambda: mg.compile("a b", group="S3"),
    "function": lambda: mg.read_function("2n1^4 n2 + n1^2 n2^2 - 3n1 n2^3 + 5n1^7 n2 + 6n1^8 n2^9", 11),
    "table": lambda: mg.read_function(np.add.outer(range(6), range(6)) % 6),
}
"""What is shared, and shown by its page."""
MOMENTS = """
window.moments = [];
new MutationObserver((changes) => changes.forEach(({ target }) => moments.push(Number(target.value))))
  .observe(document, { subtree: true, attributeFilter: ["aria-valuetext"] });
"""
"""A film may be over before a busy machine looks at it: its page remembers where the slider was."""
SEEN = {
    "desk": (1280, 900, "light"),
    "phone": (390, 800, "dark"),
    "desk, dark": (1280, 900, "dark"),
    "phone, light": (390, 800, "light"),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("shared")
    return {name: mg.share(make(), out=folder / f"{name}.html").files[0] for name, make in SHARED.items()}


@contextmanager
def from_disk(browser: Any, path: Path, where: str = "desk", **more: Any) -> Iterator[Any]:
    """A page opened from a disk in a profile of its own, with every network request refused and told."""
    width, height, theme = SEEN[where]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, offline=True, accept_downloads=True, **more
    )
    context.set_default_timeout(1000 * PATIENCE)
    trouble: list[str] = []
    own = path.as_uri()
    context.on("request", lambda r: trouble.append(r.url[:200]) if outside(r.url, own) else None)
    context.on("weberror", lambda error: trouble.append(str(error.error)))
    context.on("console", lambda message: trouble.append(message.text) if complaint(message) else None)
    context.add_init_script(MOMENTS)
    page = context.new_page()
    page.goto(own)
    yield page
    context.close()
    assert trouble == [], "\n".join(trouble)


def outside(url: str, own: str) -> bool:
    return not url.startswith(("data:", "blob:", own))


def barriers(page: Any) -> dict[str, list[str]]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed; `make dev` does")
    until(lambda: still(page))
    found = axe.Axe().run(page).response["violations"]
    return {each["id"]: [node["html"][:200] for node in each["nodes"]][:3] for each in found}


def slider_at(page: Any) -> int:
    return int(page.get_by_label("Step", exact=True).input_value())


def has_played(page: Any) -> bool:
    """Whether it went through its moments, one after the other, to the end, and stopped there."""
    seen, ended = page.evaluate("moments"), page.get_by_role("button", name="Play", exact=True).is_visible()
    return ended and any(seen[at : at + 32] == list(range(32)) for at in range(len(seen)))


@pytest.mark.parametrize("where", SEEN)
def test_a_first_visit_ends_with_a_film_that_is_saved_and_shared(page, server, browser, tmp_path, where):
    """A polynomial is typed, a network trained; its film plays by itself, becomes a GIF and a page, and plays there."""
    width, height, theme = SEEN[where]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    page.add_init_script(MOMENTS)
    page.goto("/")
    page.locator("#expression").fill("n1 + n2")
    page.locator("#modulus").fill("7")
    page.locator("canvas.cells[data-rows='7']").wait_for()
    page.get_by_role("link", name="Training").click()
    start_training(page, width=32, steps=300, seed=list(SEEN).index(where))
    until(lambda: has_played(page))
    assert shown_step(page) == 300 and page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    image = pytest.importorskip("PIL.Image")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as GIF").click()
    content = Path(saved.value.path()).read_bytes()
    film = image.open(BytesIO(content))
    assert content[:6] == b"GIF89a" and film.n_frames == 32 and film.size == (800, 470) and len(content) < 3_000_000
    frames = []
    for k in (0, 31):
        film.seek(k)
        frames.append(np.asarray(film.convert("RGB")).copy())
    assert (frames[0] != frames[1]).any(axis=2).mean() > 0.02, "the last is not the first"
    with page.expect_download() as saved:
        page.get_by_role("button", name="Share as a page").click()
    assert saved.value.suggested_filename.endswith(".html")
    saved.value.save_as(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 3_000_000
    with from_disk(browser, tmp_path / "page.html", where) as shared:
        expect(shared.locator("h1")).to_contain_text("A network learns")
        until(lambda: has_played(shared))
        with shared.expect_download() as again:
            shared.get_by_role("button", name="Save as GIF").click()
        assert Path(again.value.path()).read_bytes()[:6] == b"GIF89a"


def test_space_plays_and_pauses_and_arrows_step(browser, pages):
    with from_disk(browser, pages["power"], reduced_motion="reduce") as page:
        page.get_by_role("button", name="Play", exact=True).wait_for()
        assert slider_at(page) == 31
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
        assert slider_at(page) == 30
        page.get_by_label("Loop").check()  # so that it plays until somebody stops it
        page.get_by_label("Step", exact=True).focus()
        page.keyboard.press("Home")
        expect(page.locator(".tiles dd").first).to_have_text("0")
        page.keyboard.press("Space")
        page.get_by_role("button", name="Pause").wait_for()
        until(lambda: slider_at(page) > 0)
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play", exact=True).wait_for()
        page.locator("canvas.cells").first.focus()
        before = slider_at(page)
        page.keyboard.press("ArrowRight")
        assert slider_at(page) == before, "on the table arrows read cells"
        expect(page.locator("#live")).to_contain_text("n1 = 0, n2 = 0")


def test_nothing_moves_by_itself_for_who_prefers_that(browser, pages, page, server):
    with from_disk(browser, pages["power"], reduced_motion="reduce") as shared:
        shared.get_by_role("button", name="Save as GIF").wait_for()
        shared.wait_for_timeout(1500)
        assert slider_at(shared) == 31 and shared.get_by_role("button", name="Play", exact=True).is_visible()
        assert shared.evaluate("moments").count(0) == 0
        shared.get_by_role("button", name="Play", exact=True).click()
        until(lambda: has_played(shared))
    page.emulate_media(reduced_motion="reduce")
    open_view(page, "training", "n1 + n2", 5)
    start_training(page, width=16, steps=40, seed=9)
    page.get_by_role("button", name="Save as GIF").wait_for()
    assert slider_at(page) == 31 and page.get_by_role("button", name="Play", exact=True).is_visible()


def test_all_pictures_are_those_of_the_moment(browser, pages):
    """The cells and the numbers at every moment, against the networks that the run kept; the film can be looped."""
    run = SHARED["power"]()
    wanted = run.config.function.table.reshape(-1)
    with from_disk(browser, pages["power"], reduced_motion="reduce") as page:
        page.get_by_role("button", name="Save as GIF").wait_for()
        for k, (step, network) in list(enumerate(run.snapshots.items()))[::10]:
            page.get_by_label("Step", exact=True).fill(str(k))
            right = int((network.table().reshape(-1) == wanted).sum())
            expect(page.locator(".tiles dd").first).to_have_text(str(step))
            expect(page.locator(".wave-grid canvas").first).to_have_attribute("aria-label", re.compile(f"step {step}$"))
            expect(page.locator(".curve-frame").first).to_have_attribute(
                "aria-label", re.compile(f"at step {step} of 60")
            )
            label = page.locator("canvas.cells").first.get_attribute("aria-label")
            until(lambda right=right: counted(page) == right)
            assert "121" not in label.split(":")[1]
        page.get_by_label("Loop").check()
        page.get_by_label("Speed").select_option("4")
        page.get_by_role("button", name="Play", exact=True).click()
        places = []
        until(lambda: places.append(slider_at(page)) or any(b < a for a, b in pairwise(places)))


def counted(page: Any) -> int:
    """The right cells that the table's picture tells: those that test, and those that train."""
    label = page.locator("canvas.cells").first.get_attribute("aria-label")
    test, train = re.search(r"test cells (\d+) are right, of \d+ training cells (\d+)\.", label).groups()
    return int(test) + int(train)


@pytest.mark.parametrize("where", ["desk", "phone"])
@pytest.mark.parametrize("name", SHARED)
def test_every_kind_of_page_is_whole_on_a_desk_and_on_a_phone(browser, pages, name, where):
    with from_disk(browser, pages[name], where, reduced_motion="reduce") as page:
        page.get_by_role("heading", name="Make it again").wait_for()
        page.get_by_text("this page loads nothing and sends nothing").wait_for()
        page.locator(".answer h2").wait_for()
        width = SEEN[where][0]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if name not in ("compiled", "compiled, group", "function", "table"):
            expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        if name == "group":
            share = page.get_by_role("row", name="logits that the closed form of the group explains")
            expect(share.get_by_role("cell").last).to_have_text("100 %")
            expect(page.locator(".tiles dt", has_text="IPR")).to_be_hidden()
        assert barriers(page) == {}
        dark = page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.locator("#theme").click()
        assert (page.evaluate("document.documentElement.dataset.theme") == "dark") != dark
        assert barriers(page) == {}, "in the other theme, too"


def test_a_page_with_a_strangers_words_shows_them(browser, tmp_path):
    from dataclasses import replace

    enemy = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    named = replace(SHARED["table"](), name=enemy, source=enemy, variables=("<b>a", "<i>b"))
    path = mg.share(named, out=tmp_path / "page.html").files[0]
    with from_disk(browser, path, reduced_motion="reduce") as page:
        page.get_by_role("heading", name="Make it again").wait_for()
        assert "taken" not in page.title().replace(enemy, "") and page.locator("main img").count() == 0
        expect(page.locator("h1")).to_contain_text("onerror")


def test_a_film_of_an_open_page_has_no_barrier_that_axe_knows(page, server):
    page.emulate_media(reduced_motion="reduce")
    open_view(page, "training", "n1 + n2", 5)
    start_training(page, width=16, steps=40, seed=8)
    page.get_by_role("button", name="Save as GIF").wait_for()
    assert barriers(page) == {}
