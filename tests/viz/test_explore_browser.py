"""The page of `viz.explore` in a real browser: it opens, folds, finds, and shows the path of a gradient."""

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

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def where(self, number):
        """Where the box of a node stands in the window."""
        return self.run("return window.explorer.where(arguments[0])", number)

    def theme(self):
        return self.run("return document.documentElement.dataset.theme")

    def point(self, x, y):
        """Move the pointer to a place in the window."""
        actions = ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        return actions

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


def test_shapes_are_found_with_and_without_spaces_and_matches_come_as_the_program_ran(browser, network):
    page = Page(browser, network)
    for words in ("(6, 6)", "(6,6)"):
        page.search(words)
        assert page.text("found").splitlines()[1::2] == ["W0", "W1", "W2", "W3"]
    assert page.run("return document.querySelector('#leaves').textContent").startswith(
        "Leaves · 5W0(6, 6)b(6,)W1(6, 6)"
    )


@pytest.mark.parametrize("words", ["(", "[", "*", "\\", "$^", "a|b", "   ", "<b>", '"', "x" * 1000])
def test_odd_words_are_searched_as_they_are(browser, network, words):
    page = Page(browser, network)
    page.search(words)
    page.press(Keys.ENTER, Keys.ESCAPE)
    assert browser.find_element(By.ID, "search").get_attribute("value") == ""
    assert not page.errors()


def test_the_way_of_a_leaf_is_highlighted(browser, network):
    page = Page(browser, network)
    page.search("W0")
    page.press(Keys.ENTER, Keys.ESCAPE)
    assert page.card().startswith("W0\na leaf")
    before = page.colors()
    page.press("p")
    assert "Its gradient passes 14 nodes; the shortest path has 14 steps." in page.card()
    assert page.colors() != before
    page.press("p")
    assert "Its gradient passes" not in page.card()


def test_a_way_ends_at_the_result_that_it_reaches(browser, tmp_path):
    x, w = pb.ones(2, requires_grad=True), pb.ones(2, requires_grad=True)
    loss, penalty = x.sin(), w.cos()
    page = Page(browser, viz.explore([loss, penalty], tmp_path / "two.html", {"x": x, "w": w, "penalty": penalty}))
    assert "result 0" in page.card()
    assert "result 1: penalty" in page.card()
    page.search("w")
    page.press(Keys.ENTER, Keys.ESCAPE, "p")
    assert sorted(page.run("return window.explorer.lit()")) == ["CosBackward0", "result 1: penalty", "w"]


def test_a_path_keeps_the_name_of_its_box(browser, network):
    page = Page(browser, network)
    page.search("W0")
    page.press(Keys.ENTER, Keys.ESCAPE, "p", Keys.ARROW_DOWN)
    assert page.card().startswith("MatmulBackward0")
    assert "PATH OF W0 TO THE RESULT" in page.card()
    page.press("p")
    assert "the shortest path has 13 steps" in page.card()
    assert "PATH OF" not in page.card()


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


def test_what_is_pressed_keeps_the_focus(browser, network):
    page = Page(browser, network)
    before = page.boxes()
    caret = browser.find_element(By.CSS_SELECTOR, "#tree .caret")
    caret.send_keys(Keys.ENTER)
    assert page.boxes() == 2
    page.press(Keys.ENTER)
    assert page.boxes() == before
    page.press(Keys.TAB, Keys.ENTER, Keys.ESCAPE)
    page.search("W0")
    page.press(Keys.ENTER, Keys.ESCAPE)
    browser.find_element(By.CSS_SELECTOR, "#card .buttons button").send_keys(Keys.ENTER)
    assert "hide the path" in page.run("return document.activeElement.textContent")
    page.press(Keys.ENTER)
    assert "path to the result" in page.run("return document.activeElement.textContent")
    assert not page.errors()


def test_the_help_is_closed_by_key_and_by_pointer(browser, network):
    page = Page(browser, network)
    help = browser.find_element(By.ID, "help")
    page.click("keys")
    help.find_element(By.TAG_NAME, "button").click()
    assert not help.is_displayed()
    page.click("keys")
    page.point(5, 5).click().perform()  # beside it
    assert not help.is_displayed()
    assert not page.errors()


def test_a_double_click_opens_a_group_at_the_edge(browser, network):
    page = Page(browser, network)
    page.click("less")
    x, y = page.where(0)
    bottom = page.run("return document.getElementById('picture').getBoundingClientRect().bottom")
    page.point(x, y - 100).click_and_hold().move_by_offset(0, round(bottom - y - 15)).release().perform()
    before = page.boxes()
    page.point(*page.where(0)).double_click().perform()
    assert page.boxes() > before


def test_only_the_first_button_drags(browser, network):
    page = Page(browser, network)
    before = page.where(0)
    page.point(400, 200).context_click().move_by_offset(60, 60).perform()
    page.press(Keys.ESCAPE)
    assert page.where(0) == before


def test_two_fingers_zoom(browser, network):
    page = Page(browser, network)

    def touch(kind, *points):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    page.click("more")
    (x0, y0), (x1, y1) = page.where(0), page.where(3)
    touch("touchStart", (650, 300), (750, 300))
    for apart in (60, 80, 100):
        touch("touchMove", (700 - apart, 300), (700 + apart, 300))
    touch("touchEnd")
    (u0, v0), (u1, v1) = page.where(0), page.where(3)
    assert [u1 - u0, v1 - v0] == pytest.approx([2 * (x1 - x0), 2 * (y1 - y0)])
    assert [u0, v0] == pytest.approx([700 + 2 * (x0 - 700), 300 + 2 * (y0 - 300)])
    touch("touchStart", (650, 300))
    touch("touchMove", (650, 330))
    touch("touchEnd")
    assert page.where(0) == pytest.approx([u0, v0 + 30])


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


