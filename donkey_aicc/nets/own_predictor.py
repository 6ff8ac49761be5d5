"""Safety predictors of users and of other packages, in place of ours: the same bundle, calibrator, alarm, report and cockpit.

A bundle made for one holds its name and what it says about a few made-up frames, never its code or its weights: it runs only
where its owner registered it, and another one of that name is refused.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.engine import make_session
from donkey_aicc.nets.preprocess import IMAGE_SIZE, ActionStats
from donkey_aicc.plugins import load_plugins
from donkey_aicc.stored import array

PROBES = 4  # made-up frames by which a predictor is known again
SAME = 2e-3  # of probability; other computers round otherwise
_SURE = 1e-6  # logits stay finite


class Predictor(Protocol):
    """What `register_predictor` takes: a function, or an object with `__call__`."""

    def __call__(self, frames: np.ndarray, steering: np.ndarray, /) -> Any:
        """frames (B, n, 64, 64, 3), steering (B, n) -> probabilities (B, K), or (probabilities, features (B, F))."""


class OwnPredictor(NamedTuple):
    """A registered predictor."""

    predict: Predictor
    horizons: tuple[int, ...]
    lags: tuple[int, ...]

    def said(self, frames: np.ndarray, steering: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features (B, F), F = 0 if it has none, and probabilities (B, K); an answer that is none is refused."""
        found = self.predict(frames, steering)
        p, features = found if isinstance(found, tuple) else (found, np.zeros((len(frames), 0)))
        p, features = np.asarray(p, dtype=np.float64), np.asarray(features, dtype=np.float32)
        if p.shape != (len(frames), len(self.horizons)):
            raise AiccError(f"a predictor must give probabilities of shape {(len(frames), len(self.horizons))}, got {p.shape}")
        if not (p.size and p.min() >= 0.0 and p.max() <= 1.0):  # also catches NaN
            raise AiccError(f"a predictor must give probabilities from 0 to 1, got {p.min():g} to {p.max():g}")
        if features.ndim != 2 or len(features) != len(frames):
            raise AiccError(f"a predictor's features must have the shape ({len(frames)}, F), got {features.shape}")
        return features, p

    def logits(self, images: np.ndarray, stats: ActionStats) -> tuple[np.ndarray, np.ndarray]:
        """The engine's input (B, C, 64, 64), frames first, then planes of steering -> features and logits, as our own net has."""
        count = len(self.lags)
        frames = images[:, : 3 * count].reshape(len(images), count, 3, *images.shape[2:]).transpose(0, 1, 3, 4, 2)
        steering = images[:, 3 * count :, 0, 0] * stats.std[0] + stats.mean[0]
        features, p = self.said(frames, steering)
        p = np.clip(p, _SURE, 1.0 - _SURE)
        return features, np.log(p) - np.log1p(-p)

    def about_probes(self) -> dict[str, Any]:
        """What it `says` (PROBES, K) about noise, a ramp and two greys, by which it is known again, and how many `features`."""
        count = len(self.lags)
        ramp = np.linspace(0.0, 1.0, IMAGE_SIZE)[:, None, None]
        looks = (np.random.default_rng(0).random((IMAGE_SIZE, IMAGE_SIZE, 3)), ramp, np.array(0.25), np.array(0.75))
        frames = np.stack([np.broadcast_to(look, (count, IMAGE_SIZE, IMAGE_SIZE, 3)) for look in looks]).astype(np.float32)
        steering = np.broadcast_to(np.linspace(-0.5, 0.5, PROBES)[:, None], (PROBES, count)).astype(np.float32)
        features, p = self.said(frames, steering)
        return {"says": [[round(value, 6) for value in row] for row in p.tolist()], "features": features.shape[1]}


OWN_PREDICTORS: dict[str, OwnPredictor] = {}


