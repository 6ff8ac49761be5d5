"""The whole training: sequences -> split -> VAE -> latents -> dynamics, safety CNN -> measured bundle."""

import hashlib
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from donkey_aicc import __version__
from donkey_aicc.errors import AiccError
from donkey_aicc.files import only_one
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import CONTEXT, HISTORY, NO_PREDICTOR, SINGLE, Manifest
from donkey_aicc.nets.preprocess import LAGS, NO_HISTORY, ActionStats
from donkey_aicc.nets.trained_nets import Nets, load_nets, save_bundle
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.training.distributed import Workers, choose_device, workers
from donkey_aicc.training.exact_resume import saving_on_interrupt
from donkey_aicc.training.presets import Preset
from donkey_aicc.training.stages import Sides, Stages
from donkey_aicc.training.trainer import TrainingRun
from donkey_aicc.training.warnings_and_pictures import Curves, calibration_warnings, data_warnings, require_labels
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.near_duplicates import Dropped
from donkey_aicc.tubs.split_units import AUTO, BLOCK, GUARD_S, SplitMethod, choose_method
from donkey_aicc.tubs.splits import Split, carve_validation, describe_split, split_record, split_sequences


@dataclass(frozen=True)
class Plan:
    """What to train and with what."""

    preset: Preset
    out: Path
    overrides: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    resume: bool = False
    tau: float | None = None
    cte_centre: float = 0.0
    lane_half_width: float | None = None
    horizons: tuple[int, ...] = HORIZONS
    predictor: str = SINGLE  # HISTORY: several frames and their steering; NO_PREDICTOR: world model only, no labels needed
    start: Path | None = None  # bundle whose world model is trained further; the predictor always starts anew
    split_mode: str = AUTO
    guard_s: float = GUARD_S
    data: dict[str, Any] = field(default_factory=dict)  # goes into the manifest: tubs, label source, ...

    @property
    def lags(self) -> tuple[int, ...]:
        return LAGS if self.predictor == HISTORY else NO_HISTORY

    @property
    def work(self) -> Path:
        """Checkpoints, curves and pictures stand beside the bundle."""
        return self.out.with_name(self.out.name + ".training")


def train_bundle(sequences: Sequence[Drive], plan: Plan, split: Split | None = None) -> Manifest:
    """Train and write the bundle at plan.out; the split is made from the seed unless given.

    Under torchrun every process calls this; the first one writes the files.
    """
    started_s, device = time.monotonic(), choose_device(plan.device)
    clean, notes = _nominal_only(sequences)
    split, train, validation, dropped = _split(clean, plan, split)
    how = describe_split(split.method, dropped, sum(len(sequence) for sequence in clean))
    if plan.predictor != NO_PREDICTOR:
        require_labels(train)
    ahead = 0 if plan.predictor == NO_PREDICTOR else max(plan.horizons)
    notes += data_warnings(train) + calibration_warnings(split.calibration, CONTEXT + ahead)
    with workers(device) as team, saving_on_interrupt(), only_one(plan.work, "training") if team.is_main else nullcontext():
        if team.is_main:
            print(how, flush=True)
            _say(notes)
            _prepare(plan)
        team.wait()
        sides = Sides(train, validation, split.calibration, split.test)
        plan.data["split"] = split_record(sides.named(), split.method, dropped)
        manifest = _train(sides, plan, device, team, notes, started_s)
        team.wait()
    return manifest


def _split(clean: list[Drive], plan: Plan, given: Split | None) -> tuple[Split, list[Drive], list[Drive], Dropped]:
    """The split, and validation out of its training share: the first that can be trained on and calibrated with.

    Where none can be calibrated with, the first that can be trained on; calibration_warnings says it.
    """
    needed, failed, trainable = plan.preset.dynamics.context + plan.preset.dynamics.target, [], None
    for method in _methods(clean, plan) if given is None else [given.method]:
        try:
            split = given or split_sequences(clean, plan.seed, method=method)
            train, validation, dropped = carve_validation(split.train, plan.seed, method=method)
        except AiccError as error:
            failed.append(str(error))
            continue
        longest = {name: max(map(len, side), default=0) for name, side in (("training", train), ("validation", validation))}
        side = min(longest, key=lambda name: longest[name])
        if longest[side] < needed:
            failed.append(
                f"split {method.mode}: the longest {side} sequence has {longest[side]} frames, the dynamics need {needed}"
            )
            continue
        found = split, train, validation, dropped + split.dropped
        if not calibration_warnings(split.calibration, CONTEXT):
            return found
        trainable = trainable or found
    if trainable is not None:
        return trainable
    advice = "record longer drives" if plan.split_mode in (AUTO, BLOCK) else "long drives can be cut: --split block"
    raise AiccError(f"{'; '.join(dict.fromkeys(failed))}; {advice}")