def test_a_scale_says_what_colors_mean(browser, network):
    page = Page(browser, network)
    scale = browser.find_element(By.ID, "scale")
    assert not scale.is_displayed()
    page.press("E", "c")
    assert scale.text.split() == ["memory", "held", "0", "B", "240", "B"]  # x of a layer; W is a leaf
    page.press("c")
    assert scale.text.startswith("gradient norm ")
    page.press("c", "c", "c")
    assert not scale.is_displayed()


def test_it_follows_the_system_from_light_to_dark(browser, network):
    page = Page(browser, network)

    def prefer(color):
        features = [{"name": "prefers-color-scheme", "value": color}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.theme()

    try:
        assert prefer("dark") == "dark"
        assert prefer("light") == "light"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_is_printed_light_without_buttons(browser, network):
    page = Page(browser, network)
    page.press("l")
    assert page.theme() == "dark"
    page.run("addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.theme; })")
    browser.execute_cdp_cmd("Page.printToPDF", {})
    assert page.run("return window.printed") == "light"
    assert page.theme() == "dark"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not browser.find_element(By.ID, "more").is_displayed()
        assert browser.find_element(By.ID, "picture").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
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
    places = "return ['notice', 'picture'].map((id) => document.getElementById(id).getBoundingClientRect())"
    notice, picture = page.run(places)
    assert notice["bottom"] <= picture["top"]  # it covers no box
    assert page.boxes() == 4  # leaf and all are inside
    browser.find_element(By.CSS_SELECTOR, "#notice button").click()
    assert not browser.find_element(By.ID, "notice").is_displayed()
    page.click("more")
    assert page.boxes() == 83
    assert not page.errors()


def test_any_name_is_text(browser, tmp_path):
    attack = "</script><img src=x onerror='window.broken = 1'>"
    function = type(
        attack,
        (pb.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, grad: grad * 2)},
    )
    x, w, u = (pb.ones(2, requires_grad=True) for _ in range(3))
    scope = {"x": x, "w": w, "u": u, "function": function}
    with viz.recording():
        exec(compile("y = (function.apply(x) * w * u).sum()", f"/tmp/{attack}\n.py", "exec"), scope)
    names = {attack + '"\u202e😀': x, 7: w, "": u, "<unused>": pb.ones(2, requires_grad=True)}
    page = Page(browser, viz.explore(scope["y"], tmp_path / "names.html", names, title=attack))
    assert "without a gradient from it: <unused>" in page.text("leaves")
    page.click("more")
    for word in (attack[:9], "7", "leaf"):
        page.search(word)
        page.press(Keys.ENTER)
        assert word in page.card()
    assert page.text("title") == attack
    assert page.run("return [window.broken, document.images.length]") == [None, 0]
    assert not page.errors()


def test_calls_in_calls_stay_in_the_tree(browser, tmp_path):
    def inner(x, depth):
        return x.sin() if depth == 0 else inner(x * 2, depth - 1)

    with viz.recording():
        y = inner(pb.ones(2, requires_grad=True), 40).sum()
    page = Page(browser, viz.explore(y, tmp_path / "deep.html"))
    page.click("more")
    assert page.run("const left = document.getElementById('left'); return left.scrollWidth <= left.clientWidth")
    deep = page.run("return [...document.querySelectorAll('#tree .row > [title^=depth]')].map((e) => e.textContent)")
    assert (deep[0], deep[-1]) == ("10", "42")


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
    if browser.find_element(By.ID, "by").get_attribute("value") == "code":
        page.press("b")
    page.press("E")
    rows = browser.find_elements(By.CSS_SELECTOR, "#tree .row")
    assert len(rows) < 500
    (rest,) = browser.find_elements(By.CSS_SELECTOR, "#tree > .link")
    assert rest.text.startswith("and ")
    rest.send_keys(Keys.ENTER)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#tree .row")) > 1660
    assert page.run("return document.activeElement.closest('#tree') !== null")
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


def test_lines_hold_what_memory_says(browser, tmp_path):
    """Memory that two lines share counts for the first, and that of leaves for none."""
    rng = np.random.default_rng(0)
    W, V = (pb.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4, 30), (30, 1)))
    x = rng.normal(size=(200, 4))

    def hidden():
        return np.tanh(x @ W)

    with viz.recording():
        loss = ((hidden() @ V) ** 2).mean()
    page = Page(browser, viz.explore(loss, tmp_path / "graph.html"))
    said, rows = page.card().split("\n"), viz.memory(loss).rows
    at = said.index("LINES THAT HOLD MOST")
    shown = dict(zip(said[at + 1 : at + 5 : 2], said[at + 2 : at + 6 : 2], strict=True))
    for code in ("return np.tanh(x @ W)", "loss = ((hidden() @ V) ** 2).mean()"):
        held = sum(row.bytes for row in rows if row.code == code)
        assert shown[code] == f"{held / 1024:.3g} KiB"
    assert not page.errors()
