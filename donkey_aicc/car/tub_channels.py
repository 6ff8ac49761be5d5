"""What our parts record: channel -> donkeycar's type name."""

from donkey_aicc import channels

SENT_CHANNELS = {channels.STEERING: "float", channels.THROTTLE: "float"}  # as sent to the vehicle
SIM_CHANNELS = {**dict.fromkeys(channels.LOCATION, "float"), channels.LAP: "int", channels.HIT: "boolean"}
INJECTION_CHANNELS = {channels.INJECT_PROTOCOL: "str", channels.INJECT_SEVERITY: "int", channels.INJECT_EPISODE: "int"}
MONITOR_CHANNELS = {
    channels.P_SAFE: "vector",
    channels.P_TTA: "vector",
    channels.RHO: "float",
    channels.DELTA: "float",
    channels.SCORES_AGE_S: "float",
    channels.SCORES_VALID: "boolean",
    channels.CONFIDENCE: "vector",
    channels.CONFIDENCE_MIN: "float",
    channels.STATUS: "str",
    channels.GRADE: "str",
}
ALARM_CHANNELS = {channels.HAZARD: "vector", channels.ALARM: "str", channels.REASON: "str"}
