import json

from donkey_aicc import cli
from tests.monitor_under_test import add_calibrator, make_bundle


def report(capsys, *arguments):
    code = cli.main(["doctor", "--json", *map(str, arguments)])
    found = json.loads(capsys.readouterr().out)
    return code, found["ready"], {check["name"]: check for check in found["checks"]}


def test_all_well(tmp_path, capsys):
    bundle = make_bundle(tmp_path / "bundle")
    add_calibrator(bundle)
    code, ready, checks = report(capsys, "--bundle", bundle, "--car", tmp_path, "--hz", "0.001")  # slow enough for any machine
    assert (code, ready) == (0, True) and checks["grade at start"]["found"] == "full"
    assert "on torch, grades full" in checks["bundle"]["found"] and "donkey-aicc export" in checks["bundle"]["advice"]


def test_what_is_wrong_is_told_with_what_to_do(tmp_path, capsys):
    bundle = make_bundle(tmp_path / "bundle")
    code, ready, checks = report(capsys, "--bundle", bundle, "--car", tmp_path / "nowhere", "--hz", "100000")
    assert (code, ready) == (1, False)
    assert "donkey-aicc calibrate" in checks["bundle"]["advice"] and "--car" in checks["tub folder"]["advice"]
    assert "DRIVE_LOOP_HZ" in checks["grade at start"]["advice"]


def test_no_bundle(tmp_path, capsys):
    code, ready, checks = report(capsys, "--bundle", tmp_path / "none", "--car", tmp_path)
    assert (code, ready) == (1, False) and "no bundle at" in checks["bundle"]["found"]
