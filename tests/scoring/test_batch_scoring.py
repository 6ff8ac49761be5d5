import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc import workers
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import images_to_array, images_to_tensor
from donkey_aicc.scoring.batch_scoring import McDropout
from donkey_aicc.scoring.parallel import lane_groups, score_drives
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import COLUMNS, HORIZONS
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from donkey_aicc.scoring.tta_views import predict_tta

SMALL = ScoreSettings(samples=2, rollout_steps=3, rollout_every=4, context=5, seed=3)
BATCH = BatchSettings(lanes=2, dropout_passes=3)


def assert_equal_tables(one, two, atol):
    for name in COLUMNS:
        a, b = getattr(one, name), getattr(two, name)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, atol=atol, rtol=0, err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.fixture(scope="module")
def drives():
    from tests.scoring.conftest import made_up_drive

    return [made_up_drive(frames, seed=seed) for seed, frames in enumerate((6, 9, 1, 7))]


@pytest.fixture(scope="module")
def table(bundle, drives):
    return score_drives(bundle, drives, settings=SMALL, batch=BATCH)


def test_one_row_per_frame_in_the_given_order(table, drives):
    assert len(table) == 23
    assert table.sequences() == [drive.id for drive in drives]
    assert table.step.tolist() == [t for drive in drives for t in range(len(drive))]
    assert table.horizons.tolist() == list(HORIZONS)
    assert all(np.isfinite(getattr(table, name)).all() for name in ("p_safe", "p_tta", "rho_raw", "mc_dropout"))
    done = table.step >= SMALL.rollout_frames - 1
    assert np.isfinite(table.features[done]).all() and np.isnan(table.features[~done, :3]).all()


def test_batch_scores_equal_streamed_ones(bundle, drives, table):
    """Also in lanes that go on alone after their neighbour has ended."""
    drive = drives[1]
    rows = table.of_sequences([drive.id])
    scorer = StreamScorer(bundle, SMALL)
    randomness = FrameRandomness(3, 2)
    for t in range(len(drive)):
        scores = scorer.step(drive.images[t : t + 1], drive.actions[t : t + 1])
        seen = predict_tta(bundle, images_to_array(drive.images[t : t + 1]), randomness.tta(t))
        np.testing.assert_allclose(rows.features[t], scores.features[0], atol=1e-5)
        np.testing.assert_allclose(rows.rho_raw[t], scores.rho_raw[0], atol=1e-6)
        np.testing.assert_allclose(rows.latent[t], scores.latent[0], atol=1e-5)
        np.testing.assert_allclose(rows.p_tta[t], seen.p_tta[0], atol=1e-5)
        assert rows.valid[t] == scores.valid == (t >= 4)


def test_predictions_are_those_of_the_predictor(nets, bundle, drives, table):
    images = images_to_tensor(np.concatenate([drive.images for drive in drives]))
    features, logits = nets.safety.features_and_logits(images)
    np.testing.assert_allclose(table.p_safe, torch.sigmoid(logits), atol=1e-5)
    np.testing.assert_allclose(table.cnn_features, features, atol=1e-5)


def test_labels_never_cross_the_end_of_a_sequence(drives, table):
    rows = table.of_sequences([drives[1].id])
    five = table.horizons.tolist().index(5)
    np.testing.assert_array_equal(rows.labels[:4, five], drives[1].safe[5:])
    assert np.isnan(rows.labels[4:, five]).all()
    assert np.isnan(rows.labels[:, table.horizons.tolist().index(10)]).all()


@pytest.mark.parametrize("lanes", [1, 4])
def test_the_number_of_lanes_changes_nothing(bundle, drives, table, lanes):
    assert_equal_tables(table, score_drives(bundle, drives, settings=SMALL, batch=replace(BATCH, lanes=lanes)), atol=1e-5)


def test_worker_processes_change_nothing(bundle, drives, table):
    pytest.importorskip("joblib")
    assert_equal_tables(table, score_drives(bundle, drives, settings=SMALL, batch=BATCH, workers=2), atol=1e-6)


def test_a_dask_cluster_changes_nothing(bundle, drives, table, tmp_path):
    distributed = pytest.importorskip("distributed")
    two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "local_directory": tmp_path}
    with distributed.LocalCluster(**two) as cluster:
        scored = score_drives(bundle, drives, settings=SMALL, batch=BATCH, workers=cluster.scheduler_address)
    assert_equal_tables(table, scored, atol=1e-6)


def test_a_missing_cluster_is_named(bundle, drives, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "CONNECT_S", 0.2)
    with pytest.raises(AiccError, match="cannot reach a Dask scheduler at tcp://127.0.0.1:1"):
        score_drives(bundle, drives, settings=SMALL, batch=BATCH, workers="tcp://127.0.0.1:1")


def test_groups_have_equal_shares_of_the_frames_and_are_as_many_for_every_worker():
    assert lane_groups([400] * 10, 8, 2) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert lane_groups([100, 300, 200, 400], 2, 1) == [[3, 0], [1, 2]]
    assert lane_groups([50], 8, 4) == [[0]]
    for count in (1, 3, 7):
        lengths = np.random.default_rng(count).integers(50, 1000, 40).tolist()
        groups = lane_groups(lengths, 8, count)
        frames = [sum(lengths[number] for number in group) for group in groups]
        assert sorted(sum(groups, [])) == list(range(40)) and len(groups) % count == 0
        assert max(map(len, groups)) <= 8 and max(frames) < 1.25 * np.mean(frames) and frames == sorted(frames, reverse=True)


def test_what_cannot_be_scored_is_refused_at_once(bundle, drives):
    with pytest.raises(AiccError, match="no sequences to score"):
        score_drives(bundle, [])
    with pytest.raises(AiccError, match="ids must be unique"):
        score_drives(bundle, [drives[0], drives[0]])
    actions = drives[1].actions.copy()
    actions[3, 1] = np.nan
    with pytest.raises(AiccError, match="action of record 3 is not finite"):
        score_drives(bundle, [drives[0], replace(drives[1], actions=actions)])
    with pytest.raises(ConfigError, match="workers must be >= 1, got 0"):
        score_drives(bundle, drives, workers=0)
    with pytest.raises(ConfigError, match="lanes must be >= 1, got 0"):
        BatchSettings(lanes=0)


def test_it_agrees_with_torchs_own_dropout(nets, bundle, drive):
    """Both estimate the same spread; with many passes they come close."""
    images = images_to_array(drive(2).images)
    net = copy.deepcopy(nets.safety)
    ours = McDropout(bundle, passes=200).spread(images, np.random.default_rng(0))
    net.dropout.train()
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = torch.stack([torch.sigmoid(net(torch.from_numpy(images))) for _ in range(200)]).std(dim=0)
    np.testing.assert_allclose(ours, theirs, rtol=0.25)


def test_same_generator_same_spread_whatever_the_batch(bundle, drive):
    images = images_to_array(drive(3).images)
    together = McDropout(bundle).spread(images, np.random.default_rng(4))
    alone = McDropout(bundle).spread(images[1:2], np.random.default_rng(4))
    np.testing.assert_allclose(together[1:2], alone, rtol=1e-4, atol=1e-6)
    assert (together > 0).all()
