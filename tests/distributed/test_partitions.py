import pickle

import numpy as np
import pytest

import pullback as pb
from pullback.distributed import rows, sum_over
from pullback.distributed.partitions import loaded

X = np.arange(14.0).reshape(7, 2)
Y = np.arange(7.0)


def weighted(w, X, y):
    return np.sum((X @ w) * y)


EXPECTED = weighted(np.ones(2), X, Y)


def data(parts):
    return [loaded(pickle.loads(pickle.dumps(part))) for part in parts]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_rows_of_arrays_files_and_memmaps_are_the_same(size, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.memmap(tmp_path / "x.raw", float, "w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    for source in (X, tmp_path / "x.npy", str(tmp_path / "x.npy"), mapped, mapped[:], np.asfortranarray(X)):
        parts = rows(source, Y, size=size)
        assert len(parts) == -(-7 // size)
        np.testing.assert_array_equal(np.concatenate([x for x, _ in data(parts)]), X)
        assert sum_over(weighted, parts)(np.ones(2)) == EXPECTED


def test_a_file_is_sent_by_its_name_alone(tmp_path):
    big = np.zeros((1000, 1000))
    np.save(tmp_path / "big.npy", big)
    mapped = np.load(tmp_path / "big.npy", mmap_mode="r")
    for source in (tmp_path / "big.npy", mapped):
        assert len(pickle.dumps(rows(source, size=100)[0])) < 1000


def test_a_file_with_columns_first_is_mapped_as_it_is(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(np.concatenate([x for (x,) in data(rows(mapped, size=3))]), X)


def test_pieces_cannot_be_written_into():
    (x,) = loaded(rows(X.copy(), size=7)[0])
    with pytest.raises(ValueError, match="read-only"):
        x += 1


def test_rows_are_a_sequence():
    parts = rows(X, size=3)
    np.testing.assert_array_equal(parts[-1][0], X[6:])
    assert [len(x) for (x,) in parts] == [3, 3, 1]
    assert len(parts[:2]) == 2
    with pytest.raises(IndexError):
        parts[3]


@pytest.mark.parametrize(
    ("given", "options", "error", "what"),
    [
        ((X, Y[:3]), {"size": 2}, ValueError, "different numbers of rows: 7, 3"),
        ((X,), {"size": 0}, ValueError, "positive number of rows"),
        ((X[:0],), {"size": 2}, ValueError, "no rows"),
        ((), {"size": 2}, TypeError, "no data"),
        (([1, 2],), {"size": 2}, TypeError, "got a list"),
        ((np.array(1.0),), {"size": 2}, TypeError, "takes arrays"),
    ],
)
def test_what_has_no_rows_is_refused(given, options, error, what):
    with pytest.raises(error, match=what):
        rows(*given, **options)


def test_callables_load_and_tuples_are_several_arguments():
    parts = [lambda: (X[:4], Y[:4]), (lambda: X[4:], Y[4:])]
    assert sum_over(weighted, parts)(np.ones(2)) == EXPECTED


def test_a_generator_may_be_gone_through_many_times():
    total = sum_over(lambda w, x: np.sum(np.exp(w) * x), (float(i) for i in range(4)))
    np.testing.assert_allclose(pb.func.hessian(total)(0.0), 6.0)


def test_blocks_of_dask_are_partitions():
    da = pytest.importorskip("dask.array")
    x, y = da.from_array(X, chunks=(3, 2)), da.from_array(Y, chunks=3)
    assert sum_over(weighted, (x, y))(np.ones(2)) == EXPECTED
    total = sum_over(lambda w, X: np.sum((X @ w) ** 2), da.exp(x / 14))
    np.testing.assert_allclose(total(np.ones(2)), np.sum((np.exp(X / 14) @ np.ones(2)) ** 2))


def test_blocks_of_dask_that_are_not_aligned_are_refused():
    da = pytest.importorskip("dask.array")
    x, y = da.from_array(X, chunks=(3, 2)), da.from_array(Y, chunks=3)
    with pytest.raises(ValueError, match="first dimension alone"):
        sum_over(weighted, (x.rechunk((3, 1)), y))
    with pytest.raises(ValueError, match="different numbers of blocks"):
        sum_over(weighted, (x, y.rechunk(7)))
    with pytest.raises(ValueError, match="different rows"):
        sum_over(weighted, (x, y.rechunk(((4, 2, 1),))))
    with pytest.raises(TypeError, match="one is an ndarray"):
        sum_over(weighted, (x, Y))


def test_parts_of_a_dask_dataframe_are_partitions():
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = dd.from_pandas(pandas.DataFrame({"a": X[:, 0], "y": Y}), npartitions=3)
    total = sum_over(lambda w, part: np.sum(w * part["a"].to_numpy() * part["y"].to_numpy()), frame)
    np.testing.assert_allclose(pb.func.grad(total)(1.0), X[:, 0] @ Y)


def test_xarray_is_cut_along_a_dimension():
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"x": (("feature", "time"), X.T), "y": ("time", Y)})
    total = sum_over(lambda w, part: np.sum((w @ part["x"].values) * part["y"].values), rows(data, size=3, dim="time"))
    np.testing.assert_allclose(total(np.ones(2)), EXPECTED)
    with pytest.raises(TypeError, match="dim='time'"):
        rows(data, size=3)
    with pytest.raises(TypeError, match="which is data"):
        sum_over(weighted, data)
