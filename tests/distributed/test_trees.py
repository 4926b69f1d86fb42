import random

import numpy as np
import pytest

from pullback.distributed.trees import TreeSum


def blocks(count, rng):
    """The terms in some blocks that are nodes of the tree, as tasks have them."""
    start = 0
    while start < count:
        size = 2 ** rng.randint(0, 4)
        while start % size:
            size //= 2
        stop = min(start + size, count)
        yield start, stop
        start = stop


def summed(terms, order):
    total = TreeSum(len(terms))
    for start, stop in order:
        part = TreeSum(stop - start)
        for i in range(start, stop):
            part.put(i - start, i - start + 1, terms[i])
        total.put(start, stop, part.total())
    return total.total()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13, 16, 33, 100])
def test_the_sum_has_the_same_bits_in_every_order_and_grouping(count):
    rng = random.Random(count)
    terms = list(np.random.default_rng(count).standard_normal(count) * 10.0 ** (np.arange(count) % 17))
    expected = summed(terms, [(i, i + 1) for i in range(count)])
    for _ in range(20):
        order = list(blocks(count, rng))
        rng.shuffle(order)
        assert summed(terms, order) == expected


def test_few_nodes_are_held_where_terms_come_in_order():
    total, most = TreeSum(1000), 0
    for i in range(1000):
        total.put(i, i + 1, 1)
        most = max(most, len(total._nodes))
    assert total.total() == 1000
    assert most <= 10


def test_terms_are_added_two_by_two():
    texts = [np.array(str(i), object) for i in range(7)]
    joined = [x + np.array("", object) for x in texts]
    total = TreeSum(7)
    for i, x in enumerate(joined):
        total.put(i, i + 1, np.array([f"({x})"], object))
    assert total.total()[0] == "(0)(1)(2)(3)(4)(5)(6)"
