"""From damaged tubs to sequences: every cut, every command source, every label source."""

import json

import numpy as np
import pytest
from PIL import Image

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.tubs.load import load_drives


def cuts(data):
    return [(cut.after, cut.before, cut.reason) for tub in data.report.tubs for cut in tub.cuts]


def codes(data):
    return {finding.code: finding.count for tub in data.report.tubs for finding in tub.findings}


def lengths(data):
    return [len(sequence) for sequence in data.drives]


def delete(made, indices):
    manifest = made.path / "manifest.json"
    lines = manifest.read_text().splitlines()
    last = json.loads(lines[-1]) | {"deleted_indexes": indices}
    manifest.write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")


def test_a_sound_tub_is_one_sequence(make_tub):
    made = make_tub(30)
    data = load_drives([made.path])
    [sequence] = data.drives
    assert len(sequence) == 30 and cuts(data) == [] and data.report.exit_code == 0 and codes(data) == {}
    assert sequence.tub == "tub" and sequence.session == "24-01-01_0" and sequence.indices.tolist() == list(range(30))
    np.testing.assert_allclose(sequence.actions[:, 0], np.linspace(-0.5, 0.5, 30), atol=1e-6)
    np.testing.assert_allclose(np.diff(sequence.times_s), 0.05, atol=1e-6)
    opened = to_model_image(np.array(Image.open(made.image(7))))
    assert np.abs(sequence.images[7].astype(int) - opened).max() <= 4  # JPEG decoders may differ by rounding
    assert data.drives[0].id == load_drives([made.path]).drives[0].id
    assert data.report.tubs[0].rate_hz == pytest.approx(20, abs=0.1)


def test_several_sessions_are_cut_apart(make_tub):
    data = load_drives([make_tub(30, sessions=3).path])
    assert lengths(data) == [10, 10, 10] and {reason for *_, reason in cuts(data)} == {"session change"}
    assert len({sequence.session for sequence in data.drives}) == 3 and data.report.exit_code == 0


def test_deleted_records_cut_without_loss(make_tub):
    made = make_tub(30)
    delete(made, [10, 11, 12])
    data = load_drives([made.path])
    assert lengths(data) == [10, 17] and cuts(data) == [(9, 13, "deleted")]
    assert data.report.exit_code == 0 and data.report.tubs[0].deleted == 3


def test_time_gap_and_time_running_backwards_cut(make_tub):
    made = make_tub(30)

    def shift(record):
        late = 900 if record["_index"] >= 10 else 0
        early = -60_000 if record["_index"] >= 20 else 0
        return record | {"_timestamp_ms": record["_timestamp_ms"] + late + early}

    made.edit(shift)
    data = load_drives([made.path])
    assert cuts(data) == [(9, 10, "time gap"), (19, 20, "time backwards")]
    assert codes(data) == {"time-backwards": 1} and data.report.exit_code == 1
    assert lengths(load_drives([made.path], max_gap_s=2.0)) == [20, 10]


def test_times_no_camera_can_make_are_not_used(make_tub):
    data = load_drives([make_tub(30, rate_hz=333).path])
    assert lengths(data) == [30] and "time-useless" in codes(data)
    np.testing.assert_allclose(np.diff(data.drives[0].times_s), 0.05)


def test_missing_times_follow_the_index(make_tub):
    made = make_tub(30)
    made.edit(lambda record: {key: value for key, value in record.items() if key != "_timestamp_ms"})
    data = load_drives([made.path])
    assert lengths(data) == [30] and codes(data) == {"time-missing": 30}
    assert data.report.tubs[0].time_source == "assumed"


def test_a_few_missing_times_are_filled_in(make_tub):
    made = make_tub(30)
    made.set_value(7, _timestamp_ms=None)
    data = load_drives([made.path])
    assert lengths(data) == [30] and codes(data) == {"time-filled": 1}
    np.testing.assert_allclose(np.diff(data.drives[0].times_s), 0.05, atol=1e-6)


