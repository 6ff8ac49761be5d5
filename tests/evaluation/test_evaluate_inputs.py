"""Score folders, the choice of tubs, and the command that ties them together."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.input_checks import as_protocol, check_drives, protocol_paths
from donkey_aicc.tubs.drive import make_drive


def drive(number, length=30, protocol="", safe=None):
    rng = np.random.default_rng(number)
    images = rng.integers(0, 256, (length, 64, 64, 3), dtype=np.uint8)
    labels = (np.arange(length) % 2).astype(float) if safe is None else np.full(length, safe)
    return make_drive(f"tub{number}", "s", images, rng.uniform(-1, 1, (length, 2)), safe=labels, protocol=protocol)


def test_ood_words_name_a_protocol_and_its_tubs():
    assert protocol_paths(["n"], ["dark=a", "dark=b", "fog=c"]) == {"dark": ["a", "b"], "fog": ["c"]}
    with pytest.raises(ConfigError, match="NAME=TUB"):
        protocol_paths(["n"], ["dark"])
    with pytest.raises(ConfigError, match="nominal is not one"):
        protocol_paths(["n"], ["nominal=a"])
    with pytest.raises(ConfigError, match="--nominal"):
        protocol_paths(None, ["dark=a"])


def test_tubs_without_a_protocol_count_as_driven_under_the_one_named():
    assert set(as_protocol([drive(0)], "dark")[0].protocol) == {"dark"}
    with pytest.raises(AiccError, match="driven under blur, not under dark"):
        as_protocol([drive(0, protocol="blur")], "dark")


def test_wrong_drives_are_refused_before_scoring():
    nominal, odd = [drive(number) for number in range(4)], drive(9, protocol="dark")
    good = {
        "nominal": nominal,
        "calibration": nominal[:2],
        "test": nominal[2:],
        "ood": {"dark": [odd]},
        "context": 10,
        "horizons": (1, 5, 10),
        "seeds": 2,
        "folds": 5,
        "seed": 0,
    }
    assert "2 folds instead of 5" in check_drives(**good)[0]
    copy = replace(nominal[0], id="renamed", tub="renamed", protocol=np.full(30, "dark"))
    with pytest.raises(AiccError, match="OOD dark contains 1 nominal drives"):
        check_drives(**good | {"ood": {"dark": [odd, copy]}})
    with pytest.raises(AiccError, match="nominal test split must hold safe and unsafe frames at horizon 1, got only safe"):
        check_drives(**good | {"test": [drive(5, safe=1.0)]})
    with pytest.raises(AiccError, match="OOD fog contains 1 drives of dark"):
        check_drives(**good | {"ood": {"dark": [odd], "fog": [odd]}})
    early = [replace(nominal[0], safe=np.where(np.arange(30) < 15, 0.0, 1.0)), replace(nominal[1], safe=np.ones(30))]
    with pytest.raises(AiccError, match="calibration split must hold safe and unsafe frames at horizon 10, got only safe"):
        check_drives(**good | {"calibration": early})
    halves = [replace(nominal[0], safe=np.zeros(30)), replace(nominal[1], safe=np.ones(30))]
    check_drives(**good | {"calibration": halves})
    with pytest.raises(AiccError, match="at least 2 calibration sequences"):
        check_drives(**good | {"calibration": nominal[:1]})
    with pytest.raises(AiccError, match="after the first 30 frames"):
        check_drives(**good | {"context": 30})
