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

# ---- A real car (set AICC_SIM = False); all of donkeycar's keys work as usual -------------------------------------
# CAMERA_TYPE = "PICAM"          # PICAM, WEBCAM, CVCAM, CSIC, V4L, D435, OAKD, MOCK, ...
# DRIVE_TRAIN_TYPE = "PWM_STEERING_THROTTLE"
# IMAGE_W = 160
# IMAGE_H = 120
# DRIVE_LOOP_HZ = 20
# WEB_CONTROL_PORT = 8887
# DONKEY_GYM = False             # True: donkeycar's Unity simulator
