"""A learner's view of the world, the latents of a bundle's world model; and the pilot that comes out of it, without torch.

What stable-baselines3 saves holds pickled objects, which nobody should load from a stranger. `keep_pilot` puts the trained
actor's numbers beside them into the same zip file; `LatentPilot` reads only those.
"""

import json
import logging
import zipfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.limits import drive_command
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import LATENT_CHANNELS, POSITIONS, to_model_image
from donkey_aicc.untrusted import parse_json

logger = logging.getLogger(__name__)

MEMBER = "donkey_aicc.safetensors"  # of the zip file
FORMAT = "donkey_aicc.latent_pilot"
HISTORY = 4  # commands
_MOST_BYTES = 64 << 20
_MOST_HISTORY = 64
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ReLU": lambda x: np.maximum(x, 0.0), "Tanh": np.tanh}


class LatentView:
    """Frame -> what the agent sees: the latent mean of the frame, and the newest commands, the last one first."""

    def __init__(self, bundle: Bundle, history: int) -> None:
        self._bundle, self._commands = bundle, deque([(0.0, 0.0)] * history, maxlen=history)
        self.size = LATENT_CHANNELS * POSITIONS + 2 * history

    def reset(self) -> None:
        """The car was put somewhere: nothing was sent yet."""
        self._commands.extend([(0.0, 0.0)] * len(self._commands))

    def see(self, image: np.ndarray) -> np.ndarray:
        """(H, W, 3) uint8 RGB -> (size,) float32."""
        pixels = to_model_image(image).transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255.0)
        latent = self._bundle.encode(pixels).ravel()
        return np.concatenate([latent, np.ravel(self._commands)]).astype(np.float32)

    def sent(self, steering: float, throttle: float) -> None:
        """The command that answered the last frame."""
        self._commands.appendleft((steering, throttle))


def keep_pilot(model: Any, path: str | Path, bundle: str | Path, history: int = HISTORY) -> None:
    """Save a model of stable-baselines3 (SAC, TQC, TD3, PPO ...) that was trained on a LatentEnv, so that it can drive a car.

    bundle, history: as the LatentEnv had them.
    """
    from safetensors.numpy import save
    from torch import nn

    path, actor = Path(path), getattr(model.policy, "actor", None)
    if actor is None:  # PPO, A2C
        layers = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    elif hasattr(actor, "latent_pi"):  # SAC, TQC: the mean of a squashed Gaussian
        layers = [*actor.latent_pi, actor.mu, nn.Tanh()]
    else:
        layers = list(actor.mu)
    unknown = {type(layer).__name__ for layer in layers} - {"Linear", *_ACTIVATIONS}
    if unknown:
        raise AiccError(f"a pilot's net must be made of Linear, {', '.join(_ACTIVATIONS)}, got {', '.join(sorted(unknown))}")
    tensors: dict[str, np.ndarray] = {}
    for number, layer in enumerate(layers):
        if isinstance(layer, nn.Linear):
            tensors |= {f"{number}.{name}": value.detach().cpu().numpy() for name, value in layer.named_parameters()}
    space = model.action_space
    about = {
        "format": FORMAT,
        "bundle": str(bundle),
        "history": history,
        "layers": [type(layer).__name__ for layer in layers],
        "low": space.low.tolist(),
        "high": space.high.tolist(),
        "scaled": actor is not None,  # the net says [-1, 1] and means low to high; PPO's says the command itself
    }
    model.save(path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(MEMBER, save(tensors, {"about": json.dumps(about)}))


class LatentPilot:
    """donkeycar's pilot interface: load(path), run(image) -> (steering, throttle), shutdown().

    A frame it cannot use stops the car.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads, self._complained = threads, False

    def load(self, path: str | Path, bundle: str | Path | None = None) -> None:
        """Read the zip file; raises AiccError on one that cannot be used. bundle: where its latents come from, if elsewhere."""
        from donkey_aicc.resources import models_dir

        tensors, about = _stored(Path(path))
        try:
            history, low, high = about["history"], np.array(about["low"], float), np.array(about["high"], float)
            layers = [(kind, tensors.get(f"{i}.weight"), tensors.get(f"{i}.bias")) for i, kind in enumerate(about["layers"])]
            if about["format"] != FORMAT or low.shape != (2,) or high.shape != (2,) or not 0 <= history <= _MOST_HISTORY:
                raise ValueError(f"format {about['format']!r} with a history of {history}")
            home = Path(bundle or about["bundle"])
            home = home if home.exists() else models_dir() / home.name
            self._view = LatentView(Bundle.load(home, threads=self._threads), history)
            self._layers, self._low, self._high, self._scaled = layers, low, high, bool(about["scaled"])
            self._act(np.zeros(self._view.size, np.float32))
        except DAMAGE as error:
            raise AiccError(f"{path}: what it says of its net cannot be used: {error}; train it again") from error

    def run(self, img_arr: np.ndarray | None, *_: object) -> tuple[float, float]:
        """(H, W, 3) uint8 RGB -> steering (+1 right) and throttle in [-1, 1]."""
        try:
            steering, throttle = self._act(self._view.see(img_arr)) if img_arr is not None else (0.0, 0.0)
        except Exception as error:  # an exception in `run` would end the drive
            if not self._complained:
                logger.error(f"the pilot stops the car: {error}")
                self._complained = True
            steering, throttle = 0.0, 0.0
        self._view.sent(steering, throttle)
        return steering, throttle

    def _act(self, x: np.ndarray) -> tuple[float, float]:
        for kind, weight, bias in self._layers:
            x = _ACTIVATIONS[kind](x) if weight is None or bias is None else weight @ x + bias
        scaled = self._low + 0.5 * (x + 1.0) * (self._high - self._low) if self._scaled else x
        steering, throttle = np.clip(scaled, self._low, self._high).tolist()
        return drive_command(steering), drive_command(throttle)

    def reset(self) -> None:
        self._view.reset()

    def shutdown(self) -> None:
        """Nothing to release."""


def _stored(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and what is said of them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with zipfile.ZipFile(path) as file:
            if MEMBER not in file.namelist():
                raise AiccError(f"{path} has no {MEMBER}: save the model with donkey_aicc.gym.keep_pilot, and it can drive a car")
            if file.getinfo(MEMBER).file_size > _MOST_BYTES:
                raise AiccError(f"{path}: {MEMBER} must have at most {_MOST_BYTES} bytes")
            content = file.read(MEMBER)
        length = int.from_bytes(content[:8], "little")
        about = parse_json(json.loads(content[8 : 8 + length])["__metadata__"]["about"], f"{path}: {MEMBER}")
        tensors = load(content)
    except (OSError, zipfile.BadZipFile, SafetensorError, *DAMAGE) as error:
        raise AiccError(f"the pilot {path} cannot be read: {error}") from error
    broken = [name for name, value in tensors.items() if value.dtype.kind != "f" or not np.isfinite(value).all()]
    if broken or not isinstance(about, dict):
        raise AiccError(f"the pilot {path} is corrupt: not a number in {', '.join(broken) or MEMBER}")
    return tensors, about
