"""Lap times and departures, counted while nobody looks."""

from donkey_aicc.web.ride_book import RideBook


def test_laps_are_timed_and_one_with_a_hit_is_no_best():
    book, t = RideBook(half_width=0.35), 0.0
    for lap, seconds, hit in ((1, 16.0, False), (2, 14.0, False), (3, 9.0, True), (4, 15.0, False), (5, 1.0, False)):
        for tick in range(round(10 * seconds)):
            book.note(t, lap, 0.1, hit and tick == 50, False)
            t += 0.1
    shown = book.shown()
    assert round(shown["last_lap_s"], 1) == 15.0 and round(shown["best_lap_s"], 1) == 14.0 and 0.5 < shown["lap_s"] < 1.1


def test_each_way_out_of_the_lane_and_each_mark_is_one_departure():
    book = RideBook(half_width=0.35)
    for cte, mark in (
        (0.1, False),
        (0.5, False),
        (0.6, False),
        (0.1, False),
        (-0.4, False),
        (0.0, False),
        (0.0, True),
        (None, None),
    ):
        book.note(0.0, None, cte, None, mark)
    assert book.shown() == {"lap_s": None, "last_lap_s": None, "best_lap_s": None, "departures": 3}
    book.note(0.0, "x", "y", "z", "w")  # rubbish says nothing
