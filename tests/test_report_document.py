"""A document says the same in HTML and in Markdown, with polynomials as books print them."""

from __future__ import annotations

import pytest
from html_elements import Elements

from modgrok.report.document import Bullets, Details, Document, Heading, Paragraph, Table, cell_html, typeset


@pytest.mark.parametrize(
    "plain, printed",
    [
        ("2n1^4 n2 - n2^12", "2n₁⁴\u202fn₂ − n₂¹²"),
        ("h(g1(n1) + g2(n2))", "h(g₁(n₁) + g₂(n₂))"),
        ("n1 + … + nS over Z_97", "n₁ + … + nₛ over Z₉₇"),
        ("A = N^(-1/(S+1)), learning rate 1e-08", "A = N^(-1/(S+1)), learning rate 1e-08"),
        ("(x^2 + 1)^3", "(x² + 1)³"),
    ],
)
def test_polynomials_are_typeset(plain, printed):
    assert typeset(plain) == printed


def test_both_renderings_of_a_small_document(tmp_path):
    table = Table(("item", "n1^2"), (("a|b", "1.5"), ("differs", "–")), "caption")
    document = Document("T", "s", (Heading(2, "First one"), Bullets(("a_b", "`x<y`")), table))
    page_text = document.html()
    Elements(page_text)
    assert (
        '<td class="number" data-label="n1^2">1.5</td>' in page_text
        and '<span class="verdict bad">differs</span>' in page_text
    )
    assert "<li>a_b</li><li><code>x&lt;y</code></li>" in page_text
    assert document.markdown(tmp_path) == (
        "# T\n\ns\n\n- [First one](#first-one)\n\n"
        '<a id="first-one"></a>\n\n## First one\n\n- a\\_b\n- `x<y`\n\ncaption\n\n'
        "| item | n₁² |\n| --- | --- |\n| a\\|b | 1.5 |\n| differs | – |\n"
    )


def test_what_is_folded_has_no_place_in_the_contents_and_links_lead_to_headings(tmp_path):
    folded = Details("more of n1^2", (Paragraph("inside"), Table(("a",), (("1",),))))
    document = Document("T", "s", (Heading(2, "First one"), Paragraph("see [the first](#first-one)"), folded))
    page_text = document.html()
    Elements(page_text)
    assert "<details><summary>more of n₁²</summary>\n<p>inside</p>" in page_text
    assert '<p>see <a href="#first-one">the first</a></p>' in page_text
    text = document.markdown(tmp_path)
    assert "<details>\n<summary>more of n₁²</summary>\n\ninside\n\n| a |" in text and text.endswith("\n\n</details>\n")
    assert "see [the first](#first-one)" in text


@pytest.mark.parametrize(
    "text, kind",
    [
        ("reproduced", "good"),
        ("finding", "good"),
        ("agrees with more steps", "good"),
        ("partly reproduced", "mixed"),
        ("undecided", "mixed"),
        ("contradicts (2)", "bad"),
    ],
)
def test_verdicts_and_findings_are_coloured(text, kind):
    assert cell_html(text) == f'<span class="verdict {kind}">{text}</span>'
