"""Our keys in the car's own myconfig.py: a block of comments with the chosen bundle, put there and taken out as a whole."""

import re

from donkey_aicc.resources import template_dir

BEGIN = "# ---- donkey_aicc: begin; `donkey-aicc install --undo` takes this block out -----------------------------------------\n"
END = "# ---- donkey_aicc: end ------------------------------------------------------------------------------------------------\n"
_NOT_HERE = ("Where the car drives", "A real car")  # sections of our template that an installed car has no use for
_BUNDLE = re.compile(r"^(# )?AICC_BUNDLE = .*$", re.MULTILINE)


def with_settings(source: str, bundle: str | None) -> str:
    """The file with our block at its end and this bundle in it; a block that is there keeps what the user changed."""
    line = f"AICC_BUNDLE = {bundle!r}" if bundle is not None else "# AICC_BUNDLE = None"
    if BEGIN not in source:
        gap = "" if not source or source.endswith("\n") else "\n"
        return f"{source}{gap}\n{BEGIN}{_block(line)}{END}"
    before, rest = source.split(BEGIN, 1)
    return source if bundle is None else before + BEGIN + _BUNDLE.sub(lambda _: line, rest, count=1)


def without_settings(source: str) -> str:
    """The file without our block, and with everything else."""
    if BEGIN not in source or END not in source:
        return source
    before, rest = source.split(BEGIN, 1)
    return before.removesuffix("\n") + rest.split(END, 1)[1]


def _block(bundle_line: str) -> str:
    """The settings of our template, section by section."""
    sections = re.split(r"(?m)^(?=# ---- )", (template_dir() / "myconfig.py").read_text(encoding="utf-8"))[1:]
    kept = [section for section in sections if not section.removeprefix("# ---- ").startswith(_NOT_HERE)]
    return _BUNDLE.sub(lambda _: bundle_line, "".join(kept).rstrip() + "\n", count=1)
