"""`python -m donkey_aicc ...` is `donkey-aicc ...`."""

from donkey_aicc.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
