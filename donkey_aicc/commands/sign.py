"""donkey-aicc sign: sign a bundle with a key of your own, so that your car refuses every other."""

import argparse
from pathlib import Path

from donkey_aicc.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", nargs="?", type=Path, help="folder of a bundle, such as models/mine")
    parser.add_argument("--key", metavar="FILE", type=Path, help="your secret key")
    parser.add_argument("--new-key", metavar="FILE", type=Path, help="make a key and print what belongs into myconfig.py")


def run(args: argparse.Namespace) -> int:
    from donkey_aicc.nets.signature import fingerprint, for_people, new_key, sign

    if args.new_key is not None:
        public = new_key(args.new_key)
        print(f"secret key: {args.new_key} (keep it off the car). Into the car's myconfig.py:\nAICC_TRUSTED_KEY = {public!r}")
    key = args.key or args.new_key
    if args.bundle is None or key is None:
        if args.new_key is None:
            raise ConfigError("sign needs a BUNDLE and --key FILE; make a key with: donkey-aicc sign --new-key FILE")
        return 0
    public = sign(args.bundle, key)
    print(f"signed {args.bundle} as {for_people(fingerprint(args.bundle))} with the key {public[:16]}...")
    return 0
