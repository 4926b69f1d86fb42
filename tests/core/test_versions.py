"""Version counters, and the error of a saved tensor that was modified afterwards."""

import pytest

import pullback as pb


def leaf(*values):
    return pb.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def test_every_in_place_operation_moves_the_version():
    t = pb.ones(3)
    assert t._version == 0
    t += 1
    t.mul_(2)
    t[0] = 5
    t.copy_(pb.zeros(3))
    t.sub_(1)
    assert t._version == 5


def test_reading_does_not_move_the_version():
    t = pb.ones(3)
    _ = t + 1, t[0], t.sum(), t.detach(), t.numpy(), repr(t), t.tolist()
    assert t._version == 0


def test_views_share_the_version_of_their_base_and_of_each_other():
    t = pb.zeros(2, 3)
    row, column, turned = t[0], t[:, 1], t.T
    inner = row[1:]
    for n, one in enumerate((t, row, column, turned, inner), start=1):
        one.add_(1)
        assert {x._version for x in (t, row, column, turned, inner)} == {n}


def test_assigning_data_keeps_the_version_that_is_seen_and_with_whom_it_is_shared():
    x = pb.zeros(2)
    x.add_(1)
    view, other = x[:], x.detach()
    for n in range(3):
        x.data = pb.ones(3)
        other.data = pb.ones(2)
        assert {t._version for t in (x, view, other)} == {3 * n + 1}
        for t in (x, view, other):
            t.add_(1)
    assert {t._version for t in (x, view, other)} == {10}
    fresh = pb.zeros(2)
    fresh.data = pb.ones(2)
    assert fresh._version == 0
    assert (x.tolist(), view.tolist(), other.tolist()) == ([2, 2, 2], [4, 4], [2, 2])


def test_a_backward_notices_data_assigned_to_what_it_has_saved():
    y = leaf().exp()
    z = y * y
    y.data = pb.zeros(3)
    with pytest.raises(RuntimeError, match=r"MulBackward0 saved '\w+' .*assigning to \.data has modified it"):
        z.sum().backward()


def test_data_assigned_to_an_alias_leaves_a_saved_output_alone():
    x = leaf()
    y = x.exp()
    y.detach().data = pb.zeros(3)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    y = leaf().exp()
    y.detach().data = pb.zeros(3)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"ExpBackward0 saved 'result'.* add_ has modified it"):
        y.sum().backward()


def test_copies_do_not_share_the_version():
    t = pb.zeros(3)
    copies = (t.clone(), t + 0, t[[0, 1]], pb.tensor(t))
    t.add_(1)
    assert [c._version for c in copies] == [0, 0, 0, 0]


def test_in_place_under_no_grad_moves_the_version_too():
    x = leaf()
    y = x * x
    with pb.no_grad():
        x.add_(1)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_failed_in_place_operation_moves_nothing():
    t = pb.ones(3)
    with pytest.raises(RuntimeError):
        t.add_(pb.ones(2, 3))
    with pytest.raises(RuntimeError):
        t.mul_(1j)
    with pytest.raises((RuntimeError, IndexError)):
        t[5] = 1
    assert t._version == 0
    assert t.tolist() == [1, 1, 1]


def test_the_error_names_who_saved_who_modified_and_both_versions():
    y = leaf() * 1
    z = y.exp()
    z += 1
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    text = str(caught.value)
    assert "ExpBackward0 saved 'result' (shape (3,), float64) at version 0" in text
    assert "add_ has modified it since (now version 1)" in text
    assert "clone()" in text


def test_the_error_has_fields_for_tools():
    y = leaf() * 1
    y.add_(1)
    z = y.sin()
    y.mul_(2)
    y.sub_(2)
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    error = caught.value
    assert (error.node, error.saved, error.culprit) == ("SinBackward0", "self", "sub_")
    assert (error.expected_version, error.found_version) == (1, 3)


def test_saving_after_the_modification_is_no_error():
    y = leaf() * 2
    y.add_(1)
    (y * y).sum().backward()


def test_what_is_not_saved_may_be_modified():
    x = leaf()
    y = x * 2  # saves the number, not x... and not y
    z = y + 1
    y.add_(5)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_modification_of_a_view_of_a_saved_tensor_is_noticed():
    y = leaf() * 1
    z = y.sin()
    y[0:1].mul_(0)
    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        z.sum().backward()


def test_modification_of_the_base_of_a_saved_view_is_noticed():
    y = leaf() * 1
    v = y[0:2]
    z = v.sin()
    y.mul_(0)
    with pytest.raises(RuntimeError, match=r"'self' \(shape \(2,\), float64\) at version 0, but mul_"):
        z.sum().backward()


def test_modification_of_a_view_of_a_saved_output_is_noticed():
    z = leaf().exp()
    z.reshape(3, 1)[0].add_(1)
    with pytest.raises(RuntimeError, match="ExpBackward0 saved 'result'"):
        z.sum().backward()


def test_a_constant_that_was_saved_is_watched_too():
    x, c = leaf(), pb.full((3,), 2.0)
    y = x * c
    c.add_(1)
    with pytest.raises(RuntimeError, match="MulBackward0 saved 'other'"):
        y.sum().backward()
    assert x.grad is None


def test_the_error_comes_under_create_graph_as_well():
    x = leaf()
    y = x * 1
    z = y.sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        pb.autograd.grad(z.sum(), x, create_graph=True)


def test_modification_between_first_and_second_derivative_is_noticed():
    x = leaf()
    y = x * 1
    (g,) = pb.autograd.grad((y**3).sum(), y, create_graph=True)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()


def test_showing_a_saved_tensor_checks_it():
    y = leaf() * 1
    z = y.sin()
    assert z.grad_fn._saved_self.tolist() == [1, 2, 3]
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = z.grad_fn._saved_self
