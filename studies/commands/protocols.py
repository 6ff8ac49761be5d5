"""python -m studies protocols: what each severity does to the driving, measured in the simulator."""

import argparse
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.workers import team_of

if TYPE_CHECKING:
    from studies.protocol_strength import Strength


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=20, help="drives per protocol and severity (default 20)")
    parser.add_argument("--track", default="loop", help="track of the simulator (default loop)")
    parser.add_argument("--frames", type=int, default=300, help="disturbed frames per drive, after 200 clean ones (default 300)")
    parser.add_argument("--model", default="pilot", help="pilot: a shipped name or a path (default pilot)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--only", choices=list(PROTOCOLS), help="measure this protocol alone")


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, and say whether it grows with severity; exit code 1 if it does not."""
    from donkey_aicc.car.template import find_model
    from donkey_aicc.progress import progress
    from donkey_aicc.simulator.tracks import make_track
    from studies.protocol_strength import CASES, NOMINAL, grows

    for name, least in (("seeds", 1), ("frames", 1)):
        if getattr(args, name) < least:
            raise ConfigError(f"--{name} must be >= {least}, got {getattr(args, name)}")
    make_track(args.track)
    find_model(args.model)
    cases = [case for case in CASES if args.only is None or case[0] in (NOMINAL, args.only)]
    calls = [(*case, args.model, args.track, args.seeds, args.frames) for case in cases]
    with team_of(args.workers) as team:
        rows = list(progress(team.run(_measure, calls), "protocols", total=len(calls), unit="row"))
    rows.sort(key=lambda row: cases.index((row.protocol, row.severity)))
    print(f"{'protocol':<10}{'severity':>9}{'mean |cte|':>13}{'+- error':>11}{'departed':>10}")
    for row in rows:
        _print_row(row)
    measured = {protocol: good for protocol, good in grows(rows).items() if args.only in (None, protocol)}
    for protocol, good in measured.items():
        print(f"{protocol}: {'grows with severity' if good else 'does NOT grow with every severity'}")
    return 0 if all(measured.values()) else 1


def _measure(protocol: str, severity: int, model: str, track: str, seeds: int, frames: int) -> "Strength":
    from donkey_aicc.car.template import find_model
    from donkey_aicc.simulator.drivers import nominal_driver
    from donkey_aicc.simulator.tracks import make_track
    from studies.protocol_strength import strength_of

    driver = partial(nominal_driver, make_track(track), find_model(model))
    return strength_of(protocol, severity, driver, track=track, seeds=seeds, frames=frames)


def _print_row(row: "Strength") -> None:
    protocol, severity, cte, error, departed = astuple(row)
    print(f"{protocol or 'nominal':<10}{severity or '':>9}{cte:>11.3f} m{error:>9.3f} m{departed:>9.0%}", flush=True)
