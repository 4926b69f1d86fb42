"""The page of `viz.explore` in a real browser: it opens, folds, finds, and shows the way of a gradient."""

from __future__ import annotations

import shutil
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback import viz

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("no Chromium with chromedriver on this machine", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium, which drives the browser, is not installed")
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--disable-sync", "--window-size=1400,900",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """An open page, and what a person does with it."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get(path.as_uri())
        assert driver.execute_script("return document.body.dataset.ready") is not None, self.errors()

    def errors(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def text(self, id):
        return self.driver.find_element(By.ID, id).text

    def press(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def click(self, id):
        self.driver.find_element(By.ID, id).click()

    def search(self, words):
        box = self.driver.find_element(By.ID, "search")
        box.clear()
        box.send_keys(words)

    def boxes(self):
        return int(self.text("status").split()[0].replace(",", ""))

    def card(self):
        return self.text("card")

    def colors(self):
        """How many colors the picture has."""
        return self.driver.execute_script(
            "const c = document.getElementById('picture');"
            "const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);"
            "return new Set(d).size;"
        )


def layer(x, W, b):
    return (x @ W + b).tanh()


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A page of a network of four layers, recorded in both directions; one weight gets NaN."""
    rng = np.random.default_rng(0)
    weights = [pb.tensor(rng.normal(size=(6, 6)), requires_grad=True) for _ in range(4)]
    b = pb.zeros(6, requires_grad=True)
    with viz.recording():
        h = pb.tensor(rng.normal(size=(5, 6)))
        for W in weights:
            h = layer(h, W, b)
        loss = (h**2).mean()
        loss.backward()
    names = {"b": b, **{f"W{i}": W for i, W in enumerate(weights)}}
    return viz.explore(loss, tmp_path_factory.mktemp("pages") / "network.html", names, title="<b>net</b> & work")


def test_it_opens(browser, network):
    page = Page(browser, network)
    assert not page.errors()
    assert page.text("title") == browser.title == "<b>net</b> & work"
    assert "14 operators" in page.text("facts")
    assert "5 leaves (150 numbers)" in page.text("facts")
    assert page.colors() > 20
    assert not browser.find_element(By.ID, "notice").is_displayed()


def test_it_folds_and_unfolds(browser, network):
    page = Page(browser, network)
    page.click("more")
    opened = page.boxes()
    assert opened == 14 + 4 + 4 + 1  # `b` stands beside each of its four users; and the result
    page.click("less")
    assert page.boxes() == 2
    browser.find_element(By.CSS_SELECTOR, "#tree .caret").click()
    assert 2 < page.boxes() < opened
    page.press("E")
    assert page.boxes() == opened
    page.press("F")
    assert page.boxes() == 2
    assert not page.errors()


def test_calls_are_told_apart_and_lines_are_not(browser, network):
    page = Page(browser, network)
    tree = browser.find_element(By.ID, "tree")
    assert browser.find_element(By.ID, "by").get_attribute("value") == "calls"
    assert tree.text.count("layer()") == 4
    for line in tree.text.splitlines():
        assert not line.endswith("undefined")
    page.press("b")
    assert tree.text.count("layer()") == 1
    assert "return (x @ W + b).tanh()" in tree.text
    assert not page.errors()


def test_it_finds_and_the_card_says_all(browser, network):
    page = Page(browser, network)
    page.press("/", "tanh")
    found = browser.find_element(By.ID, "found")
    assert "12 MATCHES" in found.text.upper()  # the line says tanh: matmul and add too, behind those of the name
    page.press(Keys.ENTER)
    card = page.card()
    assert card.startswith("TanhBackward0")
    for part in (
        "float64 (5, 6)", "240 B", "norm", "NaN", "zeros", "- name: tanh(Tensor self) -> Tensor", "result * result",
        "shared with 1 node", "forward", "test_explore_browser.py", "return (x @ W + b).tanh()", "AddBackward0",
    ):  # fmt: skip
        assert part in card, part
    page.search("(6,)")
    assert found.text.splitlines()[1:] == ["b", "(6,)"]
    page.search("nowhere")
    assert "NOTHING FOUND" in found.text.upper()
    page.press(Keys.ESCAPE)
    assert not found.is_displayed()
    assert not page.errors()


def test_the_way_of_a_leaf_is_highlighted(browser, network):
    page = Page(browser, network)
    page.search("W0")
    page.press(Keys.ENTER, Keys.ESCAPE)
    assert page.card().startswith("W0\na leaf")
    before = page.colors()
    page.press("p")
    assert "Its gradient passes 14 nodes; the shortest way has 14 steps." in page.card()
    assert page.colors() != before
    page.press("p")
    assert "Its gradient passes" not in page.card()


def test_keys_walk_along_edges(browser, network):
    page = Page(browser, network)
    page.press("E", Keys.ARROW_DOWN)
    assert page.card().startswith("MeanBackward0")  # that of the result
    page.press(Keys.ARROW_UP)
    page.press(Keys.ARROW_UP)
    assert page.card().startswith("PowBackward0")
    page.press(Keys.ARROW_UP)
    assert page.card().startswith("TanhBackward0")
    page.press(Keys.ARROW_DOWN)
    assert page.card().startswith("PowBackward0")
    page.press("f")
    assert page.boxes() < 23
    page.press("?")
    assert browser.find_element(By.ID, "help").is_displayed()
    page.press(Keys.ESCAPE)
    assert not page.errors()


def test_the_pointer_chooses_opens_and_moves(browser, network):
    page = Page(browser, network)
    where = "return window.explorer.where(arguments[0])"
    canvas = browser.find_element(By.ID, "picture")
    area = canvas.rect
    middle = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2

    def at(number):
        x, y = browser.execute_script(where, number)
        return round(x - middle[0]), round(y - middle[1])

    page.click("less")
    before = page.boxes()
    ActionChains(browser, duration=0).move_to_element_with_offset(canvas, *at(0)).click().perform()
    assert "Inside" in page.card() or "INSIDE" in page.card()
    ActionChains(browser, duration=0).move_to_element_with_offset(canvas, *at(0)).double_click().perform()
    assert page.boxes() > before
    x, y = at(0)
    ActionChains(browser, duration=0).move_to_element_with_offset(canvas, -200, -200).click_and_hold().move_by_offset(
        50, 30
    ).release().perform()
    assert at(0) == (x + 50, y + 30)
    ActionChains(browser, duration=0).scroll_from_origin(_origin(canvas), 0, -300).perform()
    assert at(0) != (x + 50, y + 30)
    assert not page.errors()


def _origin(canvas):
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    return ScrollOrigin.from_element(canvas, 100, 100)


def test_light_and_dark_and_colors_by_what_nodes_do(browser, network):
    page = Page(browser, network)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(ground)
    page.press("l")
    assert browser.execute_script(ground) != light
    menu = browser.find_element(By.ID, "color")
    assert [option.text for option in menu.find_elements(By.TAG_NAME, "option")] == [
        "function", "memory held", "gradient norm", "forward time", "backward time",
    ]  # fmt: skip
    for _ in range(5):
        page.press("c")
        assert page.colors() > 20
    assert not page.errors()


def test_nan_is_pointed_out(browser, tmp_path):
    x = pb.tensor([0.0, 1.0], requires_grad=True)
    with viz.recording():
        y = (x.sqrt() * 0).sum()
        y.backward(pb.tensor(np.inf))
    page = Page(browser, viz.explore(y, tmp_path / "nan.html"))
    assert "NAN OR INFINITY CAME TO 4 NODES, FIRST TO\nSUMBACKWARD0" in page.card().upper()
    page.search("sqrt")
    page.press(Keys.ENTER)
    assert "norm\nnan" in page.card() or "norm nan" in page.card()
    assert "100 %" in page.card()
    assert not page.errors()


def test_without_recording_it_says_so_and_folds_by_operator(browser, tmp_path):
    y = pb.ones(3, requires_grad=True)
    for _ in range(40):
        y = y.sin().exp()
    page = Page(browser, viz.explore(y.sum(), tmp_path / "plain.html"))
    assert "No source lines were recorded" in page.text("notice")
    assert page.boxes() == 4  # leaf and all are inside
    browser.find_element(By.CSS_SELECTOR, "#notice button").click()
    assert not browser.find_element(By.ID, "notice").is_displayed()
    page.click("more")
    assert page.boxes() == 83
    assert not page.errors()


def test_five_thousand_nodes(browser, tmp_path):
    W, b = pb.eye(3, requires_grad=True), pb.zeros(3, requires_grad=True)
    h, loss = pb.ones(2, 3), 0
    with viz.recording():
        for _ in range(830):
            h = layer(h, W, b)
            loss = loss + (h * h).sum()
    page = Page(browser, viz.explore(loss, tmp_path / "long.html", {"W": W, "b": b}))
    assert "4,980 operators" in page.text("facts")
    assert page.boxes() < 40
    page.click("more")
    assert page.boxes() > 4980
    assert page.colors() > 5
    page.search("W")
    page.press(Keys.ENTER, Keys.ESCAPE, "p")
    assert "Its gradient passes 4,980 nodes" in page.card()
    assert not page.errors()


def test_wide_layers_are_set_in_rows(browser, tmp_path):
    y = pb.stack([pb.ones(2, requires_grad=True).sin() for _ in range(100)]).sum()
    page = Page(browser, viz.explore(y, tmp_path / "wide.html"))
    page.click("more")
    assert page.boxes() == 203
    places = browser.execute_script(
        "return [...Array(202).keys()].filter((i) => i > 1 && i % 2).map((i) => window.explorer.where(i))"
    )
    assert len({round(y, 3) for _, y in places}) > 1
    assert len({(round(x, 3), round(y, 3)) for x, y in places}) == 100
    assert not page.errors()


def test_a_narrow_window_has_all_of_it(browser, network):
    browser.set_window_size(520, 900)
    try:
        page = Page(browser, network)
        width = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] <= width[1]
        assert page.colors() > 20
        assert page.card()
    finally:
        browser.set_window_size(1400, 900)
