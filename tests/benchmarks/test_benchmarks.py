"""`make bench` runs every benchmark, also after one failed, and then says so."""

import shutil
import subprocess
import sys
from pathlib import Path

RUN_ALL = Path(__file__).resolve().parents[2] / "benchmarks" / "run_all.py"


def run_all(folder: Path, *topics: str) -> subprocess.CompletedProcess:
    shutil.copy(RUN_ALL, folder)
    return subprocess.run([sys.executable, folder / "run_all.py", *topics], capture_output=True, text=True, check=False)


def test_all_run_and_a_failure_is_told_at_the_end(tmp_path):
    (tmp_path / "bench_a.py").write_text("raise SystemExit(3)")
    (tmp_path / "bench_b.py").write_text("print('1234 steps a second')")
    result = run_all(tmp_path)
    assert result.returncode == 1
    assert "FAILED with exit code 3" in result.stdout
    assert "1234 steps a second" in result.stdout
    assert result.stderr == "failed: bench_a.py\n"


def test_one_topic_can_be_run_alone(tmp_path):
    (tmp_path / "bench_a.py").write_text("raise SystemExit(3)")
    (tmp_path / "bench_b.py").write_text("print('fast')")
    result = run_all(tmp_path, "b")
    assert result.returncode == 0
    assert "fast" in result.stdout


def test_an_unknown_topic_lists_what_there_is(tmp_path):
    (tmp_path / "bench_a.py").write_text("")
    result = run_all(tmp_path, "c")
    assert result.returncode == 1
    assert "no benchmark called c; there are: a" in result.stderr
