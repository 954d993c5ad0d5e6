"""A function on the explorer's page: its table, its verdict, its network. What is shown is compared with integers."""

from __future__ import annotations

import json
import re
import time

import pytest

import modgrok as mg
from browser.explorer_browser import BROWSER, PATIENCE, VIEWS, cells, copied, expect, open_view

pytestmark = BROWSER
HOSTILE = ("<script>document.title='taken'</script>", "<img src=x onerror=alert(1)>", "(" * 4000)


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
    assert "exponents must be whole numbers" in trouble.text_content()
    first, second = trouble.locator("pre").text_content().split("\n")
    assert (first, second) == ("n1^n2 + 3", "   ^")
    page.locator("#expression").fill("n1^2 + 3")
    page.locator("math").first.wait_for()
    expect(trouble).not_to_be_visible()
    page.wait_for_url("**expression=n1%5E2*")


@pytest.mark.parametrize("text", HOSTILE, ids=("script", "image", "long"))
def test_a_hostile_expression_is_text(page, text):
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    open_view(page, "verdict", text, 97)
    page.locator(".trouble").wait_for()
    assert page.title() != "taken"
    assert page.evaluate("document.querySelectorAll('body script, img[onerror]').length") == 0


def test_what_is_very_long_stays_in_its_place(page):
    page.goto("/")
    page.locator("#expression").fill("n1" + " + n1 n2" * 200)
    expect(page.locator(".facts")).to_contain_text("is a product")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.locator("#expression").fill("Ω" * 3000)
    expect(page.locator(".trouble")).to_contain_text("this is too long: 3,000 characters")


def test_an_expression_may_say_its_modulus(page):
    open_view(page, "function", "n1 n2", 97)
    page.locator("#expression").fill("x*y mod 5")
    page.locator("canvas.cells[data-rows='5']").wait_for()
    expect(page.locator("#modulus")).to_have_value("5")
    assert "mod=5" in page.url and copied(page) == 'modgrok classify "x*y mod 5"'
    for elsewhere, size in (("a b in S3", 6), ("x y in GF(9)", 9)):
        page.locator("#expression").fill(elsewhere)
        page.locator(f"canvas.cells[data-rows='{size}']").wait_for()
        expect(page.locator("#modulus")).to_have_value("")
        assert "mod=" not in page.url
    page.locator("#expression").fill("x + y")  # in residues again, modulo what it was there
    page.locator("canvas.cells[data-rows='5']").wait_for()
    expect(page.locator("#modulus")).to_have_value("5")


def test_no_number_of_the_page_is_0_but_0(page):
    page.goto("/")
    words = page.locator("script[type=module]").first.get_attribute("src").replace("main.js", "words.js")
    say = "({ lossText, percent }) => [lossText(0), lossText(1.2e-11), percent(0.0004), percent(0)]"
    assert page.evaluate(f"import('{words}').then({say})") == ["<1e-7", "1.2e-11", "0.04 %", "0 %"]


def test_an_answer_that_comes_late_takes_back_nothing_that_is_typed(page):
    """The first answer comes between a key in the field of the modulus and the question that asks for it."""
    held = []
    page.clock.install()
    page.route("**/api/function?*", lambda route: held.append(route))
    with page.expect_request("**/api/function?*"):
        open_view(page, "function", "n1 n2", 97)
    page.clock.pause_at(page.evaluate("Date.now()") + 1000)
    page.locator("#modulus").fill("7")
    with page.expect_response("**/api/function?*mod=97*") as answered:
        held.pop().continue_()
    answered.value.finished()
    page.evaluate("fetch('/healthz').then((answer) => answer.json())")  # the page has had the time to read it
    expect(page.locator("#modulus")).to_have_value("7")
    page.unroute_all()
    page.clock.resume()
    page.locator("canvas.cells[data-rows='7']").wait_for()


def test_an_own_table_is_read_and_judged(page, server):
    rows = "\n".join(",".join(str((2 * a + b) % 7) for b in range(7)) for a in range(7))
    open_view(page, "function")
    page.locator("#own-table").set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_url("**table=*")
    page.locator("canvas.cells[data-rows='7']").wait_for()
    page.get_by_role("link", name="Verdict").click()
    expect(page.locator(".answer h2")).to_contain_text("sum")


def test_what_a_file_was_read_as_stands_below_its_name(page, server):
    """Lines of coordinates from 1 on, under half of the cells."""
    rows = "\n".join(f"{a + 1},{b + 1},{(2 * a + b) % 7}" for a in range(7) for b in range(7) if (a + 2 * b) % 5 < 2)
    content = f"x,y,z\n{rows}\n".encode()
    open_view(page, "function")
    page.locator("#own-table").set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": content})
    page.wait_for_url("**table=*")
    expect(
        page.get_by_text("7 × 7 cells, read as a line for each cell: x, y, z; x, y count from 1 there")
    ).to_be_visible()


