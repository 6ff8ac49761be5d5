"""Score a folder of pictures with the commands that were sent: python examples/score_pictures.py PICTURES COMMANDS.csv

The pictures are taken in the order of their names; every line of COMMANDS.csv holds steering and throttle of one of them.
"""

import sys

import numpy as np

from donkey_aicc import Bundle, score_pictures

bundle = Bundle.load("reference")  # shipped, for the embedded simulator; give the folder of your own
found = score_pictures(bundle, sys.argv[1], np.loadtxt(sys.argv[2], delimiter=","), grade="light")
column = bundle.horizons.index(20)
for frame in np.flatnonzero(found["valid"]):
    safe, sure = found["p_tta"][frame, column], found["confidence"][frame, column]
    print(f"frame {frame}: p {safe:.2f}, confidence {sure:.2f}, {found['alarm'][frame]} {found['reason'][frame]}")
print(f"{len(found['valid'])} frames, {found['valid'].sum()} with the context that scores look back on")
