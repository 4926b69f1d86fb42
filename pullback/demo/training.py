"""The digits, and how the network learns them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

import pullback as pb
from pullback import Tensor, optim
from pullback.demo.extras import need
from pullback.demo.network import Network

SEED = 0
HELD_OUT = 0.25
EPOCHS = 30
BATCH = 64
RATE = 3e-3  # of AdamW at the start; it falls to zero along half a cosine


@dataclass(frozen=True)
class Digits:
    """Images of 8 x 8 pixels, scaled to 0..1, as rows of 64, and what they show."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        """How many."""
        return len(self.labels)

    def pick(self, which: np.ndarray | slice) -> Digits:
        """Some of them."""
        return Digits(self.images[which], self.labels[which])


@dataclass
class History:
    """Holds what each epoch ended with."""

    train_loss: list[float] = field(default_factory=list)
    held_out_loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    held_out_accuracy: list[float] = field(default_factory=list)


def load() -> tuple[Digits, Digits]:
    """The digits that scikit-learn ships, split into those to learn from and those held out, classes in proportion."""
    images, labels = need("sklearn.datasets").load_digits(return_X_y=True)
    parts = need("sklearn.model_selection").train_test_split(
        (images / 16).astype(np.float32), labels, test_size=HELD_OUT, stratify=labels, random_state=SEED
    )
    train_images, held_images, train_labels, held_labels = map(pb.from_numpy, parts)
    return Digits(train_images, train_labels), Digits(held_images, held_labels)


def train(network: Network, train_set: Digits, held_out: Digits, epochs: int = EPOCHS) -> History:
    """Minimise the cross-entropy by AdamW, with a progress bar on a terminal."""
    rng = np.random.default_rng(SEED)
    history = History()
    steps = math.ceil(len(train_set) / BATCH)
    optimizer = optim.AdamW(network.parameters.values(), lr=RATE)
    rate = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * steps)
    with need("tqdm").tqdm(total=epochs * steps, desc="training", unit="step", disable=None) as progress:
        for _ in range(epochs):
            order = rng.permutation(len(train_set))
            for step in range(steps):
                batch = train_set.pick(order[step * BATCH : (step + 1) * BATCH])
                optimizer.zero_grad()
                network.loss(batch.images, batch.labels).backward()
                optimizer.step()
                rate.step()
                progress.update()
            record(history, network, train_set, held_out)
            progress.set_postfix(loss=f"{history.train_loss[-1]:.4f}", held_out=f"{history.held_out_accuracy[-1]:.2%}")
    return history


def record(history: History, network: Network, train_set: Digits, held_out: Digits) -> None:
    """Note where the training stands."""
    loss, accuracy = evaluate(network, train_set)
    history.train_loss.append(loss)
    history.train_accuracy.append(accuracy)
    loss, accuracy = evaluate(network, held_out)
    history.held_out_loss.append(loss)
    history.held_out_accuracy.append(accuracy)


def evaluate(network: Network, digits: Digits) -> tuple[float, float]:
    """Mean loss, and the part that is recognised."""
    with pb.no_grad():
        logits = network.logits(digits.images)
        loss = pb.nn.functional.cross_entropy(logits, digits.labels)
        return loss.item(), float(np.mean(logits.argmax(1).numpy() == digits.labels.numpy()))
