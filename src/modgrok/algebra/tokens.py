"""Expressions as tokens: numbers, variables, words and symbols, each with its place in the text."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from modgrok.base.errors import ExpressionError

LAST_VARIABLE = 99


class Token(NamedTuple):
    kind: str  # "integer", "variable", "end", or the word or symbol itself
    value: int
    position: int


SPACE = re.compile(r"(?:\s|\\[,;:! ]|\\quad)+")
INTEGER = re.compile(r"[0-9]+")
NUMBERED = re.compile(r"n_?(?:([0-9]+)|\{([0-9]+)\}|([₀-₉]+))")
RAISED = re.compile("[⁰¹²³⁴-⁹]+")
WORD = re.compile(r"\\?b?mod(?![A-Za-z])|(?:in|if|is|else|odd|even)(?![A-Za-z_0-9])")
SYMBOL = re.compile(r"\*\*|\\left\(|\\right\)|\\cdot|\\times|[<>=!]=|[-+*/^(){}·×÷−<>=≤≥≠]")
LETTERS = re.compile(r"(?:[abctxyz]|n_?(?:[0-9]+|\{[0-9]+\}|[₀-₉]+))+(?![A-Za-z_0-9])")
"""Letters that are variables one by one, and not the beginning of some other word."""
NAME = re.compile(r"\\?[A-Za-z_][A-Za-z_0-9]*")
SAME_SYMBOL = {
    "**": "^",
    "\\left(": "(",
    "\\right)": ")",
    "\\cdot": "*",
    "\\times": "*",
    "·": "*",
    "×": "*",
    "−": "-",
    "÷": "/",
    "==": "=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
}
ALIASES = {"x": 1, "y": 2, "z": 3, "a": 1, "b": 2, "c": 3}
ALLOWED_NAMES = f"variables are n1 … n{LAST_VARIABLE}, and x, y, z or a, b, c for n1, n2, n3"


def tokenise(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        if found := SPACE.match(text, at):
            pass
        elif found := INTEGER.match(text, at):
            tokens.append(Token("integer", int(found[0]), at))
        elif found := NUMBERED.match(text, at):
            index = plain_number(found[1] or found[2] or found[3])
            if not 1 <= index <= LAST_VARIABLE:
                raise ExpressionError(f"unknown variable {_short(found[0])}; {ALLOWED_NAMES}", text, at)
            tokens.append(Token("variable", index, at))
        elif found := RAISED.match(text, at):
            tokens += [Token("^", 0, at), Token("integer", plain_number(found[0]), at)]
        elif found := WORD.match(text, at):
            word = found[0].removeprefix("\\").removeprefix("b")
            tokens.append(Token(word, 0, at))
            if word == "in":  # what follows is the name of a structure
                return [*tokens, Token("end", 0, len(text.rstrip()))]
        elif found := SYMBOL.match(text, at):
            tokens.append(Token(SAME_SYMBOL.get(found[0], found[0]), 0, at))
        elif text[at] in "xyz" or (text[at] in "abct" and LETTERS.match(text, at)):
            tokens.append(Token("t", 0, at) if text[at] == "t" else Token("variable", ALIASES[text[at]], at))
            at += 1
            continue
        elif found := NAME.match(text, at):
            raise ExpressionError(f"unknown name {_short(found[0])!r}; {ALLOWED_NAMES}", text, at)
        else:
            raise ExpressionError(_unreadable(text[at]), text, at)
        at = found.end()
    return [*tokens, Token("end", 0, len(text.rstrip()))]


def plain_number(digits: str) -> int:
    """A number whose digits may be raised or lowered."""
    return int(unicodedata.normalize("NFKC", digits))


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _unreadable(character: str) -> str:
    if character == ".":
        return "numbers must be whole, got a decimal point; write 1/2 for a half"
    return f"cannot read {character!r}; expressions use integers, variables, + - * / ^ ** and parentheses"
