"""The first lines of the report, in plain words: what holds in these numbers and what does not."""

from typing import Any

from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.evaluation.methods_and_conditions import HEATED_TO_OURS
from donkey_aicc.evaluation.tables import number_of

HOLDS, FAILS, OPEN, FACT = "holds", "fails", "open", "fact"
WEAK_PREDICTOR = 0.8

Statement = dict[str, str]  # verdict and text


def summarise(results: dict[str, Any]) -> list[Statement]:
    """Statements in the order a reader should meet them; those whose numbers are missing are left out."""
    parts = (
        _predictor,
        _detection,
        _baselines,
        _heating,
        _likelihood,
        _constant,
        _ablation,
        _monotone,
    )
    found = [part(results) for part in parts]
    return [statement for statement in found if statement is not None]


def _said(verdict: str, text: str) -> Statement:
    return {"verdict": verdict, "text": text}


def _value(results: dict[str, Any], method: str, metric: str, condition: str = "ood_mean") -> float | None:
    return number_of(results["calibration"][method][metric].get(condition))


def _interval(results: dict[str, Any], method: str, quantity: str) -> tuple[float, float] | None:
    found = results["intervals"].get(method, {}).get(quantity)
    return None if found is None or found["low"] is None else (found["low"], found["high"])


def _verdict(gain: float, interval: tuple[float, float] | None) -> str:
    """gain > 0 is good; the interval of the gain decides between `holds` and `open`."""
    if gain <= 0:
        return FAILS if interval is None or interval[1] < 0 else OPEN
    return HOLDS if interval is not None and interval[0] > 0 else OPEN


def _range(interval: tuple[float, float] | None) -> str:
    return "no interval: too few drives" if interval is None else f"95 % interval {interval[0]:+.3f} to {interval[1]:+.3f}"


def _predictor(results: dict[str, Any]) -> Statement | None:
    rows = {name: number_of(row["mean"]) for name, row in results["base_predictor"].items()}
    nominal = rows.pop("nominal")
    known = {name: value for name, value in rows.items() if value is not None}
    if nominal is None or not known:
        return None
    worst = min(known, key=lambda name: known[name])
    text = (
        f"The predictor tells safe from unsafe with AUROC {nominal:.3f} on nominal drives "
        f"and {known[worst]:.3f} under {worst}, its worst protocol."
    )
    if nominal < WEAK_PREDICTOR:
        return _said(FAILS, text + " That is a weak predictor: calibration results on top of it say little.")
    return _said(FACT, text)


def _detection(results: dict[str, Any]) -> Statement | None:
    rows = {name: number_of(row["ood_mean"]) for name, row in results["ood_detection"].items()}
    others = {name: rows[name] for name in ("msp", "entropy", "mc_dropout", "feature_norm") if rows[name] is not None}
    ours = rows["rho_delta"]
    if ours is None or not others:
        return None
    best = max(others, key=lambda name: others[name])  # type: ignore[arg-type, return-value]
    label = results["ood_detection"][best]["label"]
    text = (
        f"rho + delta detects the anomalies with a mean AUROC of {ours:.3f}; the best simple rival, {label}, "
        f"has {others[best]:.3f}."
    )
    rho = {protocol: number_of(results["ood_detection"]["rho"][protocol]) for protocol in results["settings"]["protocols"]}
    blind = [protocol for protocol, value in rho.items() if value is not None and value < 0.5]
    if blind:
        text += f" rho alone is worse than guessing under {' and '.join(blind)}."
    stored = results["ood_detection"][best].get("intervals", {}).get("ood_mean_below_fused")
    interval = None if stored is None or stored["low"] is None else (stored["low"], stored["high"])
    return _said(_verdict(ours - others[best], interval), f"{text} ({_range(interval)} for the difference).")  # type: ignore[operator]