def test_the_third_variable_has_a_slider_and_the_legend_is_the_function_s_own(page):
    open_view(page, "function", "n1 n2", 97)
    expect(page.locator(".strip")).to_contain_text("96")
    page.locator("#expression").fill("x y z + x")
    page.locator("#modulus").fill("7")
    page.locator("canvas.cells[data-rows='7']").wait_for()
    expect(page.locator(".strip")).to_contain_text("6")
    page.get_by_role("slider").fill("5")
    table = page.locator("canvas.cells")
    table.press("ArrowDown")
    for _ in range(3):
        table.press("ArrowDown")
    table.press("ArrowRight")
    expect(page.locator("#live")).to_have_text("n1 = 3, n2 = 1, n3 = 5: value 4")  # 3·1·5 + 3 = 18
    found, values = cells(page), [[(a * b * 5 + a) % 7 for b in range(7)] for a in range(7)]
    colours = {values[a][b]: found[a][b] for a in range(1, 7) for b in range(2, 7)}
    assert all(found[a][b] == colours[values[a][b]] for a in range(1, 7) for b in range(2, 7))


def test_of_a_large_table_some_cells_are_seen(page):
    open_view(page, "function", "n1 n2", 1009)
    page.locator("canvas.cells[data-rows='337']").wait_for()
    page.locator("canvas.cells").press("ArrowDown")
    page.locator("canvas.cells").press("Shift+ArrowDown")
    page.locator("canvas.cells").press("Shift+ArrowRight")
    expect(page.locator("#live")).to_have_text("n1 = 30, n2 = 30: value 900")
    expect(page.locator(".picture-column")).to_contain_text("every 3rd row and column of 1,009 × 1,009")
    assert copied(page) == 'modgrok classify "n1 n2" --mod 1009'
    page.get_by_role("link", name="Verdict").click()
    expect(page.locator(".answer")).to_contain_text("the explorer takes moduli up to 257")


@pytest.mark.parametrize(("view", "shown"), [("verdict", ".witness"), ("network", ".tiles dd:has-text('100 %')")])
def test_what_is_refused_leaves_nothing_of_the_function_before(page, view, shown):
    open_view(page, view, "n1 n2", 97)
    page.locator(shown).first.wait_for()
    page.locator("#modulus").fill("1009")
    page.locator(".notice", has_text="the explorer takes moduli up to 257").wait_for()
    for place in (shown, ".large", ".plan", ".expert"):
        expect(page.locator(f"main {place}")).to_have_count(0)


def test_a_group_shows_its_representations(page):
    open_view(page, "function", "a b in Q8", 8)
    page.get_by_text("Irreducible representations", exact=True).wait_for()
    shown = page.locator(".facts", has_text="degree 2")
    assert shown.locator("dt").all_text_contents() == ["degree 1", "degree 2"]
    assert shown.locator("dd").all_text_contents() == ["4 real", "1 quaternionic"]


def test_every_view_of_a_function_can_be_copied(page):
    kept = {"function": 'classify "n1 + n2" --mod 7', "verdict": 'classify "n1 + n2" --mod 7 --fraction 0.5'}
    kept |= {
        "network": 'compile "n1 + n2" --mod 7 --method exact --frequencies all',
        "training": 'train "n1 + n2" --mod 7',
    }
    for view, words in kept.items():
        open_view(page, view, "n1 + n2", 7)
        page.locator(VIEWS[view]).first.wait_for()
        assert copied(page) == f"modgrok {words}"
        assert copied(page, "Python").startswith("import modgrok as mg\n")


def test_the_page_says_what_it_is(page):
    page.goto("/")
    expect(page.locator(".lead")).to_contain_text("A laboratory for modular arithmetic in neural networks.")


# ---------------------------------------------------------------------------------------------- verdict


def test_a_verdict_comes_with_its_witness(page):
    open_view(page, "verdict", "(2n1 + 3n2)^4", 97)
    assert "is a sum in disguise" in page.locator(".answer h2").text_content()
    plots = page.locator(".witness .residues")
    expect(plots).to_have_count(3)
    found = mg.classify("(2n1 + 3n2)^4", mod=97).witness.g[0]
    box, readout = plots.first.bounding_box(), page.locator(".witness .readout").first
    plots.first.hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(readout).to_have_text(re.compile(r"g1\(\d+\) = \d+"))
    at, value = map(int, re.findall(r"\d+", readout.text_content())[1:])
    assert found[at] == value and 30 < at < 60
    page.mouse.move(0, 0)
    expect(readout).to_have_text("")
    for _ in range(3):
        plots.first.press("ArrowRight")
    expect(page.locator("#live")).to_have_text(f"g1(2) = {found[2]}")
    expect(page.locator("canvas.cells[aria-label*='stripes']")).to_be_visible()


