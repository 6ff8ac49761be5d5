"""An anomaly score of one's own is a sign of the alarm: it raises it by itself, says so, and is silent on nominal drives."""

from dataclasses import replace

import numpy as np

from donkey_aicc.alarm.alarm_fit import fit_alarm
from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.alarm_policy import DANGER
from donkey_aicc.alarm.signs import SIGN_NAMES, table_signs
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table


def with_score(table, values):
    return replace(table, own=values[:, None], own_names=np.array(["glare"]))


def levels(model, statistics, table):
    stream = AlarmStream(model, tuple(table.horizons.tolist()))
    return [stream.step(row, p) for row, p in zip(table_signs(table, statistics, model.signs), table.p_tta, strict=True)]


def test_it_is_seen_when_nothing_else_is():
    rng = np.random.default_rng(0)
    nominal = alarm_table(rng, 8)
    nominal = with_score(nominal, rng.normal(5.0, 1.0, len(nominal)))
    statistics = ScoreStatistics.fit(nominal)
    model = AlarmModel.from_json(fit_alarm(nominal, statistics).to_json())
    assert np.isfinite(model.scales.middle[SIGN_NAMES.index("own")])
    one = alarm_table(np.random.default_rng(1), 1)
    calm = levels(model, statistics, with_score(one, rng.normal(5.0, 1.0, len(one))))
    assert DANGER not in {reading.level for reading in calm}
    strange = np.where(np.arange(len(one)) < 150, 5.0, 60.0)
    seen = levels(model, statistics, with_score(one, strange))
    late = [reading for reading in seen[160:] if reading.level == DANGER]
    assert DANGER not in {reading.level for reading in seen[:150]} and late
    assert late[-1].reason == "an anomaly score of your own is far above its nominal drives"