def _baselines(results: dict[str, Any]) -> Statement | None:
    eces = {name: _value(results, name, "ece") for name in BASELINES}
    known = {name: value for name, value in eces.items() if value is not None}
    ours = _value(results, OURS, "ece")
    if ours is None or not known:
        return None
    best = min(known, key=lambda name: known[name])
    interval = _interval(results, best, "ood_ece_minus_ours")
    text = (
        f"Mean OOD ECE of the paper's method is {ours:.3f}; the best baseline, "
        f"{results['calibration'][best]['label']}, has {known[best]:.3f} ({_range(interval)} for the gain). On "
        "nominal drives they have "
        f"{_text(_value(results, OURS, 'ece', 'nominal'))} and {_text(_value(results, best, 'ece', 'nominal'))}."
    )
    return _said(_verdict(known[best] - ours, interval), text)


def _heating(results: dict[str, Any]) -> Statement | None:
    ours, heated, pooled = (_value(results, name, "ece") for name in (OURS, HEATED_TO_OURS, "pooled_temperature"))
    if ours is None or heated is None:
        return None
    interval = _interval(results, HEATED_TO_OURS, "ood_ece_minus_ours")
    text = (
        f"The scores themselves are worth {heated - ours:+.3f}: heating every frame alike to the same nominal ECE "
        f"gives {heated:.3f} "
        f"({_range(interval)})."
    )
    if pooled is not None:
        text += f" One temperature fitted on the same pool without scores gives {pooled:.3f}."
    return _said(_verdict(heated - ours, interval), text)


def _likelihood(results: dict[str, Any]) -> Statement | None:
    ours, scaled = _value(results, OURS, "nll"), _value(results, "temperature", "nll")
    nominal, nominal_scaled = _value(results, OURS, "nll", "nominal"), _value(results, "temperature", "nll", "nominal")
    if ours is None or scaled is None or nominal is None or nominal_scaled is None:
        return None
    interval = _interval(results, "temperature", "ood_nll_minus_ours")
    text = (
        f"In likelihood, a proper score, it gains {scaled - ours:+.3f} nats on OOD drives over temperature scaling "
        f"({_range(interval)}) and {nominal_scaled - nominal:+.3f} on nominal ones."
    )
    return _said(_verdict(scaled - ours, interval), text)


def _constant(results: dict[str, Any]) -> Statement | None:
    ours, constant = _value(results, OURS, "ece"), _value(results, "base_rate", "ece")
    brier, ours_brier = _value(results, "base_rate", "brier"), _value(results, OURS, "brier")
    if ours is None or constant is None:
        return None
    relation = "lower than" if constant < ours else "higher than"
    return _said(
        FACT,
        f"A constant guess that never looks at the road has an OOD ECE of {constant:.3f}, {relation} the paper's "
        "method, and a Brier "
        f"score of {_text(brier)} against {_text(ours_brier)}: read ECE only together with the other columns.",
    )


def _ablation(results: dict[str, Any]) -> Statement | None:
    tta, rho, ours = (_value(results, name, "ece") for name in ("tta", "tta_rho", OURS))
    if tta is None or rho is None or ours is None:
        return None
    p = results["wilcoxon"][OURS]["tta_rho"]["p"]
    tested = "" if p is None else f" (Wilcoxon p = {p:.2g})"
    return _said(FACT, f"rho changes the OOD ECE of TTA by {rho - tta:+.3f}; delta on top of it by {ours - rho:+.3f}{tested}.")


def _monotone(results: dict[str, Any]) -> Statement | None:
    found = []
    for score in ("rho", "delta"):
        kinds = [
            kind
            for part in ("d_aug", "protocols")
            for kind, one in results["monotonicity"][part].get(score, {}).items()
            if one["below_nominal"]
        ]
        if kinds:
            found.append(f"{score} ends below its nominal mean under {', '.join(kinds)}")
    if not found:
        return _said(HOLDS, "At full severity neither rho nor delta lies below its nominal mean in any family or protocol.")
    return _said(FAILS, f"The scores do not grow with every anomaly: {'; '.join(found)}.")


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
