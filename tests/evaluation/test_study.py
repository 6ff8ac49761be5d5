"""The evaluation as a whole, on tables whose truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.pool import augmented_id, source_of
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.input_checks import content_mark
from donkey_aicc.evaluation.methods_and_conditions import methods
from donkey_aicc.evaluation.study import evaluate, plan_splits
from donkey_aicc.scoring.score_table import concatenate


def ood_ece(results, method):
    return results["calibration"][method]["ece"]["ood_mean"]["mean"]


def test_anomaly_dependent_overconfidence_is_what_ours_removes(results):
    assert ood_ece(results, "tta_rho_delta") < 0.5 * ood_ece(results, "temperature")
    assert ood_ece(results, "tta_rho_delta") < ood_ece(results, "uniform_heating") < ood_ece(results, "none")
    nll = {name: results["calibration"][name]["nll"]["ood_mean"]["mean"] for name in ("temperature", "tta_rho_delta")}
    assert nll["tta_rho_delta"] < nll["temperature"]


def test_both_scores_get_a_weight(results):
    fitted = results["weights"]["fitted"]["tta_rho_delta"]
    assert fitted["rho"]["mean"] > 0.1 and fitted["delta"]["mean"] > 0.1
    assert len(fitted["rho"]["values"]) == 2


def test_uniform_heating_has_the_nominal_error_of_the_method_it_is_compared_with(results):
    calibration = results["calibration"]
    heated, wanted = (calibration[name]["ece"]["nominal"]["mean"] for name in ("uniform_heating", "tta_rho_delta"))
    assert heated == pytest.approx(wanted, abs=0.01) or heated > wanted  # it cannot go below its own best


def test_only_frames_under_the_protocol_with_full_context_count(results, tables):
    dark = tables.ood["dark"]
    expected = int(((dark.protocol == "dark") & dark.valid).sum())
    assert results["data"]["dark"]["frames"] == expected == 6 * 90
    assert results["data"]["dark"]["frames_recorded"] == len(dark)
    assert set(results["data"]["dark"]["frames_by_severity"]) == {"1", "2"}
    assert set(results["data"]["dark"]["safe_percent_by_severity"]) == {"1", "2"}
    assert results["data"]["nominal"]["frames"] == 4 * 100


def test_results_are_strict_json_with_a_reason_for_every_null(results):
    text = json.dumps(results, allow_nan=False)
    assert json.loads(text) == results
    for name in methods():
        for metric in ("ece", "ace", "sce", "nll", "brier", "aurc", "auroc"):
            for stored in results["calibration"][name][metric].values():
                assert stored["mean"] is not None or stored["reason"]


def test_every_section_has_numbers(results):
    assert set(results["ood_detection"]["rho"]) == {"label", "dark", "bias", "ood_mean", "intervals"}
    bounds = results["ood_detection"]["rho"]["intervals"]["ood_mean"]
    assert bounds["low"] <= results["ood_detection"]["rho"]["ood_mean"]["mean"] + 0.05 and bounds["high"] <= 1.0
    assert set(results["base_predictor"]) == {"nominal", "dark", "bias"}
    assert results["wilcoxon"]["tta_rho_delta"]["temperature"]["pairs"] == 4
    assert set(results["weights"]["by_family"]) == {"fog", "jpeg", "speed_mismatch"}
    assert results["monotonicity"]["protocols"]["rho"]["dark"]["spearman"] > 0.3
    interval = results["intervals"]["temperature"]["ood_ece_minus_ours"]
    assert 0 < interval["low"] < interval["high"]
    verdicts = [statement["verdict"] for statement in results["summary"]]
    assert "holds" in verdicts and set(verdicts) <= {"holds", "fails", "open", "fact"}


def test_same_seed_same_bytes_and_another_seed_other_splits(tables):
    small = tables._replace(ood={"dark": tables.ood["dark"]})
    first, again, other = (evaluate(*small, seeds=1, draws=20, seed=seed) for seed in (3, 3, 4))
    assert json.dumps(first) == json.dumps(again)
    assert first["settings"]["splits"] != other["settings"]["splits"]


def test_a_column_that_was_not_recorded_empties_its_rows_only(tables):
    blind = [replace(one, cnn_features=np.full_like(one.cnn_features, np.nan)) for one in tables[:3]]
    dark = replace(tables.ood["dark"], cnn_features=np.full_like(tables.ood["dark"].cnn_features, np.nan))
    results = evaluate(*blind, {"dark": dark}, seeds=1, draws=20)
    assert "cnn_features" in results["calibration"]["dac"]["ece"]["ood_mean"]["reason"]
    assert ood_ece(results, "tta_rho_delta") is not None


def test_splits_are_whole_sequences_and_different_where_possible(tables):
    plans, notes = plan_splits(tables.calibration, seeds=5, folds=5, seed=0)
    assert [len(sources) for sources, _, _ in plans] == [4] * 5
    assert len({tuple(sources) for sources, _, _ in plans}) == 5
    assert [folds for _, folds, _ in plans] == [4] * 5 and "4 folds instead of 5" in notes[0]
    few = tables.calibration.of_sequences(tables.calibration.sequences()[:3])
    plans, notes = plan_splits(few, seeds=2, folds=5, seed=0)
    assert [len(sources) for sources, _, _ in plans] == [3, 3] and "Only 1 of the 2 splits" in notes[1]


def test_augmented_ids_lead_back_to_their_source():
    assert source_of(augmented_id("tub~1/s/0-12345678", "fog", 3)) == "tub~1/s/0-12345678"
    with pytest.raises(AiccError, match="<source id>~<family>~<severity>"):
        source_of("tub/s/0-12345678")
    assert content_mark("tub/s/0-9f3a12bc") == "9f3a12bc" and content_mark("nominal001") == ""


def with_ids(table, change):
    return replace(table, sequence=np.array([change(name) for name in table.sequence]))


def test_bad_input_is_refused_before_any_work(tables):
    calibration, augmented, test, ood = tables
    one = calibration.of_sequences(calibration.sequences()[:1])
    own = augmented.select(np.array([source_of(name) == one.sequence[0] for name in augmented.sequence]))
    with pytest.raises(AiccError, match="at least 2 calibration sequences"):
        evaluate(one, own, test, ood)
    safe = replace(calibration, labels=np.where(np.isnan(calibration.labels), np.nan, 1.0))
    with pytest.raises(AiccError, match="calibration split must hold safe and unsafe frames at horizon 1, got only safe"):
        evaluate(safe, augmented, test, ood)
    with pytest.raises(AiccError, match="D_aug must be made of calibration sequences only"):
        evaluate(one, augmented, test, ood)
    with pytest.raises(AiccError, match="OOD dark contains sequence"):
        evaluate(calibration, augmented, test, {"dark": concatenate([ood["dark"], test])})
    with pytest.raises(AiccError, match="mixed bundles"):
        evaluate(calibration, augmented, replace(test, horizons=np.array([1, 5, 15])), ood)
    with pytest.raises(AiccError, match="no frame was driven under protocol 'blur'"):
        evaluate(calibration, augmented, test, {"blur": ood["dark"]})
    with pytest.raises(ConfigError, match="seeds must be >= 1"):
        evaluate(*tables, seeds=0)
    with pytest.raises(AiccError, match="at least one OOD table"):
        evaluate(calibration, augmented, test, {})


def test_a_nominal_drive_under_another_name_is_found_by_its_hash(tables):
    calibration, augmented, test, ood = tables
    test = with_ids(test, lambda name: f"tub/{name}/0-0123abcd" if name == test.sequence[0] else name)
    renamed = with_ids(ood["dark"], lambda name: f"other/{name}/7-0123abcd" if name == ood["dark"].sequence[0] else name)
    with pytest.raises(AiccError, match="also in test"):
        evaluate(calibration, augmented, test, {"dark": renamed})
