"""The measured strength of the protocols."""

from donkey_aicc.faults.protocols import PROTOCOLS, SEVERITIES
from donkey_aicc.simulator.drivers import Expert, ExpertDriver
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.world import World
from studies.protocol_strength import CASES, NOMINAL, Strength, disturbed_drive, grows, strength_of


def driver_of(seed):
    return ExpertDriver(Expert(make_track("oval")))


def test_a_strong_fault_disturbs_more_than_none():
    calm = strength_of(NOMINAL, 0, driver_of, track="oval", seeds=2, frames=40)
    strong = strength_of("bias", 5, driver_of, track="oval", seeds=2, frames=40)
    assert strong.mean_abs_cte_m > 2 * calm.mean_abs_cte_m and calm.departed_share == 0.0


def test_same_seed_same_drive():
    runs = [disturbed_drive(World("oval"), driver_of(0), "bias", 3, 7, 30) for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_departure_counts_until_the_end():
    class Straight:
        def run(self, image, observation):
            return 0.0, 0.5

    mean, departed = disturbed_drive(World("oval"), Straight(), NOMINAL, 0, 0, 40)
    assert departed and mean == 0.7  # it left during the warm-up already


def test_growth_is_judged_from_the_nominal_row_upwards():
    def rows(dip):
        made = [Strength(protocol, severity, 0.1 + 0.05 * severity, 0.0, severity / 10) for protocol, severity in CASES]
        return [row if (row.protocol, row.severity) != dip else Strength(*dip, 0.0, 0.0, 0.5) for row in made]

    assert grows(rows(None)) == dict.fromkeys(PROTOCOLS, True)
    assert grows(rows(("blur", 3)))["blur"] is False and grows(rows(("blur", 3)))["dark"] is True
    assert len(CASES) == 1 + len(PROTOCOLS) * len(SEVERITIES)
