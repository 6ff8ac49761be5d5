"""Numbers on their way to the reader.

In results.json: six significant digits, and never NaN but null with a reason. In a table that is written as CSV and shown on the
page: the same cells in both; and whose numbers may stand beside ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from donkey_aicc.evaluation.metrics import Measured
from donkey_aicc.files import csv_text

LEVEL = 0.95  # of every interval
Cell = dict[str, Any]  # {"value": x} or {"value": null, "reason": why}; spreads add mean, std and values


def rounded(value: float) -> float | None:
    """Six significant digits; None for what is not finite."""
    number = float(value)
    return float(f"{number:.6g}") if np.isfinite(number) else None


def rounded_list(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [rounded(value) for value in values]


def cell(measured: Measured) -> Cell:
    """One measured number."""
    value = rounded(measured.value)
    return {"value": value} if value is not None else {"value": None, "reason": measured.reason or "undefined"}


def spread_cell(measured: Sequence[Measured]) -> Cell:
    """Mean, standard deviation (n - 1) and values over the splits; one undefined split undefines the mean."""
    for number, one in enumerate(measured):
        if not np.isfinite(one.value):
            reason = f"split {number + 1}: {one.reason or 'undefined'}"
            return {"mean": None, "std": None, "values": [rounded(each.value) for each in measured], "reason": reason}
    values = np.array([one.value for one in measured])
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {"mean": rounded(values.mean()), "std": rounded(std), "values": rounded_list(values)}


def mean_of(measured: Sequence[Measured], names: Sequence[str]) -> Measured:
    """Plain mean over protocols; one undefined protocol undefines it and is named, unless all have the same reason."""
    reasons = {one.reason for one in measured if not np.isfinite(one.value)}
    if measured and len(reasons) == 1 and not any(np.isfinite(one.value) for one in measured):
        return Measured(float("nan"), reasons.pop() or "undefined")
    for one, name in zip(measured, names, strict=True):
        if not np.isfinite(one.value):
            return Measured(float("nan"), f"{name}: {one.reason or 'undefined'}")
    if not measured:
        return Measured(float("nan"), "no protocol")
    return Measured(float(np.mean([one.value for one in measured])))


def number_of(stored: Cell | None) -> float | None:
    """The number a cell holds, whichever kind it is."""
    if stored is None:
        return None
    return stored["mean"] if "mean" in stored else stored["value"]


def interval_cell(values: np.ndarray, sequences: int) -> dict[str, object]:
    """Bounds of the percentile interval, or null with the reason."""
    defined = values[np.isfinite(values)]
    if sequences < 2:
        return {"low": None, "high": None, "reason": f"{sequences} sequence cannot be resampled"}
    if not len(defined):
        return {"low": None, "high": None, "reason": "undefined in every resample"}
    low, high = np.quantile(defined, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return {"low": rounded(low), "high": rounded(high), "draws": len(defined)}


LOWER, HIGHER = "lower", "higher"
NAMED_ROWS = 4  # more are counted


@dataclass(frozen=True)
class Column:
    """key is the CSV header; `better` marks the best value on the page; paper columns hold somebody else's."""

    key: str
    label: str
    digits: int = 3
    better: str = ""
    paper: bool = False
    text: bool = False
    spread: bool = True  # show it on the page; the CSV has it always


@dataclass(frozen=True)
class Value:
    """A number with its spread or interval, or nothing with a reason."""

    number: float | None = None
    spread: float | None = None
    text: str = ""  # shown and written instead of the number
    reason: str = ""

    @classmethod
    def of(cls, stored: Cell | None) -> "Value":
        """From a cell of results.json."""
        if stored is None:
            return cls(reason="not measured")
        if "mean" in stored:
            return cls(stored["mean"], stored["std"], reason=stored.get("reason", ""))
        return cls(stored["value"], reason=stored.get("reason", ""))


@dataclass(frozen=True)
class Row:
    """One line; rows of one group stand together under its title. `ranked` rows compete for the best mark."""

    label: str
    values: dict[str, Value]
    group: str = ""
    ranked: bool = True
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """name is the CSV's file name and the anchor on the page."""

    name: str
    title: str
    columns: list[Column]
    rows: list[Row]
    note: str = ""
    first: str = "Method"
    best: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        found: dict[str, float] = {}
        for column in self.columns:
            numbers = [row.values[column.key].number for row in self.rows if row.ranked and column.key in row.values]
            known = [round(number, column.digits) for number in numbers if number is not None]
            if column.better and len(known) > 1:
                found[column.key] = min(known) if column.better == LOWER else max(known)
        object.__setattr__(self, "best", found)

    def without_paper(self) -> "Table":
        """Our own columns only."""
        return replace(self, columns=[column for column in self.columns if not column.paper])

    def is_best(self, row: Row, column: Column) -> bool:
        number = row.values.get(column.key, Value()).number
        return row.ranked and number is not None and self.best.get(column.key) == round(number, column.digits)

    def rows_by_group(self) -> dict[str, list[Row]]:
        """Each group once, with all its rows."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return found

    def reasons(self) -> dict[str, str]:
        """Why cells are empty: each reason once, with the rows it belongs to."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            for value in row.values.values():
                if value.number is None and not value.text and value.reason and value.reason != "not measured":
                    found.setdefault(value.reason, []).append(row.label)
        return {reason: _named(list(dict.fromkeys(rows))) for reason, rows in found.items()}

    def to_csv(self) -> str:
        """Numbers as in results.json; a column with spreads gets a second one, named ..._std."""
        spread = {c.key for c in self.columns if any(row.values.get(c.key, Value()).spread is not None for row in self.rows)}
        header: list[Any] = [self.first.lower(), "group"]
        for column in self.columns:
            header += [column.key, f"{column.key}_std"] if column.key in spread else [column.key]
        lines = [header]
        for row in self.rows:
            line: list[Any] = [row.label, row.group]
            for column in self.columns:
                value = row.values.get(column.key, Value())
                line.append(value.text or ("" if value.number is None else value.number))
                if column.key in spread:
                    line.append("" if value.spread is None else value.spread)
            lines.append(line)
        return csv_text(*lines)


def _named(rows: Sequence[str]) -> str:
    return ", ".join(rows) if len(rows) <= NAMED_ROWS else f"{rows[0]}, {rows[1]} and {len(rows) - 2} others"


ByCondition = Mapping[str, Mapping[str, float]]  # row -> condition (or horizon) -> number; "mean" is over the protocols


@dataclass(frozen=True)
class Published:
    """What is not given is left empty. Without a label nothing of it is shown: a user's report has the user's numbers only."""

    label: str = ""  # heading of its columns
    ece: ByCondition = field(default_factory=dict)
    nominal_ece: Mapping[str, float] = field(default_factory=dict)
    ood_auroc: ByCondition = field(default_factory=dict)
    base_auroc: ByCondition = field(default_factory=dict)
    data: ByCondition = field(default_factory=dict)
    reliability_error: Mapping[str, float] = field(default_factory=dict)
    wilcoxon: Mapping[str, str] = field(default_factory=dict)
    runtime_ms: Mapping[str, float] = field(default_factory=dict)


NONE_PUBLISHED = Published()
