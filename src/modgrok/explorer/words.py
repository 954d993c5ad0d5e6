"""What can be asked, and what requests may bring: words by name, of their type, not too long, without odd characters.

Every route takes the words that are listed for it and no others, from an address or from a body of JSON. What a word
means is checked where it is used; here it is only made sure that it can be used, kept and printed at all.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from modgrok.base.errors import InputError
from modgrok.explorer.limits import LONGEST_EXPRESSION

LONGEST_NUMBER, LONGEST_CHOICE, LONGEST_NAME, LONGEST_PATH = 40, 100, 255, 1000


class Word(NamedTuple):
    """What one word may be: its types in JSON (an address has text alone), its characters, and an example."""

    types: tuple[type, ...]
    longest: int
    wanted: str


NUMBER = Word((str, int, float), LONGEST_NUMBER, "a number, as in 0.5")
WHOLE = Word((str, int), LONGEST_NUMBER, "a whole number, as in 97")
CHOICE = Word((str,), LONGEST_CHOICE, 'text, as in "exact"')
NAME = Word((str,), LONGEST_NAME, 'text, as in "mine.csv"')
PATH = Word((str,), LONGEST_PATH, 'text, as in "n1_n2_mod97"')
RUNS = Word((str,), 6 * LONGEST_PATH, 'names of runs, a line each, as in "n1_n2_mod97"')
EXPRESSION = Word((str,), LONGEST_EXPRESSION, 'text, as in "n1 n2"')
SETTINGS = Word((dict,), 0, 'an object, as in {"steps": 1000}')
SETTING = Word((str, int, float, bool), LONGEST_CHOICE, "a number or a word, as in 1000")
"""One of the settings; which there are, and what each may be, is the library's to say."""

FUNCTION = {"expression": EXPRESSION, "mod": WHOLE, "table": CHOICE}
NETWORK = FUNCTION | {
    "network": CHOICE,
    "run": PATH,
    "method": CHOICE,
    "frequencies": CHOICE,
    "seed": WHOLE,
    "mul_width": WHOLE,
    "add_width": WHOLE,
    "beta": NUMBER,
}


class Question(NamedTuple):
    """A question: the module of this room that has a function of its name, and the words that it takes.

    A page asks it at `address`, unless it is one that routes ask; an answer that `lasts` is the same as long as the
    server runs.
    """

    module: str
    words: Mapping[str, Word] = MappingProxyType({})
    lasts: bool = False
    by_pages: bool = True


QUESTIONS = {
    "function": Question("functions", FUNCTION, lasts=True),
    "function_slice": Question("functions", FUNCTION | {"at": CHOICE}, lasts=True),
    "representations": Question("functions", FUNCTION, lasts=True),
    "verdict": Question("functions", FUNCTION | {"fraction": NUMBER, "only": CHOICE}, lasts=True),
    "table": Question("functions", by_pages=False),
    "network": Question("network_answers", NETWORK, lasts=True),
    "verification": Question("network_answers", NETWORK, lasts=True),
    "expert": Question("network_answers", NETWORK | {"expert": WHOLE}, lasts=True),
    "flow": Question("network_answers", NETWORK | {"n": CHOICE}, lasts=True),
    "inspection": Question("network_answers", NETWORK),
    "download": Question("network_answers", NETWORK | {"format": CHOICE}),
    "shared": Question("sharing", NETWORK),
    "dropped": Question("dropped", by_pages=False),
    "looked": Question("dropped", {"network": CHOICE}),
    "settings": Question("settings", lasts=True),
    "training_recipe": Question("settings", by_pages=False),
    "training_plan": Question("settings", by_pages=False),
    "resume_plan": Question("settings", by_pages=False),
    "runs": Question("run_answers", by_pages=False),
    "run": Question("run_answers", {"run": PATH}),
    "compared": Question("run_answers", {"compared": RUNS}),
    "run_film": Question("run_answers", {"run": PATH, "frames": CHOICE}),
    "census": Question(
        "censuses",
        {"family": NAME, "modulus": WHOLE, "share": NUMBER, "across": CHOICE, "most": WHOLE},
        lasts=True,
    ),
    "census_table": Question("censuses", {"family": NAME, "modulus": WHOLE, "seed": WHOLE}),
    "paper": Question("papers"),
    "known_item": Question("papers", by_pages=False),
    "paper_item": Question("papers", {"item": CHOICE, "from": CHOICE}),
    "paper_figure": Question("papers", {"item": CHOICE, "name": CHOICE, "from": CHOICE}),
}
ADDRESSES = {f"/api/{name.replace('_', '/')}": name for name, question in QUESTIONS.items() if question.by_pages}
"""Addresses that ask a question with their query, and its name."""
TAKEN: dict[str, Mapping[str, Word]] = {name: question.words for name, question in QUESTIONS.items()} | {
    "upload": {"name": NAME},
    "train": FUNCTION | {"settings": SETTINGS},
    "say": FUNCTION | {"settings": SETTINGS},
    "resume": {"run": PATH, "steps": Word((int,), LONGEST_NUMBER, WHOLE.wanted)},
    "stop": {"run": PATH},
    "cancel": {"job": CHOICE},
    "probe": FUNCTION | {"fraction": NUMBER},
    "reproduce": {"item": CHOICE, "size": CHOICE},
}
"""The words of every question, and of everything that can be begun or ended."""


class View(NamedTuple):
    """A view of the page, page/views/NAME.js: its title, and whether it is about the function at the top."""

    title: str
    of_function: bool = True


VIEWS = {
    "function": View("Function"),
    "verdict": View("Verdict"),
    "network": View("Network"),
    "training": View("Training"),
    "census": View("Census", of_function=False),
    "paper": View("Paper", of_function=False),
}
"""In the order of the tabs."""


def words_of(ask: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a request brings, all of it checked; what is null is left out."""
    taken, found = TAKEN[ask], {}
    for name, value in given.items():
        if name not in taken:
            listed = ", ".join(taken) or "nothing"
            raise InputError(f"{ask} takes {listed}; got {shown(name)}, leave it out")
        if value is not None:
            check_word(name, value, taken[name])
            found[name] = value
    return found


def check_word(name: str, value: object, word: Word) -> None:
    if type(value) not in word.types or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"{name} must be {word.wanted}, got {shown(value)}")
    if isinstance(value, dict):
        for setting, each in value.items():
            check_text("the name of a setting", setting, CHOICE)
            if each is not None:
                check_word(setting, each, SETTING)
    else:
        check_text(name, str(value), word)


def check_text(name: str, text: str, word: Word) -> None:
    if len(text) > word.longest:
        raise InputError(f"{name} may have {word.longest:,} characters, got {len(text):,}; shorten it")
    if strange := next((c for c in text if is_strange(c)), None):
        raise InputError(f"{name} has the character {strange!r}, which no word may have; leave it out")


def is_strange(character: str) -> bool:
    """Control characters, which no name has, and halves of pairs, which no file or stream can hold."""
    return unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n\r"


def shown(value: object) -> str:
    """A value in an error: short, and on one line."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= LONGEST_NUMBER else f"{text[:LONGEST_NUMBER]}…"


def needed(words: Mapping[str, Any], name: str) -> str:
    if not words.get(name):
        raise InputError(f"{name} is missing; it is needed, as text")
    return str(words[name])
