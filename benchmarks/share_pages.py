"""Six shared pages for the gallery; and with --measure the size of each, and how fast a browser paints it from disk.

    python benchmarks/share_pages.py site/shared
    python benchmarks/share_pages.py shared --measure

Everything has its seed, so the pages are the same wherever they are made. `make docs` makes them; all six take a minute
of two cores.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import modgrok as mg

PAGES: dict[str, Callable[[], Any]] = {
    "product": lambda: mg.train("n1 n2", mod=23),
    "mlp": lambda: mg.train("n1 + n2", mod=31, model="mlp", width=128, fraction=0.7, steps=600),
    "transformer": lambda: mg.train("n1 + n2", mod=23, model="transformer", width=48, fraction=0.7, steps=1200),
    "group": lambda: mg.train("a b", group="S4", fraction=0.6, steps=600),
    "compiled": lambda: mg.compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=97, frequencies="minimal"),
    "function": lambda: mg.read_function("(2n1 + 3n2)^4", 97),
}
"""Each page by the name of its file; docs/gallery.md links to them."""
PAINTS = "performance.getEntriesByType('paint').find((each) => each.name === 'first-contentful-paint')?.startTime"


def made(folder: Path) -> dict[str, dict[str, Any]]:
    """The pages, with what each took."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, make in PAGES.items():
        began = time.perf_counter()
        thing = make()
        result = mg.share(thing, out=folder / f"{name}.html")
        reached = {} if result.kind != "run" else {"test_accuracy": round(thing.final["test_accuracy"], 4)}
        sizes = {"kilobytes": round(result.page_bytes / 1000), "moments": result.moments}
        found[name] = sizes | reached | {"seconds": round(time.perf_counter() - began, 1)}
        print(f"{folder / name}.html: {result.page_bytes / 1000:,.0f} kB", flush=True)
    return found


def painted(path: Path) -> dict[str, Any]:
    """When a browser first paints a page from disk, the median of five profiles, and what it asks the network for."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    times: list[float] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(5):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url) if "http" in request.url[:5] else None)
            page.goto(path.resolve().as_uri())
            page.get_by_role("heading", name="Make it again").wait_for()
            page.wait_for_timeout(500)
            times.append(page.evaluate(PAINTS))
            context.close()
        browser.close()
    return {"first_paint_ms": round(sorted(times)[2]), "requests": len(asked)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", action="store_true", help="also open each page in chromium")
    args = parser.parse_args()
    found = made(args.folder)
    if args.measure:
        print(
            json.dumps({name: about | painted(args.folder / f"{name}.html") for name, about in found.items()}, indent=2)
        )


if __name__ == "__main__":
    main()
