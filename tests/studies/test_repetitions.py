"""Several experiments side by side: means, spreads, goals and the results page."""

import copy
import json

import pytest

from donkey_aicc.errors import AiccError
from studies.repetition_tables import GOALS, repetition_tables
from studies.repetitions import collect_runs, read_repetitions
from studies.results_page import results_page


def varied(results, track, model_seed, ours, plus, **more):
    one = copy.deepcopy(results)
    one["about"] = {"preset": "small", "track": track, "seed": 0, "model_seed": model_seed, **more}
    one["calibration"]["tta_rho_delta"]["ece"]["ood_mean"]["mean"] = ours
    one["calibration"]["aicc_plus"]["ece"]["ood_mean"]["mean"] = plus
    return one


@pytest.fixture
def collected(results):
    return collect_runs(
        [
            varied(results, "loop", 0, 0.10, 0.07),
            varied(results, "loop", 1, 0.12, 0.09),
            varied(results, "loop", 2, 0.14, 0.13),
            varied(results, "oval", 0, 0.20, 0.10),
            varied(results, "loop", 0, 0.90, 0.90, drives={"preset": "small", "track": "oval", "seed": 0}),
        ]
    )


def test_spreads_are_over_model_seeds_and_over_tracks_without_the_transfer(collected):
    seeds, tracks = collected["spreads"]["seeds"], collected["spreads"]["tracks"]
    assert seeds["ece"]["tta_rho_delta"]["ood"] == pytest.approx({"mean": 0.12, "std": 0.02})
    assert tracks["ece"]["tta_rho_delta"]["ood"]["mean"] == pytest.approx(0.15)
    assert len(seeds["runs"]) == 3 and len(tracks["runs"]) == 2


def test_a_run_can_be_added_or_made_again_without_the_others(results, collected):
    again = varied(results, "loop", 1, 0.30, 0.09)
    more = varied(results, "chicane", 0, 0.11, 0.09)
    later = collect_runs([again, more], collected)
    assert [run["about"]["track"] for run in later["runs"]] == ["loop", "loop", "loop", "oval", "loop", "chicane"]
    assert later["runs"][1]["ece"]["tta_rho_delta"]["ood"] == pytest.approx(0.30)
    assert later["runs"][0] == collected["runs"][0]
    assert len(later["spreads"]["tracks"]["runs"]) == 3


def test_goals_are_judged_run_by_run(collected):
    judge = GOALS["plus"][1]
    assert [judge(run)[0] for run in collected["runs"]] == [True, True, False, True, False]
    assert judge(collected["runs"][2])[1] == "7 %"


def test_the_page_and_every_table_have_a_row_per_run(results, collected):
    for table in repetition_tables(collected):
        assert [row.label for row in table.rows][:5] == [
            "loop, model seed 0, small",
            "loop, model seed 1, small",
            "loop, model seed 2, small",
            "oval, model seed 0, small",
            "loop, model seed 0, small, driven on oval",
        ]
    page = results_page(results, None, collected)
    assert "missed (7 %)" in page and "Mean ± std over model seeds" in page
    assert "Repetitions" not in results_page(results)


def test_the_file_is_optional_and_a_damaged_one_is_named(collected, tmp_path):
    assert read_repetitions(tmp_path) is None
    path = tmp_path / "repetitions.json"
    path.write_text(json.dumps(collected), encoding="utf-8")
    assert read_repetitions(tmp_path) == collected
    path.write_text("{", encoding="utf-8")
    with pytest.raises(AiccError, match="repetitions.json cannot be read"):
        read_repetitions(tmp_path)
