"""Numbers of somebody else to stand beside ours in tables and figures, such as a published study; usually nobody's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ByCondition = Mapping[str, Mapping[str, float]]  # row -> condition (or horizon) -> number; "mean" is over the protocols


@dataclass(frozen=True)
class Beside:
    """What is not given is left empty. Without a label nothing of it is shown: a user's report has the user's numbers only."""

    label: str = ""  # heading of its columns
    ece: ByCondition = field(default_factory=dict)
    nominal_ece: Mapping[str, float] = field(default_factory=dict)
    ood_auroc: ByCondition = field(default_factory=dict)
    base_auroc: ByCondition = field(default_factory=dict)
    data: ByCondition = field(default_factory=dict)
    reliability_error: Mapping[str, float] = field(default_factory=dict)
    wilcoxon: Mapping[str, str] = field(default_factory=dict)
    runtime_ms: Mapping[str, float] = field(default_factory=dict)


NOBODY = Beside()
