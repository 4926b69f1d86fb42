"""Train a classifier on 1797 real handwritten digits, and show that its gradients are right."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

import pullback as pb
from pullback import viz
from pullback.demo import plots
from pullback.demo.extras import need
from pullback.demo.network import Network
from pullback.demo.training import BATCH, EPOCHS, SEED, Digits, load, train


def check_gradients(digits: Digits) -> int:
    """Compare the loss's gradient with finite differences, in float64, at every entry; return how many entries."""
    network = Network(seed=SEED, dtype=np.float64)
    few = digits.pick(slice(4))
    images = pb.from_numpy(few.images.numpy().astype(np.float64))
    parameters = tuple(network.parameters.values())
    pb.autograd.gradcheck(lambda *given: network.loss(images, few.labels, *given), parameters)
    return sum(math.prod(parameter.shape) for parameter in parameters)


def main(folder: Path) -> int:
    """Run the demo; write training.png and graph.svg into `folder`."""
    # Matrices of a few thousand numbers are too small to share: on a busy machine BLAS threads that wait for each
    # other made a step take 60 ms instead of 2.
    with need("threadpoolctl").threadpool_limits(1, user_api="blas"):
        return run(folder)


def run(folder: Path) -> int:
    """The demo itself."""
    train_set, held_out = load()
    print(f"Handwritten digits: {len(train_set)} to learn from, {len(held_out)} held out.")

    checked = check_gradients(train_set)
    print(f"gradcheck: all {checked:,} entries of the loss's gradient agree with finite differences.")

    network = Network(seed=SEED)
    batch = train_set.pick(slice(BATCH))
    loss = network.loss(batch.images, batch.labels)
    picture = viz.graph(loss, params=network.parameters).save(folder / "graph.svg")

    start = time.perf_counter()
    history = train(network, train_set, held_out)
    seconds = time.perf_counter() - start
    curves = plots.training(history, folder / "training.png")

    accuracy = history.held_out_accuracy[-1]
    wrong = round((1 - accuracy) * len(held_out))
    print(f"Trained for {EPOCHS} epochs in {seconds:.1f} s: loss {history.train_loss[-1]:.4f}.")
    print(f"Held-out accuracy: {accuracy:.2%} ({wrong} of {len(held_out)} digits wrong).")
    print(f"Curves: {curves}\nAutograd graph of one step: {picture}")
    return 0
