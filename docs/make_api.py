"""Write the reference of the public names, out of their docstrings, as web pages: make api"""

import sys
from pathlib import Path

import pdoc

import donkey_aicc

OUT = Path("api_output")


def main(out: Path) -> int:
    """pdoc sees a module's own names only: the lazy ones are put there first."""
    for name in donkey_aicc.__all__:
        setattr(donkey_aicc, name, getattr(donkey_aicc, name))
    pdoc.render.configure(docformat="google")
    pdoc.pdoc("donkey_aicc", "!donkey_aicc[.]", output_directory=out)
    print(f"{len(donkey_aicc.__all__) - 1} names: {out / 'donkey_aicc.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT))
