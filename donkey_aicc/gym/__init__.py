"""Gymnasium environments of the embedded simulator: `import donkey_aicc.gym`, then gymnasium.make("donkey-aicc-loop-v0")."""

import gymnasium

from donkey_aicc.gym.donkey_env import DonkeyEnv, EnvSettings
from donkey_aicc.gym.latent_env import LatentEnv
from donkey_aicc.gym.monitored_env import MonitoredEnv
from donkey_aicc.nets.latent_pilot import keep_pilot
from donkey_aicc.simulator.tracks import TRACK_NAMES

__all__ = ["GENERATED", "MOST_STEPS", "DonkeyEnv", "EnvSettings", "LatentEnv", "MonitoredEnv", "env_id", "keep_pilot"]

MOST_STEPS = 2000  # of an episode: 100 s; another number with gymnasium.make(..., max_episode_steps=)
GENERATED = "donkey-aicc-generated-v0"  # any track by its number: gymnasium.make(GENERATED, seed=7)


def env_id(track: str) -> str:
    """The id of a shipped track."""
    return f"donkey-aicc-{track}-v0"


def _register() -> None:
    entry = "donkey_aicc.gym.donkey_env:"
    for track in TRACK_NAMES:
        gymnasium.register(env_id(track), f"{entry}DonkeyEnv", max_episode_steps=MOST_STEPS, kwargs={"track": track})
    gymnasium.register(GENERATED, f"{entry}generated_env", max_episode_steps=MOST_STEPS)


_register()
