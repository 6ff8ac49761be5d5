"""The Unity simulator's scenes: which of our tracks stands for each, and how wide its lane is where that is known.

A width is in the scene's own unit, that of its cte. The path that cte is measured from is the middle of a lane, not of the road.
Our tracks behind the protocol speak in the scene's unit too: their lane is as wide in it as the scene's.
"""

from dataclasses import dataclass

from donkey_aicc.simulator.tracks import HALF_WIDTH_M

_USUAL_HALF_WIDTH = 3.0
_ROAD = "sdsandbox, Scripts/_controllers.prefab: half the road (roadWidth 5) less how far the path lies beside its middle"


@dataclass(frozen=True)
class Scene:
    track: str
    half_width: float | None = None  # |cte| beyond it is off the road on the nearer side; None: nobody has published it
    source: str = ""

    @property
    def units_per_m(self) -> float:
        """A scene of unknown width is taken for as wide as the generated track."""
        return (self.half_width or _USUAL_HALF_WIDTH) / HALF_WIDTH_M


SCENES = {
    "generated_road": Scene("seed:1", 2.8, f"{_ROAD} (roadOffsetW 2.2); another texture of the road has another width"),
    "generated_track": Scene("loop", _USUAL_HALF_WIDTH, f"{_ROAD} (roadOffsetW 2, Assets/Scenes/generated_track.unity)"),
    "warehouse": Scene("oval"),
    "sparkfun_avc": Scene("hairpin"),
    "mountain_track": Scene("chicane"),
    "roboracingleague_1": Scene("seed:2"),
    "waveshare": Scene("seed:3"),
    "mini_monaco": Scene("seed:4"),
    "warren": Scene("seed:5"),
    "thunderhill": Scene("seed:6"),
    "circuit_launch": Scene("seed:7"),
}


def scene_of_env(env_name: str) -> str:
    """`donkey-generated-track-v0`, as donkeycar's DONKEY_GYM_ENV_NAME has it -> `generated_track`; '' if it is none of these."""
    words = env_name.removeprefix("donkey-").rsplit("-v", 1)[0].removesuffix("-track").replace("-", "_")
    usual = {"generated_roads": "generated_road", "generated": "generated_track", "avc_sparkfun": "sparkfun_avc"}
    usual |= {"mountain": "mountain_track", "minimonaco": "mini_monaco", "roboracingleague": "roboracingleague_1"}
    scene = usual.get(words, words)
    return scene if scene in SCENES else ""