def test_bad_images_are_gaps_that_cut_when_they_are_long_and_are_counted(make_tub):
    made = make_tub(40)
    made.image(5).unlink()
    made.image(10).write_bytes(b"")
    made.image(20).write_bytes(made.image(20).read_bytes()[:300])
    made.image(30).write_text("hello")
    data = load_drives([made.path])
    assert lengths(data) == [40] and cuts(data) == [] and data.report.tubs[0].usable == 36
    drive = data.drives[0]
    for row in (5, 10, 20, 30):
        assert (drive.images[row] == drive.images[row - 1]).all() and (drive.images[row] != drive.images[row + 1]).any()
    assert data.report.tubs[0].image_problems == {"missing": 1, "zero-byte": 1, "truncated": 1, "unreadable": 1}
    assert data.report.exit_code == 1
    for number in range(12, 20):  # with the one that is cut short: half a second from the last good one to the next
        made.image(number).unlink()
    assert lengths(load_drives([made.path])) == [40]
    made.image(21).unlink()
    data = load_drives([made.path])
    assert lengths(data) == [12, 18] and cuts(data) == [(11, 22, "unreadable image")]


def test_damaged_line_cuts(make_tub):
    made = make_tub(20)
    made.edit(lambda record: json.dumps(record)[:50] if record["_index"] == 8 else record)
    data = load_drives([made.path])
    assert lengths(data) == [8, 11] and cuts(data) == [(7, 9, "missing index")]


def test_grey_rgba_and_large_images_are_taken_and_mentioned(make_tub):
    made = make_tub(6, size=(120, 160))
    Image.fromarray(np.zeros((120, 160), np.uint8)).save(made.image(1))
    Image.fromarray(np.zeros((720, 1280, 3), np.uint8)).save(made.image(2))
    Image.fromarray(np.zeros((120, 160, 4), np.uint8)).save(made.image(3), format="png")
    data = load_drives([made.path])
    assert lengths(data) == [6] and data.report.exit_code == 0
    assert data.report.tubs[0].image_sizes == {"160x120 RGB": 3, "160x120 grey": 1, "1280x720 RGB": 1, "160x120 RGBA": 1}
    assert codes(data) == {"image-not-rgb": 2, "image-sizes-mixed": 4}


def test_frames_stored_twice_are_reported(make_tub):
    made = make_tub(20)
    for index in range(0, 20, 2):
        made.image(index + 1).write_bytes(made.image(index).read_bytes())
    data = load_drives([made.path])
    assert "frames-repeated" in codes(data) and data.report.tubs[0].repeat_share == pytest.approx(10 / 19)


def test_the_command_that_was_sent_comes_first(make_tub):
    n = 8
    made = make_tub(n, steering=np.full(n, 0.7), throttle=np.full(n, 0.2), pilot__angle=np.zeros(n), pilot__throttle=np.zeros(n))
    data = load_drives([made.path])
    np.testing.assert_allclose(data.drives[0].actions, [[0.7, 0.2]] * n, atol=1e-6)
    assert data.report.tubs[0].action_sources == {"steering/throttle": n}


def test_without_it_the_mode_decides_record_by_record(make_tub):
    mode = ["user"] * 4 + ["local_angle"] * 4 + ["local"] * 4
    made = make_tub(
        12, user__mode=mode, pilot__angle=np.full(12, -0.5), pilot__throttle=np.full(12, 0.9), user__angle=np.full(12, 0.1)
    )
    data = load_drives([made.path])
    actions = data.drives[0].actions
    np.testing.assert_allclose(actions[[0, 4, 8]], [[0.1, 0.3], [-0.5, 0.3], [-0.5, 0.9]], atol=1e-6)
    assert data.report.tubs[0].action_sources == {"user/*": 4, "pilot/angle + user/throttle": 4, "pilot/*": 4}


def test_pilot_zeros_while_user_holds_the_pilots_output(make_tub):
    made = make_tub(10, user__mode=["local"] * 10, pilot__angle=np.zeros(10), pilot__throttle=np.zeros(10))
    data = load_drives([made.path])
    np.testing.assert_allclose(data.drives[0].actions[:, 0], np.linspace(-0.5, 0.5, 10), atol=1e-6)
    assert codes(data) == {"pilot-zeros": 10}


def test_commands_beyond_the_range_are_clipped_and_counted(make_tub):
    data = load_drives([make_tub(10, user__angle=np.linspace(-1.33, 1.33, 10)).path])
    assert np.abs(data.drives[0].actions).max() == 1.0
    assert codes(data) == {"command-range": 4} and data.report.exit_code == 1


def test_floats_as_strings_are_numbers_and_nan_commands_cut(make_tub):
    made = make_tub(12)
    made.edit(lambda record: record | {"user/angle": str(record["user/angle"])})
    made.edit(lambda record: record | {"user/throttle": float("nan")} if record["_index"] == 6 else record)
    assert "NaN" in made.catalogs[0].read_text()
    data = load_drives([made.path])
    assert lengths(data) == [6, 5] and cuts(data) == [(5, 7, "no command")] and codes(data) == {"command-missing": 1}


