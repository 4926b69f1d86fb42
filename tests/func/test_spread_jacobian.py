from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pullback as pb
from pullback.core.pytree import flatten

jacobian = pb.func.jacobian


def of_tree(p, k):
    return {"y": np.sin(p["A"] @ p["x"]) * k, "z": np.sum(p["A"]) ** 2}


def tall(x):
    return np.concatenate([np.sin(x) * j for j in range(5)])


def wide(x):
    return np.cumsum(np.sin(x[:3]))


TREE = {"A": np.arange(6.0).reshape(2, 3), "x": np.array([1.0, 2.0, 0.5])}
CASES = {
    "a tree": (of_tree, (TREE, 2.0), {}),
    "two arguments": (of_tree, (TREE, 2.0), {"argnums": ("k", "p")}),
    "more results": (tall, (np.ones(3),), {"chunk_size": 2}),
    "more arguments": (wide, (np.ones(7),), {}),
    "complex": (lambda z: z**2 * np.exp(z), (np.ones(3) + 1j,), {"holomorphic": True}),
    "Tensors": (lambda x: x.sin().cumsum(0), (pb.tensor([1.0, 2.0]),), {}),
    "a number": (np.sin, (1.5,), {}),
}


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("case", CASES)
def test_workers_give_the_same_jacobian(case, mode):
    function, arguments, options = CASES[case]
    with ThreadPoolExecutor(2) as threads:
        for workers in (threads, map):
            found, structure = flatten(jacobian(function, mode=mode, workers=workers, **options)(*arguments))
            expected, other = flatten(jacobian(function, mode=mode, **options)(*arguments))
            assert structure == other
            for x, y in zip(found, expected, strict=True):
                assert type(x) is type(y)
                assert x.shape == y.shape
                np.testing.assert_allclose(x, y, rtol=1e-13)


def test_processes_give_the_same_jacobian():
    np.testing.assert_allclose(jacobian(tall, workers=2)(np.ones(3)), jacobian(tall)(np.ones(3)))


def test_each_worker_has_some_of_the_columns():
    sizes = []
    with ThreadPoolExecutor(3) as threads:
        jacobian(lambda x: (sizes.append(x.shape), np.outer(x, x))[1], workers=threads)(np.ones(5))
    assert len(sizes) == 1 + 3  # once for the form of the result


def test_mode_says_which():
    assert jacobian(tall, workers=map).mode(np.ones(3)) == "forward"
    assert jacobian(wide, workers=map).mode(np.ones(7)) == "reverse"


def test_what_is_being_differentiated_is_refused():
    with pytest.raises(RuntimeError, match="leave workers out"):
        pb.func.grad(lambda x: np.sum(jacobian(tall, workers=map)(x)))(np.ones(3))
    with pytest.raises(ValueError, match="has_aux"):
        jacobian(tall, has_aux=True, workers=map)
