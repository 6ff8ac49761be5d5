import dataclasses
from types import SimpleNamespace

import pytest

from donkey_aicc.car.config import AiccConfig, setting
from donkey_aicc.errors import ConfigError


def test_a_car_without_our_keys_gets_the_defaults():
    config = AiccConfig.from_donkey(SimpleNamespace(CAMERA_TYPE="MOCK"))
    assert config == AiccConfig()
    assert config.sim is False


def test_given_keys_replace_defaults():
    config = AiccConfig.from_donkey(SimpleNamespace(AICC_SIM=True, AICC_SIM_SEED=7))
    assert (config.sim, config.sim_seed, config.sim_track) == (True, 7, AiccConfig().sim_track)


def test_unknown_key_names_the_closest_and_where_all_are():
    with pytest.raises(ConfigError) as error:
        AiccConfig.from_donkey(SimpleNamespace(AICC_SIM_TRAK="oval"))
    assert "unknown setting AICC_SIM_TRAK. Did you mean AICC_SIM_TRACK" in str(error.value)
    assert "mycar_template/myconfig.py lists all settings" in str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("AICC_SIM", "yes", "AICC_SIM must be True or False, got 'yes'"),
        ("AICC_SIM", 1, "AICC_SIM must be True or False, got 1"),
        ("AICC_SIM_SEED", -1, "AICC_SIM_SEED must be >= 0, got -1"),
        ("AICC_SIM_SEED", True, "AICC_SIM_SEED must be a whole number, got True"),
        ("AICC_SIM_SEED", 1.5, "AICC_SIM_SEED must be a whole number, got 1.5"),
        ("AICC_SIM_TRACK", None, "AICC_SIM_TRACK must be a text, got None"),
        ("DRIVE_LOOP_HZ", "fast", "DRIVE_LOOP_HZ must be a number > 0, got 'fast'"),
        ("DRIVE_LOOP_HZ", float("nan"), "DRIVE_LOOP_HZ must be a number > 0, got nan"),
        ("AICC_CONTROL_THREADS", 65, "AICC_CONTROL_THREADS must be <= 64, got 65"),
    ],
)
def test_wrong_values_are_named_with_their_rule(key, value, rule):
    with pytest.raises(ConfigError) as error:
        AiccConfig.from_donkey(SimpleNamespace(**{key: value}))
    assert str(error.value) == rule


def test_a_new_key_is_one_line():
    @dataclasses.dataclass(frozen=True)
    class More(AiccConfig):
        max_age_s: float = setting(1.0, "age", at_least=0.1)
        bundle: str | None = setting(None, "path")
        governor: str = setting("off", "what to do", choices=("off", "slow"))

    config = More.from_donkey(SimpleNamespace(AICC_MAX_AGE_S=2, AICC_BUNDLE=None))
    assert config.max_age_s == 2.0
    assert isinstance(config.max_age_s, float)
    with pytest.raises(ConfigError, match="AICC_GOVERNOR must be one of off, slow; got 'fast'"):
        More.from_donkey(SimpleNamespace(AICC_GOVERNOR="fast"))
    with pytest.raises(ConfigError, match="AICC_BUNDLE must be a text or None, got 3"):
        More.from_donkey(SimpleNamespace(AICC_BUNDLE=3))
    with pytest.raises(ConfigError, match="AICC_MAX_AGE_S must be a finite number, got nan"):
        More.from_donkey(SimpleNamespace(AICC_MAX_AGE_S=float("nan")))


def test_the_config_cannot_change_while_driving():
    with pytest.raises(dataclasses.FrozenInstanceError):
        AiccConfig().sim = True
