"""Your car. Everything here overrides config.py; take away the # in front of what you want to change."""

# ---- Where the car drives -------------------------------------------------------------------------------------
# True: the embedded simulator is camera and drivetrain. False: the hardware (or Unity simulator) set below.
# AICC_SIM = True

# The simulator's track: loop, oval, hairpin, chicane, or seed:<number> for a generated one.
# AICC_SIM_TRACK = "loop"

# Seed of the simulator's noise and light. Same seed and same commands: the same drive, byte for byte.
# AICC_SIM_SEED = 0

# False: one step per drive loop, however fast that runs. True: the simulated clock follows the wall clock.
# AICC_SIM_REALTIME = False

# True: a car that hits the wall is put back on the track and a new tub session begins. False: the drive ends there.
# AICC_SIM_PUT_BACK = True

# ---- Computing ------------------------------------------------------------------------------------------------
# CPU threads for the networks in the drive loop. One is best on a Raspberry Pi.
# AICC_CONTROL_THREADS = 1

# ---- Faults on purpose ----------------------------------------------------------------------------------------
# What to inject: PROTOCOL:SEVERITY[@WHEN], parted by commas. Protocols: dark, blur, bias, latency; severity 1-5; when:
# 10s-25s, lap2 or ticks 100-300. `--inject` on the command line comes first. docs/injection.md tells more.
# AICC_INJECT = None
# AICC_INJECT_SEED = 0

# A real car injects nothing until it is armed by a button, and only for so many seconds.
# AICC_INJECT_ARM_S = 30.0

# True: inject also while you drive yourself.
# AICC_INJECT_USER_MODE = False

# Most throttle while a command is disturbed. None: 0.5 on a real car, 1 in a simulator.
# AICC_INJECT_MAX_THROTTLE = None

# The web page's buttons w1-w5 as dark, blur, bias, latency, stop. None: in simulators only; True: on a real car too.
# AICC_INJECT_BUTTONS = None
# AICC_INJECT_BUTTON_SEVERITY = 3

# Joystick buttons by the names that donkeycar's controller prints: one arms and goes through the protocols, one ends all.
# AICC_INJECT_JOYSTICK_BUTTON = None
# AICC_INJECT_STOP_BUTTON = None

# Changes to the severity table, for example {"dark": {"luminance_factor": 0.2}}.
# AICC_INJECT_PARAMETERS = None

# True: the tub also gets the frame as it was before any fault.
# AICC_RECORD_CLEAN = False

# ---- Labels without a cross-track error -------------------------------------------------------------------------
# Record frames as unsafe, for training: a button w1-w5 of the web page (a click begins the mark, another ends it), or one of the
# game controller, while it is held. A web button that marks no longer injects; w5 is free only if no web button injects.
# AICC_MARK_BUTTON = None
# AICC_MARK_JOYSTICK_BUTTON = None

# ---- The cockpit: http://<car>:8887/aicc -------------------------------------------------------------------------
# Shows what the monitor thinks, and lets whoever has the token inject faults, mark frames and change modes. The token is
# printed at every start as a link and a QR code; a fixed one (8 or more letters and digits) keeps the link the same.
# AICC_COCKPIT = True
# AICC_WEB_TOKEN = None
# "token": looking needs the token too.
# AICC_WEB_VIEW = "open"

# ---- The monitor ----------------------------------------------------------------------------------------------
# Folder of a trained bundle, or the name of a shipped one. None: the car drives without a monitor. The shipped one was trained in
# the embedded simulator and is for the simulator; a real car needs one that was trained on its own drives.
# AICC_BUNDLE = "reference"

# Views, dropout samples, frames between two looks ahead and the seed come from the bundle's calibrator: a confidence means
# something only with the settings it was fitted for. Without a calibrator these keys set them.
# AICC_TTA_VIEWS = None
# AICC_SCORE_SAMPLES = None
# AICC_ROLLOUT_EVERY = None
# AICC_MONITOR_SEED = None

# False: score inside the drive loop, for drives that run faster than real time (`--fast` does that for you).
# AICC_SCORER_THREADED = True
# AICC_SCORER_THREADS = 1

# What runs the nets: "onnx" (donkey-aicc export), "torch", or "auto" for ONNX where the bundle has it.
# AICC_RUNTIME = "auto"

# "full" (the paper's scores), "half" (a shorter look ahead) or "light" (none). None: measured at start.
# AICC_GRADE = None

# Scores older than this count as missing, and confidence falls to its cautious bound.
# AICC_MAX_SCORE_AGE_S = 1.5

# A picture that has not changed for so many seconds, and the camera counts as frozen.
# AICC_FROZEN_S = 0.5

# What happens at an alarm while the pilot drives: "off", "advise" (only says so), "slow" (to a crawl) or "stop". A stop ends when
# the evidence is gone and you confirm it in the cockpit, or drive yourself. When it acts is fitted by `donkey-aicc calibrate`.
# AICC_GOVERNOR = "off"

# ---- A real car (set AICC_SIM = False); all of donkeycar's keys work as usual -------------------------------------
# CAMERA_TYPE = "PICAM"          # PICAM, WEBCAM, CVCAM, CSIC, V4L, D435, OAKD, MOCK, ...
# DRIVE_TRAIN_TYPE = "PWM_STEERING_THROTTLE"
# IMAGE_W = 160
# IMAGE_H = 120
# DRIVE_LOOP_HZ = 20
# WEB_CONTROL_PORT = 8887
# DONKEY_GYM = False             # True: donkeycar's Unity simulator
