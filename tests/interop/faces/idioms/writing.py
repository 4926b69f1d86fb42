"""Writing by index and in place: buffers, swaps, accumulations, what is a copy and what is a view."""

import operator

import numpy as np


def set_number(x):
    x[0] = 5.0


def set_from_another(x, y):
    x[1:4] = y[:3]


def set_slice_to_number(x):
    x[::2] = 0


def set_by_mask(x):
    x[x > 1] = 0.5


def set_by_mask_values(x, y):
    large = x > 1
    x[large] = y[large]


def set_by_list(x):
    x[[0, 3]] = [7.0, 8.0]


def set_by_repeated_index(x, y):
    x[[0, 0, 1]] = y[:3]


def set_to_a_list_of_scalars(x):
    x[:2] = [x[4], x[5]]


def set_to_a_tuple(x):
    x[:3] = (x[3] * 2, 1.0, x[0])


def set_row(A, q):
    A[1] = q


def set_column(A, p):
    A[:, 0] = p


def set_column_from_row(C):
    C[:, 0] = C[1]


def set_broadcast(A, q):
    A[...] = q


def set_with_new_axis(A, p):
    A[:] = p[:, None]


def set_all_to_scalar(A, s):
    A[:] = s


def set_element_chained(A):
    A[1][2] = 9.0


def set_through_copy_of_index(A):
    A[[0, 1]][0] = 9.0


def set_through_mask_copy(x):
    x[x > 1][0] = 100.0


def set_through_view(A):
    row = A[1]
    row[2] = 9.0


def set_through_transposed(A):
    A.T[0] = 1.0


def set_through_reshaped(A):
    A.reshape(-1)[5] = 9.0


def set_through_ravel(A):
    A.ravel()[5] = 9.0


def set_through_flatten(A):
    A.flatten()[5] = 9.0


def set_through_flat(A):
    A.flat[5] = 9.0


def set_flat_slice(A):
    A.flat[::2] = 0.0


def set_flat_whole(A):
    A.flat = 3.0


def set_flat_to_nothing(A):
    A.flat[:] = []


def set_flat_from(A, x):
    A.flat[:6] = x


def set_through_fortran_ravel(F):
    F.ravel()[5] = 9.0


def set_through_fortran_ravel_k(F):
    F.ravel(order="K")[5] = 9.0


def set_diagonal(C):
    C[np.diag_indices(3)] = 1.0


def set_diagonal_by_fill(C):
    np.fill_diagonal(C, 2.0)


def set_diagonal_by_range(C, p):
    C[range(3), range(3)] = p


def set_diagonal_of_view(C):
    C.diagonal()[0] = 1.0


def set_by_ix(A):
    A[np.ix_([0, 2], [1, 3])] = 0.0


def set_by_where(x):
    x[np.where(x > 2)] = -1.0


def set_in_a_loop(x):
    for j in range(1, len(x)):
        x[j] = x[j] + 0.5 * x[j - 1]


def gauss_seidel(x):
    for _ in range(3):
        for j in range(1, len(x) - 1):
            x[j] = 0.5 * (x[j - 1] + x[j + 1])


def swap(x):
    x[0], x[1] = x[1], x[0]


def swap_rows(A):
    A[[0, 2]] = A[[2, 0]]


def swap_rows_by_tuple(A):
    A[0], A[2] = A[2], A[0]


def swap_rows_by_copy(A):
    A[0], A[2] = A[2].copy(), A[0].copy()


def swap_slices(x):
    x[:3], x[3:] = x[3:].copy(), x[:3].copy()


def rotate(x):
    x[0], x[1], x[2] = x[2], x[0], x[1]


def swap_through_temporary(x):
    keep = x[0]
    x[0] = x[5]
    x[5] = keep


def bubble_sort(x):
    for j in range(len(x)):
        for n in range(len(x) - 1 - j):
            if x[n] > x[n + 1]:
                x[n], x[n + 1] = x[n + 1], x[n]


def old_value_is_kept(x):
    old = x[0]
    x[0] = 5.0
    return old


