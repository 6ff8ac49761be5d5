"""Score table -> confidence: one interface (`base.Calibrator`), calibrators of one kind in one file."""
