"""Small mistakes put into the code on purpose, one at a time: a test suite worth its name notices them.

    python -m tests.mutants [--sample 15] [--only tta] [--seed 0] [--keep mutants.json] [--write docs/mutants.md]   (make mutants)

Each mutant runs in a fork of this process, which has the slow libraries loaded; it is killed if its module's tests fail or hang.
With --keep the figures of several runs, such as one per file, come together on one page.
"""

import argparse
import ast
import copy
import gc
import importlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("torch", "numpy", "scipy.optimize", "scipy.stats", "cv2", "PIL.Image", "donkeycar", "donkeycar.vehicle", "pytest")

# What a driver's safety hangs on -> the tests that are meant to guard it.
_SCENARIOS, _SCORER = "parts/test_monitor_scenarios.py", "parts/test_world_model_scorer.py"
TARGETS = {
    "parts/anomaly_calibrator.py": ["parts/test_anomaly_calibrator.py"],
    "parts/anomaly_injector.py": ["parts/test_anomaly_injector.py"],
    "parts/injection_control.py": ["parts/test_injection_control.py", "parts/test_anomaly_injector.py"],
    "alarm/governor_policy.py": ["alarm/test_governor_policy.py"],
    "parts/safety_governor.py": ["parts/test_safety_governor.py", "reliability/test_finite_commands.py"],
    "parts/departure_alarm.py": ["parts/test_departure_alarm.py"],
    "parts/safety_predictor.py": ["parts/test_safety_predictor.py"],
    "parts/right_of_way.py": ["parts/test_right_of_way.py"],
    "parts/frame_intake.py": ["parts/test_frame_intake.py"],
    "parts/monitor_stream.py": ["parts/test_backlog_alone.py", "parts/test_frame_intake.py", "parts/test_backlog.py", _SCENARIOS],
    "parts/world_model_scorer.py": ["parts/test_scorer_thread.py", _SCORER, _SCENARIOS],
    "calibration/anomaly_temperature.py": ["parts/test_anomaly_calibrator.py", "calibration/test_fits.py"],
    "scoring/stream.py": ["scoring/test_stream.py"],
}

SOURCES: dict[str, str] = {}  # of the modules that are loaded

COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARE |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One changed line."""

    module: str
    line: int
    source: str
    change: str


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Every way to change one node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        yield ast.Compare(node.left, [COMPARE[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield ast.Call(ast.Name(NAMES[node.func.id], ast.Load()), node.args, node.keywords)


def mutants_of(module: str) -> list[Mutant]:
    """All of a file; type hints, messages of errors and logs, and the `strict` of zip are left alone."""
    source = (ROOT / "donkey_aicc" / module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    left_alone = {id(inner) for outer in ast.walk(tree) if _left_alone(outer) for inner in ast.walk(outer)}
    found = []
    for number, node in enumerate(ast.walk(tree)):
        for variant in changed(node) if id(node) not in left_alone else ():
            other = copy.deepcopy(tree)
            target = next(each for index, each in enumerate(ast.walk(other)) if index == number)
            if _replaced(other, target, copy.deepcopy(variant)):
                line = getattr(node, "lineno", 0)
                found.append(Mutant(module, line, ast.unparse(other), f"{ast.unparse(node)} -> {ast.unparse(variant)}"[:110]))
    return found


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).startswith("logger.")
    return isinstance(node, ast.Raise | ast.arg | ast.JoinedStr) or isinstance(node, ast.keyword) and node.arg == "strict"


def _replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> bool:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old and name not in ("returns", "annotation"):
                setattr(parent, name, new)
            elif isinstance(value, list) and any(each is old for each in value):
                value[[each is old for each in value].index(True)] = new
            else:
                continue
            ast.fix_missing_locations(tree)
            return True
    return False


def name_of(module: str) -> str:
    return "donkey_aicc." + module.removesuffix(".py").replace("/", ".")


def load_package() -> None:
    """All modules that the tests use, once and for all forks."""
    for path in sorted((ROOT / "donkey_aicc").glob("*/*.py")):
        if path.parent.name in ("nets", "faults", "scoring", "tubs", "calibration", "parts") and path.stem != "__init__":
            importlib.import_module(name_of(str(path.relative_to(ROOT / "donkey_aicc"))))
    for name in [each for each in sys.modules if each.startswith("donkey_aicc.")]:
        SOURCES[name] = Path(str(sys.modules[name].__file__)).read_text(encoding="utf-8")


def _forget(name: str) -> None:
    """This module and every one that imports it are loaded anew: they would go on with the unchanged code."""
    gone, waiting = set(), [name]
    while waiting:
        gone.add(current := waiting.pop())
        package, _, last = current.rpartition(".")
        needles = (f"from {current} import", f"import {current}\n", f"from {package} import {last}\n")
        waiting += [each for each, text in SOURCES.items() if each not in gone and any(needle in text for needle in needles)]
    for each in gone & set(sys.modules):
        package, _, last = each.rpartition(".")
        del sys.modules[each]
        vars(sys.modules[package]).pop(last, None)


class _Swap(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed source."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = name_of(mutant.module)
        self._source, self._path = mutant.source, ROOT / "donkey_aicc" / mutant.module

    def find_spec(self, fullname, path, target=None):
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self) if fullname == self._name else None

    def create_module(self, spec):
        return None

    def exec_module(self, module) -> None:
        exec(compile(self._source, str(self._path), "exec"), module.__dict__)  # our own source, changed by one node


def survives(mutant: Mutant | None, tests: list[str], patience_s: float = 600.0) -> bool:
    """Run the tests in a fork; True if all of them pass in time. mutant None: the code as it is."""
    child = os.fork()
    if not child:
        os.setsid()
        _run_tests(mutant, tests)
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run_tests(mutant: Mutant | None, tests: list[str]) -> None:
    import pytest

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if mutant is not None:
        _forget(name_of(mutant.module))
        sys.meta_path.insert(0, _Swap(mutant))
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", *(str(ROOT / "tests" / name) for name in tests)])
    os._exit(int(code))


def tried(module: str, tests: list[str], sample: int, rng: np.random.Generator) -> dict[str, Any]:
    """What became of a sample of a file's mutants."""
    started = time.monotonic()
    if not survives(None, tests):
        raise SystemExit(f"{module}: its tests fail without any mutant; mend them first")
    patience_s = 20.0 + 6.0 * (time.monotonic() - started)
    every = mutants_of(module)
    chosen = every if not sample else [every[i] for i in sorted(rng.permutation(len(every))[:sample])]
    alive = [mutant for mutant in chosen if survives(mutant, tests, patience_s)]
    print(f"{module}: {len(chosen) - len(alive)} of {len(chosen)} killed ({len(every)} possible)", flush=True)
    for mutant in alive:
        print(f"  line {mutant.line}: {mutant.change}", flush=True)
    return {"possible": len(every), "tried": len(chosen), "alive": [f"line {each.line}: `{each.change}`" for each in alive]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=15, help="mutants of each file at the most (default 15); 0: all")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="JSON file in which the figures of several runs come together")
    parser.add_argument("--write", type=Path, help="a Markdown page with the figures and the survivors")
    args = parser.parse_args()
    os.chdir(ROOT)
    for name in LIBRARIES:
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    load_package()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of no use here, and slow to load
    gc.collect()
    gc.freeze()  # a fork that walks through all of it copies it
    found = json.loads(args.keep.read_text(encoding="utf-8")) if args.keep and args.keep.is_file() else {}
    for module, tests in TARGETS.items():
        if args.only in module:
            found[module] = tried(module, tests, args.sample, np.random.default_rng(args.seed))
            if args.keep:
                args.keep.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(figure(found))
    if args.write:
        args.write.write_text(page(found), encoding="utf-8")
    return 0


def figure(found: dict[str, Any]) -> str:
    """All files together."""
    every, alive = sum(row["tried"] for row in found.values()), sum(len(row["alive"]) for row in found.values())
    return f"{every - alive} of {every} mutants killed ({100 * (every - alive) / max(every, 1):.0f} %)"


def page(found: dict[str, Any]) -> str:
    """What docs show."""
    lines = ["# Do the tests notice mistakes?", ""]
    lines += ["`make mutants` puts one small mistake at a time into the code and runs the tests that guard it. It tries a random"]
    lines += ['sample of each file; `MUTANTS="--sample 0"` tries all. Some mistakes change nothing that anyone can see.', ""]
    lines += [f"**{figure(found)}**", "", "| file | possible | tried | killed |", "|---|---|---|---|"]
    for module, row in sorted(found.items()):
        lines.append(f"| {module} | {row['possible']} | {row['tried']} | {row['tried'] - len(row['alive'])} |")
    lines += ["", "## What they did not notice", ""]
    lines += [f"- {module}, {each}" for module, row in sorted(found.items()) for each in row["alive"]] or ["Nothing."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