def _methods(clean: list[Drive], plan: Plan) -> list[SplitMethod]:
    """The strictest first. Whole laps come before blocks that cut through them, of which a short recording has more."""
    chosen = [choose_method(clean, plan.split_mode, plan.guard_s, CONTEXT)]
    if plan.split_mode == AUTO and chosen[0].mode != BLOCK:
        chosen.append(choose_method(clean, BLOCK, plan.guard_s, CONTEXT))
    return chosen + [replace(method, lap=0) for method in chosen if method.lap]


def _train(sides: Sides, plan: Plan, device: torch.device, team: Workers, notes: list[str], started_s: float) -> Manifest:
    stats = ActionStats.fit(np.concatenate([sequence.actions for sequence in sides.train]))
    settings = plan.preset.to_json()
    start = None if plan.start is None else Bundle.load(plan.start)
    if start is not None:
        plan.data["start"] = {name: start.manifest.files[name]["sha256"] for name in ("vae.safetensors", "dynamics.safetensors")}
    curves = Curves(plan.work, {stage: values["epochs"] for stage, values in settings.items()})
    fingerprint = data_fingerprint(sides.all())
    run = TrainingRun(
        work=plan.work,
        seed=plan.seed,
        device=device,
        workers=team,
        resume=plan.resume,
        made_with={"data": fingerprint, "seed": plan.seed, "package": __version__, "horizons": list(plan.horizons)}
        | ({"start": plan.data["start"]} if start is not None else {}),
        after_epoch=curves.record,
    )
    stages = Stages(sides, plan.preset, plan.horizons, stats, run, None if start is None else load_nets(start))
    stages.train_vae()
    stages.train_dynamics(CONTEXT)
    if plan.predictor != NO_PREDICTOR:
        stages.train_safety(plan.lags)
    manifest = Manifest(
        horizons=list(plan.horizons),
        action_stats=stats.to_json(),
        context=CONTEXT,
        tau=plan.tau,
        cte_centre=plan.cte_centre,
        lane_half_width=plan.lane_half_width,
        predictor=plan.predictor,
        lags=list(plan.lags),
        preset=plan.preset.name,
        settings=settings,
        overrides=plan.overrides,
        seeds={"split": plan.seed, "training": plan.seed},
        data={**plan.data, "fingerprint": fingerprint, "frames": sides.frame_counts()},
        split=sides.ids(),
    )
    if not team.is_main:
        return manifest
    measured = stages.measure(CONTEXT)
    warnings = [*notes, *stages.warnings]
    if not measured.gate["passed"]:
        warnings.append(f"the dynamics gate failed: {measured.gate['reason']}; delta's rollout features are flagged")
    _say(warnings[len(notes) :])
    complete = replace(manifest, metrics=measured.metrics, gate=measured.gate, precision=stages.precision, warnings=warnings)
    curves.draw()
    stages.draw(CONTEXT)
    complete.data["wall_s"] = round(time.monotonic() - started_s)  # after --resume: of the last stretch only
    return save_bundle(plan.out, Nets(stages.vae, stages.dynamics, stages.safety), complete)


def _prepare(plan: Plan) -> None:
    """Without --resume old checkpoints are of no use, and dangerous to a later --resume."""
    plan.work.mkdir(parents=True, exist_ok=True)
    found = sorted(plan.work.glob("*.checkpoint.safetensors"))
    if plan.resume and not found:
        print(f"nothing to resume in {plan.work}: starting from the beginning", file=sys.stderr)
    if not plan.resume:
        for path in found:
            path.unlink()


def _nominal_only(sequences: Sequence[Drive]) -> tuple[list[Drive], list[str]]:
    """Drives with an injected anomaly are for evaluation; a net trained on them would find them normal."""
    clean = [sequence for sequence in sequences if not np.any(sequence.protocol != "")]
    if not clean:
        raise AiccError(f"none of the {len(sequences)} sequences is nominal (free of injected anomalies); record clean drives")
    dropped = len(sequences) - len(clean)
    return clean, [f"left out {dropped} sequences with injected anomalies"] if dropped else []


def data_fingerprint(sequences: Sequence[Drive]) -> str:
    """Hex digest of content and labels, independent of order and of where the tubs are."""
    digest = hashlib.sha256()
    for sequence in sorted(sequences, key=lambda one: one.id):
        digest.update(sequence.id.encode() + sequence.content_hash.encode())
        digest.update(np.ascontiguousarray(sequence.safe, dtype=np.float32).tobytes())
        if (sequence.certainty < 1).any():
            digest.update(np.ascontiguousarray(sequence.certainty, dtype=np.float32).tobytes())
    return digest.hexdigest()


def _say(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"warning: {note}", file=sys.stderr, flush=True)
