"""The parts of the real-car study on made-up data."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from donkey_aicc.calibration.pool import build_pool
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.load import load_drives
from studies.layout import claim
from studies.real_car import goals, stages
from studies.real_car.natural_shift import as_protocol, at_maximum, by_severity, describe_shift, told_apart
from studies.real_car.page import _other_rates, page, write_page
from studies.real_car.plan import parse_shift, plan_real_car
from studies.real_car.recorded_faults import CameraFiles, held_out_piece, labels_of_whole_drives, under_fault
from tests.synthetic_scores import synthetic_table
from tests.tubs.conftest import cache, make_tub  # noqa: F401


@pytest.fixture
def recorded(make_tub, tmp_path):  # noqa: F811
    tub = make_tub(60, size=(120, 160), user__angle=np.sin(np.arange(60)) * 0.5)
    (drive,) = load_drives([tub.path], cache_dir=tmp_path / "cache").drives
    return tub.path, drive


def test_dark_and_blur_act_on_the_camera_files_and_leave_commands_and_labels(recorded):
    path, drive = recorded
    files = CameraFiles((path,))
    piece, start = held_out_piece(drive, 20, seed=1)
    np.testing.assert_array_equal(to_model_image(files.frame(piece.tub, int(piece.indices[3]))), piece.images[3])
    dark = under_fault(piece, "dark", 3, 20.0, 1, files)
    factor = PROTOCOLS["dark"][3].luminance_factor
    assert dark.images[0].mean() == pytest.approx(factor * piece.images[0].mean(), abs=1.0)  # before the exposure fights it
    assert dark.images.mean() < 0.3 * piece.images.mean()
    blur = under_fault(piece, "blur", 5, 20.0, 1, files)
    assert (
        np.abs(np.diff(blur.images.astype(float), axis=2)).mean()
        < 0.5 * np.abs(np.diff(piece.images.astype(float), axis=2)).mean()
    )
    for faulty, name in ((dark, "dark"), (blur, "blur")):
        np.testing.assert_array_equal(faulty.actions, piece.actions)
        assert set(faulty.protocol) == {name} and faulty.id != piece.id and faulty.content_hash != piece.content_hash
    assert held_out_piece(drive, 20, seed=1)[1] == start and len(held_out_piece(drive, 61, seed=1)[0]) == 60


def test_command_faults_leave_the_pictures(recorded):
    path, drive = recorded
    files = CameraFiles((path,))
    late, biased = (under_fault(drive, name, 5, 20.0, 1, files) for name in ("latency", "bias"))
    np.testing.assert_array_equal(late.images, drive.images)
    delay = int(np.argmin([np.abs(late.actions[k:, 0] - drive.actions[: len(drive) - k, 0]).mean() for k in range(20)]))
    assert delay >= 5 and np.abs(late.actions[delay + 20 :, 0] - drive.actions[20 : len(drive) - delay, 0]).max() < 1e-6
    assert abs(float((biased.actions - drive.actions)[:, 0].mean())) > 0.1
    assert np.abs(biased.actions).max() <= 1.0


def test_labels_look_beyond_the_end_of_a_piece(recorded):
    _, drive = recorded
    drive = drive.with_labels((np.arange(60) % 7 > 2).astype(np.float32))
    table = synthetic_table(np.random.default_rng(0), sequences=1, length=20, horizons=(1, 5), warm_up=0)
    fixed = labels_of_whole_drives(table, {table.sequences()[0]: (drive, 30)})
    np.testing.assert_array_equal(fixed.labels[:, 1], drive.safe[35:55])


@pytest.fixture(scope="module")
def shifted(tables):
    pool = build_pool(tables.calibration, tables.augmented, seed=0)
    return tables, pool, describe_shift(tables.test, tables.ood["dark"], pool)


def test_a_shift_is_told_from_nominal_drives_with_an_interval(shifted):
    tables, pool, found = shifted
    rho = found["auroc"]["rho"]
    assert 0.6 < rho["value"] <= 1.0 and rho["low"] <= rho["value"] <= rho["high"]
    itself = told_apart(tables.test, tables.test, pool.statistics)["log_rho"]
    assert itself["value"] == pytest.approx(0.5)
    severities = by_severity(tables.test, tables.ood["dark"], pool.statistics, "rho")
    assert list(severities) == ["1", "2"] and severities["2"]["value"] > severities["1"]["value"]
    assert 0.5 <= found["confidence"]["temperature"]["mean_top_confidence"] <= 1.0


def test_another_day_with_labels_is_a_protocol_of_its_own(shifted, results):
    tables, _, found = shifted
    (day,) = as_protocol("another_day_b", tables.test).values()
    assert set(day.protocol) == {"another_day_b"} and len(day) == len(tables.test)
    unknown = replace(tables.test, labels=np.full_like(tables.test.labels, np.nan))
    assert as_protocol("another_day_b", unknown) == {}
    made = made_up_results(shifted, results)
    own = {"calibration": {name: {"ece": {"nominal": {"mean": 0.03}, "another_day_b": {"mean": ece}}} for name, ece in ECES}}
    made["shifts"]["another_day_b"] = found | {"evaluation": own | {"intervals": {}}}
    (goal,) = [each for each in goals.judge(made) if each["text"].endswith("on another day_b")]
    assert goal["met"] and "0.040, nominal 0.030; the best other row is Temperature scaling with 0.080" in goal["measured"]
    text = page(made | {"goals": [goal]}, [])
    assert "another_day_b with its own labels" in text and "| 0.030 | 0.040 |" in text


def test_any_score_at_its_maximum_counts_only_our_own(shifted):
    tables, pool, _ = shifted
    shares = at_maximum(tables.ood["dark"], pool.statistics)
    own = [shares[name] for name in ("log_rho", "delta_held_out", "control", "latent", "tta_spread") if name in shares]
    assert max(own) <= shares["any of our own"] <= sum(own)
    assert at_maximum(tables.test, pool.statistics)["any of our own"] < shares["any of our own"]


ECES = (("temperature", 0.08), ("aicc_r", 0.04), ("base_rate", 0.01))


def made_up_results(shifted, results):
    tables, pool, found = shifted
    kinds = {"value": 0.9, "low": 0.8, "high": 0.95}
    horizon = {"direct": kinds, "history": kinds | {"value": 0.93}, "present": kinds, "gain": {"low": 0.01, "high": 0.05}}
    return {
        "about": {"data": ["tub"], "size": "tiny", "predictor": "history", "seed": 0},
        "scoring": ScoreSettings(samples=7).to_json(),
        "training": {
            "metrics": {"test": {"vae_mse": 0.003}},
            "gate": {"passed": False, "reason": "no better at k = 10"},
            "data": {},
        },
        "predictors": {"drives": 4, "frames": 100, "horizons": {"5": horizon, "10": horizon}},
        "calibration_drives": {"count": 4, "note": "only 4 calibration drives: be careful"},
        "nominal": {"at_maximum": {"log_rho": 0.02, "delta": 0.3, "any of our own": 0.04}},
        "faults": {"dark": told_apart(tables.test, tables.ood["dark"], pool.statistics)},
        "by_severity": {"dark": {"1": {"value": 0.2}, "2": {"value": 0.97}, "3": {"value": 0.9}}},
        "shifts": {"another_track_hall": found, "another_room_attic": {"reason": "too short"}},
        "evaluation": {"calibration": results["calibration"], "intervals": results["intervals"]},
    }


def test_goals_say_what_was_measured_and_the_page_shows_it(shifted, results, tmp_path):
    made = made_up_results(shifted, results)
    made["goals"] = goals.judge(made)
    verdicts = {goal["text"]: goal["met"] for goal in made["goals"]}
    assert verdicts["OOD AUROC of two-sided rho under Dark, severity 2 and more"] is False  # 0.9 at severity 3
    assert verdicts["OOD AUROC of two-sided rho under Blur, severity 2 and more"] is None
    assert verdicts["Nominal held-out frames with any of our own scores at its maximum"] is True
    assert verdicts["AUROC of the safety predictor on held-out drives at k = 5"] is True
    assert verdicts["OOD AUROC of two-sided rho on another room: attic"] is None
    assert "the best other row is" in made["goals"][-1]["measured"]
    text = page(made, ["real_car/rollout.png"], "public recording")
    for words in (
        "**missed**",
        "7 dropout samples",
        "public recording",
        "0.930 [0.800, 0.950]",
        "delta | 30.0 %",
        "too short",
        "No tub of another day was given",
        "open loop",
    ):
        assert words in text
    (tmp_path / "report").mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (1000, 500, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "report" / "rollout.png")
    write_page(tmp_path / "docs" / "real_car.md", made, tmp_path / "report")
    shown = tmp_path / "docs" / "real_car" / "rollout.png"
    assert Image.open(shown).size == (400, 800) and shown.stat().st_size < 500_000


def test_further_tubs_that_are_all_called_data_are_told_apart(make_tub, tmp_path):  # noqa: F811
    tub, places = make_tub(5).path, [make_tub(5, name=f"{place}/data").path for place in ("hall", "yard")]
    shifts = [parse_shift("another_track", str(place)) for place in places]
    study = plan_real_car(str(tmp_path / "out"), [str(tub)], None, [*shifts, parse_shift("another_day", str(places[0]))])
    assert [shift.name for shift in study.shifts] == [
        "another_track_hall_data",
        "another_track_yard_data",
        "another_day_hall_data",
    ]
    with pytest.raises(AiccError, match="given twice"):
        plan_real_car(str(tmp_path / "out"), [str(tub)], None, [shifts[0], shifts[0]])


def test_mistakes_are_named_before_anything_starts(make_tub, tmp_path):  # noqa: F811
    tub = make_tub(5).path
    with pytest.raises(AiccError, match="--another-room"):
        parse_shift("another_room", str(tmp_path / "nowhere"))
    with pytest.raises(AiccError, match="no label file"):
        parse_shift("another_day", f"{tub},{tmp_path / 'no.csv'}")
    with pytest.raises(AiccError, match="donkey-aicc label"):
        plan_real_car(str(tmp_path), [str(tub)], str(tmp_path / "no.csv"), [])
    with pytest.raises(AiccError, match="a shift needs other drives"):
        plan_real_car(str(tmp_path), [str(tub)], None, [parse_shift("another_day", str(tub))])
    with pytest.raises(ConfigError, match="--size"):
        plan_real_car(str(tmp_path), [str(tub)], None, [], "huge")


def test_a_further_tub_that_cannot_be_used_is_named_and_takes_nothing_from_the_others(make_tub, tmp_path, capsys):  # noqa: F811
    main, short, long = (make_tub(frames, name=name).path for frames, name in ((5, "main"), (60, "short"), (120, "long")))
    empty = make_tub(120, name="empty").path
    for image in (empty / "images").iterdir():
        image.unlink()
    shifts = [parse_shift("another_track", str(tub)) for tub in (short, empty, long)]
    study = plan_real_car(str(tmp_path / "out"), [str(main)], None, shifts, "tiny")
    stages.check_shifts(study)
    first, second, third = capsys.readouterr().out.splitlines()
    assert "another_track_short is left out" in first and "60 frames, while a score looks back 100" in first
    assert "another_track_empty is left out" in second and "donkey-aicc check" in second
    assert "another_track_long: 120 frames in 1 drives" in third


def test_a_further_tub_can_be_added_to_a_finished_study(make_tub, tmp_path):  # noqa: F811
    tubs = [str(make_tub(5, name=name).path) for name in ("main", "attic")]
    for shifts in ([], [parse_shift("another_room", tubs[1])]):
        study = plan_real_car(str(tmp_path / "out"), tubs[:1], None, shifts)
        claim(study.layout, study.about())


def test_labels_of_a_further_tub_mean_the_same_as_those_of_the_study(make_tub, tmp_path):  # noqa: F811
    cte = np.linspace(-1.0, 1.0, 120)
    tubs = [make_tub(120, name=name, pos__cte=scale * cte).path for name, scale in (("main", 1.0), ("wide", 4.0))]
    labels, theirs = tmp_path / "labels.csv", tmp_path / "theirs.csv"
    for path in (labels, theirs):
        path.write_text("index,safe\n" + "".join(f"{index},1\n" for index in range(120)))

    def safe(study_labels, shift):
        study = plan_real_car(str(tmp_path / "out"), [str(tubs[0])], study_labels, [parse_shift("another_day", shift)], "tiny")
        return np.concatenate([drive.safe for drive in stages.shift_drives(study, study.shifts[0])])

    assert np.mean(safe(None, str(tubs[1]))) == pytest.approx(0.125, abs=0.02)  # by the limit of the study's own drives
    assert np.isnan(safe(str(labels), str(tubs[1]))).all()  # its cte is another rule than the label file's
    assert safe(str(labels), f"{tubs[1]},{theirs}").all()


def test_the_page_names_a_tub_of_another_rate():
    slow, same = {"rate_hz": 10.0}, {"rate_hz": 19.0}
    (line,) = _other_rates(20.0, {"another_day_a": slow, "another_day_b": same})
    assert "another_day_a was recorded at 10.0 Hz" in line
