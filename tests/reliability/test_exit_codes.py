"""Whatever a stranger gives to the command line: exit code 2, one message under 500 characters, and no file half written."""

import contextlib
import io
import os

import numpy as np
import pytest

from donkey_aicc.cli import main
from tests.hostile.doors import good_tub
from tests.monitor_under_test import make_bundle

NINES = "9" * 5000
JUNK_IN_A_TUB = ("manifest.json", "catalog_0.catalog", "a.npz")
JUNK = np.random.default_rng(0).bytes(2000)
# Words in capitals are files and folders of `places`.
CASES = """
check TUB --max-gap nan | check TUB --max-gap -1 | check TUB --labels JUNK | check TUB --tau nan | check TUB --tau NINES
check TUB --labels NOWHERE | check TUB --min-length NINES | info NOWHERE | info EMPTY | info JUNKBUNDLE | info FILE
score TUB --bundle JUNKBUNDLE --out OUT/a.npz | score NOWHERE --bundle BUNDLE --out OUT/a.npz
score TUB --bundle DAMAGED --out OUT/a.npz | score TUB --bundle BUNDLE --out FILE/a.npz
score TUB --bundle BUNDLE --out OUT/a.pickle | score TUB --bundle BUNDLE --out OUT/a.npz --workers -1
score TUB --bundle BUNDLE --out OUT/a.npz --lanes 0 | score TUB --bundle BUNDLE --out OUT/a.npz --grade best
score TUB --bundle BUNDLE --out OUT/a.npz --cluster NINES | train TUB --out OUT/b --preset tiny
train JUNKTUB --out OUT/b --preset tiny | train TUB --out FILE | train TUB --out OUT/b --set vae=NINES
train TUB --out OUT/b --seed -1 | train TUB --out OUT/b --seed NINES | train TUB --out OUT/b --device cuda:99
train TUB --out OUT/b --threads 0 | calibrate --bundle BUNDLE --data TUB | calibrate --bundle JUNKBUNDLE --data TUB
calibrate --bundle BUNDLE --data NOWHERE | calibrate --bundle BUNDLE --data TUB --samples 0
calibrate --bundle BUNDLE --data TUB --method NINES | evaluate --bundle BUNDLE --nominal TUB --out OUT/r
evaluate --bundle BUNDLE --nominal TUB --ood NINES --out OUT/r | evaluate --bundle BUNDLE --nominal TUB --out OUT/r --draws 0
replay NOWHERE --html OUT/a.html
replay JUNKTUB --html OUT/a.html | replay TUB --part 9-1 --html OUT/a.html | replay TUB --movie FILE/a.mp4
replay TUB --part NINES-NINES --html OUT/a.html | replay TUB --movie OUT/a.txt
replay TUB --bundle JUNKBUNDLE --html OUT/a.html | label NOWHERE | label JUNKTUB | label TUB --answers JUNK --out OUT/l.csv
label TUB --certainty nan --out OUT/l.csv | label TUB --colours JUNK --out OUT/l.csv
label TUB --answers NOWHERE --out OUT/l.csv | label TUB --port 99999999 --out OUT/l.csv | record --out OUT/t --track NINES
record --out OUT/t --drives 0 | record --out OUT/t --frames NINES | record --out OUT/t --model JUNK
record --out OUT/t --faults NINES | record --out FILE/t --expert --drives 1 --frames 1 | record --out OUT/t --seed -1
record --out OUT/t --track seed:NINES | createcar --path FILE | createcar --path FILE/a | install NOWHERE | install EMPTY
install JUNKTUB | replay TUB --movie OUT/a.gif --part NINES-NINES
demo --inject NINES --out OUT/d | demo --track NINES --out OUT/d | demo --laps 0 --out OUT/d | doctor --hz nan
doctor --hz 0 | doctor --runtime x | overhead calibrate NOWHERE | overhead check NOWHERE | overhead track JUNK --setup JUNK
overhead x | nonsense | --nonsense | check | train | check TUB --json=NINES | score
score TUB --workers NINES --bundle BUNDLE --out OUT/a.npz
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    for name in ("EMPTY", "JUNKBUNDLE", "JUNKTUB", "OUT"):
        (folder / name).mkdir()
    for name in (
        "FILE",
        "JUNK",
        "JUNKBUNDLE/manifest.json",
        "JUNKTUB/manifest.json",
        "JUNKTUB/catalog_0.catalog",
        "JUNKTUB/a.npz",
    ):
        (folder / name).write_bytes(JUNK)
    good_tub(folder).rename(folder / "TUB")
    make_bundle(folder / "BUNDLE")
    damaged = make_bundle(folder / "DAMAGED")
    os.truncate(damaged / "vae.safetensors", 1000)
    return folder


@pytest.mark.parametrize("line", [case.strip() for row in CASES.strip().splitlines() for case in row.split("|")])
def test_a_mistake_is_one_short_message_and_exit_code_2(places, line, monkeypatch):
    monkeypatch.setenv("HOME", str(places / "home"))  # for the caches
    before = sorted(path for path in places.rglob("*") if "home" not in path.parts)
    words = [_filled(word, places) for word in line.split()]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    assert code == 2, said.getvalue()
    message = "\n".join(row for row in said.getvalue().splitlines() if "%|" not in row)  # without progress bars
    assert 0 < len(message) < 500 and "Traceback" not in message
    assert sorted(path for path in places.rglob("*") if "home" not in path.parts) == before


def _filled(word, places):
    name, _, rest = word.partition("/")
    name = str(places / name) if name.isupper() and name != "NINES" else name
    return f"{name}/{rest}".rstrip("/").replace("NINES", NINES) if rest else name.replace("NINES", NINES)


@pytest.mark.parametrize("line", ["check NOWHERE", "check FILE", "check JUNKTUB", "check EMPTY", "doctor --bundle JUNKBUNDLE"])
def test_a_report_on_something_unusable_is_a_report(places, line, capsys):
    assert main([_filled(word, places) for word in line.split()]) in (1, 2)
    assert 0 < max(map(len, capsys.readouterr().out.splitlines())) < 500
