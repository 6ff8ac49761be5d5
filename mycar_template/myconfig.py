"""Settings of your car. They override config.py; remove the # in front of a line to change its value."""

# ---- Where the car drives -------------------------------------------------------------------------------------
# True: the embedded simulator is camera and drivetrain. False: the hardware (or Unity simulator) set below.
# AICC_SIM = True

# The simulator's track: loop, oval, hairpin, chicane, or seed:<number> for a generated one.
# AICC_SIM_TRACK = "loop"

# Seed of the simulator's noise and light. Same seed and same commands: the same drive, byte for byte.
# AICC_SIM_SEED = 0

# False: one step per drive loop, however fast it runs. True: simulated time follows real time.
# AICC_SIM_REALTIME = False

# True: a car that hits the wall is put back on the track and a new tub session begins. False: the drive ends there.
# AICC_SIM_PUT_BACK = True

# What the simulated car's speed controller makes of a negative throttle: "direct" (reverse at once), "neutral_first" (brake;
# reverse after neutral) or "double_tap" (brake; reverse with the second push).
# AICC_SIM_ESC = "direct"

# ---- Computing ------------------------------------------------------------------------------------------------
# CPU threads for the networks in the drive loop. One is best on a Raspberry Pi.
# AICC_CONTROL_THREADS = 1

# ---- Faults on purpose ----------------------------------------------------------------------------------------
# What to inject: PROTOCOL:SEVERITY[@WHEN], separated by commas. Protocols: dark, blur, bias, latency; severity: 1-5; when:
# 10s-25s, lap2 or ticks 100-300. `--inject` on the command line overrides this. More: docs/injection.md.
# AICC_INJECT = None
# AICC_INJECT_SEED = 0

# A real car injects nothing until you arm it with a button, and then only for this many seconds.
# AICC_INJECT_ARM_S = 30.0

# True: also inject while you drive yourself.
# AICC_INJECT_USER_MODE = False

# Maximum throttle while a command is disturbed. None: 0.5 on a real car, 1 in a simulator.
# AICC_INJECT_MAX_THROTTLE = None

# Use the web page's buttons w1-w5 as dark, blur, bias, latency, stop. None: only in simulators. True: also on a real car.
# AICC_INJECT_BUTTONS = None
# AICC_INJECT_BUTTON_SEVERITY = 3

# Joystick buttons, by the names that donkeycar's controller prints: one arms and steps through the protocols, one ends all.
# AICC_INJECT_JOYSTICK_BUTTON = None
# AICC_INJECT_STOP_BUTTON = None

# Changes to the severity table, for example {"dark": {"luminance_factor": 0.2}}.
# AICC_INJECT_PARAMETERS = None

# True: the tub also stores each frame as it was before any fault.
# AICC_RECORD_CLEAN = False

# ---- Labels without a cross-track error -------------------------------------------------------------------------
# Buttons that mark frames as unsafe, for training: w1-w5 on the web page (one click begins the mark, another ends it), or a
# game controller button (marks while held). A web button that marks does not inject; w5 can mark only if no web button injects.
# AICC_MARK_BUTTON = None
# AICC_MARK_JOYSTICK_BUTTON = None

# |cte| at which the car has left its lane, in the unit of its cte: the Unity simulator does not tell how wide its lanes are.
# None: as we know the scene (generated_road, generated_track); without a width no departure is known. More: docs/unity.md.
# AICC_LANE_HALF_WIDTH = None

# ---- The cockpit: http://<car>:8887/aicc -------------------------------------------------------------------------
# Shows what the monitor thinks. Anyone with the token can also inject faults, mark frames and change modes. Every start prints
# the token as a link and a QR code. Set a fixed token (8 or more letters and digits) to keep the same link.
# AICC_COCKPIT = True
# AICC_WEB_TOKEN = None
# "token": you need the token even to look.
# AICC_WEB_VIEW = "open"

# A web page's throttle (the cockpit's and donkeycar's own) falls to zero after so many seconds without a word of it. 0: never.
# AICC_WEB_SILENCE_S = 0.5

# ---- A real car's motor ---------------------------------------------------------------------------------------
# A small process beside the drive loop brings the motor to neutral within 0.3 s when the loop dies, hangs or is stopped. The
# start line says for which drivetrain it cannot.
# AICC_WATCHDOG = True

# ---- The monitor ----------------------------------------------------------------------------------------------
# Folder of a trained bundle, or the name of a shipped one, which works only in the embedded simulator, where it was trained; a
# real car needs a bundle trained on its own drives. None: learning mode. It warns of a dark, frozen or lost picture at once,
# learns the rest in the first four laps and keeps it in learned_alarm.json (delete that to learn anew). "off": no monitor.
# AICC_BUNDLE = "reference"

# Files or modules of your own that register predictors, scores, calibrators or faults, separated by commas (docs/extend.md).
# AICC_PLUGINS = None

# The public key that `donkey-aicc sign --new-key FILE` prints: only bundles signed with it drive this car (pip install pynacl).
# AICC_TRUSTED_KEY = None

# False: score inside the drive loop, for drives that run faster than real time (`--fast` sets this for you).
# AICC_SCORER_THREADED = True
# AICC_SCORER_THREADS = 1

# "full" (the paper's scores), "half" (a shorter look ahead) or "light" (none). None: measured at start.
# AICC_GRADE = None

# Scores older than this count as missing, and confidence falls to its cautious bound.
# AICC_MAX_SCORE_AGE_S = 1.5

# If the picture does not change for this many seconds, the camera counts as frozen.
# AICC_FROZEN_S = 0.5

# True: the first lap of every drive is normal, and sets what is nominal today (light, lens, tyres). The cockpit's button
# "That lap was normal" does the same at any time. Only where somebody watches that lap.
# AICC_TODAY = False

# Record so many normal laps into a tub of their own, for the alarm's thresholds (calibrate --alarm-drives); as --alarm-laps.
# AICC_ALARM_LAPS = None

# What an alarm does while the pilot drives: nothing ("off"), a message ("advise"), slow to a crawl ("slow") or stop ("stop").
# A stop ends when the evidence is gone and you confirm it in the cockpit, or when you drive yourself.
# `donkey-aicc calibrate` fits when the alarm comes.
# AICC_GOVERNOR = "off"

# How the car brakes when the governor stops it: `donkey-aicc brake-test` finds and writes these four. None: never tried, and the
# stop of a real car only coasts (the simulated car brakes). The throttle that brakes, -1 to 0 (0: it has no brake); the seconds
# from the usual speed to standstill; how long the car goes on braking afterwards; the kind of its speed controller.
# AICC_BRAKE_THROTTLE = None
# AICC_BRAKE_S = 0.0
# AICC_BRAKE_LAG_S = 0.0
# AICC_BRAKE_KIND = "direct"

# ---- A real car (set AICC_SIM = False); all donkeycar keys work as usual -----------------------------------------
# CAMERA_TYPE = "PICAM"          # PICAM, WEBCAM, CVCAM, CSIC, V4L, D435, OAKD, MOCK, ...
# DRIVE_TRAIN_TYPE = "PWM_STEERING_THROTTLE"
# IMAGE_W = 160
# IMAGE_H = 120
# DRIVE_LOOP_HZ = 20
# WEB_CONTROL_PORT = 8887
# DONKEY_GYM = False             # True: donkeycar's Unity simulator, or donkey-aicc sim-server; docs/unity.md