def test_a_refusal_is_drawn_into_the_table(page):
    open_view(page, "verdict", "8x^5 y + 34x^9 y^5", 97)
    assert "neither a sum nor a product" in page.locator(".answer h2").text_content()
    assert re.fullmatch(r"\d+ %", page.locator(".large").text_content())
    marked = json.loads(page.locator("canvas.cells[data-marked]").first.get_attribute("data-marked"))
    row = marked["rows"][0] if marked["rows"] else None
    values = [(8 * row**5 * b + 34 * row**9 * b**5) % 97 for b in range(97)]
    assert len(set(values)) < 97  # a value stands more than once in the row that is shown


def test_nothing_is_asked_about_a_function_that_cannot_be_read(page):
    open_view(page, "verdict", "n1 +", 7)
    page.locator(".trouble").wait_for()
    page.get_by_label("Share of the table to train on").fill("0.6")
    expect(page.get_by_role("button", name="Probe")).to_be_disabled()
    page.locator("#recipe").get_by_role("button", name="Copy as command").click()
    expect(page.locator("#recipe .copied")).to_contain_text("No command says this")
    page.locator("#expression").fill("n1 + n2")
    expect(page.locator(".answer h2")).to_contain_text("is a sum")
    expect(page.get_by_role("button", name="Probe")).to_be_enabled()


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


def test_the_neurons_of_a_group_s_network_stand_over_its_elements(page):
    """The table of the group falls into four blocks, of which each half of the colours has two."""
    open_view(page, "network", "a b in S3", 6)
    page.get_by_text("on 2 representations of the group, each neuron on one").wait_for()
    expect(page.locator(".parts figcaption")).to_have_text(["representation 2", "constant neurons", "representation 1"])
    expect(page.locator(".blocks canvas")).to_have_count(3)
    expect(page.locator(".blocks .circle")).to_have_count(0)
    expect(page.locator(".flow")).to_contain_text("a = (1 3), b = (1 3) gives (), which is right")
    page.get_by_role("link", name="Function").click()
    page.get_by_label("by cosets").check(force=True)
    page.locator("canvas.cells[data-order='cosets']").wait_for()
    expect(page.locator(".strip")).to_contain_text("()")
    found = cells(page)
    halves = [{colour for row in found[a : a + 3] for colour in row[b : b + 3]} for a in (0, 3) for b in (0, 3)]
    assert halves[0] == halves[3] and halves[1] == halves[2] and not halves[0] & halves[1]
    green = [sorted(int(colour.split(",")[1]) for colour in half) for half in halves]
    assert green[0][-1] < green[1][0], "dark, and bright"


def test_an_expert_that_lies_on_no_circle_is_no_trouble(page):
    open_view(page, "network", "n1 n2", 15)
    page.get_by_text("Lines are weights over the values from 0 on.").wait_for()
    expect(page.locator(".blocks canvas")).to_have_count(3)
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.locator(".plan")).not_to_contain_text("1 neurons")


def test_fewer_frequencies_are_fewer_neurons(page):
    open_view(page, "network", "n1 + n2", 23)
    page.get_by_label("chosen").check(force=True)
    widths = [mg.compile("n1 + n2", 23, frequencies=frequencies).width for frequencies in (8, 2)]
    assert widths[0] > widths[1]
    for frequencies, width in zip(("8", "2"), widths, strict=True):
        page.locator("input[type=range]").first.fill(frequencies)
        expect(page.locator(".tiles dd").first).to_have_text(str(width))


def test_no_share_below_one_is_called_100_per_cent(page):
    """99.6 % was: a network that errs on one input of 250 was right on "100 %"."""
    shares = [0, 0.5, 0.992, 0.995, 0.9961, 0.9989, 0.9999, 1 - 1e-12, 1]
    open_view(page, "function", "n1 n2", 5)
    script = "async (shares) => shares.map((await import('/page/words.js')).percent)"
    assert page.evaluate(script, shares) == [
        "0 %",
        "50 %",
        "99 %",
        "99.5 %",
        "99.6 %",
        "99.9 %",
        "99.9 %",
        "99.9 %",
        "100 %",
    ]
