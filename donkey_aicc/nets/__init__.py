"""Networks: tensor in, tensor out, nothing else."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Bundle": "bundle",
    "LatentDynamics": "dynamics",
    "Manifest": "manifest",
    "SafetyCNN": "camera_nets",
    "VAE": "camera_nets",
    "VisionPilot": "vision_pilot",
    "read_manifest": "manifest",
    "save_bundle": "bundle",
    "to_model_image": "preprocess",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
