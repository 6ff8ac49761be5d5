"""What the comparison of closed and open loop says, in sentences that follow from its numbers."""

from typing import Any

CLOSED, NARROWED, OPEN = "closed", "narrowed", "open"


def conclude(results: dict[str, Any]) -> list[str]:
    """One sentence per fault, over all its severities, and one that answers the question. In brackets: 95 % intervals."""
    faults = {fault["label"]: fault["severities"]["all"] for fault in results["faults"].values()}
    return [_sentence(label, cell) for label, cell in faults.items()] + [_answer(faults)]


def gap_of(cell: dict[str, Any]) -> str:
    """Closed: the loop makes the fault visible to rho and delta sees it no better. Open: the loop gives rho nothing."""
    if not _above_zero(cell["closed_minus_open"]["rho"]):
        return OPEN
    return NARROWED if _above_zero(cell["delta_minus_rho"]["closed"]) else CLOSED


def _sentence(label: str, cell: dict[str, Any]) -> str:
    rho, delta = (_both(cell, score) for score in ("rho", "delta"))
    return (
        f"{label}: rho has an AUROC of {rho}, delta of {delta}; delta minus rho is "
        f"{_bounded(cell['delta_minus_rho']['closed'])} in closed and {_bounded(cell['delta_minus_rho']['open'])} in open loop."
    )


def _both(cell: dict[str, Any], score: str) -> str:
    values = [cell[loop]["scores"][score]["auroc"] for loop in ("closed", "open")]
    difference = _bounded(cell["closed_minus_open"][score])
    return f"{values[0]:.3f} in closed and {values[1]:.3f} in open loop, a difference of {difference}"


def _bounded(difference: dict[str, Any]) -> str:
    if difference["low"] is None:
        return f"{difference['value']:+.3f}"
    return f"{difference['value']:+.3f} [{difference['low']:+.3f}, {difference['high']:+.3f}]"


def _answer(faults: dict[str, dict[str, Any]]) -> str:
    said = {
        CLOSED: "the loop closes the gap between perception and dynamics: it carries the fault into the picture, and delta sees "
        "it no better than rho",
        NARROWED: "the loop narrows the gap and does not close it: it carries the fault into the picture, but delta still sees "
        "it better",
        OPEN: "the loop leaves the gap open: rho sees the fault no better when the car really drives under it",
    }
    verdicts = {label: gap_of(cell) for label, cell in faults.items()}
    parts = []
    for verdict, text in said.items():
        labels = [label for label, found in verdicts.items() if found == verdict]
        if labels:
            parts.append(f"under {' and '.join(labels)} {text}")
    return "So " + "; ".join(parts) + "."


def _above_zero(difference: dict[str, Any]) -> bool:
    return difference["low"] is not None and difference["low"] > 0.0
