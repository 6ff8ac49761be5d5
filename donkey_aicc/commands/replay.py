"""donkey-aicc replay: look at a recorded drive again, on a page or in a file to send on."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donkey_aicc.replay.pictures import Heat
    from donkey_aicc.replay.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tub", metavar="TUB", help="tub folder, version 1 or 2, of any car; never changed")
    parser.add_argument("--bundle", metavar="B", help="compute the scores with this bundle (default: as recorded in the tub)")
    parser.add_argument("--compare", metavar="TUB2", help="show a second drive beside it, such as one with the governor on")
    parser.add_argument(
        "--compare-bundle", metavar="B2", help="bundle of the second drive (default: B); alone: TUB again, with B2"
    )
    parser.add_argument(
        "--grade", help="grade of computed scores: full, half or light, which takes less time (default: the best)"
    )
    parser.add_argument("--part", metavar="FROM-TO", help="only these seconds of the drive, such as 60-90")
    parser.add_argument("--movie", metavar="FILE", help="write a movie instead of opening a page: .mp4 or .gif")
    parser.add_argument("--picture", metavar="FILE", help="write the whole drive as one picture, a .png")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained HTML file to send to somebody")
    parser.add_argument("--port", type=int, default=8891, help="port of the page, 0 for a free one (default 8891)")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 lets a phone in (default 127.0.0.1)")
    parser.add_argument("--no-browser", "--headless", action="store_true", help="only print the page's address")
    parser.add_argument(
        "--cache-dir", metavar="DIR", help="where decoded frames and scores are kept (default ~/.cache/donkey_aicc)"
    )


def run(args: argparse.Namespace) -> int:
    part = _part(args.part)
    writers = _writers(args)  # a missing library or codec is said here, not after minutes of scoring
    loaded = _load(args, part)
    for write, path in writers:
        print(f"wrote {write([run for run, _ in loaded], path)}")
    if not writers:
        _serve(args, [run for run, _ in loaded], [heat for _, heat in loaded])
    return 0


def _writers(args: argparse.Namespace) -> "list[tuple[Callable[[Sequence[Run], str], str], str]]":
    from donkey_aicc.replay.drive_picture import check_picture_path, write_picture
    from donkey_aicc.replay.movie import check_movie_path, write_movie
    from donkey_aicc.replay.replay_page import write_html

    found: list[tuple[Callable[[Sequence[Run], str], str], str]] = []
    if args.movie:
        check_movie_path(args.movie)
        found.append((write_movie, args.movie))
    if args.picture:
        check_picture_path(args.picture)
        found.append((write_picture, args.picture))
    if args.html:
        found.append((write_html, args.html))
    return found


def _part(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    from donkey_aicc.errors import ConfigError

    try:
        begin_s, end_s = (float(word) for word in text.split("-"))
    except ValueError:
        begin_s, end_s = math.nan, math.nan
    if not 0 <= begin_s < end_s < math.inf:
        raise ConfigError(f"--part must be two numbers of seconds, the second larger, such as 60-90; got {text!r}")
    return begin_s, end_s


def _load(args: argparse.Namespace, part: tuple[float, float] | None) -> "list[tuple[Run, Heat | None]]":
    second = args.compare or (args.tub if args.compare_bundle else None)
    asked = [(args.tub, args.bundle)] + ([(second, args.compare_bundle or args.bundle)] if second else [])
    return _named_apart([_load_one(args, tub, bundle, part) for tub, bundle in asked])


def _named_apart(loaded: "list[tuple[Run, Heat | None]]") -> "list[tuple[Run, Heat | None]]":
    """Two drives of one name, as all tubs called data are, go by as much of their folders as it takes, or by their scores."""
    if len(loaded) < 2 or loaded[0][0].name != loaded[1][0].name:
        return loaded
    folders = [run.tub.resolve().parts for run, _ in loaded]
    apart = next((n for n in range(1, 1 + max(map(len, folders))) if folders[0][-n:] != folders[1][-n:]), None)
    names = ["/".join(parts[-apart:]) for parts in folders] if apart else [f"{run.name}, {run.scores_from}" for run, _ in loaded]
    return [(replace(run, name=name), heat) for (run, heat), name in zip(loaded, names, strict=True)]


def _load_one(
    args: argparse.Namespace, tub: str, bundle_name: str | None, part: tuple[float, float] | None
) -> "tuple[Run, Heat | None]":
    from donkey_aicc.errors import ConfigError
    from donkey_aicc.replay.read_run import read_run
    from donkey_aicc.replay.score_run import require_scores, score_run

    run = read_run(tub)
    run = run if part is None else run.part(*part)
    if bundle_name is None:
        if args.grade:
            raise ConfigError(f"--grade {args.grade} needs --bundle: recorded scores have the grade that the car chose")
        return require_scores(run), None
    from donkey_aicc.car.bundles import bundle_path, foreign_warning, safe_in_words
    from donkey_aicc.nets.bundle import Bundle
    from donkey_aicc.replay.pictures import Heat

    bundle = Bundle.load(bundle_path(bundle_name))
    if (foreign := foreign_warning(bundle_name, bundle.manifest, run.home)) is not None:
        run = replace(run, notes=(*run.notes, foreign))
    scored = score_run(run, bundle, args.cache_dir, args.grade)
    return replace(scored, safe=safe_in_words(bundle.manifest)), Heat.of(bundle)


def _serve(args: argparse.Namespace, runs: "list[Run]", heats: "list[Heat | None]") -> None:
    import webbrowser

    from donkey_aicc.replay.replay_page import replay_page
    from donkey_aicc.web.page_server import serve

    def started(link: str) -> None:
        print(f"open {link} to look at {' and '.join(run.name for run in runs)}; Ctrl-C ends", flush=True)
        if not args.no_browser:
            webbrowser.open(link)

    try:
        serve(replay_page(runs, heats), args.host, args.port, started)
    except KeyboardInterrupt:
        print("\nended")
