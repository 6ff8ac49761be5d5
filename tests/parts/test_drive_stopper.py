from donkeycar.vehicle import Vehicle

from donkey_aicc.parts.drive_stopper import DriveStopper


class Laps:
    """A part that finishes a lap every ten loops."""

    def __init__(self):
        self.loops = 0

    def run(self):
        self.loops += 1
        return 1 + self.loops // 10


def drive(stopper_of, **start):
    vehicle, laps = Vehicle(), Laps()
    vehicle.add(laps, outputs=["lap"])
    stopper = stopper_of(vehicle)
    vehicle.add(stopper, inputs=["lap", "hit"])
    vehicle.start(rate_hz=100_000, **start)
    return laps.loops


def test_stops_after_the_wanted_laps():
    assert drive(lambda vehicle: DriveStopper(vehicle, laps=3)) == 30


def test_without_a_wish_it_never_stops():
    assert drive(DriveStopper, max_loop_count=50) == 50


def test_a_wall_stops_the_car_only_when_wanted():
    vehicle = Vehicle()
    DriveStopper(vehicle).run(1, True)
    assert vehicle.on
    DriveStopper(vehicle, stop_at_wall=True).run(1, False)
    assert vehicle.on
    DriveStopper(vehicle, stop_at_wall=True).run(1, True)
    assert not vehicle.on
