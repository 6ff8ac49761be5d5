"""What the driver is told: the outlook and the state in words, behind the governor."""

from typing import TYPE_CHECKING

from donkey_aicc import channels
from donkey_aicc.car.assembly import Assembly

if TYPE_CHECKING:
    from donkey_aicc.car.monitor_loading import Monitor
    from donkey_aicc.nets.manifest import Manifest

READ = [channels.ALARM, channels.REASON, channels.HAZARD, channels.CONFIDENCE, channels.HEALTH, channels.ACTION]
OUTLOOK_CHANNELS = {channels.STAYS: "vector", channels.STATE: "str", channels.ADVICE: "str"}


def on_the_road(manifest: "Manifest") -> bool:
    """Whether "safe" means in its lane: labels by looking, takeovers or marks; not a cte within the paper's tau."""
    return manifest.has_predictor and manifest.tau is None


def add_outlook(car: Assembly, monitor: "Monitor | None") -> None:
    """Without an alarm there is nothing to tell."""
    if not any(channels.ALARM in entry["outputs"] for entry in car.V.parts):
        return
    from donkey_aicc.parts.driver_outlook import DriverOutlook

    part = DriverOutlook(monitor is not None and on_the_road(monitor.bundle.manifest), car.clock())
    car.V.add(part, inputs=READ, outputs=list(OUTLOOK_CHANNELS))
    car.recorded |= OUTLOOK_CHANNELS
