"""donkey-aicc info: what is in a bundle. Reads the manifest and the calibrator's JSON: it answers at once and without torch."""

import argparse
import json
from pathlib import Path

from donkey_aicc.car.bundles import bundle_path, homes_of, known_bundle
from donkey_aicc.errors import DAMAGE, AiccError, printable
from donkey_aicc.nets.manifest import CALIBRATOR, MANIFEST, Manifest
from donkey_aicc.nets.signature import fingerprint, for_people


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "bundle",
        metavar="BUNDLE",
        nargs="?",
        help="folder of a bundle, such as models/mine, or a shipped name, such as reference; without: the installed plugins",
    )
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")


def run(args: argparse.Namespace) -> int:
    if args.bundle is None:
        from donkey_aicc.plugins import GROUP, load_plugins

        found = [f"  {name:<20} {what}" for name, what in load_plugins().items()]
        print(printable("\n".join([f"plugins ({GROUP}):", *(found or ["  none installed"])])))
        return 0
    manifest = known_bundle(args.bundle)
    print(json.dumps(manifest.to_json(), indent=2) if args.json else describe(bundle_path(args.bundle), manifest))
    return 0


def describe(path: Path, manifest: Manifest) -> str:
    """The manifest for a person, line by line."""
    try:
        return printable("\n".join(_lines(path, manifest)))
    except DAMAGE as error:
        raise AiccError(f"{path / MANIFEST} holds an entry of a wrong kind ({error}); copy the bundle again") from error


def _lines(path: Path, manifest: Manifest) -> list[str]:
    frames = manifest.data.get("frames", {})
    lines = [
        f"bundle {path} (schema {manifest.schema_version}, donkey_aicc {manifest.package_version})",
        f"  trained   preset {manifest.preset or 'unknown'}, seed {manifest.seeds.get('training', 'unknown')}"
        + (f", changed: {_pairs(manifest.overrides)}" if manifest.overrides else ""),
        f"  frames    {_pairs(frames) if frames else 'unknown'}",
        f"  data      {_data(manifest)}",
        f"  fingerprint {_fingerprint(path)}",
        f"  horizons  {', '.join(map(str, manifest.horizons))} frames ahead{_in_seconds(manifest)}; context {manifest.context}",
        f"  safe      {_rule(manifest)}",
        *([f"  predictor its owner's, {manifest.own.get('name')}: it runs where that is registered"] if manifest.own else []),
        f"  departure {_lane_rule(manifest)}",
        *_metric_lines(manifest),
        *_gate_lines(manifest),
        f"  weights   {', '.join(_weights(manifest))}",
        *_calibrator_lines(path / CALIBRATOR),
    ]
    return lines + [f"  warning: {warning}" for warning in manifest.warnings]


def _in_seconds(manifest: Manifest) -> str:
    rate_hz = manifest.data.get("rate_hz")
    if not rate_hz:
        return ""
    first, last = (each / rate_hz for each in (manifest.horizons[0], manifest.horizons[-1]))
    return f" ({first:.2g} to {last:.2g} s at {rate_hz:.3g} Hz)"


def _fingerprint(path: Path) -> str:
    try:
        return for_people(fingerprint(path))
    except AiccError:
        return "none: its calibrator cannot be read"


def _weights(manifest: Manifest) -> list[str]:
    return [f"{name} {entry['bytes'] / 1e6:.1f} MB {entry.get('dtype')}" for name, entry in manifest.files.items()]


def _data(manifest: Manifest) -> str:
    """The tubs and labels behind the weights."""
    tubs = manifest.data.get("tubs", [])
    named = ", ".join(tubs[:3]) + (f" and {len(tubs) - 3} more" if len(tubs) > 3 else "") if tubs else "tubs unknown"
    labels = manifest.data.get("labels") or manifest.data.get("label_source", "unknown")
    file = manifest.data.get("label_file", {})
    labels += f" ({file['name']}, sha256 {file['sha256'][:12]})" if file else ""
    homes = homes_of(manifest)
    where = f"{' and '.join(homes)}: " if homes else ""
    return f"{where}{named}; labels {labels}; split {manifest.data.get('split', {}).get('mode', 'session')}"


def _rule(manifest: Manifest) -> str:
    if not manifest.has_predictor:
        return "never judged: trained without labels, so rho, delta and the alarm only; no p_safe, no confidence"
    if manifest.tau is None:
        return "by the given labels (no cte threshold)"
    centre = f" - {manifest.cte_centre:g}" if manifest.cte_centre else ""
    return f"|cte{centre}| <= {manifest.tau:.4g}"


def _lane_rule(manifest: Manifest) -> str:
    if manifest.lane_half_width is None:
        return "by marks, takeovers or off-track labels (no lane half width recorded)"
    return f"|cte| > {manifest.lane_half_width:.4g}"


def _metric_lines(manifest: Manifest) -> list[str]:
    lines = []
    for side in ("validation", "test"):
        figures = manifest.metrics.get(side)
        if not figures:
            continue
        areas = {k: area for k, area in figures.get("auroc", {}).items() if area is not None}
        shown = ", ".join(f"k={k} {areas[k]:.3f}" for k in ("1", "5", "15", "30", "50") if k in areas)
        predicted = f"safety AUROC {shown or 'undefined (one class only)'}" if manifest.has_predictor else "no safety predictor"
        lines.append(f"  {side:<10} VAE MSE {figures['vae_mse']:.5f}; {predicted}")
    return lines


def _gate_lines(manifest: Manifest) -> list[str]:
    if not manifest.gate:
        return ["  dynamics  gate never measured: delta's rollout features are flagged"]
    verdict = "passed" if manifest.gate_passed else f"FAILED: {manifest.gate.get('reason')}; delta's rollout features are flagged"
    lines = [f"  dynamics  gate {verdict}"]
    for k, errors in manifest.gate.get("latent_mse", {}).items():
        guesses = f"copy last {errors['copy_last']:.4f}, mean {errors['mean']:.4f}"
        lines.append(f"            k={k:<3} latent MSE {errors['rollout']:.4f} ({guesses})")
    return lines


def _calibrator_lines(file: Path) -> list[str]:
    """The grades it was fitted for, and what its alarm promises."""
    if not file.is_file():
        return ["  calibrator none yet; make one with: donkey-aicc calibrate"]
    try:
        stored = json.loads(file.read_text())
        lines = [f"  calibrator for the grades {', '.join(stored['grades'])}"]
        return lines + [f"  {line}" for line in stored["about"].get("alarm", [])]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ["  calibrator cannot be read; make it again with: donkey-aicc calibrate"]


def _pairs(values: dict) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
