"""One file per command: `add_arguments(parser)` and `run(args) -> exit code`; the help line is in `cli.COMMANDS`.

Heavy libraries are imported inside `run`, so that `donkey-aicc --help` answers at once.
"""
