"""Engine: runs the nets on ONNX Runtime, on the car and offline, from graphs made in memory. Needs neither torch nor onnx."""

import contextlib
import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.onnx_graph import Built
from donkey_aicc.nets.onnx_nets import COMMAND, DECODER, DROPPED, ENCODER, PREDICTOR, STEP
from donkey_aicc.nets.preprocess import HIDDEN, POSITIONS

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_QUIET = 3  # onnxruntime's level for errors

# hidden and cell of the first layer, hidden and cell of the second, each (16, L, S, 128): position of the 4x4 map, lane, sample
State = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class StepMasks:
    """Dropout multipliers of one step: recurrent (2, S, 128) and between (1 or L, S, 128)."""

    recurrent: np.ndarray
    between: np.ndarray


def initial_state(lanes: int, samples: int) -> State:
    """The all-zero state before the first frame."""
    zeros = np.zeros((POSITIONS, lanes, samples, HIDDEN), dtype=np.float32)
    return zeros, zeros.copy(), zeros.copy(), zeros.copy()


class Engine:
    """float32 everywhere. Images are (B, 3, 64, 64) in [0, 1], latents (B, 64, 4, 4).

    A session is made when its net is first used: grade light never pays for the dynamics net.

    Args:
        build: gives one of the graphs of onnx_nets.py by its name.
        threads: of the world model; control_threads: of the predictor.
    """

    def __init__(self, build: Callable[[str], Built], threads: int = 1, control_threads: int = 1) -> None:
        self._build, self._threads, self._control_threads = build, threads, control_threads
        self._sessions: dict[str, tuple[InferenceSession, tuple[str, ...]]] = {}

    def encode(self, images: np.ndarray) -> np.ndarray:
        """The latent mean."""
        return self._run(ENCODER, images)[0]

    def decode(self, latents: np.ndarray) -> np.ndarray:
        """Images."""
        return self._run(DECODER, latents)[0]

    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The safety predictor's features (B, 128) and logits (B, K). images: (B, C, 64, 64), see `preprocess.stacked`."""
        features, logits = self._run(PREDICTOR, images)
        return features, logits

    def predict_dropped(self, images: np.ndarray, first: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Logits (P, B, K) under P dropout masks: (P, 1, 512) and (P, 1, 128), which hold the 1 / (1 - p) factor."""
        return self._run(DROPPED, images, first, features)[0]

    def command(self, action: np.ndarray) -> np.ndarray:
        """Normalised action (L, 2) -> what it adds to the gates of every step in which it is held: (16, L, 1, 512)."""
        return self._run(COMMAND, action)[0]

    def step(self, z: np.ndarray, command: np.ndarray, state: State, masks: StepMasks) -> tuple[np.ndarray, State]:
        """One step of the dynamics for L lanes with S samples each: z (16, L, S, 64) at t -> at t + 1, and the new state."""
        ahead, *new = self._run(STEP, z, command, *state, *masks.recurrent, masks.between)
        return ahead, cast(State, tuple(new))

    def _run(self, which: str, *inputs: np.ndarray) -> list[np.ndarray]:
        session, names = self._sessions.get(which) or self._open(which)
        arrays = (np.ascontiguousarray(each, dtype=np.float32) for each in inputs)
        return session.run(None, dict(zip(names, arrays, strict=True)))

    def _open(self, which: str) -> "tuple[InferenceSession, tuple[str, ...]]":
        built = self._build(which)
        session = make_session(built.content, self._control_threads if which == PREDICTOR else self._threads, built.weights)
        _give_memory_back()
        self._sessions[which] = session, built.inputs
        return self._sessions[which]


def make_session(content: bytes, threads: int, weights: Mapping[str, np.ndarray] | None = None) -> "InferenceSession":
    """An ONNX file's content as something that runs; weights: those that it does not hold itself."""
    try:
        import onnxruntime
    except ImportError as error:
        raise AiccError(f"the nets run on ONNX Runtime, which is not installed ({error}): pip install onnxruntime") from error
    options, given = onnxruntime.SessionOptions(), weights or {}
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the core belongs to the drive loop
    # Handed over instead of left to ONNX Runtime, which maps a file into memory: cut short, it would end the program.
    options.add_external_initializers(list(given), [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in given.values()])
    try:
        return onnxruntime.InferenceSession(content, sess_options=options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many classes of them
        raise AiccError(f"ONNX Runtime {onnxruntime.__version__} cannot run the net: {error}; try another version") from error


def _give_memory_back() -> None:
    """Making a session leaves up to 100 MB of freed memory with the C library; glibc hands it back when asked."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems have no such function
        ctypes.CDLL(None).malloc_trim(0)
