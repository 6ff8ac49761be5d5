"""One fingerprint of a bundle that two owners can compare, and a signature over it by an owner's own key (Ed25519, PyNaCl).

A hash in a file says that the file is whole, not who wrote it: whoever changes a number can make the hash again. A car that has a
key (AICC_TRUSTED_KEY) drives only with bundles that its owner signed.
"""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.nets.manifest import CALIBRATOR, read_manifest
from donkey_aicc.untrusted import read_bounded, read_untrusted_json

if TYPE_CHECKING:
    from nacl.signing import SigningKey

SIGNATURE = "signature.json"
_KEY_BYTES = 32


def fingerprint(folder: Path) -> str:
    """64 hex digits over all that changes what the bundle says: weights, manifest, calibrator."""
    calibrator = folder / CALIBRATOR
    meaning = str(_table(calibrator).get("meaning")) if calibrator.is_file() else "no calibrator"
    return hashlib.sha256(f"{read_manifest(folder).fingerprint}:{meaning}".encode()).hexdigest()


def for_people(digits: str) -> str:
    """Its first half in groups, to be read aloud."""
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def new_key(path: Path) -> str:
    """Write a secret key that only its owner can read; returns the public one. A key that stands is never replaced."""
    if path.exists():
        raise AiccError(f"{path} exists; a key is never replaced: what was signed with it could not be checked any more")
    key = _nacl().SigningKey.generate()
    write_atomic(path, bytes(key).hex() + "\n")
    os.chmod(path, 0o600)
    return bytes(key.verify_key).hex()


def sign(folder: Path, key_file: Path) -> str:
    """Put signature.json into the bundle; returns the public key."""
    from donkey_aicc.nets.bundle import Bundle

    Bundle.load(folder)  # a signature stands for files that are whole
    key: SigningKey = _nacl().SigningKey(_hex(read_bounded(key_file, 200).decode("ascii", "replace").strip(), str(key_file)))
    digits, public = fingerprint(folder), bytes(key.verify_key).hex()
    write_json(folder / SIGNATURE, {"fingerprint": digits, "key": public, "signature": key.sign(digits.encode()).signature.hex()})
    return public


def check_signature(folder: Path, trusted: str) -> None:
    """Raise unless the bundle as it is now was signed by the owner of that public key."""
    path = folder / SIGNATURE
    public = _hex(trusted, "AICC_TRUSTED_KEY")
    if not path.is_file():
        raise AiccError(f"{folder} is not signed, and this car has AICC_TRUSTED_KEY: donkey-aicc sign {folder} --key KEY")
    stored, digits, nacl = _table(path), fingerprint(folder), _nacl()
    if stored.get("key") != trusted:
        raise AiccError(f"{path} is by another key ({str(stored.get('key'))[:16]}...) than AICC_TRUSTED_KEY ({trusted[:16]}...)")
    try:
        nacl.VerifyKey(public).verify(digits.encode(), bytes.fromhex(str(stored.get("signature"))))
    except (ValueError, nacl.BadSignature):
        raise AiccError(
            f"{path} does not fit the bundle as it is now ({for_people(digits)}): it was changed; sign again"
        ) from None


def _table(path: Path) -> dict[str, Any]:
    stored = read_untrusted_json(path)
    if not isinstance(stored, dict):
        raise AiccError(f"{path} is damaged (not a table)")
    return stored


def _hex(text: str, name: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != _KEY_BYTES:
        raise AiccError(f"{name} must be a key of {2 * _KEY_BYTES} hex digits, as donkey-aicc sign --new-key makes one")
    return found


def _nacl() -> Any:
    try:
        from types import SimpleNamespace

        from nacl.exceptions import BadSignatureError
        from nacl.signing import SigningKey, VerifyKey
    except ImportError:
        raise AiccError("signatures need PyNaCl: pip install pynacl") from None
    return SimpleNamespace(SigningKey=SigningKey, VerifyKey=VerifyKey, BadSignature=BadSignatureError)
