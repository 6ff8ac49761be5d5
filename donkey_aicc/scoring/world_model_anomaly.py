"""The two anomalies that the world model sees.

Perception: how badly it redraws what the camera sees (paper, Section IV). Dynamics, its share: how much S dropout samples
disagree about the next K steps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from donkey_aicc.nets.engine import Engine, State, StepMasks, initial_state
from donkey_aicc.nets.preprocess import LATENT_CHANNELS, POSITIONS
from donkey_aicc.scoring.frame_stats import Ring
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import FULL, HALF, ScoreSettings


class PerceptionScore:
    """rho_raw of L lanes: the mean over the context of the per-pixel MSE between y and d(e(y)).

    Each frame is encoded and reconstructed once. The pooled latent mean over the same context is kept beside it, for
    distances in latent space.
    """

    def __init__(self, engine: Engine, lanes: int, context: int) -> None:
        self._engine = engine
        self._errors = Ring(lanes, context)
        self._pooled = Ring(lanes, context, (LATENT_CHANNELS,))
        self.squared_error: np.ndarray | None = None  # (L, 3, 64, 64) of the newest frame, for whoever wants to see where it is

    def update(self, images: np.ndarray, unseen: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """images (L, 3, 64, 64) -> rho_raw (L,), pooled latent (L, 64), and the frame's latent mean (L, 64, 4, 4).

        unseen: frames since the last one that were not looked at.
        """
        latent = self._engine.encode(images)
        difference = self._engine.decode(latent) - images
        self.squared_error = np.square(difference, out=difference)
        self._errors.append(self.squared_error.mean(axis=(1, 2, 3), dtype=np.float64), unseen)
        self._pooled.append(latent.mean(axis=(2, 3), dtype=np.float64), unseen)
        return self._errors.window().mean(axis=1), self._pooled.window().mean(axis=1), latent

    @property
    def last_error(self) -> np.ndarray:
        """(L,) MSE of the newest frame alone."""
        return self._errors.window()[:, -1].copy()

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._errors.keep(lanes)
        self._pooled.keep(lanes)


ROLLOUT_FEATURES = FEATURE_NAMES[:3]


@dataclass
class _Rollout:
    """A look ahead under way, with the command of its first frame held."""

    due: int  # frame of the schedule that it belongs to
    frame: int  # frame that it starts from; later than `due` if that one was not looked at
    z: np.ndarray  # (16, L, S, 64) as far as it has come
    state: State
    command: np.ndarray
    spreads: list[np.ndarray] = field(default_factory=list)  # (L,) disagreement after each step
    half_spreads: list[np.ndarray] = field(default_factory=list)  # the same of the samples that grade half has


class RolloutScore:
    """S living hidden states of L lanes, advanced by one step per frame; every look ahead starts from them.

    Priming is never repeated. A rollout is spread over the frames until the next one, so that all frames cost the same;
    when it is done its features hold until the next is done, and their age is told. A lane whose states are not finite any
    more begins anew; its features are NaN until the next rollout. At grade full the features of grade half come with it.
    """

    def __init__(self, engine: Engine, lanes: int, settings: ScoreSettings, pause: Callable[[], None] | None = None) -> None:
        self._engine, self._settings, self._pause = engine, settings, pause
        self._randomness = FrameRandomness(settings.seed, settings.samples)
        self._recurrent = self._randomness.recurrent_masks()
        self._half = settings.at_grade(HALF) if settings.grade == FULL else None
        self.reset(lanes)

    def reset(self, lanes: int) -> None:
        """Forget everything; the next frame is number 0."""
        self._state = initial_state(lanes, self._settings.samples)
        self._frame = 0
        self._rollout: _Rollout | None = None
        self._features, self.half_features = (np.full((lanes, len(ROLLOUT_FEATURES)), np.nan) for _ in range(2))
        self._half_next: tuple[int, np.ndarray] | None = None  # from which frame on, which features
        self._from_frame: int | None = None  # where the rollout of the features started

    @property
    def age_frames(self) -> int:
        """Frames since the one that the features belong to; all frames seen if there are none yet."""
        return self._frame if self._from_frame is None else self._frame - 1 - self._from_frame

    @property
    def has_rollout(self) -> bool:
        return self._from_frame is not None

    def update(self, z: np.ndarray, action: np.ndarray, unseen: int = 0) -> np.ndarray:
        """z (L, 64, 4, 4) and normalised action (L, 2) of the new frame -> (L, 3) in the order of ROLLOUT_FEATURES.

        unseen: frames since the last one that were not looked at; the states take them in one step with this one, and a
        rollout that fell due among them starts now.
        """
        every, number = self._settings.rollout_every, self._frame + unseen
        due = number // every > (self._frame - 1) // every
        command = self._engine.command(action)
        ahead = self._observe(z, command, number)
        spoiled = self._restart_spoiled_lanes()
        self._frame = number + 1
        self._advance(number)
        if due:
            self._rollout = _Rollout(number - number % every, number, ahead, self._state, command)
            self._note_spread(self._rollout)
            self._advance(number)
        if self._half_next is not None and number >= self._half_next[0]:
            self.half_features, self._half_next = self._half_next[1], None
        if spoiled.any():
            self._features = np.where(spoiled[:, None], np.nan, self._features)
        return self._features

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._state = _each(self._state, lambda x: x[:, lanes])
        self._features, self.half_features = self._features[lanes], self.half_features[lanes]
        if self._half_next is not None:
            self._half_next = self._half_next[0], self._half_next[1][lanes]
        if self._rollout is not None:
            going = self._rollout
            going.z, going.command = going.z[:, lanes], going.command[:, lanes]
            going.state = _each(going.state, lambda x: x[:, lanes])
            going.spreads, going.half_spreads = ([x[lanes] for x in kept] for kept in (going.spreads, going.half_spreads))

    def at_half(self) -> "RolloutScore":
        """The same living states at grade half, whose samples are the first of grade full's."""
        half = self._half
        assert half is not None, "only grade full knows the numbers of grade half"
        lanes = self._state[0].shape[1]
        other = RolloutScore(self._engine, lanes, half, self._pause)
        other._state = _each(self._state, lambda x: x[:, :, : half.samples])
        other._frame, other._features = self._frame, self.half_features
        if np.isfinite(self.half_features).all():
            other._from_frame = self._from_frame
        return other

    def _owed(self, number: int) -> int:
        """How many steps the rollout under way should have come by this frame; 0 without one."""
        if self._rollout is None:
            return 0
        return min(self._settings.rollout_steps, self._settings.steps_per_frame * (number - self._rollout.due + 1))

    def _observe(self, z: np.ndarray, command: np.ndarray, number: int) -> np.ndarray:
        """Take the frame into the living states; returns the next latents that they expect.

        A step of the rollout goes along as further lanes, because reading the weights takes much of a small batch's time.
        """
        lanes, samples = len(z), self._settings.samples
        seen = z.transpose(2, 3, 0, 1).reshape(POSITIONS, lanes, 1, -1)
        seen = np.broadcast_to(seen, (POSITIONS, lanes, samples, seen.shape[3]))
        between, going = self._between(number, 0), self._rollout
        if going is None or len(going.spreads) >= self._owed(number):
            ahead, self._state = self._step(seen, command, self._state, between)
            return ahead
        masks = np.repeat(np.concatenate([between, self._between(going.frame, len(going.spreads))]), lanes, axis=0)
        further = iter(going.state)
        both = _each(self._state, lambda x: np.concatenate([x, next(further)], axis=1))
        ahead, state = self._step(
            np.concatenate([seen, going.z], axis=1), np.concatenate([command, going.command], axis=1), both, masks
        )
        self._state, going.state = _each(state, lambda x: x[:, :lanes]), _each(state, lambda x: x[:, lanes:])
        going.z = ahead[:, lanes:]
        self._note_spread(going)
        return ahead[:, :lanes]

    def _advance(self, number: int) -> None:
        """Bring the rollout to where it should be by this frame; publish what it found when it is done."""
        going = self._rollout
        while going is not None and len(going.spreads) < self._owed(number):
            between = self._between(going.frame, len(going.spreads))
            going.z, going.state = self._step(going.z, going.command, going.state, between)
            self._note_spread(going)
        if going is not None and len(going.spreads) == self._settings.rollout_steps:
            self._features, self._from_frame, self._rollout = _summary(going.spreads), going.frame, None

    def _note_spread(self, going: _Rollout) -> None:
        going.spreads.append(_disagreement(going.z))
        half = self._half
        if half is None or going.due % half.rollout_every or len(going.half_spreads) == half.rollout_steps:
            return
        going.half_spreads.append(_disagreement(going.z[:, :, : half.samples]))
        if len(going.half_spreads) == half.rollout_steps:  # grade half itself would have them some frames later
            self._half_next = going.due + half.rollout_frames - 1, _summary(going.half_spreads)

    def _step(self, z: np.ndarray, command: np.ndarray, state: State, between: np.ndarray) -> tuple[np.ndarray, State]:
        if self._pause is not None:
            self._pause()
        return self._engine.step(z, command, state, StepMasks(self._recurrent, between))

    def _between(self, frame: int, step: int) -> np.ndarray:
        return self._randomness.between_masks(frame, 1, first=step)

    def _restart_spoiled_lanes(self) -> np.ndarray:
        """Lanes that hold a NaN or an infinity go back to zero; returns which those are: (L,) bool."""
        total = sum(x.sum(axis=(0, 2, 3)) for x in self._state)
        spoiled = ~np.isfinite(total)
        if spoiled.any():
            self._state = _each(self._state, lambda x: np.where(spoiled[:, None, None], np.float32(0.0), x))
        return spoiled


def _each(state: State, change: Callable[[np.ndarray], np.ndarray]) -> State:
    first, second, third, fourth = (change(x) for x in state)
    return first, second, third, fourth


def _disagreement(z: np.ndarray) -> np.ndarray:
    """z (16, L, S, 64) -> (L,): mean over latent numbers of the standard deviation over samples."""
    return z.std(axis=2, dtype=np.float64).mean(axis=(0, 2))


def _summary(spreads: list[np.ndarray]) -> np.ndarray:
    """K times (L,) -> (L, 3) in the order of ROLLOUT_FEATURES."""
    sigma = np.stack(spreads, axis=1)
    return np.stack([sigma.mean(axis=1), sigma.max(axis=1), sigma.std(axis=1)], axis=1)
