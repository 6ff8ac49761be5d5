"""A long drive does not fill the memory with times of parts."""

from donkeycar.vehicle import PartProfiler, Vehicle

from donkey_aicc.car import drive_loop


class Part:
    def run(self):
        return None


def test_only_the_newest_ticks_are_remembered_and_reported(monkeypatch, caplog):
    monkeypatch.setattr(drive_loop, "TICKS", 100)
    vehicle, parts = Vehicle(), [Part(), Part()]
    vehicle.add(parts[0])
    drive_loop.shorten_profile(vehicle)
    vehicle.add(parts[1])
    for _ in range(1000):
        vehicle.update_parts()
    assert all(50 <= len(vehicle.profiler.records[part]["times"]) <= 100 for part in parts)
    with caplog.at_level("INFO"):
        vehicle.profiler.report()
    assert "99.9%" in caplog.text


def test_another_profiler_stays():
    vehicle = Vehicle()
    other = vehicle.profiler = type("Other", (PartProfiler,), {})()
    drive_loop.shorten_profile(vehicle)
    assert vehicle.profiler is other
