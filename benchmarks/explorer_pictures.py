"""The pictures of docs/explorer.md: the six views, light and dark, on a desk and on a phone, and what a page costs.

    python benchmarks/explorer_pictures.py docs/images

It starts `modgrok explore`, trains n1 n2 mod 97 from the page (a minute on two cores), and takes every picture with
Debian's chromium. The phone's six views stand side by side in one picture. Colours are reduced to a palette, so that
all of them together stay below 1.5 MB. The first lines are what a page costs: what a browser loads, and how long.
"""

from __future__ import annotations

import argparse
import shutil
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from explorer_client import Explorer
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

THEMES = ("light", "dark")
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
TALLEST_DESK, TALLEST_PHONE = 1500, 1400
COLOURS = 256
PATIENCE = 300_000
QUESTION = "8x^5 y + 34x^9 y^5"
POLYNOMIAL = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"
LOADED = """(() => {
  const loaded = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
  return [loaded.length, loaded.reduce((sum, { transferSize }) => sum + transferSize, 0)];
})()"""
VIEWS = {
    "function": {"expression": "(2n1 + 3n2)^4", "mod": 97, "order": "witness"},
    "verdict": {"expression": QUESTION, "mod": 97},
    "network": {"expression": POLYNOMIAL, "mod": 97},
    "training": {"expression": "n1 n2", "mod": 97},
    "census": {},
    "paper": {"item": "figure1"},
}
"""What each view shows in its picture."""


def train(page: Page) -> str:
    """A run, trained from the page; its name."""
    page.goto(f"/?{urlencode({'view': 'training', **VIEWS['training']})}")
    page.get_by_label("steps", exact=True).fill("200")
    page.get_by_role("button", name="Start training").click()
    page.locator(".verdict-line").wait_for(timeout=PATIENCE)
    return page.evaluate("new URLSearchParams(location.search).get('run')")


def settled(page: Page, view: str, run: str) -> None:
    """Open a view and wait until nothing changes any more."""
    page.goto(f"/?{urlencode({'view': view, **VIEWS[view], **({'run': run} if view == 'training' else {})})}")
    page.wait_for_load_state("networkidle", timeout=PATIENCE)
    if view == "training":
        page.get_by_role("button", name="Save as GIF").wait_for(timeout=PATIENCE)
        between = page.evaluate("Math.round(0.66 * document.querySelector('.run input[type=range]').max)")
        page.locator(".run input[type=range]").fill(str(between))
        page.locator(".run input[type=range]").blur()
    if view == "network":
        page.get_by_label("minimal", exact=True).check(force=True)
    page.wait_for_timeout(800)
    page.wait_for_load_state("networkidle", timeout=PATIENCE)
    page.wait_for_timeout(400)


def picture(page: Page, *, tallest: int) -> Image.Image:
    """The page from its top, down to its end or to `tallest` pixels."""
    whole = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    return whole.crop((0, 0, whole.width, min(whole.height, tallest)))


def save(image: Image.Image, path: Path) -> int:
    """Write it with few colours, chosen so that rare ones, as those of a legend, stay apart."""
    few = image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    return path.stat().st_size


def side_by_side(images: list[Image.Image], gap: int = 24) -> Image.Image:
    width = sum(image.width for image in images) + gap * (len(images) - 1)
    whole = Image.new("RGB", (width, max(image.height for image in images)), (136, 136, 136))
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width + gap
    return whole


def take(browser: Browser, address: str, run: str, folder: Path) -> int:
    """Every picture; how many bytes they are."""
    total = 0
    for theme in THEMES:
        phones = []
        for size in (DESK, PHONE):
            context = browser.new_context(base_url=address, viewport=size, color_scheme=theme)
            page = context.new_page()
            for view in VIEWS:
                settled(page, view, run)
                if size is PHONE:
                    phones.append(picture(page, tallest=TALLEST_PHONE))
                else:
                    total += save(picture(page, tallest=TALLEST_DESK), folder / f"explorer-{view}-{theme}.png")
            context.close()
        total += save(side_by_side(phones), folder / f"explorer-phone-{theme}.png")
    return total


def costs(browser: Browser, address: str) -> str:
    """What a first visit loads, and when its picture is there."""
    context = browser.new_context(base_url=address, viewport=DESK)
    page = context.new_page()
    page.goto("/")
    page.locator("canvas.cells[data-rows]").wait_for()
    paint, drawn = page.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]"
    )
    page.wait_for_load_state("networkidle")
    files, size = page.evaluate(LOADED)
    loaded = f"{files} files and answers, {size / 1024:.0f} kB"
    seconds = verdict_seconds(page)
    context.close()
    return (
        f"a first visit: {loaded}; first paint after {paint:.0f} ms, the table after {drawn:.0f} ms\n"
        f"{QUESTION} typed: its verdict {seconds:.2f} s after the last key"
    )


def verdict_seconds(page: Page) -> float:
    """From the last key of an expression to its verdict and expected accuracy on the screen."""
    page.goto("/?expression=n1+n2&mod=97&view=verdict")
    page.locator(".large").wait_for()
    page.locator("#expression").fill("")
    page.locator("#expression").type(QUESTION)
    last_key = time.perf_counter()
    page.locator(".answer", has_text="neither a sum nor a product").wait_for()
    page.locator(".large").wait_for()
    return time.perf_counter() - last_key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the pictures go; none are taken without it")
    folder = parser.parse_args().folder
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with TemporaryDirectory() as runs, Explorer(runs) as explorer, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(costs(browser, explorer.address))  # before it was asked for anything
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with browser.new_context(base_url=explorer.address, viewport=DESK) as context:
                run = train(context.new_page())
            print(f"pictures: {take(browser, explorer.address, run, folder) / 1024:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
