"""The reference experiment: record, train, score, calibrate, evaluate; one command, resumable by stage."""
