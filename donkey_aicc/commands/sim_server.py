"""`donkey-aicc sim-server`: the embedded simulator for whoever speaks the Unity simulator's protocol."""

import argparse
import asyncio
import logging


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1: this computer only)")
    parser.add_argument("--port", type=int, default=9091, help="port (default 9091, as clients expect)")
    parser.add_argument("--track", default=None, help="track of every scene (default: each scene has its own)")
    parser.add_argument("--rate", type=float, default=20.0, help="ticks a second (default 20); 0: a tick for every command")
    parser.add_argument(
        "--faults",
        action="append",
        default=[],
        metavar="[NAME=]WHAT",
        help="faults of every car, such as dark:3@10s, or of the car with that car_name; may be repeated",
    )
    parser.add_argument("--together", action="store_true", help="cars of one scene see each other and may collide")
    parser.add_argument(
        "--scale",
        type=float,
        default=None,
        help="units of the telemetry in a metre (default: a Unity scene's lane is as wide as in Unity; metres on our own tracks)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first car's world; the next has the next (default 0)")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.errors import AiccError
    from donkey_aicc.sim_server.server import SimServer
    from donkey_aicc.sim_server.server_settings import LOOPBACK, ServerSettings

    named = dict(text.split("=", 1) for text in args.faults if "=" in text)
    of_all = [text for text in args.faults if "=" not in text]
    if len(of_all) > 1:
        raise AiccError(f"--faults of every car must be given once, separated by commas, got {len(of_all)}")
    settings = ServerSettings(
        host=args.host,
        port=args.port,
        track=args.track,
        rate_hz=args.rate or ServerSettings.rate_hz,
        stepped=args.rate == 0.0,
        faults=of_all[0] if of_all else None,
        faults_by_name=named,
        together=args.together,
        seed=args.seed,
        scale=args.scale,
    )
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)

    def ready(server: SimServer) -> None:
        print(f'Ready at {settings.host}:{server.port}; Ctrl-C ends. DONKEY_SIM_PATH = "remote" drives here', flush=True)
        if settings.host not in LOOPBACK:
            print("WARNING: everybody who reaches this address can drive here; the protocol has no password", flush=True)

    asyncio.run(SimServer(settings).run(ready))
    return 0