def old_row_is_not_kept(A):
    old = A[0]
    A[0, 0] = 5.0
    return old * 2


def mean_times_two(x):
    m = x.mean()
    keep = m
    m *= 2
    return keep, m


def number_added_to(x):
    total = x[0]
    total += x[1]
    return total, x[0]


def accumulated(x):
    total = 0.0
    for value in x:
        total += value**2
    return total


def accumulated_array(A):
    total = np.zeros(4)
    for row in A:
        total = total + row
    return total


def accumulated_in_place(A):
    total = A[0].copy()
    for row in A[1:]:
        total += row
    return total


def accumulated_into_a_view(A):
    total = A[0]
    for row in A[1:]:
        total += row
    return total


def add_in_place(x, y):
    x += y


def subtract_in_place(x):
    x -= x.mean()


def multiply_in_place(x, y):
    x *= y


def multiply_by_itself(x):
    x *= x


def divide_in_place(x):
    x /= x.sum()


def divide_rows_in_place(A):
    A /= np.abs(A).sum(axis=1, keepdims=True)


def power_in_place(x):
    x **= 2


def floor_divide_in_place(x):
    x //= 0.5


def modulo_in_place(x):
    x %= 0.4


def matmul_in_place(C):
    C @= C.copy() + 1


def add_slice_in_place(x, y):
    x[1:3] += y[1:3]


def add_overlapping_in_place(x):
    x[1:] += x[:-1]


def add_reversed_in_place(x):
    x += x[::-1]


def set_overlapping(x):
    x[1:] = x[:-1]


def set_reversed(x):
    x[:] = x[::-1]


def add_element_in_place(x):
    x[2] += x[3] * 2


def add_by_mask_in_place(x):
    x[x > 1] *= -1


def add_by_list_in_place(x):
    x[[0, 0, 1]] += 1.0


def add_at(x):
    np.add.at(x, [0, 0, 1], 1.0)


def add_at_values(x, y):
    np.add.at(x, [0, 0, 2, 2, 2, 5], y)


def subtract_at(A, q):
    np.subtract.at(A, (slice(None), [0, 0]), 1.0)


def multiply_at(x, p):
    np.multiply.at(x, [1, 1, 3], p)


def maximum_at(x):
    np.maximum.at(x, [0, 1], 1.5)


def negative_at(x):
    np.negative.at(x, [1, 4])


def row_in_place(A):
    A[1] -= 2 * A[0]


def elimination_step(C):
    for j in range(1, 3):
        C[j, :] -= C[j, 0] / C[0, 0] * C[0, :]


def elimination(C, p):
    n = 3
    for i in range(n):
        pivot = i + np.argmax(np.abs(C[i:, i]))
        if pivot != i:
            C[[i, pivot]] = C[[pivot, i]]
            p[i], p[pivot] = p[pivot], p[i]
        for j in range(i + 1, n):
            m = C[j, i] / C[i, i]
            C[j, i:] -= m * C[i, i:]
            p[j] -= m * p[i]
    x = np.zeros_like(p)
    for i in range(n - 1, -1, -1):
        x[i] = (p[i] - C[i, i + 1 :] @ x[i + 1 :]) / C[i, i]
    return x


def column_scaled(A):
    A[:, 1] *= 3


def augmented_row_of_a_loop(A):
    for row in A:
        row *= 2


def row_of_enumerate(A, p):
    for j, row in enumerate(A):
        row += p[j]


def loop_variable_rebound(x):
    for value in x:
        value *= 2  # a scalar: x stays


def zip_of_rows(A, p):
    for row, number in zip(A, p, strict=True):
        row[0] = number


def fill(x):
    x.fill(2.0)


def fill_with_a_scalar(x):
    x.fill(x[3])


def put(x):
    x.put([0, 2], [7.0, 8.0])


def put_cycles(A):
    A.put([0, 5, 7], [1.0, 2.0])


def put_function(x, y):
    np.put(x, [0, 2], y)


def put_along_axis(A):
    np.put_along_axis(A, np.argmax(A, axis=1)[:, None], 0.0, axis=1)


