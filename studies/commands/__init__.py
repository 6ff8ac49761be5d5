"""One file per command of the study: `python -m studies NAME`."""
