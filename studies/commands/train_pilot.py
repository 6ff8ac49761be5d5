"""`python -m studies train-pilot`: a vision pilot from tubs, or from lessons in the embedded simulator."""

import argparse
from pathlib import Path

from donkey_aicc.errors import AiccError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", nargs="*", help="tubs (or folders of tubs) to learn from")
    parser.add_argument("--out", required=True, help="folder for the pilot: pilot.safetensors and manifest.json")
    parser.add_argument("--simulate", action="store_true", help="no tubs: learn from the expert in the simulator (DAgger)")
    parser.add_argument("--tracks", nargs="+", default=None, help="with --simulate: tracks to learn (default: all named)")
    parser.add_argument("--start", default=None, help="with --simulate: train this pilot further, in two rounds")
    parser.add_argument("--drives", type=int, default=2, help="with --simulate: drives per track and round (default 2)")
    parser.add_argument("--frames", type=int, default=700, help="with --simulate: frames per drive (default 700)")
    parser.add_argument("--work", default=None, help="folder for lessons and checkpoints (default: OUT.work)")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the tubs (default 12)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result (default 0)")
    parser.add_argument("--threads", type=int, default=1, help="torch threads (default 1)")


def run(args: argparse.Namespace) -> int:
    import time

    import torch

    from donkey_aicc.nets.vision_pilot import save_pilot

    if args.simulate == bool(args.tubs):
        raise AiccError("give either tubs to learn from or --simulate, not both and not neither")
    torch.set_num_threads(args.threads)
    out = Path(args.out)
    work = Path(args.work) if args.work else out.with_name(f"{out.name}.work")
    started = time.monotonic()
    net, about = _from_simulator(args, work) if args.simulate else _from_tubs(args, work)
    about |= {"seed": args.seed, "wall_s": round(time.monotonic() - started)}
    save_pilot(out, net, about)
    print(f"pilot written to {out}; drive with: python manage.py drive --model {out}")
    return 0


def _from_simulator(args: argparse.Namespace, work: Path):
    from donkey_aicc.simulator.tracks import TRACK_NAMES, make_track
    from studies.cloning import School, teach

    tracks = tuple(args.tracks or TRACK_NAMES)
    for track in tracks:
        make_track(track)
    school = School(tracks, args.drives, args.frames, seed=args.seed)
    if args.start:
        school = School.refresher(Path(args.start), tracks, args.drives, args.frames, args.seed)
    net, rounds = teach(school, work)
    made_by = "train-pilot --simulate" + (" --start" if args.start else "")
    return net, {"made_by": made_by, "tracks": list(tracks), "rounds": rounds}


def _from_tubs(args: argparse.Namespace, work: Path):
    import torch

    from donkey_aicc.nets.camera_nets import PilotNet
    from donkey_aicc.training.trainer import TrainingRun
    from donkey_aicc.tubs.load import load_drives
    from studies.cloning import PilotRecipe, split_for_cloning, train_pilot

    loaded = load_drives(args.tubs, tau=None, must_be_usable=False)
    train, validation = split_for_cloning(loaded.drives, args.seed)
    torch.manual_seed(args.seed)
    net = PilotNet()
    recipe = PilotRecipe(epochs=args.epochs)
    fitted = train_pilot(net, train, validation, recipe, TrainingRun(work=work, seed=args.seed, device=torch.device("cpu")))
    best = fitted.history[fitted.best_epoch - 1]
    print(f"best epoch {fitted.best_epoch} of {recipe.epochs}: validation loss {best['loss']:.5f}")
    frames = sum(len(sequence) for sequence in loaded.drives)
    return net, {"made_by": "train-pilot", "tubs": [str(tub) for tub in args.tubs], "frames": frames}
