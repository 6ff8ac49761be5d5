"""Defaults of this car: donkeycar's own, then what differs. Put your changes into myconfig.py, not here."""

import os

from donkeycar.templates.cfg_complete import *  # noqa: F403

# donkeycar's file computed these for its own folder.
CAR_PATH = PACKAGE_PATH = os.path.dirname(os.path.realpath(__file__))
DATA_PATH = os.path.join(CAR_PATH, "data")
MODELS_PATH = os.path.join(CAR_PATH, "models")

AICC_SIM = True  # the embedded simulator is camera and drivetrain until you say otherwise
AICC_BUNDLE = "reference"  # the monitor that is shipped, trained in that simulator; a real car needs one of its own
USE_JOYSTICK_AS_DEFAULT = False  # drive from the web page; `--js` or True for a game controller
RECORD_DURING_AI = True  # what the pilot does is what we want to learn about
AUTO_CREATE_NEW_TUB = True  # each drive gets a folder of its own below data/
