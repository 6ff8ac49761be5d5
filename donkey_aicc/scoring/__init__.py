"""Anomaly scores and TTA: frames and commands in, raw scores out. The same code serves the car, a replay and a batch."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "FrameScores": "stream",
    "ScoreSettings": "settings",
    "ScoreTable": "score_table",
    "StreamScorer": "stream",
    "score_drives": "parallel",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
