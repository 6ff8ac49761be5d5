"""Sizes of the nets, for code that runs without torch."""

IMAGE_SIDE = 64
LATENT_CHANNELS = 64
LATENT_SIDE = 4
LATENT_SHAPE = (LATENT_CHANNELS, LATENT_SIDE, LATENT_SIDE)
POSITIONS = LATENT_SIDE * LATENT_SIDE  # of the latent map, row by row

HIDDEN = 128  # channels of each ConvLSTM layer
LAYERS = 2
GATES = 4
ACTION_CHANNELS = 32
RECURRENT_DROPOUT = 0.15
BETWEEN_DROPOUT = 0.3

FEATURE_SIZE = 128  # of the safety predictor
