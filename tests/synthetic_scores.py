"""Score tables drawn from a known model, so that tests can ask whether a fit finds it again."""

import numpy as np

from donkey_aicc.scoring.score_table import HORIZONS, ScoreTable


def synthetic_table(
    rng: np.random.Generator,
    sequences: int = 8,
    length: int = 200,
    horizons: tuple[int, ...] = HORIZONS,
    temperature: float = 2.0,
    shift: float = 0.0,
    weights: tuple[float, float] = (0.0, 0.0),
    protocol: str = "",
    severity: int = 0,
    warm_up: int = 0,
    cnn_width: int = 16,
    prefix: str = "",
) -> ScoreTable:
    """Labels follow sigmoid(logit(p_tta) / (T exp(w_rho u + w_delta v))), u and v being the row's shifts in [0, 1].

    A row with shift u has rho_raw 2 sigma * u above its mean, so a statistics fit on unshifted rows recovers u.
    """
    rows, count = sequences * length, len(horizons)
    names = np.repeat([f"{prefix}{protocol or 'nominal'}{number:03d}" for number in range(sequences)], length)
    amount = rng.uniform(0.0, shift, size=(rows, 2)) if shift else np.zeros((rows, 2))
    logits = rng.normal(0.5, 3.0, size=(rows, count))
    truth = 1 / (1 + np.exp(-logits / (temperature * np.exp(amount @ np.array(weights)))[:, None]))
    labels = (rng.random((rows, count)) < truth).astype(float)
    step = np.tile(np.arange(length), sequences)
    for column, horizon in enumerate(horizons):
        labels[step + horizon >= length, column] = np.nan
    p_tta = 1 / (1 + np.exp(-logits))
    features = rng.normal(size=(rows, 12))
    features[:, 0] += 20.0 * amount[:, 1]
    return ScoreTable(
        horizons=np.array(horizons, dtype=np.int64),
        sequence=names,
        index=np.arange(rows),
        step=step,
        p_safe=1 / (1 + np.exp(-(logits + rng.normal(0, 0.1, logits.shape)))),
        p_tta=p_tta,
        tta_spread=np.abs(rng.normal(0.03, 0.01, size=(rows, count))) * (1 + 2 * amount.max(axis=1, keepdims=True)),
        rho_raw=1e-3 * (1.0 + 0.1 * rng.normal(size=rows) * (not shift) + 0.2 * amount[:, 0]),
        features=features,
        latent=rng.normal(size=(rows, 6)) + 6.0 * amount[:, :1],
        cnn_features=np.maximum(rng.normal(size=(rows, cnn_width)) + 3.0 * amount[:, :1], 0.0).astype(np.float32),
        hindsight=0.1 + 0.05 * rng.normal(size=rows) + 0.4 * amount.max(axis=1),
        mc_dropout=np.abs(rng.normal(0.03, 0.01, size=(rows, count))),
        valid=step >= warm_up,
        labels=labels,
        cte=rng.normal(0.0, 0.1, size=rows),
        protocol=np.full(rows, protocol),
        severity=np.full(rows, severity, dtype=np.int64),
    )
