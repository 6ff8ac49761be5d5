"""Learn to drive a track by reinforcement learning, in minutes on a laptop: SAC on the latents of a bundle's world model.

    python examples/train_sac.py --out model.zip
    cd mycar && python manage.py drive --headless --model ../model.zip --laps 3

Needs pip install 'donkey_aicc[gym]' 'stable-baselines3>=2.4' matplotlib. A small net on latents learns much faster than one on
pixels: the world model has seen the track already.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import gymnasium
import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

import donkey_aicc.gym as ours

Episode = tuple[int, float, float, int]  # steps made so far, minutes of one core, reward, laps


class Diary(BaseCallback):
    """What each episode brought, and a line for every thousand steps."""

    def __init__(self) -> None:
        super().__init__()
        self.episodes: list[Episode] = []
        self._began = time.process_time()  # the same on a computer that has other work

    def _on_step(self) -> bool:
        minutes = (time.process_time() - self._began) / 60.0
        for info in self.locals["infos"]:
            if "episode" in info:
                self.episodes.append((self.num_timesteps, minutes, info["episode"]["r"], info["lap_count"]))
        if self.num_timesteps % 1000 == 0:
            newest = self.episodes[-10:]
            rewards, laps = [each[2] for each in newest], sum(each[3] for each in newest)
            print(
                f"{self.num_timesteps} steps, {minutes:.1f} min: reward {np.mean(rewards):.0f}, {laps} laps in ten",
                flush=True,
            )
        return True


def make_env(track: str, bundle: str, **settings: object) -> gymnasium.Env:
    """Frames become latents; the throttle cannot stand still, or standing would be the first thing that is learnt."""
    usual = {"throttle_min": 0.35, "throttle_max": 0.5, "start": "random", "max_episode_steps": 600}
    return Monitor(ours.LatentEnv(gymnasium.make(ours.env_id(track), **{**usual, **settings}), bundle))


def train(out: Path, steps: int, track: str = "loop", bundle: str = "reference", seed: int = 1) -> list[Episode]:
    """The model goes to `out`; returns the diary."""
    torch.set_num_threads(1)
    model = SAC(
        "MlpPolicy",
        make_env(track, bundle),
        learning_rate=7.3e-4,
        buffer_size=30_000,
        learning_starts=min(500, steps // 4),
        gamma=0.98,
        tau=0.02,
        train_freq=8,
        gradient_steps=8,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
    )
    diary = Diary()
    model.learn(steps, callback=diary)
    ours.keep_pilot(model, out, bundle)
    return diary.episodes


def draw(episodes: Sequence[Episode], path: Path) -> None:
    """The learning curve."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps, minutes, rewards, laps = np.array(episodes).T
    figure, axes = pyplot.subplots(figsize=(7.0, 3.6), constrained_layout=True)
    axes.plot(steps, rewards, ".", color="#9aa5b1", label="one episode")
    smooth = [rewards[max(0, row - 9) : row + 1].mean() for row in range(len(rewards))]
    axes.plot(steps, smooth, color="#1b6ca8", label="mean of the last ten")
    if laps.any():
        first = int(np.argmax(laps > 0))
        axes.axvline(steps[first], color="#c0392b", linestyle="--", label=f"first lap, after {minutes[first]:.1f} min")
    axes.set(xlabel=f"steps ({minutes[-1]:.1f} min in all)", ylabel="reward of an episode")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("model.zip"))
    parser.add_argument("--steps", type=int, default=15_000)
    parser.add_argument("--track", default="loop")
    parser.add_argument("--bundle", default="reference", help="whose latents: a shipped name or a folder")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    episodes = train(args.out, args.steps, args.track, args.bundle, args.seed)
    picture = args.out.with_suffix(".png")
    draw(episodes, picture)
    print(f"{args.out} drives with: manage.py drive --model {args.out}; learning curve in {picture}")


if __name__ == "__main__":
    main()
