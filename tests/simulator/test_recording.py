"""Simulated tubs open in donkeycar's own Tub, are repeatable, and start a session at each put-back."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from donkeycar.parts.tub_v2 import Tub

from donkey_aicc.errors import AiccError
from donkey_aicc.simulator.record_drives import KEYS, DrivePlan, plan_nominal, plan_protocol, record


def records_of(path):
    tub = Tub(str(path), read_only=True)
    try:
        return list(tub)
    finally:
        tub.close()


def test_tub_holds_frame_command_place_and_fault(tmp_path):
    plan = DrivePlan(tmp_path / "bias_s3_00", "oval", 7, 230, "bias", 3)
    assert record([plan], model=None) == 1
    rows = records_of(plan.path)
    assert len(rows) == 230
    assert set(KEYS) <= set(rows[0])
    assert rows[0]["aicc/inject_protocol"] == "" and rows[0]["aicc/inject_severity"] == 0
    assert rows[-1]["aicc/inject_protocol"] == "bias" and rows[-1]["aicc/inject_severity"] == 3
    assert rows[-1]["steering"] != rows[-1]["pilot/angle"]
    assert rows[1]["_timestamp_ms"] - rows[0]["_timestamp_ms"] == 50


def test_same_plan_same_bytes_and_finished_tubs_are_kept(tmp_path):
    plans = [DrivePlan(tmp_path / name, "oval", 5, 30) for name in ("a", "b")]
    assert record(plans, model=None) == 2
    assert record(plans, model=None) == 0
    first, second = (hashlib.sha256((plan.path / "images" / "20_cam_image_array_.jpg").read_bytes()) for plan in plans)
    assert first.hexdigest() == second.hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_plans_cover_what_was_asked_and_seeds_differ(tmp_path):
    nominal = plan_nominal(tmp_path, "loop", 6, (500, 1000), seed=1)
    assert all(500 <= plan.frames <= 1000 for plan in nominal)
    dark = plan_protocol(tmp_path, "loop", "dark", range(1, 6), 4, 600, seed=1)
    assert [(plan.severity) for plan in dark] == [severity for severity in range(1, 6) for _ in range(4)]
    seeds = [plan.seed for plan in nominal + dark]
    assert len(set(seeds)) == len(seeds)
    with pytest.raises(AiccError, match="1000-500"):
        plan_nominal(tmp_path, "loop", 2, (1000, 500), seed=1)


def test_same_seed_same_bytes_whatever_the_processor_can_do(tmp_path):
    """A fault, four threads and no vector instructions beyond the oldest: not one byte of the drive may change."""
    script = (
        "import sys; from pathlib import Path; from donkey_aicc.simulator.record_drives import *; "
        "from donkey_aicc.resources import models_dir; "
        "record_one(DrivePlan(Path(sys.argv[1]), 'loop', 5, 60, 'bias', 3), models_dir() / 'pilot')"
    )
    oldest = {
        "OMP_NUM_THREADS": "4",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENCV_CPU_DISABLE": "AVX512_SKX,AVX2,AVX,FP16,FMA3",
        "OPENCV_IPP": "disabled",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
    }
    for name, extra in (("here", {"OMP_NUM_THREADS": "1"}), ("oldest", oldest)):
        subprocess.run([sys.executable, "-c", script, str(tmp_path / name)], env=os.environ | extra, check=True, timeout=120)
    here, there = ({p.name: p.read_bytes() for p in (tmp_path / n / "images").iterdir()} for n in ("here", "oldest"))
    assert len(here) == 60 and here == there
    assert (tmp_path / "here/catalog_0.catalog").read_bytes() == (tmp_path / "oldest/catalog_0.catalog").read_bytes()


def test_manifest_says_how_the_drive_was_driven(tmp_path):
    plan = DrivePlan(tmp_path / "a", "oval", 5, 5)
    record([plan], model=None)
    metadata = dict(json.loads((plan.path / "manifest.json").read_text().splitlines()[2]))
    assert metadata["lane_half_width"] == "0.35" and float(metadata["light"]) > 0
    assert {"temper_line", "temper_speed", "temper_jitter"} <= set(metadata)