def putmask(x, y):
    np.putmask(x, x > 1, y)


def place(x):
    np.place(x, x > 1, [7.0, 8.0])


def copyto(x, y):
    np.copyto(x, y)


def copyto_where(x, y):
    np.copyto(x, y, where=x > 1)


def sort_in_place(x):
    x.sort()


def sort_rows_in_place(A):
    A.sort(axis=0)


def sort_of_view(A):
    A[1].sort()


def sort_of_column(A):
    A[:, 0].sort()


def reversed_sort(x):
    x[::-1].sort()


def partition_in_place(x):
    x.partition(2)


def resize_in_place(x):
    x.resize(8, refcheck=False)


def reshape_by_shape(x):
    x.shape = (2, 3)


def itemset_by_index(x):
    x[(2,)] = 3.0


def delete_item(x):
    del x[0]


def out_of_ufunc(x, y):
    np.add(x, y, out=x)


def out_of_another(x, y):
    np.multiply(x, 2, out=y)


def out_of_a_view(x, A):
    np.exp(x[:4], out=A[0])


def out_positional(x, y):
    np.sin(x, y)


def out_and_where(x, y):
    np.log(x, out=y, where=x > 1)


def out_of_sum(A, q):
    A.sum(axis=0, out=q)


def out_of_np_sum(A, p):
    np.sum(A, axis=1, out=p)


def out_of_dot(A, B, C):
    np.dot(A, B, out=C)


def out_of_matmul(A, B, C):
    np.matmul(A, B, out=C)


def out_of_cumsum(x, y):
    np.cumsum(x, out=y)


def out_of_clip(x, y):
    np.clip(x, 0.5, 2, out=y)


def clip_in_place(x):
    np.clip(x, 0.5, 2, out=x)


def clip_method_in_place(x):
    x.clip(0.5, 2.0, out=x)


def out_of_mean(A, q):
    np.mean(A, axis=0, out=q)


def out_of_take(x, p):
    np.take(x, [0, 2, 4], out=p)


def out_is_returned(x, y):
    return np.add(x, 1, out=y) is y


def in_place_is_returned(x):
    before = x
    x += 1
    return before is x


def real_part_written(z):
    z.real = 1.0


def real_part_slice_written(z):
    z.real[1:] = 0.5


def imag_part_in_place(z):
    z.imag *= 2


def complex_into_complex(z):
    z[0] = z[1] * 1j


def complex_into_real(x, z):
    x[0] = z[0]


def string_into_real(x):
    x[0] = "a"


def none_into_real(x):
    x[0] = None


def string_number_into_real(x):
    x[0] = "1.5"


def float_into_int(k, x):
    k[0] = x[1]


def float_slice_into_int(k, x):
    k[:] = x[:4]


def int_in_place_with_float(k, x):
    k += x[:4]


def int_element_in_place(k):
    k[0] += 3


def bool_written(b):
    b[0] = False


def bool_from_comparison(b, x):
    b[:] = x > 2


def bool_in_place(b, x):
    b &= x > 1


def wrong_length(x):
    x[:3] = x[:2]


def wrong_shape(A):
    A[0] = A[:, 0]


def out_of_bounds(x):
    x[6] = 1.0


def out_of_bounds_list(x):
    x[[0, 9]] = 1.0


def scalar_is_immutable(s):
    s[0] = 1.0


def scalar_of_element_is_immutable(x):
    x[0][()] = 1.0


def zero_dimensional_set(o):
    o[...] = 2.0


def zero_dimensional_set_by_empty_tuple(o):
    o[()] = o * 3


def zero_dimensional_in_place(o):
    before = o
    o += 1
    return before is o, before


def zero_dimensional_view(x):
    view = x[2, ...]
    view[()] = 7.0


def zero_dimensional_view_by_reshape(x):
    view = x[2:3].reshape(())
    view += 1


def single_into_single(h):
    h[0] = h[1] / 3


def single_in_place_with_double(h):
    h *= np.float64(1.5)


def single_in_place_with_array(h, x):
    h += x[:4]


