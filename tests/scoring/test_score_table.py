"""The table survives a round trip through its file and refuses what does not fit together."""

import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from tests.synthetic_scores import synthetic_table


def table(**settings: object) -> ScoreTable:
    return synthetic_table(np.random.default_rng(5), sequences=3, length=60, **settings)  # type: ignore[arg-type]


def test_a_saved_table_comes_back_equal(tmp_path: Path) -> None:
    stored = table(warm_up=10)
    stored.save(tmp_path / "scores.npz")
    loaded = ScoreTable.load(tmp_path / "scores.npz")
    for column in fields(ScoreTable):
        before, after = getattr(stored, column.name), getattr(loaded, column.name)
        assert before.dtype.kind == after.dtype.kind, column.name
        np.testing.assert_array_equal(before, after, err_msg=column.name)


def test_a_table_without_rows_comes_back(tmp_path: Path) -> None:
    empty = table().select(np.zeros(180, dtype=bool))
    empty.save(tmp_path / "scores.npz")
    loaded = ScoreTable.load(tmp_path / "scores.npz")
    assert len(loaded) == 0 and loaded.p_safe.shape == empty.p_safe.shape and loaded.horizons.tolist() == empty.horizons.tolist()


def test_extra_columns_are_for_other_readers(tmp_path: Path) -> None:
    table = synthetic_table(np.random.default_rng(0))
    path = tmp_path / "scores.npz"
    table.save(path, {"rho": np.zeros(len(table))})
    np.testing.assert_array_equal(ScoreTable.load(path).index, table.index)
    with pytest.raises(AiccError, match="column rho has 1 rows"):
        table.save(path, {"rho": np.zeros(1)})


def test_sequences_can_be_picked_by_name() -> None:
    full = table()
    picked = full.of_sequences(["nominal002", "nominal000"])
    assert picked.sequences() == ["nominal000", "nominal002"] and len(picked) == 120


def test_concatenate_keeps_order_and_refuses_other_horizons() -> None:
    first, second = table(), table(protocol="fog")
    both = concatenate([first, second])
    assert both.sequences() == first.sequences() + second.sequences()
    with pytest.raises(AiccError, match="different horizons"):
        concatenate([first, table(horizons=(1, 5))])
    with pytest.raises(AiccError, match="no score tables"):
        concatenate([])


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(AiccError, match="column rho_raw has 3 rows, expected 180"):
        replace(table(), rho_raw=np.zeros(3))


def test_missing_damaged_and_misnamed_files_are_explained(tmp_path: Path) -> None:
    with pytest.raises(AiccError, match="no score file"):
        ScoreTable.load(tmp_path / "absent.npz")
    (tmp_path / "broken.npz").write_bytes(b"not a zip")
    with pytest.raises(AiccError, match="not a readable score file"):
        ScoreTable.load(tmp_path / "broken.npz")
    with pytest.raises(AiccError, match="must end in .npz"):
        table().save(tmp_path / "scores.csv")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p_safe": lambda was: was * 3.0}, "p_safe must be from 0 to 1"),
        ({"labels": lambda was: was - 7.0}, "labels must be from 0 to 1"),
        ({"actions": lambda was: np.full_like(was, np.inf)}, "actions must hold finite numbers or NaN"),
        ({"features": lambda was: was[:, :3]}, "features must have the shape"),
        ({"latent": lambda was: was[:, 0]}, "latent must have the shape"),
        ({"valid": lambda was: was.astype(np.float32)}, "valid must not be of type float32"),
        ({"index": lambda was: was.astype("U9")}, "index must not be of type <U9"),
        ({"p_tta": lambda was: was.astype(np.complex64)}, "p_tta must not be of type complex64"),
    ],
)
def test_a_strangers_table_must_mean_something(tmp_path: Path, change: dict, said: str) -> None:
    good = table()
    changed = {name: make(getattr(good, name)) for name, make in change.items()}
    replace(good, **changed).save(tmp_path / "scores.npz")
    with pytest.raises(AiccError, match=said):
        ScoreTable.load(tmp_path / "scores.npz")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path, rows = tmp_path / "scores.npz", 50_000_000
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("p_safe.npy", "w", force_zip64=True) as column,
    ):
        for _ in range(8):
            column.write(bytes(rows))
    assert path.stat().st_size < 3e6
    with pytest.raises(AiccError, match="would unpack to"):
        ScoreTable.load(path)
