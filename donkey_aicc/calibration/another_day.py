"""What drives of another day buy the alarm of a bundle, without training a net again."""

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.pieces import piece_numbers
from donkey_aicc.alarm.table_alarm import check_on
from donkey_aicc.scoring.lower_grades import table_at
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from donkey_aicc.scoring.settings import LIGHT
from donkey_aicc.scoring.statistics import ScoreStatistics

LEAST_PIECES = 4  # two to learn from and two to judge on


def what_it_buys(nominal: ScoreTable, added: ScoreTable, others: NominalDrives) -> list[str]:
    """Sentences. Without the added drives and with the first half of them, both judged on the second half."""
    nominal, added = table_at(nominal, LIGHT), table_at(added, LIGHT)
    pieces = piece_numbers(added, others.piece.frames)
    count = int(pieces.max(initial=-1)) + 1
    if count < LEAST_PIECES:
        return [f"added {count} {others.piece}: too few to say what they buy ({LEAST_PIECES} are needed)"]
    first, second = added.select(pieces < count // 2), added.select(pieces >= count // 2)
    said = []
    for words, table in (("without the added drives", nominal), ("with the first half of them", concatenate([nominal, first]))):
        statistics = ScoreStatistics.fit(table)
        found = check_on(fit_alarm(table, statistics, NominalDrives(seen=others.seen, piece=others.piece)), second, statistics)
        said.append(f"added drives, judged on their second half, {words}: {found.statement()}")
    return said