def test_labels_from_recorded_cte(make_tub):
    made = make_tub(41, pos__cte=np.linspace(-1, 1, 41))
    data = load_drives([made.path], tau=0.25)
    assert data.tau == 0.25 and data.drives[0].safe.sum() == 11 and data.report.tubs[0].label_source == "cte"
    half = load_drives([made.path])
    assert half.tau == pytest.approx(0.5) and abs(half.drives[0].safe.mean() - 0.5) < 0.03
    shifted = load_drives([made.path], tau=0.25, cte_centre=1.0)
    assert shifted.drives[0].safe[-1] == 1 and shifted.drives[0].safe[20] == 0
    assert np.isnan(load_drives([made.path], tau=None).drives[0].safe).all()


def test_one_tau_for_all_tubs(make_tub):
    near, far = (make_tub(20, name=name, pos__cte=np.linspace(0.01, top, 20)) for name, top in (("near", 1), ("far", 3)))
    data = load_drives([near.path, far.path])
    shares = [tub.safe_share for tub in data.report.tubs]
    assert abs(np.mean(shares) - 0.5) < 0.05 and shares[0] > shares[1]


@pytest.mark.parametrize("frames", [1, 3])
def test_lap_line_blip_and_empty_first_record_are_unlabelled(make_tub, frames):
    cte = 2.0 + 0.01 * np.arange(40)
    cte[[0, *range(20, 20 + frames)]] = 0.0
    position = np.arange(40) * 1.0
    made = make_tub(40, pos__cte=cte, pos__pos_x=position, pos__speed=position)
    data = load_drives([made.path], cte_centre=2.2)
    assert np.flatnonzero(np.isnan(data.drives[0].safe)).tolist() == [0, *range(20, 20 + frames)]
    assert codes(data) == {"empty-telemetry": 1, "cte-blip": frames} and data.report.exit_code == 0


def test_a_middle_that_is_not_at_zero_is_named(make_tub):
    """A simulator that measures from a border: -2.67 in the middle of the lane."""
    made = make_tub(39, pos__cte=-2.67 + 0.01 * (np.arange(39) % 3 - 1))
    (said,) = [finding.message for finding in load_drives([made.path]).report.tubs[0].findings]
    assert said.endswith("give --cte-centre -2.67")
    assert "cte-off-centre" not in codes(load_drives([made.path], cte_centre=-2.67))


def test_driving_through_zero_is_not_a_blip(make_tub):
    data = load_drives([make_tub(41, pos__cte=np.round(np.linspace(-1, 1, 41), 6)).path])
    assert codes(data) == {} and np.isfinite(data.drives[0].safe).all()


def test_constant_cte_is_no_measurement(make_tub):
    data = load_drives([make_tub(10, pos__cte=np.zeros(10)).path])
    assert "cte-constant" in codes(data) and data.report.tubs[0].label_source == "none"


def test_labels_from_takeovers_and_marks(make_tub):
    mode = ["local"] * 40 + ["user"] * 10
    marks = [False] * 30 + [True] * 3 + [False] * 17
    taken = load_drives([make_tub(50, name="taken", user__mode=mode).path])
    assert taken.report.tubs[0].label_source == "takeover" and taken.tau is None
    safe = taken.drives[0].safe
    assert safe[:20].tolist() == [1] * 20 and safe[20:40].tolist() == [0] * 20 and np.isnan(safe[40:]).all()
    made = make_tub(50, name="marked", user__mode=mode, aicc__unsafe_mark=marks)
    assert load_drives([made.path]).report.tubs[0].label_source == "mark"
    assert load_drives([made.path], label_source="takeover").report.tubs[0].label_source == "takeover"
    short = load_drives([made.path], label_source="mark", label_window_s=0.2).drives[0].safe
    assert np.flatnonzero(short == 0).tolist() == list(range(26, 33))


def test_labels_from_a_file(make_tub, tmp_path):
    made = make_tub(20, pos__cte=np.linspace(0, 1, 20))
    file = tmp_path / "labels.csv"
    file.write_text("index,safe\n" + "".join(f"{i},{int(i < 5)}\n" for i in range(10)) + "99,1\n")
    data = load_drives([made.path], labels_csv=file)
    assert data.report.tubs[0].label_source == "csv (safe)" and data.tau is None and codes(data) == {"labels-unused": 1}
    assert data.drives[0].safe[:10].tolist() == [1] * 5 + [0] * 5 and np.isnan(data.drives[0].safe[10:]).all()
    file.write_text("index,cte\n" + "".join(f"{i},{i / 10}\n" for i in range(10)))
    data = load_drives([made.path], labels_csv=file, label_source="csv", tau=0.35)
    assert data.drives[0].safe[:10].tolist() == [1] * 4 + [0] * 6 and np.isnan(data.drives[0].cte[10:]).all()


