"""What the monitor says about itself, in words that go to the tub and the web page as they are."""

OK = "ok"
WARMING_UP = "warming up"  # fewer frames seen than the scores look back on
NO_IMAGE = "no image"
BAD_IMAGE = "bad image"  # a frame whose size, depth or values cannot be used
NO_COMMAND = "no command"  # steering or throttle is not known yet
FROZEN = "camera frozen"  # the same frame again and again
SCORER_DOWN = "scorer down"  # its thread died and is being started again
NO_SCORES = "no scores"
NO_STATISTICS = "no statistics"  # the bundle has no calibrator, so nobody knows what is nominal
STALE = "scores stale"
NOT_FINITE = "not finite"
NO_CALIBRATOR = "no calibrator"
NO_PREDICTOR = "no safety predictor"  # the bundle was trained without labels: scores and alarm only
FAILED = "calibration failed"

NO_FRAME = (NO_IMAGE, BAD_IMAGE)


NOT_FORESEEN = "the car does not do what was foreseen"


def of_scores(rho: float, delta: float, hindsight: float = 0.0) -> str:
    """`ok` says that nothing is unusual, not only that there are scores. The alarm's reason tells more."""
    unusual = [name for name, score in (("picture", rho), ("driving", delta)) if score >= 1.0]
    said = [f"unusual {' and '.join(unusual)}"] if unusual else []
    return ", ".join(said + [NOT_FORESEEN] * (hindsight >= 1.0)) or OK
