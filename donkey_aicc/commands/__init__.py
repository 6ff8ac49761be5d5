"""One file per command: `HELP`, `add_arguments(parser)` and `run(args) -> exit code`.

Heavy libraries are imported inside `run`, so that `donkey-aicc --help` answers at once.
"""
