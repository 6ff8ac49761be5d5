"""The quick classifier: kernel logistic regression on the answered frames, refitted every few answers.

Far from every answered frame the kernel vanishes and only the classes' shares are left: such a frame is not sure.
"""

from typing import Any

import numpy as np

REACH = 0.7  # width of the kernel, in typical distances between two frames
STRENGTH = 100.0  # how far single answers are followed
MOST_ANCHORS = 600  # answered frames that span the kernel
RIDGE = 1e-6
ROWS = 4096


class QuickClassifier:
    """Probabilities of classes 0..C-1 for rows of features."""

    def __init__(self, features: np.ndarray, classes: np.ndarray, count: int) -> None:
        """features: (n, D) of the answered frames; classes: (n,) int, two of them at least; count: C."""
        from sklearn.linear_model import LogisticRegression

        picked = np.linspace(0, len(features) - 1, min(len(features), MOST_ANCHORS)).astype(int)
        self._anchors = np.asarray(features[picked], dtype=np.float64)
        self._squared = np.square(self._anchors).sum(axis=1)
        self._width = REACH * typical_distance(features)
        self._count = count
        values, vectors = np.linalg.eigh(self._kernel(self._anchors) + RIDGE * np.eye(len(picked)))
        self._root = vectors / np.sqrt(np.maximum(values, RIDGE))
        self._regression: Any = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3)
        self._regression.fit(self._kernel(np.asarray(features, dtype=np.float64)) @ self._root, classes)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """(N, C) float64."""
        found = np.zeros((len(features), self._count))
        for at in range(0, len(features), ROWS):
            rows = self._kernel(np.asarray(features[at : at + ROWS], dtype=np.float64)) @ self._root
            found[at : at + ROWS, self._regression.classes_] = self._regression.predict_proba(rows)
        return found

    def _kernel(self, rows: np.ndarray) -> np.ndarray:
        squared = np.square(rows).sum(axis=1)[:, None] + self._squared - 2.0 * rows @ self._anchors.T
        return np.asarray(np.exp(-np.maximum(squared, 0.0) / (2.0 * self._width**2)))


def typical_distance(features: np.ndarray) -> float:
    """Root mean square distance between two rows."""
    return max(float(np.sqrt(2.0 * np.var(np.asarray(features, dtype=np.float64), axis=0).sum())), 1e-9)
