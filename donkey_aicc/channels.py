"""Names of the donkeycar memory channels that our parts read and write."""

IMAGE = "cam/image_array"
STEERING = "steering"
THROTTLE = "throttle"
MODE = "user/mode"

POS_X = "pos/pos_x"
POS_Y = "pos/pos_y"
POS_Z = "pos/pos_z"
SPEED = "pos/speed"
CTE = "pos/cte"
ODOMETER_SPEED = "enc/speed"  # donkeycar's, where HAVE_ODOM is True
LOCATION = (POS_X, POS_Y, POS_Z, SPEED, CTE)

P_SAFE = "aicc/p_safe"
P_TTA = "aicc/p_tta"
P_RESTORED = "aicc/p_restored"  # p_tta, with the views of the restored picture where the world model prefers it
RESTORED = "aicc/restored"  # how much of the restored picture counts, 0..1
HINDSIGHT = "aicc/hindsight"  # 0 as usual .. 1: the car does not do what was foreseen
RHO = "aicc/rho"
DELTA = "aicc/delta"
SCORES_AGE_S = "aicc/scores_age_s"
SCORES_VALID = "aicc/scores_valid"
SCORED = "aicc/scored"  # what the scorer found behind the drivetrain; the next tick reads and judges it
SCORES_STATE = "aicc/scores_state"  # the scorer's state in words
SCORES = "aicc/scores"  # every score of the scorer by name
FRAME_SCORES = "aicc/frame_scores"  # scores of the predictor's own pass by name
CONFIDENCE = "aicc/confidence"
CONFIDENCE_MIN = "aicc/confidence_min"
STATUS = "aicc/status"
SIGNS = "aicc/signs"  # what the alarm looks at
HEALTH = "aicc/health"  # ok, waiting: ..., doubtful: ... or blind: ...
HAZARD = "aicc/hazard"  # probability of a departure within each horizon
ALARM = "aicc/alarm"  # none, watch or danger
REASON = "aicc/reason"  # of the alarm, for a person
STAYS = "aicc/stays"  # probability that it stays in its lane within each horizon
STATE = "aicc/state"  # All well, Careful, Danger or Monitor blind
ADVICE = "aicc/advice"  # what a held car waits for
GRADE = "aicc/grade"  # of the scores: full, half or light
ACTION = "aicc/action"

FRAME = "aicc/frame"  # this tick's SeenFrame, for the monitor's parts
MODEL_IMAGE = "aicc/model_image"  # its picture of 64 x 64 pixels, None if it cannot be used
CLEAN_IMAGE = "aicc/clean_image"
INJECT_PROTOCOL = "aicc/inject_protocol"
INJECT_SEVERITY = "aicc/inject_severity"
INJECT_EPISODE = "aicc/inject_episode"

LAP = "aicc/lap"  # number of the lap being driven, from 1 (embedded simulator)
HIT = "aicc/hit"  # the car has hit the wall in this tick (embedded simulator)
UNSAFE_MARK = "aicc/unsafe_mark"