def register_predictor(name: str, predict: Predictor, *, horizons: Sequence[int], lags: Sequence[int] = (0,)) -> None:
    """Add a safety predictor of your own: torch, Keras, ONNX or any function, for bundles that `use_predictor` makes.

    Args:
        name: small letters, digits and underscores, such as `mine`; bundles hold it.
        predict: called as predict(frames, steering), several inputs at once (nine views of a frame in the drive loop, so it must
            take a few milliseconds). frames: (B, n, 64, 64, 3) float32 RGB in 0 to 1, the newest first; steering: (B, n) float32
            in -1 to 1, sent with those frames, positive to the right. It returns probabilities (B, K) in 0 to 1 that the car is
            safe so many frames from then on, or a tuple of those and features (B, F), F of its choice, for the methods that
            look at features. The same input must give the same answer.
        horizons: the K frame counts that it answers for, rising, such as (1, 10, 20, 50).
        lags: how many frames back it looks, (0,) for the newest alone, (0, 2, 5) for n = 3. At the start of a sequence its first
            frame stands for those before.

    Example:
        >>> from donkey_aicc import register_predictor
        >>> def bright_is_safe(frames, steering):
        ...     light = frames[:, 0].mean(axis=(1, 2, 3))
        ...     return np.stack([light, light ** 2], axis=1)
        >>> register_predictor("bright", bright_is_safe, horizons=(1, 20))
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise ConfigError(f"a predictor's name must be small letters, digits and underscores, 40 at most, got {name!r}")
    if not callable(predict):
        raise ConfigError(f"the predictor {name} must be callable, got {predict!r}")
    steps, back = tuple(int(step) for step in horizons), tuple(int(lag) for lag in lags)
    if not steps or steps != tuple(sorted(set(steps))) or steps[0] < 1:
        raise ConfigError(f"horizons of the predictor {name} must be rising frame counts >= 1, got {horizons!r}")
    if back[:1] != (0,) or back != tuple(sorted(set(back))):
        raise ConfigError(f"lags of the predictor {name} must be rising frame counts that begin with 0, got {lags!r}")
    OWN_PREDICTORS[name] = OwnPredictor(predict, steps, back)


def own_predictor(name: str) -> OwnPredictor:
    """The registered one of that name."""
    load_plugins()  # a worker process unpacks its bundle before it does anything else
    if name not in OWN_PREDICTORS:
        raise AiccError(
            f"the safety predictor {name} is not registered here. Bundles hold no code: name the file or module that calls "
            "register_predictor in AICC_PLUGINS, or install its package"
        )
    return OWN_PREDICTORS[name]


def known_predictor(own: dict[str, Any], horizons: Sequence[int], lags: Sequence[int]) -> OwnPredictor:
    """The registered predictor that a manifest's `own` speaks of; another one of its name is refused."""
    name = str(own.get("name"))
    found = own_predictor(name)
    for what, given, wanted in (("horizons", found.horizons, horizons), ("lags", found.lags, lags)):
        if list(given) != list(wanted):
            raise AiccError(f"{what} of the predictor {name} must be the bundle's {list(wanted)}, got {list(given)}")
    said = np.array([array("what the predictor said", row, 0.0, 1.0) for row in own.get("says", [])])
    probes = found.about_probes()
    now = np.array(probes["says"])
    if said.shape != now.shape or np.abs(said - now).max() > SAME or own.get("features") != probes["features"]:
        raise AiccError(
            f"the registered predictor {name} is not the one that the bundle was made with: it says something else about the "
            "same frames. Make a bundle for it (use_predictor) and calibrate that"
        )
    return found


class OnnxPredictor:
    """A `Predictor` out of an ONNX file: pass it to `register_predictor`. Only a file that you name yourself is ever run.

    Its first input is the frames, (B, 3 n, 64, 64) as torch writes them or (B, 64, 64, 3 n) as Keras does, in 0 to 1, the newest
    first; a second input, if it has one, is the steering (B, n). Its first output is probabilities (B, K), a second one features.

    Args:
        path: of the .onnx file.
        threads: of the CPU that it may use, 1 by default: others belong to the drive loop and to the scorer.

    Example:
        >>> from donkey_aicc import OnnxPredictor
        >>> OnnxPredictor("no_such_file.onnx")
        Traceback (most recent call last):
        donkey_aicc.errors.AiccError: no ONNX file at no_such_file.onnx
    """

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise AiccError(f"no ONNX file at {path}") from error
        self._session = make_session(content, threads)
        inputs = self._session.get_inputs()
        if len(inputs) not in (1, 2) or len(inputs[0].shape) != 4:
            shapes = [each.shape for each in inputs]
            raise AiccError(f"{path} must take frames of four dimensions, and maybe steering, got inputs of {shapes}")
        self._names = [each.name for each in inputs]
        self._channels_last = inputs[0].shape[1] == IMAGE_SIZE

    def __call__(self, frames: np.ndarray, steering: np.ndarray, /) -> Any:
        """As `Predictor`."""
        order = (0, 2, 3, 1, 4) if self._channels_last else (0, 1, 4, 2, 3)
        side = (len(frames), IMAGE_SIZE, IMAGE_SIZE, -1) if self._channels_last else (len(frames), -1, IMAGE_SIZE, IMAGE_SIZE)
        given = (frames.transpose(order).reshape(side), steering)
        arrays = (np.ascontiguousarray(each, dtype=np.float32) for each in given)
        p, *features = self._session.run(None, dict(zip(self._names, arrays, strict=False)))
        return (p, features[0]) if features else p
