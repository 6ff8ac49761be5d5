"""donkey-aicc overhead: labels for a real car from a camera above the track."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True, help="calibrate, then label")
    calibrate = steps.add_parser("calibrate", help="make the setup file on a web page, or check one made by hand")
    calibrate.add_argument("video", metavar="VIDEO", help="a video of the overhead camera, any format OpenCV reads")
    calibrate.add_argument("--setup", metavar="JSON", help="setup file to write or to go on with (default VIDEO_setup.json)")
    calibrate.add_argument("--port", type=int, default=8890, help="port of the page, 0 for a free one (default 8890)")
    calibrate.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 lets a phone in (default 127.0.0.1)")
    calibrate.add_argument("--headless-json", metavar="FILE", help="no page: check these inputs and write the setup file")
    label = steps.add_parser("label", help="track the car in a video and write the cross-track error of every tub record")
    label.add_argument("video", metavar="VIDEO", help="the video of the drive")
    label.add_argument("--setup", required=True, metavar="JSON", help="setup file of this camera, made by calibrate")
    label.add_argument("--tub", required=True, metavar="TUB", help="the tub recorded during the drive; never changed")
    label.add_argument("--out", required=True, metavar="CSV", help="label file to write, for donkey-aicc train --labels")
    label.add_argument("--report", metavar="DIR", help="where report and picture go (default: beside the label file)")
    label.add_argument("--offset-s", type=float, metavar="S", help="video time of the first record (default: estimated)")
    label.add_argument("--tub-column", action="store_true", help="add a column tub, for labels of several tubs in one file")


def run(args: argparse.Namespace) -> int:
    return _calibrate(args) if args.step == "calibrate" else _label(args)


def _calibrate(args: argparse.Namespace) -> int:
    from donkey_aicc.files import read_json
    from donkey_aicc.overhead.calibrate_camera import CalibrationSession, calibration_page
    from donkey_aicc.overhead.video import Video
    from donkey_aicc.web.page_server import serve

    video = Video(args.video)
    setup_path = Path(args.setup) if args.setup else video.path.with_name(f"{video.path.stem}_setup.json")
    if args.headless_json:
        inputs = read_json(args.headless_json, "it must hold the inputs of the page as JSON")
        print(f"wrote {CalibrationSession(video, setup_path).save(inputs)['saved']}")
        return 0
    earlier = read_json(setup_path, "move it away to begin anew") if setup_path.exists() else None
    session = CalibrationSession(video, setup_path, earlier)
    session.state()  # a setup that does not fit the video is said here, not on the page

    def started(link: str) -> None:
        print(f"open {link} to make {setup_path}; Ctrl-C ends", flush=True)

    try:
        serve(calibration_page(session), args.host, args.port, started)
    except KeyboardInterrupt:
        print("\ndone" if setup_path.exists() else "\nnothing was saved")
    return 0


def _label(args: argparse.Namespace) -> int:
    import math

    from donkey_aicc.errors import ConfigError
    from donkey_aicc.overhead.labelling import PICTURE, label_tub

    if args.offset_s is not None and not math.isfinite(args.offset_s):
        raise ConfigError(f"--offset-s must be a number of seconds, got {args.offset_s}")
    done = label_tub(args.video, args.setup, args.tub, args.out, args.report, args.offset_s, args.tub_column)
    print(done.text)
    print(f"wrote {args.out}; report and picture: {done.report_dir}, look at {done.report_dir / PICTURE}")
    return 0