def empty_written(e):
    e[:] = 3.0


def empty_mask_written(x):
    x[x > 100] = 7.0


def saved_then_overwritten(x):
    y = np.sin(x)
    x[:] = 0.0
    return y


def squared_then_overwritten(x):
    y = x * x
    x *= 0.5
    return y


def product_of_a_buffer(x):
    result = 1.0
    for j in range(3):
        result = result * x[j]
        x[j] = result
    return result


def two_views_overlap(x):
    u, v = x[:4], x[2:]
    u *= 2
    v += u[0]


def views_of_views(A):
    block = A[:2, :2]
    corner = block[0]
    corner[:] = block[1]


def newaxis_view_written(x):
    x[:, None][2, 0] = 4.0


def squeezed_view_written(x):
    x[None].squeeze()[1] = 4.0


def swapaxes_written(T):
    T.swapaxes(0, 2)[0] = 1.0


def moveaxis_written(T):
    np.moveaxis(T, 0, -1)[1, 2] = 1.0


def atleast_2d_written(x):
    np.atleast_2d(x)[0, 1] = 4.0


def expand_dims_written(x):
    np.expand_dims(x, 0)[0, 1] = 4.0


def split_written(x):
    first, _ = np.split(x, 2)
    first[:] = 0.0


def array_split_written(x):
    np.array_split(x, 4)[0][:] = 0.0


def hsplit_written(A):
    np.hsplit(A, 2)[1][:] = 0.0


def flip_written(x):
    np.flip(x)[0] = 4.0


def fliplr_written(A):
    np.fliplr(A)[0] = 4.0


def rot90_written(A):
    np.rot90(A)[0] = 4.0


def roll_written(x):
    np.roll(x, 1)[0] = 4.0


def pad_written(x):
    np.pad(x, 0)[0] = 4.0


def broadcast_written(x):
    np.broadcast_to(x, (2, 6))[0, 0] = 4.0


def real_of_real_written(x):
    x.real[0] = 4.0


def conj_of_real_written(x):
    x.conj()[0] = 4.0


def asarray_written(x):
    np.asarray(x)[0] = 4.0


def array_copy_written(x):
    np.array(x)[0] = 4.0


def array_without_copy_written(x):
    np.array(x, copy=False)[0] = 4.0


def astype_written(x):
    x.astype(float)[0] = 4.0


def astype_without_copy_written(x):
    x.astype(float, copy=False)[0] = 4.0


def ascontiguousarray_written(x):
    np.ascontiguousarray(x)[0] = 4.0


def require_written(x):
    np.require(x, float, ["C"])[0] = 4.0


def squeeze_all_written(o):
    np.squeeze(o)[...] = 4.0


def trapezoid_into_buffer(x):
    out = np.empty_like(x)
    out[0] = 0
    out[1:] = np.cumsum((x[1:] + x[:-1]) / 2)
    return out


def history_in_zeros_like(x):
    u = x[0]
    history = np.zeros_like(x)
    for j in range(len(x)):
        u = u + 0.1 * (x[j] - u)
        history[j] = u
    return history


def history_in_zeros(x):
    history = np.zeros(len(x))
    for j in range(len(x)):
        history[j] = np.sin(x[j])
    return history


def trajectory_in_empty(p):
    path = np.empty((5, 3))
    path[0] = p
    for n in range(4):
        path[n + 1] = path[n] + 0.1 * np.array([path[n, 1], -path[n, 0], path[n, 2]])
    return path


def matrix_element_by_element(s):
    R = np.eye(3)
    R[0, 0] = np.cos(s)
    R[0, 1] = -np.sin(s)
    R[1, 0] = np.sin(s)
    R[1, 1] = np.cos(s)
    return R


def counts_in_int_buffer(x):
    counts = np.zeros(4, dtype=int)
    for value in x:
        counts[int(value)] += 1
    return counts


def list_appended(x):
    values = []
    for value in x:
        values.append(value * 2)
    return np.array(values)


