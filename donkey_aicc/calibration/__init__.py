"""Score table -> confidence: one file per calibrator, one interface (`base.Calibrator`)."""
