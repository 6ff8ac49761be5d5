"""Where an experiment keeps what, and the note that says which experiment it is."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json

ABOUT = "experiment.json"


@dataclass(frozen=True)
class Layout:
    """Folders and files below the experiment's folder."""

    out: Path
    shared: Path | None = None  # drives that several experiments use: other model seeds on the same drives

    @property
    def data(self) -> Path:
        return self.shared or self.out / "data"

    @property
    def nominal(self) -> Path:
        return self.data / "nominal"

    def protocol(self, name: str) -> Path:
        return self.data / name

    @property
    def driven(self) -> Path:
        return self.data / "driven"

    @property
    def severities(self) -> Path:
        return self.out / "severities.json"

    @property
    def frozen(self) -> Path:
        return self.out / "frozen.json"

    @property
    def bundle(self) -> Path:
        return self.out / "bundle"

    @property
    def cache(self) -> Path:
        return self.data.parent / "cache"

    def scores(self, name: str) -> Path:
        return self.out / "scores" / f"{name}.npz"

    @property
    def other_nets(self) -> Path:
        return self.out / "scores" / "other_nets.npz"

    @property
    def ladders(self) -> Path:
        return self.out / "scores" / "d_aug_strengths.json"

    @property
    def restoration(self) -> Path:
        return self.out / "scores" / "restoration.json"

    @property
    def report(self) -> Path:
        return self.out / "report"


def claim(layout: Layout, about: dict[str, Any]) -> None:
    """Mark the folder as this experiment's; refuse to mix two experiments in one folder."""
    path = layout.out / ABOUT
    wanted = json.loads(json.dumps(about))
    if path.exists():
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise AiccError(f"{path} is damaged ({error}); choose another --out") from error
        different = sorted(key for key in wanted if stored.get(key) != wanted[key])
        if different:
            named = ", ".join(f"{key} {stored.get(key)!r} there, {wanted[key]!r} now" for key in different)
            raise AiccError(f"{layout.out} holds another experiment ({named}); choose another --out")
        return
    if layout.out.exists() and any(layout.out.iterdir()):
        raise AiccError(f"{layout.out} is not empty and holds no experiment; choose another --out")
    write_json(path, wanted)
