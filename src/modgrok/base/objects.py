"""Objects that users hand in where a word would do: each has a word, by which files, tables and commands name it.

A word of modgrok's own (`adamw`, `mse`, `mlp`) stands for the same thing in every process. Any other object gets a word
when it is registered, or when it is first used: its name and six digits of a fingerprint of its code and of the numbers
in it. So `optax.lion(1e-3)` is `lion-` and the same digits whenever it is made, and `optax.lion(1e-2)` has others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Generic, TypeVar

import numpy as np

from modgrok.base.errors import InputError

T = TypeVar("T")

VALUES = (bool, int, float, str, tuple, list, dict, set, frozenset, FunctionType)
"""What counts of that to which a function refers by name; modules and classes stand for themselves."""
WORD = r"[A-Za-z][\w-]*"
"""What an object can be called."""


class Registry(dict[str, T], Generic[T]):
    """Objects of one kind by their words. `hidden` are words that files know and users cannot ask for.

    `absent` are words that some file names and that stand for nothing in this process, `unnamed` those that an object
    got because it had none.
    """

    def __init__(self, what: str, known: Mapping[str, T], hidden: Collection[str] = ()) -> None:
        super().__init__(known)
        self.what, self.shipped, self.hidden = what, frozenset(known), frozenset(hidden)
        self.absent: set[str] = set()
        self.unnamed: set[str] = set()

    def words(self) -> tuple[str, ...]:
        """What a user can ask for."""
        return tuple(word for word in self if word not in self.hidden | self.unnamed)

    def register(self, word: str, thing: T) -> str:
        """Give an object a word; what has one already and is not modgrok's own is replaced."""
        if not re.fullmatch(WORD, word):
            raise InputError(f"the name of a {self.what} must be letters, digits, - and _, got {word!r}; mine, say")
        if word in self.shipped and self[word] is not thing:
            raise InputError(f"{word} is a {self.what} of modgrok's own; give yours another name, such as my-{word}")
        self[word] = thing
        self.absent.discard(word)
        self.unnamed.discard(word)
        return word

    def word(self, given: str | T) -> str:
        """The word of what was given; an object that has none gets one."""
        if isinstance(given, str):
            return given
        if (known := next((word for word, thing in self.items() if thing is given), None)) is not None:
            return known
        word = self.register(f"{spoken_name(given, self.what)}-{fingerprint(given)}", given)
        self.unnamed.add(word)
        return word

    def check(self, word: str) -> None:
        """An `InputError` for a word that stands for nothing, here or in a file that was read; it may end in (…)."""
        name = str(word).partition("(")[0]
        if name not in self.absent and (name not in self or name in self.hidden):
            raise InputError(f"{self.what} must be {' or '.join(self.words())}, got {word!r}")

    def expect(self, word: object) -> None:
        """A file has this word, whose object may be missing here: what the file holds can be looked at all the same."""
        name = str(word).partition("(")[0]
        if re.fullmatch(WORD, name) and name not in self:
            self.absent.add(name)

    def thing(self, given: str | T) -> T:
        """What was given, or what its word stands for."""
        if not isinstance(given, str):
            return given
        if given not in self:
            raise InputError(
                f"the {self.what} {given!r} is an object that no file can hold; give it again ({self.what}=…), or its "
                f"name: mg.register({given!r}, {self.what}=…)"
            )
        return self[given]


def fingerprint(thing: object) -> str:
    """Six digits for what an object does: its code, and the values and functions that it closes over or refers to.

    >>> def power(exponent): return lambda x: x**exponent
    >>> fingerprint(power(2)) == fingerprint(power(2)), fingerprint(power(2)) == fingerprint(power(3))
    (True, False)
    >>> fingerprint(lambda x: x in {1, 2}) == fingerprint(lambda x: x in {1, 3})
    False
    """
    return sha256(" ".join(traits(thing, {})).encode()).hexdigest()[:6]


def traits(thing: object, seen: dict[int, object]) -> Iterator[str]:
    """Words that are the same wherever an object is made again, and different for one that does something else."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, ModuleType)):
        yield thing.__name__ if isinstance(thing, ModuleType) else repr(thing)
        return
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # alive, so that nothing else gets its number
    for part in parts(thing):
        yield from traits(part, seen)


def parts(thing: object) -> Iterator[object]:
    """What an object consists of, as far as that can be told from outside."""
    if isinstance(thing, CodeType):
        yield from (thing.co_code, *thing.co_names, *thing.co_consts)
    elif isinstance(thing, Mapping):
        yield from (part for item in thing.items() for part in item)
    elif isinstance(thing, (tuple, list)):
        yield from thing
    elif isinstance(thing, (set, frozenset)):
        yield from sorted(map(repr, thing))
    elif isinstance(thing, partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif hasattr(thing, "__array__"):
        yield np.asarray(thing).tobytes()
    elif isinstance(code := getattr(thing, "__code__", None), CodeType):
        around = getattr(thing, "__globals__", {})
        named = (around.get(name) for name in code.co_names)
        yield from (thing.__qualname__, code, getattr(thing, "__defaults__", None))  # type: ignore[attr-defined]
        yield [value for value in named if isinstance(value, VALUES) or hasattr(value, "__array__")]
        yield [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    else:
        yield type(thing).__qualname__
        yield getattr(thing, "__wrapped__", None) or getattr(thing, "__dict__", None)


def spoken_name(thing: object, what: str) -> str:
    """How people call an object: a function's name, or what an optimiser of optax scales by."""
    named = re.search(r"scale_by_(\w+?)\.", " ".join(traits(thing, {})))
    own = getattr(thing, "__name__", "")
    return named[1] if named else own if own.isidentifier() else what
