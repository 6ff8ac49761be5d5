"""The commands' work on a real Dask scheduler with two workers gives what one process gives."""

import logging

import numpy as np
import pytest

from donkey_aicc import cli, workers
from donkey_aicc.commands.worker_arguments import workers_of
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import COLUMNS, ScoreTable
from donkey_aicc.tubs.find_tubs import find_tubs
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.workers import team_of
from tests.monitor_under_test import make_bundle

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with distributed.LocalCluster(**two, local_directory=tmp_path_factory.mktemp("dask")) as started:
        yield started.scheduler_address


def where(number):
    from distributed import get_worker

    return number, get_worker().address


def test_every_call_gives_its_result_once_and_all_workers_work(cluster):
    with team_of(cluster) as team:
        assert team.size == 2 and not team.is_here
        found = list(team.run(where, ((number,) for number in range(12))))
    assert sorted(number for number, _ in found) == list(range(12)) and len({address for _, address in found}) == 2


def recorded(out, *where):
    assert cli.main(f"record --expert --drives 3 --frames 30 --seed 4 --out {out}".split() + list(where)) == 0
    return load_drives(find_tubs([out]), tau=None).drives


def test_record_and_score_on_a_cluster_give_the_same_frames_and_scores(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative --out means the same folder to a worker that stands elsewhere
    for ours, theirs in zip(recorded("there", "--cluster", cluster), recorded("here", "--workers", "1"), strict=True):
        np.testing.assert_array_equal(ours.images, theirs.images)
        np.testing.assert_array_equal(ours.actions, theirs.actions)
    make_bundle(tmp_path / "bundle")
    tables = []
    for name, *place in (("there", "--cluster", cluster), ("here", "--workers", "1")):
        words = f"score here --bundle bundle --grade light --lanes 1 --cache-dir cache --out {name}.npz".split()
        assert cli.main([*words, *place]) == 0
        tables.append(ScoreTable.load(tmp_path / f"{name}.npz"))
    for column in COLUMNS:
        np.testing.assert_array_equal(*(getattr(table, column) for table in tables), err_msg=column)


@pytest.mark.parametrize(
    "words", ["record --out O", "score T --bundle B --out O", "calibrate --bundle B --data T", "evaluate --bundle B --out O"]
)
def test_every_command_that_works_long_takes_the_same_two_arguments(words):
    def chosen(*where):
        return workers_of(cli.build_parser(words.split()[0]).parse_args([*words.split(), *where]))

    assert chosen("--workers", "3") == 3 and chosen("--cluster", "tcp://x:1", "--workers", "3") == "tcp://x:1" and chosen() >= 1
    with pytest.raises(AiccError, match="--workers must be >= 1, got 0"):
        chosen("--workers", "0")


def test_workers_of_another_version_are_refused_by_name(cluster, monkeypatch):
    monkeypatch.setattr("donkey_aicc.__version__", "9.9.9")
    said = r"every worker must have donkey_aicc 9.9.9, as here; tcp://.* has 0.1.0: .*pip install"
    with pytest.raises(AiccError, match=said), team_of(cluster):
        pass


def test_a_scheduler_without_workers_says_how_to_start_some(tmp_path):
    said = "has no workers; start some with: dask worker tcp://"
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(AiccError, match=said),
        team_of(empty.scheduler_address),
    ):
        pass


def test_a_folder_that_the_workers_do_not_share_is_told(tmp_path, monkeypatch):
    from donkey_aicc.simulator import record_drives

    plans = record_drives.plan_nominal(tmp_path, "loop", 1, (5, 5), 0)
    monkeypatch.setattr(record_drives, "record_one", lambda plan, model: plan.path)
    with pytest.raises(AiccError, match="does not see it; --out must be a shared folder"):
        record_drives.record(plans, None)


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_S", 0.2)
    with pytest.raises(AiccError, match="cannot reach a Dask scheduler at tcp://127.0.0.1:1"), team_of("tcp://127.0.0.1:1"):
        pass
