"""Hypothesis strategies that turn a good file into one a stranger might hand over: wrong values, missing keys, damaged bytes."""

import copy
import json
import re
from typing import Any

from hypothesis import strategies as st

DELETED = object()
LONG_TEXT = "9" * 20_000


DEEP = re.compile(rb'"@nested (\d+)@"')  # stands for that many nested lists until the text is written


def deeply_nested(text: bytes) -> bytes:
    return DEEP.sub(lambda found: b"[" * int(found[1]) + b"]" * int(found[1]), text)


HOSTILE_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**64), 10**24, 10**400, 1e308, -1e308, 1e-320, 0.5, -0.5]),
    st.sampled_from([float("nan"), float("inf"), float("-inf")]),
    st.sampled_from(["", "²", "NaN", "../../etc/passwd", "/dev/zero", "\x00", "💥", LONG_TEXT, "__class__", "1e999"]),
    st.text(max_size=8),
    st.sampled_from([[], {}, [[]], {"": None}, [1, "a", None], {"sha256": 3}]),
    st.sampled_from(["@nested 50@", "@nested 500@", "@nested 30000@"]),
    st.just(DELETED),
)


def paths_of(tree: Any, most_children: int = 12) -> list[tuple]:
    """Every place in a JSON tree, of long lists only the first few."""
    found: list[tuple] = [()]
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))[:most_children]
    else:
        return found
    for key, child in children:
        found += [(key, *path) for path in paths_of(child, most_children)]
    return found


def replaced(tree: Any, path: tuple, value: Any) -> Any:
    if not path:
        return None if value is DELETED else value
    changed = copy.deepcopy(tree)
    place = changed
    try:
        for key in path[:-1]:
            place = place[key]
        if value is DELETED:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    except (KeyError, IndexError, TypeError):  # an earlier mutation took the place away
        pass
    return changed


def to_text(tree: Any) -> bytes:
    return deeply_nested(json.dumps(tree).encode("utf-8", "surrogatepass"))


def json_mutations(tree: Any) -> st.SearchStrategy[bytes]:
    """One to three values of the tree replaced or removed."""
    places = paths_of(tree)
    change = st.tuples(st.sampled_from(places), HOSTILE_VALUES)

    def apply(changes: list) -> bytes:
        changed = tree
        for path, value in changes:
            changed = replaced(changed, path, value)
        return to_text(changed)

    return st.lists(change, min_size=1, max_size=3).map(apply)


def byte_mutations(good: bytes) -> st.SearchStrategy[bytes]:
    """Cut short, overwritten, or with something put in; near the beginning more often, where headers stand."""
    size = len(good)
    place = st.one_of(st.integers(0, min(size, 300)), st.integers(0, size))
    junk = st.one_of(st.binary(min_size=1, max_size=16), st.sampled_from([b"\xff" * 8, b"\x00" * 64, b"9" * 400, b"[" * 5000]))
    cut = place.map(lambda at: good[:at])
    over = st.tuples(place, junk).map(lambda pair: good[: pair[0]] + pair[1] + good[pair[0] + len(pair[1]) :])
    insert = st.tuples(place, junk).map(lambda pair: good[: pair[0]] + pair[1] + good[pair[0] :])
    return st.one_of(cut, over, insert)


def table_mutations(good: bytes) -> st.SearchStrategy[bytes]:
    """Cells of a CSV replaced; lines twice, cut or joined."""
    rows = [line.split(b",") for line in good.strip().splitlines()]
    cell = st.tuples(st.integers(0, len(rows) - 1), st.integers(0, len(rows[0]) - 1))
    text = st.one_of(
        st.sampled_from([b"", b"nan", b"inf", b"-inf", b"1e400", b"10" * 300, b'"', b"\x00", b"\xff", b"a,b,c", "²".encode()]),
        st.text(max_size=6).map(lambda value: value.encode("utf-8", "surrogatepass")),
    )

    def apply(changes: list) -> bytes:
        changed = [list(row) for row in rows]
        for (row, column), value in changes:
            changed[row][min(column, len(changed[row]) - 1)] = value
        return b"\n".join(b",".join(row) for row in changed) + b"\n"

    return st.lists(st.tuples(cell, text), min_size=1, max_size=4).map(apply)
