r"""A safe parser for expressions; `trees` has what it makes of them.

    input     = value [ modulus | "in" structure ]
    modulus   = ( "mod" | "%" ) integer | "(" "mod" integer ")"
    value     = sum [ "if" condition "else" value ]
    condition = sum [ "is" ] ( "odd" | "even" ) | sum ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) sum
    sum       = term { ("+" | "-") term }
    term      = { "+" | "-" } product
    product   = power { [ ("*" | "/") { "+" | "-" } ] power }     a number may not follow without a sign,
                                                                  and nothing a divisor without one
    power     = atom [ ("^" | "**") exponent ]
    exponent  = [ "-" ] integer | "(" [ "-" ] integer ")" | "{" [ "-" ] integer "}"
    atom      = integer | variable | "t" | "(" value ")"

Variables are n1 … n99; x, y, z or a, b, c stand for n1, n2, n3; t is the generator of a finite field. LaTeX (n_{1},
\left(, \cdot, \bmod) and what reports show (n₁⁴) are read as well. The result is an immutable tree; nothing is ever
evaluated as Python. `parse` gives polynomials only: sums, products and powers.

Signs are gathered while reading: -2*-n1 is the product 2 n1, and no tree holds the negation of a negation. So the
printed form of a tree never nests deeper than the text it came from, and is read back to the same tree.

Expressions as tokens: numbers, variables, words and symbols, each with its place in the text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from modgrok.algebra import trees
from modgrok.algebra.trees import Tree, is_polynomial, joined, negated, no_polynomial, to_text
from modgrok.base.errors import ExpressionError, InputError

LAST_VARIABLE = 99


class Token(NamedTuple):
    kind: str  # "integer", "variable", "end", or the word or symbol itself
    value: int
    position: int


SPACE = re.compile(r"(?:\s|\\[,;:! ]|\\quad)+")
INTEGER = re.compile(r"[0-9]+")
NUMBERED = re.compile(r"n_?(?:([0-9]+)|\{([0-9]+)\}|([₀-₉]+))")
RAISED = re.compile("(⁻?)([⁰¹²³⁴-⁹]+)")
WORD = re.compile(r"\\?[bp]?mod(?![A-Za-z])|(?:in|if|is|else|odd|even)(?![A-Za-z_0-9])")
SYMBOL = re.compile(r"\*\*|\\left\(|\\right\)|\\cdot|\\times|[<>=!]=|[-+*/^(){}·×÷−<>=≤≥≠%]")
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
    "%": "mod",
    "==": "=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
}
ALIASES = {"x": 1, "y": 2, "z": 3, "a": 1, "b": 2, "c": 3}
ALLOWED_NAMES = f"variables are n1 … n{LAST_VARIABLE}, and x, y, z or a, b, c for n1, n2, n3"


def tokenise(text: str) -> list[Token]:
    tokens, at, alphabet = [], 0, ""
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
            signs = [Token("-", 0, at)] if found[1] else []
            tokens += [Token("^", 0, at), *signs, Token("integer", plain_number(found[2]), at)]
        elif found := WORD.match(text, at):
            word = "mod" if found[0].endswith("mod") else found[0]
            tokens.append(Token(word, 0, at))
            if word == "in":  # what follows is the name of a structure
                return [*tokens, Token("end", 0, len(text.rstrip()))]
        elif found := SYMBOL.match(text, at):
            tokens.append(Token(SAME_SYMBOL.get(found[0], found[0]), 0, at))
        elif text[at] in "xyz" or (text[at] in "abct" and LETTERS.match(text, at)):
            tokens.append(Token("t", 0, at) if text[at] == "t" else Token("variable", ALIASES[text[at]], at))
            own = alphabet if text[at] == "t" else "xyz" if text[at] in "xyz" else "abc"
            if alphabet not in ("", own):  # a x + b would be n1 n1 + n2
                raise ExpressionError("x, y, z and a, b, c both stand for n1, n2, n3; use one of the two", text, at)
            alphabet, at = own, at + 1
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


LONGEST_TEXT = 4000
DEEPEST_NESTING = 50
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


class Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at, self.depth = text, tokenise(text), 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    @property
    def at_bracketed_modulus(self) -> bool:
        """Whether what follows is not a factor, but '(mod 97)'."""
        return self.next.kind == "(" and self.tokens[self.at + 1].kind == "mod"

    def take(self, *kinds: str) -> Token | None:
        if self.next.kind in kinds:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def error(self, message: str, position: int | None = None) -> ExpressionError:
        return ExpressionError(message, self.text, self.next.position if position is None else position)

    def whole(self) -> Reading:
        if self.next.kind == "end":
            raise self.error("the expression is empty; give one like '2n1^4 n2 + 3'")
        tree, modulus, place = self.value(), None, None
        opened = self.at_bracketed_modulus and self.take("(")
        if self.take("mod"):
            braced = self.take("{")
            number = self.take("integer")
            if number is None or (braced and not self.take("}")) or (opened and not self.take(")")):
                raise self.error("'mod' needs a whole number after it, as in 'n1 + n2 mod 97'")
            modulus = number.value
        elif word := self.take("in"):
            place = self.text[word.position + 2 :].strip()
        if self.next.kind == ")":
            raise self.error("this ')' closes nothing; remove it or open a '(' before it")
        if self.next.kind != "end":
            raise self.error("expected the end, + or - here")
        return Reading(tree, modulus, place)

    def value(self) -> Tree:
        then, place = self.sum(), self.next.position
        if not self.take("if"):
            return then
        relation, left, right = self.condition()
        if not self.take("else"):
            raise self.error("'if' needs an 'else', as in (n1 if n2 odd else n1 + n2)", place)
        self.nest(place)
        otherwise = self.value()
        self.depth -= 1
        return trees.Conditional(relation, left, right, then, otherwise)

    def condition(self) -> tuple[str, Tree, Tree | None]:
        left = self.sum()
        word = bool(self.take("is"))
        if found := self.take("odd", "even"):
            return found.kind, left, None
        if word or not (found := self.take(*COMPARISONS)):
            raise self.error("a condition is 'n2 odd', 'n2 even', or two values with = != < <= > or >= between them")
        return found.kind, left, self.sum()

    def nest(self, place: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise self.error(f"nested deeper than {DEEPEST_NESTING} levels; use fewer parentheses", place)

    def sum(self) -> Tree:
        terms = [self.term()]
        while self.next.kind in ("+", "-"):
            terms.append(self.term())
        return terms[0] if len(terms) == 1 else trees.Sum(tuple(terms))

    def term(self) -> Tree:
        minus = self.minus()
        product = self.product()
        return negated(product) if minus else product

    def minus(self) -> bool:
        """Whether the signs that follow, if any, make a minus."""
        minus = False
        while sign := self.take("+", "-"):
            minus ^= sign.kind == "-"
        return minus

    def product(self) -> Tree:
        factors, minus, divided = [self.power()], False, False
        while True:
            if sign := self.take("*", "/"):
                minus ^= self.minus()
                factor, divided = self.power(), sign.kind == "/"
                factors = [trees.Quotient(joined(factors), factor)] if divided else [*factors, factor]
            elif self.next.kind in ("variable", "(", "t") and not self.at_bracketed_modulus:
                if divided:
                    raise self.error("what is divided by is not clear; write (n1/n2) n3 or n1/(n2 n3)")
                factors.append(self.power())
            elif self.next.kind == "integer":
                before = self.tokens[self.at - 1]
                if self.text[before.position : self.next.position] in ALIASES:
                    raise self.error("a number cannot follow without a sign; variables with numbers are n1, n2, …")
                raise self.error("a number cannot follow without a sign; write * or ^ before it")
            else:
                return negated(joined(factors)) if minus else joined(factors)

    def power(self) -> Tree:
        base = self.atom()
        if not self.take("^"):
            return base
        exponent = self.exponent()
        if self.next.kind == "^":
            raise self.error("two exponents in a row are ambiguous; write (n1^2)^3 or n1^8")
        return trees.Power(base, exponent)

    def exponent(self) -> int:
        start, closing = self.next.position, None
        if opened := self.take("(", "{"):
            closing = ")" if opened.kind == "(" else "}"
        minus = bool(self.take("-"))
        number = self.take("integer")
        if number is None or (closing and not self.take(closing)):
            raise self.error("exponents must be whole numbers, as in n1^4 or n1^-1", start)
        return -number.value if minus else number.value

    def atom(self) -> Tree:
        if number := self.take("integer"):
            return trees.Integer(number.value)
        if name := self.take("variable"):
            return trees.Variable(name.value)
        if self.take("t"):
            return trees.Generator()
        if opened := self.take("("):
            self.nest(opened.position)
            tree = self.value()
            if not self.take(")"):
                raise self.error("this '(' is never closed; add the matching ')'", opened.position)
            self.depth -= 1
            return tree
        if self.next.kind == "end":
            raise self.error("the expression ends too early; a number, a variable or '(' must follow")
        raise self.error("expected a number, a variable or '(' here")


class Reading(NamedTuple):
    """What a text says: an expression, and at its end a modulus ('mod 97') or the name of a structure ('in S5')."""

    tree: Tree
    modulus: int | None
    place: str | None


def parse_any(text: str) -> Reading:
    """An expression of any kind, with what it says of where it has its values."""
    if not isinstance(text, str):
        raise InputError(f"an expression must be text, got {type(text).__name__}; write 'n1 + n2'")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"expressions may have {LONGEST_TEXT} characters, got {len(text)}; factor or shorten it")
    found = Parser(text).whole()
    if (length := len(to_text(found.tree))) > LONGEST_TEXT:
        raise InputError(
            f"expressions may have {LONGEST_TEXT} characters, got {length} with x, y, z written as n1, n2, n3; "
            "factor or shorten it"
        )
    return found


def parse_with_modulus(text: str) -> tuple[Tree, int | None]:
    """The tree of a polynomial, and the modulus of a trailing 'mod 97' if there is one."""
    found = parse_any(text)
    if found.place is not None or not is_polynomial(found.tree):
        raise no_polynomial(found.tree)
    return found.tree, found.modulus


def parse(text: str, modulus: int | None = None) -> Tree:
    """The tree of a polynomial; a trailing 'mod 97' must agree with `modulus` where both are given."""
    tree, written = parse_with_modulus(text)
    agreed(text, written, modulus)
    return tree


def agreed(text: str, written: int | None, given: int | None) -> int | None:
    """The modulus that a text ends with, that is given beside it, or both."""
    if None not in (written, given) and written != given:
        raise ExpressionError(
            f"the expression says mod {written} but {given} is given; give one of them, or the same number",
            text,
            max(text.rfind("mod"), text.rfind("%")),
        )
    return given if written is None else written
