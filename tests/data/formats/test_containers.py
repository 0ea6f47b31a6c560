"""Files that are damaged, lie about themselves, or would run code."""

import sys

import h5py
import numpy as np
import pytest

from driftnet.data.formats.containers import (
    Contiguous,
    Handles,
    find_array,
    open_container,
    readable,
    refuse_more_than_memory,
)
from driftnet.data.formats.recognise import recognise
from driftnet.errors import DriftnetError, UsageError
from tests.oracles import oracle


def refused(path, name: str = "array") -> str:
    with pytest.raises(DriftnetError) as error:
        find_array(path, open_container(path), name)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("suffix", ["npy", "h5", "nc", "zarr"])
def test_an_empty_file_is_refused(suffix, tmp_path):
    if suffix == "zarr":
        oracle("zarr")
    path = tmp_path / f"empty.{suffix}"
    path.touch()
    assert "could not read" in refused(path)


@pytest.mark.parametrize("suffix", ["npy", "h5"])
def test_a_truncated_file_is_refused(suffix, tmp_path):
    path = tmp_path / f"cut.{suffix}"
    if suffix == "npy":
        np.save(path, np.ones((10, 10)))
    else:
        with h5py.File(path, "w") as file:
            file["array"] = np.ones((10, 10))
    path.write_bytes(path.read_bytes()[:-100])
    assert "could not read" in refused(path)


class Bomb:
    def __reduce__(self):
        return sys.exit, (1,)


def test_a_pickled_array_is_never_unpickled(tmp_path):
    np.save(tmp_path / "pickle.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    assert "it is not a whole .npy file of numbers" in refused(tmp_path / "pickle.npy")


@pytest.mark.parametrize("kind", [complex, "S3", [("a", "f4")]])
def test_what_is_not_a_real_number_is_refused(kind, tmp_path):
    np.save(tmp_path / "other.npy", np.zeros(4, dtype=kind))
    assert "not real numbers" in refused(tmp_path / "other.npy")


@pytest.mark.parametrize("chunked", [{}, {"chunks": (1, 100, 100)}, {"chunks": (1, 100, 100), "compression": "gzip"}])
def test_a_small_file_that_claims_terabytes_is_refused(chunked, tmp_path):
    path = tmp_path / "claims.h5"
    with h5py.File(path, "w") as file:
        claims = file.create_dataset("array", (10**6, 1000, 1000), "<f4", **chunked)
        if chunked:
            claims[0, :100, :100] = 1
    assert path.stat().st_size < 200_000
    assert "is cut short: 'array' claims 4000000 MB and holds 0 MB" in refused(path)


def test_a_npy_that_claims_more_than_it_holds_is_refused(tmp_path):
    path = tmp_path / "claims.npy"
    np.save(path, np.zeros((10, 10)))
    path.write_bytes(path.read_bytes().replace(b"(10, 10)", b"(99, 99)"))
    assert "could not read" in refused(path)


def test_a_zarr_that_claims_terabytes_is_refused(tmp_path):
    zarr = oracle("zarr")
    zarr.create_array(str(tmp_path / "claims.zarr"), shape=(10**6, 1000, 1000), chunks=(1, 100, 100), dtype="f4")
    assert "is cut short" in refused(tmp_path / "claims.zarr")


def test_a_well_compressed_file_is_believed(tmp_path):
    with h5py.File(tmp_path / "zeros.h5", "w") as file:
        file.create_dataset("array", data=np.zeros((100, 100, 100), np.float32), compression="gzip", chunks=(10, 100, 100))
    assert find_array(tmp_path / "zeros.h5", open_container(tmp_path / "zeros.h5"), "array").shape == (100, 100, 100)


def test_a_trajectory_larger_than_the_memory_is_refused(tmp_path):
    with pytest.raises(DriftnetError, match="a trajectory takes 1000000 GB; this machine has"):
        refuse_more_than_memory(tmp_path, 10**15)


def test_netcdf_3_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "old.nc").write_bytes(b"CDF\x01" + bytes(100))
    assert "is NetCDF-3; 'nccopy -k nc4 OLD NEW' turns it into NetCDF-4" in refused(tmp_path / "old.nc")


def test_a_group_is_no_variable(tmp_path):
    with h5py.File(tmp_path / "group.h5", "w") as file:
        file["array/inner"] = np.ones(3)
    assert "has no variable 'array'; it has array/inner" in refused(tmp_path / "group.h5")


def test_zarr_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(UsageError, match=r"needs the package zarr: pip install 'driftnet\[zarr\]'"):
        open_container(tmp_path / "a.zarr")


def test_a_folder_of_nothing_known_is_refused(tmp_path):
    with pytest.raises(DriftnetError, match="is a folder with neither The Well's data/train nor chunks"):
        recognise(tmp_path)


def test_a_forked_process_opens_its_own_file(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.arange(3))
    handles = Handles()
    first = handles.array(tmp_path / "a.npy", "array")
    assert handles.array(tmp_path / "a.npy", "array") is first
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert handles.array(tmp_path / "a.npy", "array") is not first


KEYS = [
    (1, slice(None), slice(None)),
    (2, slice(1, 3), slice(None)),
    (slice(0, 2), slice(None), slice(None)),
    (0, 3, slice(2, 4)),
    (slice(1, 2), slice(1, 3), slice(None)),
    (slice(None), 1, slice(None)),
    (1, slice(0, 2), slice(1, 3)),
    (0, slice(None, None, 2), slice(None)),
    (1, slice(4, 9), slice(None)),
]
DIRECT = 5  # The first ones, which are one piece.


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<i2"])
@pytest.mark.parametrize("options", [{}, {"chunks": (1, 2, 5)}, {"compression": "gzip"}])
def test_reading_past_hdf5_gives_what_it_gives(tmp_path, dtype, options):
    path, values = tmp_path / "a.h5", np.arange(60).reshape(3, 4, 5).astype(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("before", data=np.ones(7))
        file.create_dataset("u", data=values, **options)
    array = Handles().array(path, "u")
    assert isinstance(array, Contiguous) == (dtype != ">f4" and not options)
    for key in KEYS:
        np.testing.assert_array_equal(array[key], values[key])


def test_one_piece_needs_nothing_of_hdf5(tmp_path, monkeypatch):
    path, values = tmp_path / "a.h5", np.arange(60.0).reshape(3, 4, 5)
    with h5py.File(path, "w") as file:
        file["u"] = values
    array = Handles().array(path, "u")
    assert isinstance(array, Contiguous)
    with h5py.File(path, "r"):
        monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda *_: pytest.fail("read by HDF5"))
        for key in KEYS[:DIRECT]:
            np.testing.assert_array_equal(array[key], values[key])


def test_a_file_that_became_shorter_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["u"] = np.arange(60.0).reshape(3, 4, 5)
    array = Handles().array(path, "u")
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - 300)
    with pytest.raises(DriftnetError, match=r"could not read .*a\.h5: it is cut short or damaged"), readable(path):
        _ = array[2, slice(None), slice(None)]
