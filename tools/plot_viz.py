"""Draw the pictures of docs/viz.md: a transformer's graph as `viz.explore` shows it, and its memory.

python tools/plot_viz.py [page.html]    also keeps the page

The first is a photograph of the page in Chromium, which needs chromedriver, selenium and pillow.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import pullback as pb
from pullback import viz
from pullback.nn import functional as F

IMAGES = Path(__file__).parents[1] / "docs" / "images"
HEADS, WIDTH = 2, 32
RNG = np.random.default_rng(0)


def parameters(fan_in, fan_out):
    """Of a linear layer."""
    weight = RNG.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in)
    return {"W": pb.tensor(weight, requires_grad=True), "b": pb.zeros(fan_out, requires_grad=True)}


def linear(x, p):
    """An affine map."""
    return x @ p["W"] + p["b"]


def norm(x):
    """Each row with mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    return centred / (variance + 1e-5).sqrt()


def heads(x):
    """(batch, time, width) as (batch, head, time, width of a head)."""
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(1, 2)


def attention(x, p):
    """Softmax attention."""
    q, k, v = (heads(linear(x, p[name])) for name in "qkv")
    weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
    return linear((weights @ v).transpose(1, 2).reshape(x.shape), p["o"])


def mlp(x, p):
    """Two linear layers."""
    return linear(F.gelu(linear(x, p["up"])), p["down"])


def block(x, p):
    """One block of a transformer."""
    x = x + attention(norm(x), p)
    return x + mlp(norm(x), p)


def transformer(blocks):
    """The loss of a transformer on noise, and its parameters by name."""
    x = pb.tensor(RNG.normal(size=(4, 24, WIDTH)))
    names = {}
    for i in range(blocks):
        p = {name: parameters(WIDTH, WIDTH) for name in "qkvo"}
        p |= {"up": parameters(WIDTH, 4 * WIDTH), "down": parameters(4 * WIDTH, WIDTH)}
        names |= {f"{i}.{layer}.{name}": value for layer, each in p.items() for name, value in each.items()}
        x = block(x, p)
    return F.mse_loss(x, pb.zeros(4, 24, WIDTH)), names


def photograph(page, picture):
    """The page, with the path from the first query weight to the loss."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile:
        for option in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.set_window_size(1440, 960)
            driver.get(page.as_uri())
            driver.find_element("id", "search").send_keys("softmax", Keys.ENTER, Keys.ESCAPE)
            ActionChains(driver).send_keys("p", "0").pause(0.3).perform()
            driver.save_screenshot(str(picture))
            Image.open(picture).quantize(240).save(picture, optimize=True)  # half of the size
        finally:
            driver.quit()


def main():
    """Draw both."""
    with viz.recording():
        loss, names = transformer(3)
    viz.memory(loss).save(IMAGES / "viz_memory.svg")
    with viz.recording():
        loss, names = transformer(3)
        loss.backward()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(sys.argv[1] if sys.argv[1:] else f"{folder}/page.html").resolve()
        viz.explore(loss, page, names, title="A transformer of three blocks")
        photograph(page, IMAGES / "viz_explore.png")


if __name__ == "__main__":
    main()
