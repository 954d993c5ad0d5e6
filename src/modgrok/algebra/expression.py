"""A safe parser for polynomial expressions, and their printing as text and LaTeX.

    input    = sum [ "mod" integer ]
    sum      = term { ("+" | "-") term }
    term     = { "+" | "-" } product
    product  = power { [ "*" { "+" | "-" } ] power }       a number may not follow without "*"
    power    = atom [ ("^" | "**") exponent ]
    exponent = integer | "(" integer ")" | "{" integer "}"
    atom     = integer | variable | "(" sum ")"

Variables are n1 … n99; x, y, z stand for n1, n2, n3. What the LaTeX printer writes (n_{1}, \\left(, \\cdot,
\\bmod) and what reports show (n₁⁴) is read as well. The result is an immutable tree; nothing is ever evaluated as
Python.

Signs are gathered while reading: -2*-n1 is the product 2 n1, and no tree holds the negation of a negation. So the
printed form of a tree never nests deeper than the text it came from, and is read back to the same tree.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from modgrok.algebra.field import check_modulus
from modgrok.base.errors import ExpressionError, InputError

LONGEST_TEXT = 4000
DEEPEST_NESTING = 50
LAST_VARIABLE = 99


@dataclass(frozen=True)
class Integer:
    value: int


@dataclass(frozen=True)
class Variable:
    index: int


@dataclass(frozen=True)
class Sum:
    terms: tuple[Tree, ...]


@dataclass(frozen=True)
class Product:
    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Power:
    base: Tree
    exponent: int


@dataclass(frozen=True)
class Negation:
    operand: Tree


Tree: TypeAlias = Integer | Variable | Sum | Product | Power | Negation


def children(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Sum(terms):
            return terms
        case Product(factors):
            return factors
        case Power(base, _):
            return (base,)
        case Negation(operand):
            return (operand,)
        case _:
            return ()


def variables(tree: Tree) -> tuple[int, ...]:
    """The indices of the variables that occur, in rising order; n1 for an expression without any."""
    return tuple(sorted(occurring(tree))) or (1,)


def occurring(tree: Tree) -> set[int]:
    """The indices of the variables that occur; none for a constant."""
    own = {tree.index} if isinstance(tree, Variable) else set()
    return own.union(*map(occurring, children(tree)))


def negated(tree: Tree) -> Tree:
    return tree.operand if isinstance(tree, Negation) else Negation(tree)


def variable_names(tree: Tree) -> list[str]:
    return [f"n{index}" for index in variables(tree)]


# ---------------------------------------------------------------------------------------------- reading


class Token(NamedTuple):
    kind: str  # "integer", "variable", "mod", "end", or the symbol itself
    value: int
    position: int


SPACE = re.compile(r"(?:\s|\\[,;:! ]|\\quad)+")
INTEGER = re.compile(r"[0-9]+")
NUMBERED = re.compile(r"n_?(?:([0-9]+)|\{([0-9]+)\}|([₀-₉]+))")
RAISED = re.compile("[⁰¹²³⁴-⁹]+")
MOD = re.compile(r"\\?(?:bmod|mod)(?![A-Za-z])")
SYMBOL = re.compile(r"\*\*|\\left\(|\\right\)|\\cdot|\\times|[-+*^(){}·×−]")
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
}
ALIASES = {"x": 1, "y": 2, "z": 3}
ALLOWED_NAMES = f"variables are n1 … n{LAST_VARIABLE}, and x, y, z for n1, n2, n3"


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
        elif found := MOD.match(text, at):
            tokens.append(Token("mod", 0, at))
        elif found := SYMBOL.match(text, at):
            tokens.append(Token(SAME_SYMBOL.get(found[0], found[0]), 0, at))
        elif text[at] in ALIASES:
            tokens.append(Token("variable", ALIASES[text[at]], at))
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
        return "numbers must be whole, got a decimal point; write 1/2 as its inverse modulo p"
    if character == "/":
        return "division is not available; multiply by the inverse modulo p instead"
    return f"cannot read {character!r}; expressions use integers, variables, + - * ^ ** and parentheses"


class Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at, self.depth = text, tokenise(text), 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self, *kinds: str) -> Token | None:
        if self.next.kind in kinds:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def error(self, message: str, position: int | None = None) -> ExpressionError:
        return ExpressionError(message, self.text, self.next.position if position is None else position)

    def whole(self) -> tuple[Tree, int | None]:
        if self.next.kind == "end":
            raise self.error("the expression is empty; give one like '2n1^4 n2 + 3'")
        tree, modulus = self.sum(), None
        if self.take("mod"):
            braced = self.take("{")
            number = self.take("integer")
            if number is None or (braced and not self.take("}")):
                raise self.error("'mod' needs a whole number after it, as in 'n1 + n2 mod 97'")
            modulus = number.value
        if self.next.kind == ")":
            raise self.error("this ')' closes nothing; remove it or open a '(' before it")
        if self.next.kind != "end":
            raise self.error("expected the end, + or - here")
        return tree, modulus

    def sum(self) -> Tree:
        terms = [self.term()]
        while self.next.kind in ("+", "-"):
            terms.append(self.term())
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

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
        factors, minus = [self.power()], False
        while True:
            if self.take("*"):
                minus ^= self.minus()
                factors.append(self.power())
            elif self.next.kind in ("variable", "("):
                factors.append(self.power())
            elif self.next.kind == "integer":
                raise self.error("a number cannot follow without a sign; write * or ^ before it")
            else:
                product = factors[0] if len(factors) == 1 else Product(tuple(factors))
                return negated(product) if minus else product

    def power(self) -> Tree:
        base = self.atom()
        if not self.take("^"):
            return base
        exponent = self.exponent()
        if self.next.kind == "^":
            raise self.error("two exponents in a row are ambiguous; write (n1^2)^3 or n1^8")
        return Power(base, exponent)

    def exponent(self) -> int:
        start, closing = self.next.position, None
        if opened := self.take("(", "{"):
            closing = ")" if opened.kind == "(" else "}"
        if self.next.kind == "-":
            raise self.error("exponents must be non-negative integers, got a minus sign; use p - 1 - e for -e", start)
        number = self.take("integer")
        if number is None or (closing and not self.take(closing)):
            raise self.error("exponents must be non-negative integers, as in n1^4", start)
        return number.value

    def atom(self) -> Tree:
        if number := self.take("integer"):
            return Integer(number.value)
        if name := self.take("variable"):
            return Variable(name.value)
        if opened := self.take("("):
            self.depth += 1
            if self.depth > DEEPEST_NESTING:
                raise self.error(f"nested deeper than {DEEPEST_NESTING} levels; use fewer parentheses", opened.position)
            tree = self.sum()
            if not self.take(")"):
                raise self.error("this '(' is never closed; add the matching ')'", opened.position)
            self.depth -= 1
            return tree
        if self.next.kind == "end":
            raise self.error("the expression ends too early; a number, a variable or '(' must follow")
        raise self.error("expected a number, a variable or '(' here")


def parse_with_modulus(text: str) -> tuple[Tree, int | None]:
    """The tree of an expression, and the modulus of a trailing 'mod 97' if there is one."""
    if not isinstance(text, str):
        raise InputError(f"an expression must be text, got {type(text).__name__}; write 'n1 + n2'")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"expressions may have {LONGEST_TEXT} characters, got {len(text)}; factor or shorten it")
    tree, modulus = Parser(text).whole()
    if (length := len(to_text(tree))) > LONGEST_TEXT:
        raise InputError(
            f"expressions may have {LONGEST_TEXT} characters, got {length} with x, y, z written as n1, n2, n3; "
            "factor or shorten it"
        )
    return tree, modulus


def parse(text: str, modulus: int | None = None) -> Tree:
    """The tree of an expression; a trailing 'mod 97' must agree with `modulus` where both are given."""
    tree, written = parse_with_modulus(text)
    agreed(text, written, modulus)
    return tree


def agreed(text: str, written: int | None, given: int | None) -> int | None:
    """The modulus that a text ends with, that is given beside it, or both."""
    if None not in (written, given) and written != given:
        raise ExpressionError(
            f"the expression says mod {written} but {given} is given; give one of them, or the same number",
            text,
            text.rfind("mod"),
        )
    return given if written is None else written


# --------------------------------------------------------------------------------------------- printing


@dataclass(frozen=True)
class Notation:
    """How names, powers, products before a digit, and parentheses are written."""

    name: str
    power: str
    times: str
    left: str
    right: str

    def bare(self, tree: Tree) -> str:
        match tree:
            case Integer(value):
                return str(value)
            case Variable(index):
                return self.name.format(index=index)
            case Power(base, exponent):
                return self.power.format(base=self.within(base, Integer, Variable), exponent=exponent)
            case Negation(operand):
                return "-" + self.within(operand, Integer, Variable, Power, Product)
            case Product(factors):
                return self.product(factors)
            case Sum(terms):
                return self.sum(*terms)

    def within(self, tree: Tree, *bare_kinds: type) -> str:
        """In parentheses, unless it is of a kind that needs none here."""
        return self.bare(tree) if isinstance(tree, bare_kinds) else self.left + self.bare(tree) + self.right

    def sum(self, first: Tree, *rest: Tree) -> str:
        text = self.within(first, Integer, Variable, Power, Product, Negation)
        for term in rest:
            sign, term = (" - ", term.operand) if isinstance(term, Negation) else (" + ", term)
            text += sign + self.within(term, Integer, Variable, Power, Product)
        return text

    def product(self, factors: tuple[Tree, ...]) -> str:
        text = ""
        for factor in factors:
            starts_with_digit = isinstance(factor.base if isinstance(factor, Power) else factor, Integer)
            text += (self.times if starts_with_digit else " ") if text else ""
            text += self.within(factor, Integer, Variable, Power)
        return text


TEXT = Notation("n{index}", "{base}^{exponent}", "*", "(", ")")
LATEX = Notation("n_{{{index}}}", "{base}^{{{exponent}}}", r" \cdot ", r"\left(", r"\right)")


def to_text(tree: Tree) -> str:
    """The expression as text; `parse` reads it back to the same tree."""
    return TEXT.bare(tree)


def to_latex(tree: Tree) -> str:
    """The expression as LaTeX; `parse` reads it back to the same tree."""
    return LATEX.bare(tree)


def read(text: str, mod: int | None) -> tuple[Tree, int]:
    """The tree and the modulus of an expression; the modulus may be given, written at its end, or both."""
    tree, written = parse_with_modulus(text)
    modulus = agreed(text, written, mod)
    if modulus is None:
        raise InputError("a modulus is needed; give mod=97 (--mod 97), or end the expression with 'mod 97'")
    return tree, check_modulus(modulus)
