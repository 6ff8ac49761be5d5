"""python -m studies COMMAND: our reproduction of the paper, from drives to the results page."""

import sys
from collections.abc import Sequence

from donkey_aicc import cli

COMMANDS = {
    "experiment": "record, train, calibrate and evaluate in the embedded simulator, down to the report",
    "transfer": "judge the bundle of one experiment on the drives of another, such as another track",
    "decide": "which restorations, which gate and which calibrator, on D_aug families left out one at a time",
    "restored": "AICC-R beside every other row on the drives of experiments, with whole-drive intervals and the goals",
    "results": "take in finished experiments and write the results pages from all of them",
    "alarm-drives": "the bundle of an experiment with an alarm whose thresholds come from further nominal laps",
    "governor": "drive under every fault with and without the governor, at the same nominal cost as its rivals",
    "monitors": "our alarm beside monitors of others on the drives of an experiment, at the same nominal cost",
    "after-fault": "how long a fault of three seconds is still seen when it is over, by the alarm, the confidence and rho",
    "dial": "how well the driver's number is calibrated, and whether the reasons name what was injected",
    "protocols": "measure what each injected fault does to the driving, severity by severity",
    "real-car": "train and judge the monitor on a real car's tub: faults on real frames, and other days, tracks and rooms",
    "quiet-days": "the alarm of a bundle on nominal drives of its own day, of other days, and elsewhere",
    "predictors": "compare the predictor that sees one frame with the one that has a history, on the same drives",
    "train-pilot": "a vision pilot from tubs, or from lessons in the embedded simulator: how the shipped one was made",
    "check-pilot": "count a pilot's laps without a hit and how predictable its mistakes are",
    "severities": "the strengths of all picture faults by how far they move a pilot's steering",
    "camera-check": "noise, sharpness, exposure and change of a real car's frames beside the simulated camera's",
}


PROGRAM = cli.Program("python -m studies", "Our reproduction of the paper.", "studies.commands", COMMANDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of the study."""
    return cli.main(argv, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