def test_injected_anomalies_are_carried_along(make_tub):
    made = make_tub(
        10,
        aicc__inject_protocol=["none"] * 4 + ["dark"] * 6,
        aicc__inject_severity=[0] * 4 + [3] * 6,
        aicc__inject_episode=[0] * 4 + [1] * 6,
    )
    [sequence] = load_drives([made.path]).drives
    assert sequence.protocol.tolist() == [""] * 4 + ["dark"] * 6 and sequence.severity.tolist() == [0] * 4 + [3] * 6
    assert sequence.episode.tolist() == [0] * 4 + [1] * 6


def test_version_1_tubs_give_sequences(make_v1_tub):
    path = make_v1_tub(12)
    (path / "record_5.json").unlink()
    data = load_drives([path])
    assert (
        lengths(data) == [5, 6] and data.report.tubs[0].label_source == "cte" and data.report.tubs[0].rate_hz == pytest.approx(10)
    )


def test_fragments_can_be_dropped(make_tub):
    made = make_tub(30)
    delete(made, [3])
    data = load_drives([made.path], min_length=5)
    assert lengths(data) == [26] and data.report.tubs[0].too_short == 1


def test_a_tub_of_thirteen_thousand_records_over_many_catalogs(tmp_path, cache, frame_of):
    path = tmp_path / "big"
    (path / "images").mkdir(parents=True)
    Image.fromarray(frame_of(0)).save(path / "images" / "same.jpg")
    for number in range(130):
        rows = range(100 * number, 100 * number + 100)
        lines = [{"_index": i, "_session_id": "s", "_timestamp_ms": 50 * i, "cam/image_array": "same.jpg"} for i in rows]
        text = "".join(json.dumps(line | {"user/angle": 0.0, "user/throttle": 0.1}) + "\n" for line in lines)
        (path / f"catalog_{number}.catalog").write_text(text)
    data = load_drives([path])
    assert lengths(data) == [13000]


def test_nothing_usable_says_where_to_look(make_tub):
    made = make_tub(5)
    for index in range(5):
        made.image(index).unlink()
    with pytest.raises(AiccError, match="donkey-aicc check"):
        load_drives([made.path])
    report = load_drives([made.path], must_be_usable=False).report
    assert report.exit_code == 2 and "nothing-usable" in {finding.code for finding in report.tubs[0].findings}


@pytest.mark.parametrize(
    "options, named",
    [
        ({"label_source": "guess"}, "label source"),
        ({"tau": "half"}, "tau"),
        ({"tau": -1.0}, "tau"),
        ({"label_source": "csv"}, "label file"),
        ({"label_source": "cte", "labels_csv": "x.csv"}, "label file"),
        ({"max_gap_s": 0.0}, "gap"),
        ({"min_length": 0}, "length"),
    ],
)
def test_impossible_options_are_refused(make_tub, options, named):
    with pytest.raises(ConfigError, match=named):
        load_drives([make_tub(3).path], **options)


def test_asking_for_labels_that_are_not_there_is_an_error(make_tub):
    with pytest.raises(AiccError, match="label source cte"):
        load_drives([make_tub(5).path], label_source="cte")


@pytest.mark.parametrize("odd", [[0.1, 0.2], {"a": 1}, "left", None, 1e300, -1, True, ""])
def test_values_of_the_wrong_kind_do_not_stop_the_reader(make_tub, odd):
    keys = ("pos/cte", "user/mode", "aicc/inject_severity", "aicc/inject_episode", "aicc/inject_protocol", "aicc/unsafe_mark")
    made = make_tub(12, pos__cte=np.linspace(-1, 1, 12))
    made.edit(lambda record: record | dict.fromkeys(keys, odd) if record["_index"] >= 6 else record)
    assert lengths(load_drives([made.path])) == [12]
    made.edit(lambda record: record | dict.fromkeys(keys, odd) | {"_session_id": odd, "_timestamp_ms": odd})
    assert sum(lengths(load_drives([made.path]))) == 12
    made.edit(lambda record: record | {"user/angle": odd, "cam/image_array": odd})
    assert load_drives([made.path], must_be_usable=False).report.exit_code == 2
