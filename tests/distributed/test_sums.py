import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.distributed import rows, sum_over, value_and_grad

W = np.array([1.0, 2.0, 3.0])


def scaled(w, x):
    return np.sum(w * x)


def of_tensors(w, x):
    return (w.sin() * x).sum()


def noisy(w, x):
    return np.sum(np.sin(w * (x + pb.default_generator().standard_normal(3))))


def test_a_function_of_tensors_gets_tensors_where_its_sum_does():
    total = sum_over(of_tensors, [1.0, 2.0])
    w = pb.tensor(W, requires_grad=True)
    total(w).backward()
    np.testing.assert_allclose(w.grad.numpy(), 3 * np.cos(W))
    np.testing.assert_allclose(pb.func.grad(total)(pb.tensor(W)).numpy(), 3 * np.cos(W))
    assert type(total(pb.tensor(W))) is pb.Tensor


def test_without_tensors_it_gives_plain_numbers():
    assert type(sum_over(scaled, [1, 2])(W)) is np.float64


def test_trees_go_in_and_come_out():
    def function(p, n, x):
        return {"a": p["w"] * x, "count": 1, "both": [np.sum(p["b"] * n), None]}

    total = sum_over(function, [1.0, 2.0])
    p = {"w": W, "b": np.float64(2.0)}
    found = total(p, 3)
    assert found["count"] == 2
    assert found["both"] == [12.0, None]
    gradient = pb.func.grad(lambda p: np.sum(total(p, 3)["a"]) * total(p, 3)["both"][0])(p)
    np.testing.assert_allclose(gradient["w"], [36.0] * 3)
    np.testing.assert_allclose(gradient["b"], 18.0 * 6)


def test_a_number_of_python_and_a_complex_one_are_differentiated():
    np.testing.assert_allclose(pb.func.grad(sum_over(lambda z, x: np.abs(z * x) ** 2, [1, 2]))(1 + 2j), 10 + 20j)
    np.testing.assert_allclose(pb.func.grad(sum_over(lambda a, x: np.exp(a) * x, [1, 2]))(0.5), 3 * np.exp(0.5))


def test_the_data_pass_once_for_value_and_gradient():
    loads = []

    def load(i):
        loads.append(i)
        return float(i)

    total = sum_over(lambda w, x: np.sum(w * w) * x, [lambda i=i: load(i) for i in range(5)])
    pb.func.value_and_grad(lambda w: np.log(total(w)))(W)
    assert loads == [0, 1, 2, 3, 4]


def test_under_no_grad_nothing_is_differentiated():
    with pb.no_grad():
        assert not sum_over(of_tensors, [1.0])(pb.tensor(W, requires_grad=True)).requires_grad


def test_value_and_grad_is_that_of_the_sum():
    value, gradient = value_and_grad(lambda w, b, x: np.sum(w * w) * b * x, argnums=("b", "w"))((W, 2.0), [1, 2, 3])
    assert value == 14 * 2 * 6
    assert gradient[0] == 14 * 6
    np.testing.assert_array_equal(gradient[1], 2 * W * 12)
    mean, _ = value_and_grad(scaled, reduce="mean")(W, [1, 2, 3])
    assert mean == 12.0


def test_value_and_grad_is_itself_differentiable():
    w = pb.tensor(W, requires_grad=True)
    _, gradient = value_and_grad(lambda w, x: np.sum(w**3) * x)(w, [1, 2])
    (found,) = pb.autograd.grad(gradient.sum(), w)
    np.testing.assert_allclose(found.numpy(), 18 * W)


