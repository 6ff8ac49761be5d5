"""A car with a key drives only with what its owner signed, as it was signed."""

import json
import stat

import pytest

from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.signature import check_signature, fingerprint, for_people, new_key, sign
from tests.monitor_under_test import add_calibrator, make_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = make_bundle(tmp_path_factory.mktemp("signed") / "bundle")
    add_calibrator(folder)
    return folder


def test_signed_checked_and_refused_after_any_change(bundle, tmp_path):
    public = new_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(AiccError, match="is not signed, and this car has AICC_TRUSTED_KEY"):
        check_signature(bundle, public)
    assert sign(bundle, tmp_path / "key") == public
    check_signature(bundle, public)
    other = new_key(tmp_path / "other")
    with pytest.raises(AiccError, match="by another key"):
        check_signature(bundle, other)
    forged = json.loads((bundle / "signature.json").read_text()) | {"key": other}
    (bundle / "signature.json").write_text(json.dumps(forged))
    with pytest.raises(AiccError, match="does not fit the bundle as it is now"):
        check_signature(bundle, other)
    sign(bundle, tmp_path / "key")
    calibrator = bundle / "calibrator.json"
    good = calibrator.read_text()
    calibrator.write_text(json.dumps(json.loads(good) | {"meaning": "0" * 64}))
    with pytest.raises(AiccError, match="was changed; sign again"):
        check_signature(bundle, public)
    calibrator.write_text(good)
    check_signature(bundle, public)


def test_a_key_is_never_replaced_and_a_wrong_one_is_named(bundle, tmp_path):
    new_key(tmp_path / "key")
    with pytest.raises(AiccError, match="a key is never replaced"):
        new_key(tmp_path / "key")
    (tmp_path / "bad").write_text("abc")
    with pytest.raises(AiccError, match="must be a key of 64 hex digits"):
        sign(bundle, tmp_path / "bad")
    with pytest.raises(AiccError, match="AICC_TRUSTED_KEY must be a key"):
        check_signature(bundle, "ff")


def test_command_and_info_show_one_fingerprint(bundle, tmp_path, capsys):
    assert main(["sign", str(bundle), "--new-key", str(tmp_path / "key")]) == 0
    said = capsys.readouterr().out
    assert "AICC_TRUSTED_KEY = '" in said and for_people(fingerprint(bundle)) in said
    assert main(["info", str(bundle)]) == 0
    assert for_people(fingerprint(bundle)) in capsys.readouterr().out
    assert main(["sign", str(bundle)]) == 2
    assert "needs a BUNDLE and --key" in capsys.readouterr().err
