"""Claims: a gain counts as holding only with its whole interval."""

from studies.claims import CLAIMS, Gain, judged, verdict


def stored(gain: float, low: float, high: float) -> dict:
    """Results in which temperature scaling lies `gain` above the paper's method."""
    methods = {"temperature": 0.2 + gain, "tta_rho_delta": 0.2}
    calibration = {name: {"ece": {"ood_mean": {"mean": value, "std": 0.0}}} for name, value in methods.items()}
    return {
        "calibration": calibration,
        "intervals": {"temperature": {"ood_ece_minus_ours": {"low": low, "high": high}}},
        "ood_detection": {},
        "safe_share": {"methods": {}},
        "settings": {"horizons": [5]},
    }


def test_a_claim_holds_where_its_whole_interval_is_above_zero():
    claim = next(one for one in CLAIMS if one.text == "ECE under faults below temperature scaling")
    runs = {"loop-0": stored(0.05, 0.02, 0.08), "oval-0": stored(0.01, -0.02, 0.03), "hairpin-0": stored(-0.05, -0.07, -0.01)}
    gains = {name: claim.gain(results) for name, results in runs.items()}
    assert str(gains["loop-0"]) == "+0.050 (+0.020 to +0.080)"
    assert verdict(gains) == "holds on 1 of 3, right direction on 2, the opposite on 1"


def test_a_claim_without_an_interval_is_not_made():
    claim = next(one for one in CLAIMS if one.text == "ECE under faults below temperature scaling")
    assert claim.gain({**stored(0.05, 0.0, 0.0), "intervals": {}}) is None


def test_verdict_counts_only_what_was_measured():
    assert verdict({"loop-0": Gain(0.1, 0.05, 0.2)}) == "holds on 1 of 1"
    assert judged({}) == []
