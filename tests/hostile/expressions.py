"""(a) Expressions: grammar and mutation fuzzing, values against an evaluator that shares nothing with modgrok's.

Half of the texts are written from the grammar, in every spelling that it has; these must be read. The others are such
texts with some characters changed, and noise; these are read or refused with an `ExpressionError` that names a place.
Whatever is read must have the values that Python's own parser and integers give the text, at random points, and its
printed form must be read back to the same tree.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Mapping

import numpy as np
from tally import Tally, problems_of

from modgrok.algebra.expression import parse, parse_with_modulus
from modgrok.algebra.polynomial import evaluate
from modgrok.algebra.trees import to_text, variables
from modgrok.base.errors import InputError

TOTAL, BATCH = 1_000_000, 1_000
MODULI = (2, 3, 4, 5, 6, 7, 12, 13, 35, 97, 100, 1009)
POINTS = 3
DIGITS, RAISED, LOWERED = "0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
NOISE = "nxyz0123456789+-*^(){} .,/\\_modbcltr·×−²⁵₁₃\t\n\0é𝔫\u202e[]'\""


# ------------------------------------------------------------------------------------------ texts


def grammatical(rng: random.Random, depth: int = 3) -> str:
    """A sum as the grammar has it, in a random spelling."""
    signs = ["+", "-", " + ", " - ", "−"]
    terms = [product(rng, depth) for _ in range(rng.choice((1, 1, 2, 3)))]
    text = rng.choice(("", "", "-", "+", "--")) + terms[0]
    for term in terms[1:]:
        text += rng.choice(signs) + term
    return text


def product(rng: random.Random, depth: int) -> str:
    factors = [power(rng, depth) for _ in range(rng.choice((1, 1, 2, 3)))]
    text = factors[0]
    for factor in factors[1:]:
        if factor[0].isdigit():
            text += rng.choice(("*", " * ", "·", "\\cdot ", "*-", "* + "))
        else:
            text += rng.choice((" ", "*", "×", "\\times ", " \\, ", "" if not factor[0].isalpha() else " "))
        text += factor
    return text


def power(rng: random.Random, depth: int) -> str:
    base = atom(rng, depth)
    if rng.random() < 0.7:
        return base
    exponent = rng.choice((0, 1, 2, 3, 4, 7, 96, 10**6, 10**30))
    if rng.random() < 0.2:
        return base + str(exponent).translate(str.maketrans(DIGITS, RAISED))
    return base + rng.choice(("^", "**", " ^ ")) + rng.choice(("{}", "({})", "{{{}}}")).format(exponent)


def atom(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.25:
        return str(rng.choice((0, 1, 2, 3, 10, 96, 97, 10**9, 10**40)))
    if kind < 0.85 or depth == 0:
        k = rng.choice((1, 1, 2, 2, 3, 4, 99))
        spellings = [f"n{k}", f"n_{k}", f"n_{{{k}}}", f"n{k}".translate(str.maketrans(DIGITS, LOWERED))]
        spellings += ["xyz"[k - 1]] * 2 if k <= 3 else []
        return rng.choice(spellings)
    left, right = rng.choice((("(", ")"), ("\\left(", "\\right)"), ("( ", " )")))
    return left + grammatical(rng, depth - 1) + right


def mutated(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, other = rng.randint(0, len(text)), rng.choice(NOISE)
        text = rng.choice(
            (
                text[:at] + other + text[at:],
                text[:at] + text[at + 1 :],
                text[:at] + other + text[at + 1 :],
                text[:at] + text[max(0, at - 4) :],
            )
        )
    return text


# ------------------------------------------------------------------------------------------ the other evaluator


def by_python(text: str, modulus: int) -> Callable[[Mapping[int, int]], int]:
    """A text that modgrok has read as a function: rewritten as Python, parsed by Python, computed with its integers."""
    text = re.sub(r"\\?(bmod|mod)\s*\{?\s*\d+\s*\}?\s*$", "", text)
    text = re.sub(r"\\[,;:! ]|\\quad", " ", text)
    text = re.sub(f"[{RAISED}]+", lambda found: "^" + found[0].translate(str.maketrans(RAISED, DIGITS)), text)
    text = text.translate(str.maketrans(LOWERED, DIGITS))
    for old, new in (("\\left(", "("), ("\\right)", ")"), ("\\cdot", "*"), ("\\times", "*"), ("·", "*"), ("×", "*")):
        text = text.replace(old, new)
    text = text.replace("−", "-").replace("**", "^")
    text = re.sub(r"n_?(?:(\d+)|\{(\d+)\})", lambda found: f" v{int(found[1] or found[2])} ", text)
    text = re.sub(r"[xyzabc]", lambda found: f" v{'xyzabc'.index(found[0]) % 3 + 1} ", text)
    text = text.replace("{", "(").replace("}", ")")
    tokens = re.findall(r"v\d+|\d+|[-+*^()]", text)
    words = [
        ("*" if k and tokens[k - 1][-1] in "0123456789)" and (token[0] in "v(") else "") + spelled(token)
        for k, token in enumerate(tokens)
    ]
    tree = ast.parse("".join(words).replace("^", "**"), mode="eval").body

    def value(node: ast.expr, values: Mapping[int, int]) -> int:
        match node:
            case ast.Constant(int(number)):
                return number % modulus
            case ast.Name(name):
                return values[int(name[1:])]
            case ast.UnaryOp(ast.USub(), operand):
                return -value(operand, values) % modulus
            case ast.UnaryOp(ast.UAdd(), operand):
                return value(operand, values)
            case ast.BinOp(base, ast.Pow(), ast.Constant(int(exponent))):
                return pow(value(base, values), exponent, modulus)
            case ast.BinOp(left, ast.Add(), right):
                return (value(left, values) + value(right, values)) % modulus
            case ast.BinOp(left, ast.Sub(), right):
                return (value(left, values) - value(right, values)) % modulus
            case ast.BinOp(left, ast.Mult(), right):
                return value(left, values) * value(right, values) % modulus
        raise ValueError(ast.dump(node))

    return lambda values: value(tree, values)


def spelled(token: str) -> str:
    return str(int(token)) if token.isdigit() else token


# ------------------------------------------------------------------------------------------ one trial


def problems(text: str, rng: random.Random, *, must_be_read: bool) -> list[str]:
    modulus = rng.choice(MODULI)
    try:
        tree, _ = parse_with_modulus(text)
    except InputError as error:
        wrong = [*problems_of(error, InputError)]
        return wrong + ([f"refused {text!r}: {str(error).splitlines()[0]}"] if must_be_read else [])
    except Exception as error:
        return [f"{text!r}: {type(error).__name__}: {error}"]
    points = {k: [rng.randrange(modulus) for _ in range(POINTS)] for k in variables(tree)}
    given = np.broadcast_to(evaluate(tree, {k: np.array(v) for k, v in points.items()}, modulus), (POINTS,)).tolist()
    truth = by_python(text, modulus)
    wanted = [truth({k: v[place] for k, v in points.items()}) for place in range(POINTS)]
    found = [] if given == wanted else [f"{text!r} mod {modulus} at {points}: {given}, by integers {wanted}"]
    if parse(to_text(tree)) != tree:
        found.append(f"{text!r} is printed as {to_text(tree)!r}, which is read as another tree")
    return found


def run_batch(number: int) -> Tally:
    """A thousand texts that follow from the number of the batch alone."""
    rng, tally = random.Random(f"expressions {number}"), Tally()
    for k in range(BATCH):
        text = grammatical(rng)
        if rng.random() < 0.5:  # one alphabet in a text
            text = text.translate(str.maketrans("xyz", "abc"))
        if k % 2 == 0:
            tally.trial("from the grammar", *problems(text, rng, must_be_read=True))
        elif k % 10 < 9:
            tally.trial("mutated", *problems(mutated(rng, text), rng, must_be_read=False))
        else:
            noise = "".join(rng.choice(NOISE) for _ in range(rng.choice((0, 1, 5, 20, 200))))
            tally.trial("noise", *problems(noise, rng, must_be_read=False))
    return tally
