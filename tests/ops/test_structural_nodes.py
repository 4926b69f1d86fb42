"""What the tags `structural`, `masking` and `pointwise` promise, for every node behind the samples of the records."""

import numpy as np
import pytest

from pullback.testing.opinfo.calls import accepted, sampling
from pullback.testing.opinfo.tag_checks import FEW_SAMPLES, check_node, nodes_of


@pytest.mark.check("gradient")
def test_nodes_keep_what_their_tags_promise(info, dtype):
    rng = np.random.default_rng(0)
    for sample in accepted(info, dtype)[:FEW_SAMPLES]:
        with sampling(info, sample, dtype):
            nodes = nodes_of(info, sample)
        for node in nodes:
            check_node(node, rng)
