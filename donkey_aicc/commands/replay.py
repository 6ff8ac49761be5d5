"""donkey-aicc replay: look at a recorded drive again, on a page or in a file to send on."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donkey_aicc.replay.pictures import Heat
    from donkey_aicc.replay.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tub", metavar="TUB", help="tub folder, version 1 or 2, of any car; it is only read")
    parser.add_argument("--bundle", metavar="B", help="compute the scores with this bundle (default: as recorded in the tub)")
    parser.add_argument("--compare", metavar="TUB2", help="a second drive beside it, such as with the governor on")
    parser.add_argument(
        "--compare-bundle", metavar="B2", help="bundle of the second drive (default: B); alone: TUB again, with B2"
    )
    parser.add_argument("--port", type=int, default=8891, help="of the page (default 8891; 0 takes a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 lets a phone in (default 127.0.0.1)")
    parser.add_argument("--no-browser", "--headless", action="store_true", help="only print the page's address")
    parser.add_argument(
        "--cache-dir", metavar="DIR", help="where decoded frames and scores are kept (default ~/.cache/donkey_aicc)"
    )


def run(args: argparse.Namespace) -> int:
    runs, heats = _load(args)
    _serve(args, runs, heats)
    return 0


def _load(args: argparse.Namespace) -> "tuple[list[Run], list[Heat | None]]":
    second = args.compare or (args.tub if args.compare_bundle else None)
    asked = [(args.tub, args.bundle)] + ([(second, args.compare_bundle or args.bundle)] if second else [])
    loaded = [_load_one(tub, bundle, args.cache_dir) for tub, bundle in asked]
    return [each[0] for each in loaded], [each[1] for each in loaded]


def _load_one(tub: str, bundle_name: str | None, cache_dir: str | None) -> "tuple[Run, Heat | None]":
    from donkey_aicc.replay.read_run import read_run
    from donkey_aicc.replay.score_run import require_scores, score_run

    run = read_run(tub)
    if bundle_name is None:
        return require_scores(run), None
    from donkey_aicc.car.monitor_wiring import bundle_path
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.replay.pictures import Heat

    bundle = Bundle.load(bundle_path(bundle_name))
    return score_run(run, bundle, cache_dir), Heat.of(bundle)


def _serve(args: argparse.Namespace, runs: "list[Run]", heats: "list[Heat | None]") -> None:
    import webbrowser

    from donkey_aicc.replay.replay_page import replay_page
    from donkey_aicc.web.page_server import serve

    def started(port: int) -> None:
        shown = args.host if args.host not in ("0.0.0.0", "::", "") else "this machine's address"
        print(f"open http://{shown}:{port} to look at {' and '.join(run.name for run in runs)}; Ctrl-C ends", flush=True)
        if not args.no_browser:
            webbrowser.open(f"http://localhost:{port}")

    try:
        serve(replay_page(runs, heats), args.host, args.port, started)
    except KeyboardInterrupt:
        print("\nended")
