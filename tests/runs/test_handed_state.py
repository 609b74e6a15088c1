"""What counts of a thing handed over: its code, its values, and what it reads; in every process."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import io
import random
import subprocess
import sys
import threading
from array import array
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial, wraps
from pathlib import Path

import numba
import numpy as np
import polars as pl
import pytest

from dream.errors import InputError
from dream.runs import api
from dream.runs.state import state_hash, state_of
from tests.runs import made

UTC = dt.UTC
LIMIT = 1
SEEN = 0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Data:
    x: object


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: object


class Slots:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Locked:
    def __init__(self, x):
        self.x, self.lock = x, threading.Lock()


class Listed(list):
    pass


class Odd:
    def __reduce_ex__(self, _protocol):
        raise RuntimeError("not today")

    def __init__(self, x):
        self.x = x


def plain(*_args):
    return {"action": "HOLD"}


def generated(x):
    while True:
        yield x


def cached(x):
    @lru_cache
    def inner():
        return x

    return inner


def compiled(k):
    @numba.njit
    def add(a):
        return a + k

    return add


def local_class(x):
    class Holds:
        def __call__(self):
            return "HOLD"

    class Closes:
        def __call__(self):
            return "CLOSE"

    kind = Holds if x == 1 else Closes
    kind.__qualname__ = "local_class.<locals>.Agent"
    return kind()


def nested(x):
    if x == 1:

        def decide():
            return [(lambda: "HOLD") for _ in (1, 2)]

    else:

        def decide():
            return [(lambda: "CLOSE") for _ in (1, 2)]

    return decide


def wrapped(x):
    if x == 1:
        return wraps(plain)(lambda *_: "HOLD")
    return wraps(plain)(lambda *_: "CLOSE")


def twice(make):
    return [(make(1), make(1)), (make(2), make(2))]


MAKERS = {
    "Decimal": Decimal,
    "Fraction": lambda x: Fraction(x, 7),
    "date": lambda x: dt.date(2024, 1, x),
    "datetime": lambda x: dt.datetime(2024, 1, x, tzinfo=UTC),
    "timedelta": dt.timedelta,
    "deque": lambda x: deque([x]),
    "bytearray": lambda x: bytearray([x]),
    "Enum": Colour,
    "Path": lambda x: Path(str(x)),
    "frozenset": lambda x: frozenset({"a", "b", x}),
    "set": lambda x: {"a", "b", str(x)},
    "scalar": np.float32,
    "objects": lambda x: np.array([x, "a", None], object),
    "masked": lambda x: np.ma.array([1, 2], mask=[x == 1, False]),
    "frame": lambda x: pl.DataFrame({"a": [1, x]}),
    "dataclass": Data,
    "frozen": Frozen,
    "slots": Slots,
    "lock": Locked,
    "list kind": lambda x: Listed([x]),
    "Counter": lambda x: Counter("a" * x),
    "OrderedDict": lambda x: OrderedDict(a=x),
    "array": lambda x: array("d", [x]),
    "Random": random.Random,
    "generator of numpy": np.random.default_rng,
    "text file": lambda x: io.StringIO(str(x)),
    "unpicklable": Odd,
    "generator": generated,
    "generator expression": lambda x: (y for y in [x]),
    "iterator": lambda x: iter([x]),
    "method of a list": lambda x: [x].pop,
    "lru_cache": cached,
    "numba": compiled,
    "local class": local_class,
    "nested": nested,
    "wrapped": wrapped,
    "closure": lambda x: lambda: x,
}


@pytest.mark.parametrize("way", MAKERS)
def test_another_value_has_another_hash_and_the_same_one_the_same(way):
    (one, again), (other, _) = twice(MAKERS[way])
    assert state_hash(one) == state_hash(again) != state_hash(other)
    assert state_hash(partial(plain, one)) != state_hash(partial(plain, other))


def test_lambdas_are_told_apart_by_their_code():
    pairs = [
        (lambda: 1, lambda: 2),
        (lambda a: a, lambda *a: a),
        (lambda a: a.x, lambda a: a.y),
        (lambda: [-x for x in (1, 2)], lambda: [-x for x in (1, 3)]),
    ]
    for one, other in pairs:
        assert None is not state_hash(one) != state_hash(other)


def test_neither_lines_nor_files_nor_order_count():
    text = "lambda a: a in {'x', 'y', ('z', 1)} and [b for b in a]"
    near = eval(compile(text, "near.py", "eval"))
    far = eval(compile("\n\n" + text.replace(" in ", "  in "), "far.py", "eval"))
    assert state_hash(near) == state_hash(far)
    assert state_hash({1, "a", None}) == state_hash({None, "a", 1})


def reads_limit(*_args):
    return LIMIT


def counts_itself(*_args):
    global SEEN  # noqa: PLW0603
    SEEN += 1


class ReadsLimit:
    share = 0.5

    def __call__(self, *_args):
        return LIMIT


def test_globals_that_are_read_and_what_stands_in_a_class_count(monkeypatch):
    things = [reads_limit, lambda: LIMIT, ReadsLimit(), ReadsLimit().__call__, lambda: reads_limit]
    before = [state_hash(thing) for thing in things]
    assert state_hash(counts_itself) is None, "a counter of its own is no setting"
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 2)
    after = [state_hash(thing) for thing in things]
    assert [a != b for a, b in zip(before, after, strict=True)] == [True] * 4 + [False]
    monkeypatch.setattr(ReadsLimit, "share", 0.6)
    assert state_hash(ReadsLimit()) != after[2]


def test_walks_end():
    ring = {"a": [1]}
    ring["a"].append(ring)
    assert state_hash(ring) is not None
    wide = [1]
    for _ in range(60):
        wide = [wide, wide]
    assert "list" in state_of(wide).by_type
    assert state_of([Slots(x) for x in range(20_000)]).by_type == ("Slots",)


PRINT = (
    "from tests.runs.test_handed_state import MAKERS; from dream.runs.state import state_hash;"
    "print(*[state_hash(make(1)) for make in MAKERS.values()])"
)


def test_the_hashes_are_the_same_in_every_process():
    said = [
        subprocess.run(
            [sys.executable, "-c", PRINT],
            cwd=made.ROOT,
            env=made.environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]


def test_two_lambdas_of_one_script_are_two_runs(bars_path, tmp_path):
    spec = made.spec(bars_path, memory="none")
    holds = made.run(spec, tmp_path, decider=lambda ask, shown: {"action": "HOLD"})
    closes = made.run(spec, tmp_path, decider=lambda ask, shown: {"action": "CLOSE"})
    assert (holds.already_done, closes.already_done) == (False, False)
    assert holds.folder != closes.folder
    answers = [run.summary["actions"] for run in (holds, closes)]
    assert answers[0] != answers[1]
    assert holds.notes == closes.notes == ()


def test_a_recall_function_too(bars_path, tmp_path):
    spec = made.spec(bars_path)
    one = made.run(spec, tmp_path, memory_recall_fn=lambda query, past: [])
    other = made.run(spec, tmp_path, memory_recall_fn=lambda query, past: [*past][:0])
    assert one.folder != other.folder
    assert api.replay(one.folder, memory_recall_fn=lambda query, past: []).digest == one.digest


@pytest.mark.parametrize(
    ("argument", "told", "texts"),
    [
        ("decider", "decider", ("{'action': 'HOLD'}", "{'action': 'CLOSE'}")),
        ("memory_recall_fn", "recall_fn", ("[]", "[*second][:0]")),
    ],
)
def test_another_function_of_the_same_name_does_not_go_on(
    bars_path, tmp_path, argument, told, texts
):
    spec, functions = made.spec(bars_path), []
    for text in texts:
        names = {"__name__": __name__, "__file__": __file__}
        exec(f"def given(first, second):\n    return {text}\n", names)
        functions.append(names["given"])
    one, other = functions
    made.run(spec, tmp_path, **{argument: one})
    assert made.run(spec, tmp_path, **{argument: one}).already_done
    with pytest.raises(InputError, match=f"{told} changed since the run began"):
        made.run(spec, tmp_path, **{argument: other})


def test_the_same_iterator_goes_on_with_its_own_run(bars_path, tmp_path):
    spec, left = made.spec(bars_path, memory="none"), iter([{"action": "HOLD"}] * 60)
    first = made.run(spec, tmp_path, decider=left)
    again = made.run(spec, tmp_path, decider=left)
    assert (again.folder, again.already_done) == (first.folder, True)


def test_what_counts_by_its_type_is_said(bars_path, tmp_path):
    lock = threading.Lock()

    def locked(ask, shown):
        with lock:
            return {"action": "HOLD"}

    spec = made.spec(bars_path, memory="none")
    told = "lock counts by its type alone: another value of it is taken for the same run"
    assert made.run(spec, tmp_path, decider=locked).notes == (told,)
    again = made.run(spec, tmp_path, decider=locked)
    assert (again.already_done, again.notes) == (True, (told,))
