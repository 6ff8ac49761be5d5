"""Run every benchmarks/bench_*.py, each in its own process, so that none warms caches or threads for the next.

`python benchmarks/run_all.py [TOPIC ...]` runs only bench_<TOPIC>.py. With options: `python -m benchmarks.bench_<TOPIC> ...`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


def find_benchmarks(folder: Path, topics: Sequence[str]) -> list[Path]:
    """The benchmark files in folder, in name order; all of them if no topic is named."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}
    unknown = [topic for topic in topics if topic not in found]
    if unknown:
        raise SystemExit(f"no benchmark called {', '.join(unknown)}; there are: {', '.join(found) or 'none'}")
    return [found[topic] for topic in topics] if topics else list(found.values())


def run_benchmark(path: Path) -> bool:
    """Run one file and say whether it succeeded; its lines go straight to the terminal."""
    print(f"== {path.stem.removeprefix('bench_')}", flush=True)
    started = time.monotonic()
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]  # they import each other as benchmarks.<name>
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    code = subprocess.run([sys.executable, str(path)], check=False, env=environment).returncode
    took_s = time.monotonic() - started
    print(f"   {'done' if code == 0 else f'FAILED with exit code {code}'} after {took_s:.1f} s", flush=True)
    return code == 0


def main(topics: Sequence[str], folder: Path = HERE) -> int:
    """Run the benchmarks; 1 if any failed or none was found."""
    benchmarks = find_benchmarks(folder, topics)
    if not benchmarks:
        print(f"no bench_*.py in {folder}", file=sys.stderr)
        return 1
    failed = [path.name for path in benchmarks if not run_benchmark(path)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
