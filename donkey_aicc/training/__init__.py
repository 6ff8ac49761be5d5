"""Training: sequences -> weights. One shared loop; a file for the nets that look at frames, one for the dynamics."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Plan": "pipeline",
    "Preset": "presets",
    "preset_named": "presets",
    "train_bundle": "pipeline",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
