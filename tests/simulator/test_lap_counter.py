from donkey_aicc.simulator.world import LapCounter


def drive(counter: LapCounter, places, start_time: float = 0.0) -> None:
    for i, s_m in enumerate(places):
        counter.update(s_m % 20.0, start_time + 0.5 * i)


def test_counts_and_times_laps():
    counter = LapCounter(20.0)
    drive(counter, range(65))
    assert counter.laps == 3
    assert counter.lap_times == (10.0, 10.0, 10.0)


def test_wobbling_on_the_line_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, [0, 19.9, 0.1, 19.8, 0.2] * 5)
    assert counter.laps == 0


def test_cutting_across_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, [0, 2, 4, 15, 17, 19, 0, 1])
    assert counter.laps == 0


def test_a_start_in_the_middle_is_no_lap():
    counter = LapCounter(20.0)
    counter.reset(10.0, 0.0)
    drive(counter, range(10, 41))
    assert counter.laps == 1
    assert counter.lap_times == (10.0,)


def test_driving_backwards_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, range(60, 0, -1))
    assert counter.laps == 0
