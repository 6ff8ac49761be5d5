"""Labels by looking: a person answers some dozens of frames, a quick classifier says the rest where it is sure."""
