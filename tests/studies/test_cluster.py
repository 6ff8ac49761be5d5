"""Drives recorded on a cluster are those recorded here."""

from dataclasses import replace

import pytest

from donkey_aicc.simulator.record_drives import plan_nominal, record
from donkey_aicc.tubs.load import load_drives
from studies import drive_stages
from studies.experiment import plan_experiment

distributed = pytest.importorskip("distributed")


def test_a_cluster_records_the_same_drives(tmp_path):
    experiment = plan_experiment(tmp_path / "exp", "tiny")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        plans = plan_nominal(tmp_path / "far", "oval", 2, (30, 30), seed=3)
        drive_stages._record(replace(experiment, cluster=cluster.scheduler_address), plans)
    record(plan_nominal(tmp_path / "near", "oval", 2, (30, 30), seed=3), experiment.pilot)
    far, near = (load_drives([tmp_path / where], tau=None).drives for where in ("far", "near"))
    assert [drive.content_hash for drive in far] == [drive.content_hash for drive in near]
