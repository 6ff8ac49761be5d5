"""The nets on ONNX Runtime: what a car uses. Needs neither torch nor the onnx package."""

import contextlib
import ctypes
from typing import TYPE_CHECKING, cast

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.onnx_graph import Weights
from donkey_aicc.nets.onnx_nets import COMMAND, DECODER, ENCODER, NET_OF, PREDICTOR, STEP, graph_file
from donkey_aicc.nets.runtime import ONNX, BundleFolder, Runtime, State, StepMasks

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_QUIET = 3  # onnxruntime's level for errors


class OnnxRuntime(Runtime):
    """Sessions are made when first used: grade light never pays for the dynamics net."""

    name = ONNX

    def __init__(self, folder: BundleFolder, threads: int = 1, control_threads: int = 1) -> None:
        super().__init__(folder)
        self._folder, self._threads, self._control_threads = folder, threads, control_threads
        self._sessions: dict[str, InferenceSession] = {}
        for file in folder.manifest.weight_files.values():  # damage shows itself here, not in the middle of a drive
            folder.weights(file)
        self._layouts = {net: Weights(file, folder.content(file)) for net, file in folder.manifest.weight_files.items()}
        for graph, net in NET_OF.items():
            if net in self._layouts:
                self._checked(graph)

    def encode(self, images: np.ndarray) -> np.ndarray:
        return self._run(ENCODER, images)[0]

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return self._run(DECODER, latents)[0]

    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features, logits = self._run(PREDICTOR, images)
        return features, logits

    def command(self, action: np.ndarray) -> np.ndarray:
        return self._run(COMMAND, action)[0]

    def step(self, z: np.ndarray, command: np.ndarray, state: State, masks: StepMasks) -> tuple[np.ndarray, State]:
        ahead, *new = self._run(STEP, z, command, *state, *masks.recurrent, masks.between)
        return ahead, cast(State, tuple(new))

    def _run(self, graph: str, *inputs: np.ndarray) -> list[np.ndarray]:
        session = self._sessions.get(graph) or self._open(graph)
        names = (each.name for each in session.get_inputs())
        arrays = (np.ascontiguousarray(each, dtype=np.float32) for each in inputs)
        return session.run(None, dict(zip(names, arrays, strict=True)))

    def _checked(self, graph: str) -> bytes:
        """A graph's file, if it is the very one that we write for these weights.

        A hash only says who wrote it. A graph can loop for ever, take all memory or read other files; ours do not.
        """
        if graph not in self._folder.manifest.onnx:
            raise AiccError(f"bundle {self._folder.path} has no {graph}; make it with: donkey-aicc export {self._folder.path}")
        content, layout = self._folder.content(graph), self._layouts[NET_OF[graph]]
        if content != graph_file(graph, layout):
            raise AiccError(
                f"{self._folder.path / graph} is not the graph that this version of donkey_aicc writes for {layout.file}; "
                f"make it again with: donkey-aicc export {self._folder.path}"
            )
        return content

    def _open(self, graph: str) -> "InferenceSession":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._control_threads if graph == PREDICTOR else self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the core belongs to the drive loop
        content = self._checked(graph)
        # Handed over instead of left to ONNX Runtime, which maps the file into memory: cut short, it would end the program.
        weights = self._folder.weights(self._folder.manifest.weight_files[NET_OF[graph]])
        used = {name: value for name, value in weights.items() if _names(content, name)}
        options.add_external_initializers(list(used), [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in used.values()])
        try:
            session = onnxruntime.InferenceSession(content, sess_options=options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has many classes of them
            raise AiccError(
                f"ONNX Runtime cannot read {self._folder.path / graph}: {error}; make it again with: donkey-aicc export "
                f"{self._folder.path}"
            ) from error
        _give_memory_back()
        self._sessions[graph] = session
        return session


def _names(graph: bytes, tensor: str) -> bool:
    """Whether the graph has a tensor of this name: its field 8 in the protocol buffer, a text with its length before it."""
    name = tensor.encode()
    return len(name) < 128 and b"\x42" + bytes([len(name)]) + name in graph


def _give_memory_back() -> None:
    """Making a session leaves up to 100 MB of freed memory with the C library; glibc hands it back when asked."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems have no such function
        ctypes.CDLL(None).malloc_trim(0)
