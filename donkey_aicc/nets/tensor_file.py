"""Writing safetensors so that a full disk is an OSError like any other."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def save_tensors(path: Path, tensors: Mapping[str, "Tensor"], metadata: dict[str, str] | None = None) -> None:
    """Write the file; OSError if the system refuses."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(dict(tensors), path, metadata=metadata)
    except SafetensorError as error:
        raise OSError(f"{path} could not be written: {error}") from error