def list_of_rows_stacked(A):
    rows = []
    for row in A:
        rows.append(row / row.sum())
    return np.vstack(rows)


def deleted_and_inserted(x):
    return np.insert(np.delete(x, 1), 0, x[1])


def setflags_read_only(x):
    x.setflags(write=False)
    x[0] = 1.0


def setfield(x):
    x.setfield(3.0, np.float64)


def nditer_written(x):
    with np.nditer(x, op_flags=["readwrite"]) as it:
        for value in it:
            value[...] = 2 * value


def ndenumerate_read(A):
    total = 0.0
    for (j, n), value in np.ndenumerate(A):
        total += (j + 2 * n) * value
    return total


def ndindex_written(A):
    for index in np.ndindex(A.shape):
        A[index] = A[index] ** 2


_START = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def plain_start_moved(x):
    u = _START.copy()
    for _ in range(3):
        u += 0.1 * x
    return u


def plain_start_moved_by_scalars(s):
    u = _START.copy()
    u *= s
    u -= s
    return u


def plain_random_start_moved(x):
    u = np.random.default_rng(0).normal(size=6)
    u += x
    return u


def plain_buffer_accumulated(A):
    total = np.zeros(4)
    for row in A:
        total += row
    return total


def plain_buffer_with_an_alias(x):
    u = _START.copy()
    v = u
    u += x
    return v


def plain_buffer_with_a_view(x):
    u = _START.copy()
    v = u[1:]
    u += x
    return v


def plain_buffer_whose_view_is_moved(x):
    u = _START.copy()
    u[1:3] += x[1:3]
    return u


def plain_buffer_of_a_caller(x):
    def move(u):
        u += x

    u = _START.copy()
    move(u)
    return u


def plain_buffer_given_away(x):
    def moved(u):
        u += x
        return u

    return moved(_START.copy())


def plain_buffer_in_a_list(x):
    us = [_START.copy(), _START.copy()]
    us[0] += x
    return us


def plain_buffer_in_two_lists(x):
    us = [_START.copy()]
    vs = list(us)
    us[0] += x
    return vs


def plain_buffer_in_a_dict(x):
    state = {"u": _START.copy()}
    state["u"] += x
    return state


def plain_buffer_in_an_attribute(x):
    class State:
        pass

    state = State()
    state.u = _START.copy()
    state.u += x
    return state.u


def plain_buffer_of_a_closure(x):
    u = _START.copy()

    def move():
        nonlocal u
        u += x

    move()
    return u


def plain_buffer_and_a_loop_over_it(x):
    u = np.ones((2, 6))
    for row in u:
        row += x
    return u


def plain_buffer_by_out(x):
    u = _START.copy()
    np.add(u, x, out=u)
    return u


def plain_buffer_by_out_returned(x):
    return np.multiply(x, 2, out=np.empty(6))


def plain_whole_numbers_moved(x):
    u = np.arange(6)
    u += x
    return u


def plain_single_moved(x):
    u = np.ones(6, dtype=np.float32)
    u += x
    return u


def plain_buffer_of_the_wrong_shape(x):
    u = np.ones(3)
    u += x
    return u


def plain_buffer_broadcast_into(s):
    u = _START.copy()
    u += s
    u[0] = 0.0
    u **= 2
    return u


def plain_read_only_moved(x):
    u = _START.copy()
    u.flags.writeable = False
    u += x
    return u


def plain_matrix_times_in_place(C):
    u = np.eye(3)
    u @= C
    return u


def plain_element_moved(x):
    u = _START.copy()
    u[0] += x[0]
    return u


def plain_slice_written(x):
    u = _START.copy()
    u[:3] = x[:3]
    return u


def plain_number_in_place(x):
    total = 0.0
    total += x[0]
    total *= x[1]
    return total


def plain_numpy_number_in_place(x):
    total = np.float64(0.0)
    total += x[0]
    total += x
    return total


def plain_buffer_by_a_function(x):
    u = _START.copy()
    operator.iadd(u, x)
    return u


def plain_buffer_by_its_method(x):
    u = _START.copy()
    u.__iadd__(x)
    return u