def test_random_numbers_belong_to_the_partition_and_the_seed():
    total = sum_over(noisy, [1.0, 1.0])
    assert total(W) == total(W) != sum_over(noisy, [1.0, 1.0], seed=1)(W)
    assert sum_over(noisy, [1.0])(W) * 2 != total(W)
    step = 1e-6 * np.eye(3)
    expected = [(total(W + e) - total(W - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(pb.func.grad(total)(W), expected, rtol=1e-6)
    np.testing.assert_allclose(pb.func.hessian(total)(W), pb.func.jacfwd(pb.func.grad(total))(W))


def test_random_numbers_of_the_caller_go_on_as_before():
    pb.manual_seed(0)
    expected = pb.rand(2)
    pb.manual_seed(0)
    sum_over(lambda w, x: np.sum(w) * pb.rand(1).item() * x, [1.0, 2.0])(W)
    assert pb.equal(pb.rand(2), expected)


@pytest.mark.parametrize("derive", [lambda f: f, pb.func.grad])
def test_arguments_and_data_cannot_be_written_into(derive):
    def function(w, x):
        x *= 2
        return np.sum(w * x)

    with pytest.raises((ValueError, RuntimeError), match="read-only") as caught:
        derive(sum_over(function, [np.ones(3)]))(W)
    assert "in partition 0" in caught.value.__notes__


def test_results_of_different_shapes_are_refused():
    with pytest.raises(RuntimeError, match=r"shape \(1,\) for partition 1, and of shape \(2,\) for partition 0"):
        sum_over(lambda w, n: w[:n], [2, 1])(W)
    with pytest.raises(RuntimeError, match="other containers for partition 1"):
        sum_over(lambda w, n: (w,) * n, [2, 1])(W)


@pytest.mark.parametrize("result", ["text", None, [object()]])
def test_what_cannot_be_added_is_refused(result):
    with pytest.raises(TypeError, match=r"returned None|must return a number") as caught:
        sum_over(lambda w, x: result, [1])(W)
    assert "in partition 0" in caught.value.__notes__


def test_a_variable_that_is_no_argument_is_refused():
    captured = pb.tensor(W, requires_grad=True)
    with pytest.raises(RuntimeError, match="Pass it as an argument"):
        sum_over(lambda w, x: (w * captured).sum() * x, [1.0])(pb.tensor(W))
    with pytest.raises(RuntimeError, match="Pass it as an argument"):
        pb.func.grad(lambda v: sum_over(lambda w, x: np.sum(w * v) * x, [1.0])(W))(W)


def test_a_sum_that_does_not_depend_on_its_argument_is_told():
    with pytest.warns(pb.extend.IndependentResultWarning, match="does not depend"):
        assert not np.any(pb.func.grad(sum_over(lambda w, x: np.sum(np.ones(2)) * x, [1.0]))(W))


def test_second_derivatives_of_linear_functions_are_zero_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.any(pb.func.hessian(sum_over(scaled, [1.0, 2.0]))(W))


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ((scaled, W), TypeError, "rows"),
        ((scaled, {1: 2}), TypeError, "got a dict"),
        ((scaled, []), ValueError, "no partitions"),
        ((scaled, [1], "four"), TypeError, "a number of processes, an executor"),
        ((scaled, [1], True), TypeError, "got a bool"),
        ((scaled, [1], 0), ValueError, "got 0"),
        ((3, [1]), TypeError, "takes a function"),
    ],
)
def test_what_is_given_wrongly_is_refused_at_once(arguments, error, what):
    with pytest.raises(error, match=what):
        sum_over(*arguments)


def test_negative_retries_and_other_reductions_are_refused():
    with pytest.raises(ValueError, match="retries must not be negative"):
        sum_over(scaled, [1], retries=-1)
    with pytest.raises(ValueError, match="'sum' or 'mean'"):
        value_and_grad(scaled, reduce="max")


def test_a_compiled_function_has_the_sum_as_a_step():
    total = sum_over(lambda w, x: np.sum(np.exp(w * x)), [0.5, 1.0])
    gradient = pb.func.grad(lambda w: np.log(total(w)))
    compiled = pb.compile(gradient)
    for w in (W, W / 2, W / 3, W / 4):
        np.testing.assert_array_equal(compiled(w), gradient(w))


def test_a_batch_is_one_sum():
    calls = []
    total = sum_over(lambda w, x: (calls.append(x), np.sum(np.sin(w) * x))[1], [1.0, 2.0])
    found = pb.func.vmap(total)(np.stack([W, 2 * W]))
    np.testing.assert_allclose(found, [3 * np.sum(np.sin(W)), 3 * np.sum(np.sin(2 * W))])
    assert calls == [1.0, 2.0]


def test_a_bar_counts_partitions(capsys):
    pytest.importorskip("tqdm")
    sum_over(scaled, [1, 2, 3], progress=True)(W)
    assert "3/3" in capsys.readouterr().err


def test_a_sum_tells_what_it_is():
    assert repr(sum_over(scaled, rows(W, size=1))) == "<sum of scaled over 3 partitions>"
