"""Views under vmap that lie in no one place: what is written into one reaches its base, and the other way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import InplaceError
from pullback.func import grad, jvp, vmap


def element_of_row(y, i, v):
    y[i][0] = v


def row_augmented(y, i, v):
    y[i] += v


def index_with_slice(y, i, v):
    y[i, 0:2] *= v


def base_written_later(y, i, v):
    row = y[i]
    y[0] = v
    y[2] += row


def two_of_one_row(y, i, v):
    first, second = y[i], y[i]
    first[1] = v
    y[1] += second


def view_of_view(y, i, v):
    row = y[:, :1][i]
    row += v
    y *= y[i].sum()


def slice_of_row_when_the_index_changes(y, i, v):
    row = y[i]
    part = row[0:1]
    i += 1
    part *= v
    part += row[1]


def column_of_transpose(y, i, v):
    column = y.T[0:2, i]
    column[0] = v
    column *= 2
    y += column[0]


def element_of_row_by_an_index(y, i, v):
    row = y[i]
    row[(y[0] > 0).sum() % 2] *= v
    y += row[1]


def under_a_view_made_before(y, i, v):
    tail = y[1:]
    row = y[i]
    tail *= v
    y[0] = row


def through_temporary_views(y, i, v):
    y[i][1:][0] = 2 * v
    y[i][None][0] *= 2
    y[i].reshape(2, 1)[1] = v


BODIES = [
    through_temporary_views,
    element_of_row, row_augmented, index_with_slice, base_written_later, two_of_one_row, view_of_view,
    slice_of_row_when_the_index_changes, column_of_transpose, element_of_row_by_an_index, under_a_view_made_before,
]  # fmt: skip
X, V = np.random.default_rng(0).normal(size=(5, 3, 2)), np.linspace(-1.0, 1.5, 5)


def program(body: Callable[..., None]) -> Callable[..., Any]:
    def run(x: Any, v: Any) -> Any:
        y = x * 1.0
        body(y, abs(x[:, 0]).argmax(), v)
        return y * y

    return run


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("face", [pb.tensor, np.array])
def test_each_sample_is_as_alone(body, face):
    run = program(body)

    def slopes(x, v):
        return grad(lambda x, v: run(x, v).sum(), argnums=(0, 1))(x, v)

    def directional(x, v):
        return jvp(run, (x, v), (x, v))[1]

    with pb.adopt():
        for function in (run, slopes, directional):
            alone = [function(face(x), face(v) if face is pb.tensor else v) for x, v in zip(X, V, strict=True)]
            batch = vmap(function)(face(X), face(V))
            for got, *expected in zip(*(a if isinstance(a, tuple) else (a,) for a in (batch, *alone)), strict=True):
                np.testing.assert_allclose(np.asarray(got), np.stack([np.asarray(e) for e in expected]))


def test_rows_change_places_by_a_list_as_in_elimination_with_pivots():
    def determinant(a):
        a, sign = a * 1.0, 1.0
        for k in range(3):
            p = k + abs(a[k:, k]).argmax()
            a[[k, p]] = a[[p, k]]
            sign = sign * np.where(p == k, 1.0, -1.0)
            a[k + 1 :] -= a[k + 1 :, k : k + 1] / a[k, k] * a[k]
        return sign * a[0, 0] * a[1, 1] * a[2, 2]

    matrices = np.random.default_rng(3).normal(size=(6, 3, 3))
    with pb.adopt():
        np.testing.assert_allclose(vmap(determinant)(matrices), np.linalg.det(matrices))
        found = vmap(grad(determinant))(matrices)
    np.testing.assert_allclose(found, [np.linalg.det(a) * np.linalg.inv(a).T for a in matrices])


def test_what_others_made_outside_is_refused():
    outside = pb.zeros(3, 2)

    def write(i):
        outside[i][0] = 1.0
        return i

    with pytest.raises(InplaceError, match="vmap"):
        vmap(write)(pb.tensor([0, 1]))


def test_an_argument_that_is_written_shows_it_outside():
    x = pb.tensor(X)
    vmap(lambda x, i: x[i].fill_(7.0))(x, pb.tensor([0, 1, 2, 0, 1]))
    assert (x.numpy()[range(5), [0, 1, 2, 0, 1]] == 7).all()


def test_a_write_through_data_when_the_view_is_gone_is_refused():
    with pytest.raises(InplaceError, match=r"write y\[i\] = value"):
        vmap(lambda x, i: x[i].data.fill_(7.0))(pb.tensor(X), pb.tensor([0, 1, 2, 0, 1]))


LAYOUTS = {
    "stack": lambda x: pb.stack([x[:, 0], x[:, 1]], 1),
    "cat": lambda x: pb.cat([x, x], 1),
    "index_fill": lambda x: x.index_fill(1, pb.tensor([1]), 0.5),
    "masked_fill": lambda x: x[0].masked_fill(pb.tensor([[False], [True], [True]]), 0.5),
    "renorm": lambda x: x.renorm(1, 1, 1.0),
    "conv1d": lambda x: pb.nn.functional.conv1d(x.reshape(2, 1, 3), pb.ones(2, 1, 2)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("samples", [3, 300])
def test_a_fresh_array_can_be_written_through_another_shape(name, samples):
    def write(x):
        y = LAYOUTS[name](x)
        y.reshape(-1)[1:] = 7.0
        return y

    x = np.random.default_rng(1).normal(size=(samples, 3, 2))
    expected = write(pb.tensor(x[0])).numpy()
    np.testing.assert_allclose(vmap(write)(pb.tensor(x)).numpy()[0], expected)
