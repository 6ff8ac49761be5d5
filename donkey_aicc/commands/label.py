"""donkey-aicc label: label a tub by looking at some of its frames, on a page or from a table of answers."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donkey_aicc.labelling.answers import GivenAnswers
    from donkey_aicc.labelling.footage import Footage
    from donkey_aicc.labelling.session import LabelSession
    from donkey_aicc.nets.bundle import Bundle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tubs", nargs="+", metavar="TUB", help="tub folders, or folders that contain tubs; never changed")
    parser.add_argument("--out", metavar="CSV", help="label file to write (default: <tub>_labels.csv beside the tub)")
    parser.add_argument("--bundle", metavar="BUNDLE", help="also use this bundle's encoder, if the answers show that it helps")
    parser.add_argument(
        "--certainty", type=float, default=0.9, metavar="P", help="label frames with at least this certainty (default 0.9)"
    )
    parser.add_argument("--answers", metavar="CSV", help="no page: take the answers from this table (index and answer or safe)")
    parser.add_argument("--questions", type=int, metavar="N", help="with --answers: answer only the N frames it asks for")
    parser.add_argument(
        "--ask", type=int, metavar="N", help="no page: print the next N frames to answer as a table, for a script"
    )
    parser.add_argument(
        "--colours", metavar="JSON", help="no page: label by the floor colours of this file, as the page writes it"
    )
    parser.add_argument(
        "--line",
        nargs="?",
        const="",
        metavar="RANGE",
        help="no page: cte in pixels from a line on the floor; its colour is proposed, or given as hue from-to of 180, least "
        "saturation and brightness, such as 18-36,90,90, or as the file that an earlier run wrote",
    )
    parser.add_argument("--zero", metavar="COLUMN", help="with --line: column of 160 where cte is 0; `usual` for a border line")
    parser.add_argument("--lane-half-width", type=float, metavar="PX", help="with --line: |cte| beyond it has left the lane")
    parser.add_argument("--compare", metavar="CSV", help="no page: say how well the labels agree with these")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to serve at (default: this machine only; 0.0.0.0 for a phone)"
    )
    parser.add_argument("--port", type=int, default=8890, help="port of the page, 0 for a free one (default 8890)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where decoded frames are kept (default ~/.cache/donkey_aicc)")


def run(args: argparse.Namespace) -> int:
    _check(args)
    from donkey_aicc.labelling.answers import read_given
    from donkey_aicc.labelling.floor_colours import FloorColours
    from donkey_aicc.labelling.footage import Footage, bundle_features, general_features
    from donkey_aicc.labelling.session import LabelSession, summary

    bundle = _bundle(args.bundle)  # like a wrong file below, a wrong bundle is said before the work
    footage = Footage.load(args.tubs, args.cache_dir)
    tub = next(iter(footage.folders.values())).resolve()
    out = Path(args.out) if args.out else tub.with_name(f"{tub.name}_labels.csv")
    if args.line is not None:
        return _label_line(args, footage, out)
    given = read_given(args.answers, footage) if args.answers else None
    reference = read_given(args.compare, footage) if args.compare else None
    others = [bundle_features(footage.drives, bundle)] if bundle else []
    session = LabelSession(footage, general_features(footage.drives), out, args.certainty, others)
    if given is not None:
        _take(session, given, args.questions)
    if args.ask is not None:
        _print_questions(session, args.ask)
        return 0
    if args.colours:
        session.set_floor(replace(FloorColours.load(args.colours), used=True))
    if given is None and reference is None and not args.colours:
        return _serve(session, args)
    print(summary(session))
    if reference is not None:
        from donkey_aicc.labelling.session import compare

        print(compare(session.proposal, reference, set(session.log.latest)))
    print(f"wrote {session.out}; answers: {session.log.path}")
    return 0


def _bundle(path: str | None) -> "Bundle | None":
    if path is None:
        return None
    from donkey_aicc.car.bundles import bundle_path
    from donkey_aicc.nets.bundle import Bundle

    return Bundle.load(bundle_path(path))


def _check(args: argparse.Namespace) -> None:
    """Before minutes of work."""
    from donkey_aicc.errors import ConfigError

    for name in ("questions", "ask"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} must be >= 1, got {value}")
    for name in ("zero", "lane_half_width"):
        if getattr(args, name) is not None and args.line is None:
            raise ConfigError(f"--{name.replace('_', '-')} needs --line")
    if args.lane_half_width is not None and not args.lane_half_width > 0:
        raise ConfigError(f"--lane-half-width must be > 0 pixels, got {args.lane_half_width}")
    if args.questions is not None and args.answers is None:
        raise ConfigError("--questions needs --answers, the table that answers them")


def _label_line(args: argparse.Namespace, footage: "Footage", out: Path) -> int:
    """cte from a line; its colour and contact sheets stand beside the label file."""
    from donkey_aicc.labelling import line_labels
    from donkey_aicc.labelling.line_colour import LineColour
    from donkey_aicc.labelling.session import refuse_inside_tub

    refuse_inside_tub(out, footage)
    if not args.line:
        colour = line_labels.proposed(footage)
    else:
        colour = LineColour.load(args.line) if Path(args.line).is_file() else LineColour.parse(args.line)
    said, line = line_labels.label_by_line(out, footage, colour, _zero(args.zero), args.lane_half_width)
    print(said)
    if args.compare:
        print(line_labels.compare_lines(line, footage, args.compare))
    return 0


def _zero(text: str | None) -> float | str | None:
    from donkey_aicc.errors import ConfigError
    from donkey_aicc.labelling.line_labels import USUAL

    try:
        return text if text in (None, USUAL) else float(text)
    except ValueError:
        raise ConfigError(f"--zero must be a column of 160, or `{USUAL}`, got {text!r}") from None


def _take(session: "LabelSession", given: "GivenAnswers", questions: int | None) -> None:
    """Let the table answer: every row of it, or only what is asked for."""
    import sys

    from donkey_aicc.labelling.answers import GIVEN, Answer

    if given.contradictions:
        print(
            f"{len(given.contradictions)} records are answered in two ways, such as {given.contradictions[0]}; the later counts",
            file=sys.stderr,
        )
    if given.unused:
        print(f"{given.unused} rows name no usable frame of these tubs and are left out", file=sys.stderr)
    if questions is None:
        session.answer([Answer(position, said, GIVEN) for position, said in sorted(given.said.items())])
        session.refit()
        return
    while len(session.log.latest) < questions:
        asked = session.ask()
        if not asked:
            break
        session.answer([Answer(position, given.answer(position), why) for position, why in asked])
    session.refit()


def _print_questions(session: "LabelSession", count: int) -> None:
    print("tub,index,why")
    for position, why in session.ask(count):
        tub, index = session.footage.key(position)
        print(f"{tub},{index},{why}")


def _serve(session: "LabelSession", args: argparse.Namespace) -> int:
    from donkey_aicc.labelling.label_page import label_page
    from donkey_aicc.labelling.session import summary
    from donkey_aicc.web.page_server import serve

    def started(link: str) -> None:
        print(f"open {link} to label; every answer is kept at once in {session.log.path}; Ctrl-C ends", flush=True)

    try:
        serve(label_page(session), args.host, args.port, started)
    except KeyboardInterrupt:
        session.refit()
        print(
            f"\n{summary(session)}\nwrote {session.out}" if session.log.latest else "\nno answer was given, nothing was written"
        )
    return 0
