"""Score folders, the choice of tubs, and the command that ties them together."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.calibrating import fit_calibrator
from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.input_checks import as_protocol, check_drives, protocol_paths
from donkey_aicc.evaluation.report import load_scores, save_scores
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.tubs.drive import make_drive
from tests.evaluation.conftest import HORIZONS


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "small"
    manifest = Manifest(list(HORIZONS), {"mean": [0.0, 0.0], "std": [1.0, 1.0]}, context=10, tau=0.1)
    save_bundle(folder, Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))), manifest)
    return Bundle.load(folder)


def drive(number, length=30, protocol="", safe=None):
    rng = np.random.default_rng(number)
    images = rng.integers(0, 256, (length, 64, 64, 3), dtype=np.uint8)
    labels = (np.arange(length) % 2).astype(float) if safe is None else np.full(length, safe)
    return make_drive(f"tub{number}", "s", images, rng.uniform(-1, 1, (length, 2)), safe=labels, protocol=protocol)


def test_scores_come_back_and_another_bundles_are_refused(tables, tmp_path):
    save_scores(tmp_path, "abc", calibration=tables.calibration, augmented=tables.augmented, test=tables.test, ood=tables.ood)
    loaded = load_scores(tmp_path, "abc")
    assert loaded.marked and set(loaded.ood) == {"dark", "bias"}
    assert np.array_equal(loaded.test.p_tta, tables.test.p_tta)
    with pytest.raises(AiccError, match="mixed bundles"):
        load_scores(tmp_path, "other")
    (tmp_path / "scores.json").unlink()
    assert not load_scores(tmp_path, "other").marked
    (tmp_path / "test.npz").unlink()
    with pytest.raises(AiccError, match="lacks test.npz"):
        load_scores(tmp_path)


def test_ood_words_name_a_protocol_and_its_tubs():
    assert protocol_paths(["n"], ["dark=a", "dark=b", "fog=c"]) == {"dark": ["a", "b"], "fog": ["c"]}
    with pytest.raises(ConfigError, match="NAME=TUB"):
        protocol_paths(["n"], ["dark"])
    with pytest.raises(ConfigError, match="nominal is not one"):
        protocol_paths(["n"], ["nominal=a"])
    with pytest.raises(ConfigError, match="--nominal"):
        protocol_paths(None, ["dark=a"])


def test_tubs_without_a_protocol_count_as_driven_under_the_one_named():
    assert set(as_protocol([drive(0)], "dark")[0].protocol) == {"dark"}
    with pytest.raises(AiccError, match="driven under blur, not under dark"):
        as_protocol([drive(0, protocol="blur")], "dark")


def test_wrong_drives_are_refused_before_scoring():
    nominal, odd = [drive(number) for number in range(4)], drive(9, protocol="dark")
    good = {
        "nominal": nominal,
        "calibration": nominal[:2],
        "test": nominal[2:],
        "ood": {"dark": [odd]},
        "context": 10,
        "horizons": (1, 5, 10),
        "seeds": 2,
        "folds": 5,
        "seed": 0,
    }
    assert "2 folds instead of 5" in check_drives(**good)[0]
    copy = replace(nominal[0], id="renamed", tub="renamed", protocol=np.full(30, "dark"))
    with pytest.raises(AiccError, match="OOD dark contains 1 nominal drives"):
        check_drives(**good | {"ood": {"dark": [odd, copy]}})
    with pytest.raises(AiccError, match="nominal test split must hold safe and unsafe frames at horizon 1, got only safe"):
        check_drives(**good | {"test": [drive(5, safe=1.0)]})
    with pytest.raises(AiccError, match="OOD fog contains 1 drives of dark"):
        check_drives(**good | {"ood": {"dark": [odd], "fog": [odd]}})
    early = [replace(nominal[0], safe=np.where(np.arange(30) < 15, 0.0, 1.0)), replace(nominal[1], safe=np.ones(30))]
    with pytest.raises(AiccError, match="calibration split must hold safe and unsafe frames at horizon 10, got only safe"):
        check_drives(**good | {"calibration": early})
    halves = [replace(nominal[0], safe=np.zeros(30)), replace(nominal[1], safe=np.ones(30))]
    check_drives(**good | {"calibration": halves})
    with pytest.raises(AiccError, match="at least 2 calibration sequences"):
        check_drives(**good | {"calibration": nominal[:1]})
    with pytest.raises(AiccError, match="after the first 30 frames"):
        check_drives(**good | {"context": 30})


def test_command_writes_a_report_from_a_score_folder(bundle, tables, tmp_path, capsys):
    arguments = [
        "evaluate",
        "--bundle",
        str(bundle.path),
        "--scores-dir",
        str(tmp_path / "scores"),
        "--out",
        str(tmp_path / "report"),
    ]
    bundle.calibrator_path.unlink(missing_ok=True)
    assert main(arguments) == 2 and "has no calibrator" in capsys.readouterr().err
    save_calibrator(bundle, fit_calibrator(tables.calibration, tables.augmented, "tta_rho_delta")[0], {}, tables.calibration)
    assert main(arguments) == 2 and "no folder with score tables" in capsys.readouterr().err
    ood = {"dark": tables.ood["dark"]}
    save_scores(
        tmp_path / "scores",
        bundle.manifest.fingerprint,
        calibration=tables.calibration,
        augmented=tables.augmented,
        test=tables.test,
        ood=ood,
    )
    assert main([*arguments, "--seeds", "1", "--draws", "20"]) == 0
    assert "report:" in capsys.readouterr().out
    assert (tmp_path / "report" / "index.html").is_file() and (tmp_path / "report" / "results.json").is_file()
    assert main([*arguments, "--ood", "dark=x"]) == 2 and "--scores-dir replaces" in capsys.readouterr().err
