"""What the living states' longer memory changes in delta, measured with a trained bundle on its nominal test drives.

    python -m benchmarks.memory_beyond_context BUNDLE SCORES_DIR FRAMES NOMINAL_TUB...

SCORES_DIR holds calibration.npz (what is nominal) and test.npz (the living scores) of `python -m studies experiment`, made with
this bundle. FRAMES frames of the test drives are scored anew from a cold start, which takes seconds each; the tubs are the
experiment's nominal ones.
"""

import sys
from pathlib import Path

import torch

from benchmarks.cold_start import memory_difference
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.load import load_drives


def main(bundle_dir: str, scores_dir: str, frames: str, *tubs: str) -> None:
    torch.set_num_threads(1)
    bundle, scores = Bundle.load(bundle_dir), Path(scores_dir)
    calibration, test = (ScoreTable.load(scores / f"{side}.npz") for side in ("calibration", "test"))
    drives = [drive for drive in load_drives(tubs, tau=bundle.manifest.tau).drives if drive.id in test.sequences()]
    settings = ScoreSettings(context=bundle.manifest.context)
    print(memory_difference(bundle, drives, test, settings, int(frames), nominal=calibration))


if __name__ == "__main__":
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
