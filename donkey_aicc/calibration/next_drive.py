"""Nominal mean and spread of a score that still hold on the next drive, from as few drives as there are."""

import numpy as np

FEW_DRIVES = 5  # below: the spread between drives is known so badly that no rate of false alarms can be promised
ENOUGH_DRIVES = 12
# Of nominal values lie below mean + 2 spreads, where a score ends. So many, because several scores are looked at together: of
# nominal frames at most one in twenty may have any of them at its maximum.
_COVERED = 0.995
_WITHIN = 1.288  # two such spreads are the normal distribution's 2.576 deviations
_WIDEST = 8.5  # two drives cannot promise anything: beyond this a score would no longer see anything either


def widening(drives: int) -> float:
    """Factor on a deviation between drives that was measured on `drives` of them, so that it covers one drive more.

    Student's t: what is measured on n drives covers as much as the truth only when stretched by t(n - 1) / 2 * sqrt(1 + 1 / n).
    5.7 for three drives, 3.3 for four, 1.6 for twelve; it never falls below 1.29.
    """
    from scipy.stats import t  # heavy, and only fits need it

    return min(float(t.ppf(_COVERED, max(drives - 1, 1)) / 2.0 * np.sqrt(1.0 + 1.0 / drives)), _WIDEST)


def next_drive_spread(values: np.ndarray, drive: np.ndarray) -> tuple[float, float]:
    """Mean and spread of values (N,), the part between drives (N,) widened by what their number allows.

    One drive alone says nothing about others: they are then taken to differ as much as its own frames do.
    """
    names, number = np.unique(drive, return_inverse=True)
    counts = np.bincount(number)
    means = np.bincount(number, weights=values) / counts
    within = float(np.mean((values - means[number]) ** 2)) * _WITHIN**2
    between = float(means.var(ddof=1)) * widening(len(names)) ** 2 if len(names) > 1 else within
    return float(values.mean()), float(np.sqrt(within + between))


def too_few_drives(drives: int) -> str:
    """A sentence for a person, empty when there are enough drives."""
    if drives >= ENOUGH_DRIVES:
        return ""
    stretched = f"nominal spreads between drives are stretched {widening(drives):.1f} times to cover the next drive"
    if drives < FEW_DRIVES:
        return (
            f"only {drives} calibration drives: {stretched}, anomalies are seen later, and neither the confidence nor the rate "
            f"of false alarms can be promised on other drives; record enough for {ENOUGH_DRIVES}"
        )
    return f"{drives} calibration drives: {stretched}; with {ENOUGH_DRIVES} or more the scores become sharper"
