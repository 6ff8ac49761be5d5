"""Numbers on studies/log.md are those of the shipped bundle's manifest."""

import json
from pathlib import Path

from studies.paper_numbers import PAPER_BASE_AUROC

ROOT = Path(__file__).resolve().parents[2]


def table_row(label: str) -> list[str]:
    page = (ROOT / "studies" / "log.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_nominal_gate_shows_the_manifest_of_the_shipped_bundle():
    manifest = json.loads((ROOT / "models" / "reference" / "manifest.json").read_text(encoding="utf-8"))
    test, gate = manifest["metrics"]["test"], manifest["gate"]["latent_mse"]
    for label, horizon in (("safety AUROC k = 5", "5"), ("k = 15", "15"), ("k = 30", "30"), ("k = 50", "50")):
        assert table_row(label) == [f"{test['auroc'][horizon]:.3f}", f"{PAPER_BASE_AUROC['nominal'][horizon]:.3f}"]
    assert table_row("VAE per-pixel MSE")[0] == f"{test['vae_mse']:.5f}"
    rows = {
        "rollout latent MSE at k = 1 / 10 / 25 / 50": "rollout",
        "copying the last frame": "copy_last",
        "predicting the mean": "mean",
    }
    for label, name in rows.items():
        assert table_row(label)[0] == " / ".join(f"{gate[k][name]:.3f}" for k in ("1", "10", "25", "50"))
    minutes = round(manifest["data"]["wall_s"] / 60)
    assert f"Training took {minutes} minutes" in (ROOT / "studies" / "log.md").read_text(encoding="utf-8")
