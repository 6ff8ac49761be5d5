import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.training.presets import PRESETS, preset_named, setting_names


def test_paper_preset_holds_the_published_values():
    paper = PRESETS["paper"]
    assert (paper.vae.epochs, paper.vae.batch, paper.vae.lr, paper.vae.weight_decay) == (50, 32, 1e-3, 1e-5)
    dynamics = paper.dynamics
    assert (dynamics.epochs, dynamics.batch, dynamics.lr, dynamics.weight_decay, dynamics.lr_final) == (60, 64, 1e-4, 1e-4, 1e-6)
    assert (dynamics.context, dynamics.target, round(dynamics.forcing_epochs * dynamics.epochs)) == (100, 100, 40)
    assert (paper.safety.epochs, paper.safety.batch, paper.safety.lr) == (50, 128, 1e-3)
    assert paper.vae.clip == paper.dynamics.clip == paper.safety.clip == 1.0


def test_overrides_are_applied_and_recorded():
    preset, applied = preset_named("tiny", ["vae.epochs=7", "dynamics.lr=0.5"])
    assert preset.vae.epochs == 7 and preset.dynamics.lr == 0.5
    assert preset.safety == PRESETS["tiny"].safety
    assert applied == {"vae.epochs": 7, "dynamics.lr": 0.5}


def test_every_setting_can_be_overridden():
    assert "dynamics.context_grad" in setting_names()
    for name in setting_names():
        section, field = name.split(".")
        value = getattr(getattr(PRESETS["quick"], section), field)
        assert preset_named("quick", [f"{name}={value}"])[1] == {name: value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vae.epoch=3", "one of vae.epochs"),
        ("vae.epochs", "NAME=VALUE"),
        ("vae.epochs=many", "whole number, got 'many'"),
        ("vae.epochs=0", "vae.epochs must be >= 1, got 0"),
        ("vae.batch=1", "batch normalisation"),
        ("dynamics.lr=nan", "finite"),
    ],
)
def test_wrong_overrides_say_what_is_wrong(text, message):
    with pytest.raises(ConfigError, match=message):
        preset_named("tiny", [text])


def test_unknown_preset():
    with pytest.raises(ConfigError, match="paper, quick, tiny; got 'huge'"):
        preset_named("huge")
