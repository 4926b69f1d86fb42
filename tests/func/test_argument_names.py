"""The transforms call their arguments as torch.func does, so that calls by keyword can be carried over."""

import numpy as np
import pytest

import pullback as pb

X = np.array([0.5, 2.0])


def total(x):
    return (x**3).sum()


OF_FUNCTIONS = {
    "grad": 3 * X**2,
    "grad_and_value": (3 * X**2, 8.125),
    "value_and_grad": (8.125, 3 * X**2),
    "jacrev": 3 * X**2,
    "jacfwd": 3 * X**2,
    "jacobian": 3 * X**2,
    "hessian": np.diag(6 * X),
    "hessian_sparsity": np.eye(2),
    "sparse_hessian": np.diag(6 * X),
}


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_a_transform_takes_its_function_as_func(name):
    found = getattr(pb.func, name)(func=total)(X)
    found = found.toarray() if hasattr(found, "toarray") else found
    wanted = OF_FUNCTIONS[name]
    for got, value in zip(*((found, wanted) if isinstance(wanted, tuple) else ([found], [wanted])), strict=True):
        np.testing.assert_allclose(got, value)


def test_vmap_and_jacobians_of_many_results_take_it_too():
    np.testing.assert_array_equal(pb.func.vmap(func=np.sum)(np.ones((3, 2))), [2, 2, 2])
    for name in ("jacobian_sparsity", "sparse_jacobian"):
        np.testing.assert_array_equal(getattr(pb.func, name)(func=np.square)(X).toarray() != 0, np.eye(2))


def test_products_take_it_beside_their_other_arguments():
    np.testing.assert_allclose(pb.func.jvp(func=total, primals=(X,), tangents=(X,))[1], 3 * (X**3).sum())
    np.testing.assert_allclose(pb.func.hvp(func=total, primals=X, tangents=X), 6 * X**2)
    np.testing.assert_allclose(pb.func.vhp(func=total, primals=X, cotangents=X), 6 * X**2)
    np.testing.assert_allclose(pb.func.jet(func=np.square, primals=(X,), series=([X],))[1][0], 2 * X**2)
    pb.func.check_grads(func=total, args=(X,))
