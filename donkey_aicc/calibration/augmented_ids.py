"""Names of the augmented copies: which calibration drive each was made of."""

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

_MARK = "~"


def augmented_id(source: str, family: str, severity: int) -> str:
    """Sequence id of a D_aug copy: `<source id>~<family>~<severity>`. The source decides which split it belongs to."""
    return f"{source}{_MARK}{family}{_MARK}{severity}"


def source_of(sequence: str) -> str:
    """The calibration sequence a D_aug copy was made of."""
    parts = sequence.rsplit(_MARK, 2)
    if len(parts) != 3:
        raise AiccError(f"a D_aug sequence id must read <source id>{_MARK}<family>{_MARK}<severity>, got {sequence!r}")
    return parts[0]


def of_sources(augmented: ScoreTable, sources: list[str]) -> ScoreTable:
    """The D_aug rows made of the given calibration sequences."""
    wanted = {name for name in augmented.sequences() if source_of(name) in set(sources)}
    return augmented.of_sequences(wanted)
