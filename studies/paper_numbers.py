"""The paper's own results (physical car), to stand beside ours in the study's reports. Sections V-B and the appendix.

Calibration error: mean over 5 splits, top label, horizon average. Runtime: milliseconds on the paper's GPU, cold start.
"""

from donkey_aicc.evaluation.tables import Published

_ORDER = ("dark", "blur", "bias", "latency", "mean")


def _row(*values: float) -> dict[str, float]:
    return dict(zip(_ORDER, values, strict=True))


PAPER_ECE: dict[str, dict[str, float]] = {
    "none": _row(0.365, 0.221, 0.251, 0.259, 0.274),
    "temperature": _row(0.305, 0.166, 0.194, 0.206, 0.218),
    "platt": _row(0.311, 0.172, 0.192, 0.205, 0.220),
    "isotonic": _row(0.332, 0.189, 0.202, 0.208, 0.233),
    "histogram": _row(0.345, 0.207, 0.225, 0.238, 0.254),
    "dac": _row(0.266, 0.136, 0.152, 0.181, 0.184),
    "shrinkage": _row(0.261, 0.126, 0.143, 0.166, 0.174),
    "no_tta": _row(0.195, 0.109, 0.104, 0.160, 0.142),
    "tta": _row(0.253, 0.114, 0.121, 0.162, 0.162),
    "tta_delta": _row(0.225, 0.110, 0.097, 0.159, 0.148),
    "tta_rho": _row(0.162, 0.094, 0.078, 0.128, 0.116),
    "tta_rho_delta": _row(0.165, 0.098, 0.076, 0.127, 0.116),
}
PAPER_NOMINAL_ECE = {"tta_rho_delta": 0.121}

PAPER_OOD_AUROC: dict[str, dict[str, float]] = {
    "msp": _row(0.534, 0.538, 0.537, 0.557, 0.542),
    "entropy": _row(0.542, 0.538, 0.536, 0.554, 0.543),
    "mc_dropout": _row(0.461, 0.453, 0.490, 0.535, 0.485),
    "feature_norm": _row(0.648, 0.689, 0.562, 0.732, 0.658),
    "rho": _row(0.899, 0.798, 0.813, 0.809, 0.830),
    "delta": _row(0.608, 0.516, 0.669, 0.558, 0.588),
    "rho_delta": _row(0.897, 0.785, 0.843, 0.810, 0.834),
}

PAPER_BASE_AUROC: dict[str, dict[str, float]] = {
    "nominal": {"5": 0.986, "15": 0.966, "30": 0.898, "50": 0.897, "mean": 0.944},
    "dark": {"5": 0.834, "15": 0.797, "30": 0.612, "50": 0.547, "mean": 0.676},
    "blur": {"5": 0.936, "15": 0.867, "30": 0.712, "50": 0.682, "mean": 0.774},
    "bias": {"5": 0.892, "15": 0.808, "30": 0.723, "50": 0.710, "mean": 0.763},
    "latency": {"5": 0.871, "15": 0.822, "30": 0.689, "50": 0.705, "mean": 0.756},
}

PAPER_DATA: dict[str, dict[str, float]] = {
    "nominal": {"safe_percent": 52.5, "frames": 890},
    "dark": {"sequences": 7, "frames": 4858, "safe_percent": 63.4},
    "blur": {"sequences": 8, "frames": 4703, "safe_percent": 70.7},
    "bias": {"sequences": 17, "frames": 10117, "safe_percent": 47.6},
    "latency": {"sequences": 5, "frames": 2575, "safe_percent": 42.6},
}

PAPER_SAFE_SHARES = {name: row["safe_percent"] / 100.0 for name, row in PAPER_DATA.items() if name != "nominal"}

# Error of the aggregated reliability diagram, as a share.
PAPER_RELIABILITY_ERROR = {"none": 0.270, "tta_rho_delta": 0.112}

# p-values of ours against each; the paper states "< 1e-4" for the first four.
PAPER_WILCOXON = {"temperature": "< 1e-4", "dac": "< 1e-4", "tta": "< 1e-4", "tta_delta": "< 1e-4", "tta_rho": "0.66"}

PAPER_RUNTIME_MS: dict[str, float] = {
    "vae_encode_context": 2.7,
    "vae_decode": 2.2,
    "dynamics_deterministic": 173.7,
    "dynamics_dropout": 279.4,
    "predictor": 1.5,
    "tta": 14.4,
    "rho": 52.4,
    "delta": 0.01,
    "calibrate_temperature": 0.01,
    "calibrate_ours": 0.01,
    "calibrate_dac": 19.5,
    "cold_start_base": 180.0,
    "cold_start_tta": 192.9,
    "cold_start_full": 524.7,
    "streaming_control_path": 15.0,
    "streaming_scoring": 33.0,
}

PAPER = Published(
    label="paper",
    ece=PAPER_ECE,
    nominal_ece=PAPER_NOMINAL_ECE,
    ood_auroc=PAPER_OOD_AUROC,
    base_auroc=PAPER_BASE_AUROC,
    data=PAPER_DATA,
    reliability_error=PAPER_RELIABILITY_ERROR,
    wilcoxon=PAPER_WILCOXON,
    runtime_ms=PAPER_RUNTIME_MS,
)
