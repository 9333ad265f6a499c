"""The report's page in headless Chromium."""

import contextlib
import json
import os
import re
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import sluice as sl
from sluice.display import call_name, call_number, kernel_name
from sluice import lab
from sluice.lab.report import Report, libraries
from sluice.lab.report.difference import shown as times_of

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    webdriver = None


def missing():
    """Packages that the browser tests lack."""
    programs = {"chromium": "chromium", "chromedriver": "chromium-driver"}
    modules = [name for name in ("selenium", "mpld3") if find_spec(name) is None]
    packages = [package for name, package in programs.items() if shutil.which(name) is None]
    return ", ".join([f"Python's {name}" for name in modules] + [f"Debian's {name}" for name in packages])


if missing() and os.environ.get("DEMAND"):
    raise RuntimeError(f"the report's page is not tested without {missing()}, and DEMAND is set")
pytestmark = pytest.mark.skipif(bool(missing()), reason=f"without {missing()}")


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1440,1000"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.implicitly_wait(0)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(in_peace):
    """A report of a training step, tuned, so that candidates have all data."""
    job = lab.load("lenet", 4)

    def has_times(made):
        lists = made.data["plan"]["candidate_lists"]
        tuned = any("median" in each.get("measured", {})
                    for some in lists for each in some["candidates"])
        return tuned and not times_of(made.data)[1]

    # Beside other tests, a tuned plan of two threads may lose as a whole; then
    # its times are withdrawn.
    threads = sl.num_threads()
    sl.set_num_threads(1)
    try:
        return in_peace(lambda: lab.report(job.program, job.feed, job.fetch_list, tune=20,
                                           seconds=0.3, scope=job.scope, name="lenet"), has_times)
    finally:
        sl.set_num_threads(threads)


def show(browser, tmp_path, report, against=None, width=1440):
    """Opens the page; fails for anything in the console and any request."""
    path = tmp_path / "report.html"
    report.save(path, against)
    browser.set_window_size(width, 1000)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(path.as_uri())
    quiet(browser)
    requests = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [r["params"]["request"]["url"] for r in requests if r["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    return browser


def quiet(browser):
    assert browser.get_log("browser") == []


def details(browser):
    return browser.find_element(By.ID, "details")


def candidates(browser):
    """The rows of the table of candidates, by kernel."""
    rows = details(browser).find_elements(By.CSS_SELECTOR, ".candidates tbody tr:not(.reason)")
    return {row.find_element(By.TAG_NAME, "th").text: row.text for row in rows}


def title(op):
    """What every screen calls an op of the plan."""
    return f"{call_number(op)} {call_name(op)}"


def has_cuda(candidates):
    return any(c["place"].startswith("cuda") for c in candidates)


def conv(report):
    """An op with several measured candidates, and its index in the plan."""
    plan = report.data["plan"]

    def measured(op):
        candidates = plan["candidate_lists"][op["candidate_list"]]["candidates"]
        return sum("median" in c.get("measured", {}) for c in candidates)

    convs = [(i, op) for i, op in enumerate(plan["ops"]) if "conv2d" in op["covered_ops"]]
    place, op = max(convs, key=lambda pair: measured(pair[1]))
    assert measured(op) > 0, "tuning had no time for any"
    return place, op


def click(browser, element):
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def test_the_page_begins_with_the_op_that_makes_nan(browser, tmp_path, report):
    op = report.data["plan"]["ops"][2]
    fault = {"op": op["index"], "text": "sqrt: has 1 NaN\nin op 3 (sqrt)"}
    show(browser, tmp_path, Report({**report.data, "fault": fault}))
    said = browser.find_element(By.ID, "fault").text
    assert said.startswith("sqrt: has 1 NaN\nin op 3 (sqrt)"), said
    assert details(browser).find_element(By.TAG_NAME, "h3").text == title(op)
    show(browser, tmp_path, report)
    assert not browser.find_element(By.ID, "fault").is_displayed()


def test_a_click_on_an_op_shows_its_candidates(browser, tmp_path, report):
    show(browser, tmp_path, report)
    place, op = conv(report)
    click(browser, browser.find_element(By.ID, f"node-n{place}"))
    assert details(browser).find_element(By.TAG_NAME, "h3").text == title(op)
    rows = candidates(browser)
    expected = report.data["plan"]["candidate_lists"][op["candidate_list"]]["candidates"]
    wrong = [c for c in expected if c.get("measured", {}).get("verdict") == "wrong"]
    refused = [c for c in expected if c["refusal"] and c not in wrong]
    wanted = [c for c in expected if c not in refused]
    assert "for other dtypes than float32: " in details(browser).text
    assert "not considered: the plan is at cpu: cuda" in details(browser).text or not has_cuda(expected)
    # The refused ones are counted, by reason, and nothing scrolls inside.
    assert f"Refused: {len(refused)} kernel" in details(browser).text
    counts = details(browser).find_elements(By.CSS_SELECTOR, ".refusals li b")
    assert sum(int(count.text) for count in counts) == len(refused)
    box = details(browser)
    assert browser.execute_script("return arguments[0].scrollHeight <= arguments[0].clientHeight + 1", box)
    assert len(rows) == len(wanted)
    for candidate in wanted:
        text = rows[kernel_name(candidate["library"], candidate["variant"])]
        if candidate["refusal"]:
            assert "wrong results" in text
            assert candidate["refusal"][:60] in details(browser).text
        elif "median" not in candidate.get("measured", {}):
            # The budget ended earlier.
            assert "possible" in text or "chosen" in text
        else:
            assert (" to " in text or " only" in text) and "round" in text
            error = float(text.split()[-1])
            assert error == pytest.approx(candidate["measured"]["error"], rel=0.06)
    assert f"All {len(expected)} candidates" in details(browser).text
    assert browser.find_element(By.ID, f"node-n{place}").get_attribute("class") == "node selected"
    quiet(browser)


def test_an_op_opens_by_keyboard(browser, tmp_path, report):
    show(browser, tmp_path, report)
    node = browser.find_element(By.ID, "node-n1")
    browser.execute_script("arguments[0].focus()", node)
    node.send_keys(Keys.ENTER)
    op = report.data["plan"]["ops"][1]
    assert details(browser).find_element(By.TAG_NAME, "h3").text == title(op)
    quiet(browser)


def test_every_way_to_colour_colours_the_graph(browser, tmp_path, report):
    show(browser, tmp_path, report, against=report)
    select = Select(browser.find_element(By.ID, "colour-mode"))
    modes = [option.get_attribute("value") for option in select.options]
    assert modes == ["time", "margin", "ratio", "library", "part", "change"]
    seen = set()
    for mode in modes:
        select.select_by_value(mode)
        colours = browser.execute_script(
            "return [...document.querySelectorAll('.node:not(.fed) rect')].map(r => r.getAttribute('fill'))")
        assert all(colours) and len(colours) == len(report.data["plan"]["ops"])
        # A report has no changes to itself.
        several = mode != "change" and (mode != "library" or len(report.data["summary"]["libraries"]) > 1)
        assert (len(set(colours)) > 1) == several, mode
        assert len(browser.find_elements(By.CSS_SELECTOR, "#legend .entry")) >= 1 + several
        seen.add(tuple(colours))
    assert len(seen) >= len(modes) - 1
    quiet(browser)


def test_colours_are_those_that_the_note_names(browser, tmp_path, report):
    show(browser, tmp_path, report)

    def red_and_blue(mode, node):
        return browser.execute_script(
            "const c = d3.rgb(sluice.colourModes[arguments[0]].of(arguments[1])); return [c.r, c.b]", mode, node)

    for mode, purple, orange in [
        ("margin", {"margin": 3}, {"margin": 1 / 3}),
        ("ratio", {"seconds": 1, "predicted_seconds": 3}, {"seconds": 3, "predicted_seconds": 1}),
    ]:
        red, blue = red_and_blue(mode, purple)
        assert blue > red, mode
        red, blue = red_and_blue(mode, orange)
        assert red > blue, mode


def test_labels_can_be_read_on_their_colour(browser, tmp_path, report):
    show(browser, tmp_path, report)
    contrasts = browser.execute_script("""
      const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = c => { const {r, g, b} = d3.rgb(c); return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b); };
      return [...document.querySelectorAll('.node')].map(node => {
        const [a, b] = [light(getComputedStyle(node.querySelector('rect')).fill), light(getComputedStyle(node.querySelector('text')).fill)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      });""")
    assert min(contrasts) >= 4.5


def test_tables_are_sorted_and_filtered(browser, tmp_path, report):
    show(browser, tmp_path, report)
    table = browser.find_element(By.ID, "ops-table")

    def column(i):
        rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
        return [row.find_elements(By.XPATH, "*")[i].text for row in rows]

    longest = max(report.data["plan"]["ops"], key=lambda op: op["measured"]["median"])
    assert column(0)[0] == title(longest)
    heads = table.find_elements(By.CSS_SELECTOR, "thead button")
    click(browser, heads[0])
    indices = [int(text.split()[0][1:]) for text in column(0)]
    assert indices == sorted(indices, reverse=True)
    click(browser, heads[0])
    assert [int(text.split()[0][1:]) for text in column(0)] == sorted(indices)
    browser.find_element(By.ID, "filter").send_keys("Momentum optimize")
    assert len(column(0)) == 8 and all(text.endswith("momentum") for text in column(0))
    click(browser, table.find_element(By.CSS_SELECTOR, "tbody button"))
    browser.find_element(By.ID, "filter").send_keys(" forward")
    assert column(0) == [] and browser.find_element(By.ID, "filter-count").text == "0 ops"
    assert "momentum" in details(browser).find_element(By.TAG_NAME, "h3").text
    quiet(browser)


def test_roofline_and_predictions_have_every_op(browser, tmp_path, report):
    show(browser, tmp_path, report)
    plan = report.data["plan"]
    work = [plan["candidate_lists"][op["candidate_list"]]["candidates"][op["chosen"]]["work"]
            for op in plan["ops"]]
    drawn = browser.find_elements(By.CSS_SELECTOR, "#roofline-chart .point")
    assert len(drawn) == sum(1 for w in work if w["flops"] > 0 and w["bytes"] + w["extra_bytes"] > 0)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#roofline-chart .roof")) == 5
    assert len(browser.find_elements(By.CSS_SELECTOR, "#prediction-chart .point")) == len(plan["ops"])
    assert browser.find_elements(By.CSS_SELECTOR, "#roofline-chart .ring")
    drawn = browser.page_source.split('<script id="data"')[0]
    assert not re.search(r'="[^"]*(NaN|undefined)', drawn)
    first = browser.find_element(By.CSS_SELECTOR, "#prediction-chart .point")
    first.send_keys(Keys.ENTER)
    quiet(browser)


def test_dark_mode_is_a_button(browser, tmp_path, report):
    show(browser, tmp_path, report)
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(ground)
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(ground) != before
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(ground) == before


@contextlib.contextmanager
def emulated(browser, width, scheme="light"):
    """A window narrower than Chromium's own may be, in a colour scheme."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# Elements with text of their own, and the colour beneath them.
TEXTS = """
  const texts = [...document.querySelectorAll('body *')].filter(e => e.checkVisibility()
    && !['SCRIPT', 'NOSCRIPT', 'STYLE', 'OPTION'].includes(e.tagName) && !e.classList.contains('skip')
    && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()));
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_text_is_large_enough_and_nothing_is_wider_than_the_window(browser, tmp_path, report, width):
    with emulated(browser, width):
        show(browser, tmp_path, report)
        assert browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
        small = browser.execute_script(TEXTS + """
          return texts.map(e => [parseFloat(getComputedStyle(e).fontSize)
            * (e.ownerSVGElement ? e.getScreenCTM().a : 1), e.textContent])
            .filter(([size, text]) => Math.abs(size) > 0 && size < 11 && !text.includes('B/s'));""")
        assert small == []
        if width == 1280:
            table = browser.find_element(By.ID, "ops-table")
            assert browser.execute_script("return arguments[0].scrollWidth - arguments[0].clientWidth", table) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(browser, tmp_path, report, scheme):
    with emulated(browser, 1280, scheme):
        show(browser, tmp_path, report)
        poor = browser.execute_script(TEXTS + """
          const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
          const light = c => { const {r, g, b} = d3.rgb(c); return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b); };
          const beneath = e => {
            for (let at = e; at; at = at.parentElement) {
              const colour = d3.color(getComputedStyle(at).backgroundColor);
              if (colour.opacity > 0) return colour;
            }
            return d3.color('white');
          };
          return texts.filter(e => !e.closest('.node, .strip')).map(e => {
            const style = getComputedStyle(e);
            const [a, b] = [light(e.ownerSVGElement ? style.fill : style.color), light(beneath(e))];
            return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent];
          }).filter(([contrast]) => contrast < 4.5);""")
        assert poor == []
        assert browser.execute_script("return light(getComputedStyle(document.body).backgroundColor) > 0.5;".replace(
            "light(", "(c => d3.hsl(c).l)(")) == (scheme == "light")


def test_the_head_says_what_is_fed(browser, tmp_path, report):
    show(browser, tmp_path, report)
    assert browser.find_element(By.ID, "feeds").text == (
        "Fed: batch 4, image float32 [4, 1, 28, 28], label int64 [4, 1]")
    named = Report({**report.data, "name": "net.onnx", "role": "ONNX model"})
    show(browser, tmp_path, named)
    assert browser.find_element(By.TAG_NAME, "h1").text == "net.onnx, ONNX model"
    assert browser.title.startswith("net.onnx, ONNX model")


def test_the_minimap_and_top_move_the_graph(browser, tmp_path, report):
    show(browser, tmp_path, report)
    top = "return document.getElementById('graph-box').scrollTop"
    assert browser.execute_script(top) == 0
    view = "return Number(document.querySelector('#minimap .view').getAttribute('y'))"
    before = browser.execute_script(view)
    minimap = browser.find_element(By.CSS_SELECTOR, "#minimap svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", minimap)
    webdriver.ActionChains(browser).move_to_element_with_offset(
        minimap, 0, minimap.size["height"] // 2 - 4).click().perform()
    assert browser.execute_script(top) > 300
    quiet(browser)
    # The box's "scroll" event, which moves the view, comes with the next frame.
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(view) > before + 100)
    browser.find_element(By.ID, "top").click()
    assert browser.execute_script(top) == 0
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(view) == before)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#minimap rect")) == 1 + len(
        browser.find_elements(By.CLASS_NAME, "node"))


def test_slowest_shows_the_slowest_op(browser, tmp_path, report):
    show(browser, tmp_path, report)
    in_sight = """const selected = document.querySelector('.node.selected').getBoundingClientRect();
                  const box = document.getElementById('graph-box').getBoundingClientRect();
                  return selected.top >= box.top - 1 && selected.bottom <= box.bottom + 1;"""
    ops = report.data["plan"]["ops"]
    slowest = max(ops, key=lambda op: op["measured"]["median"])
    other = 0 if slowest is ops[-1] else len(ops) - 1
    click(browser, browser.find_element(By.ID, f"node-n{other}"))
    shown = details(browser).find_element(By.TAG_NAME, "h3").text
    click(browser, browser.find_element(By.ID, "slowest"))
    assert details(browser).find_element(By.TAG_NAME, "h3").text == title(slowest) != shown
    assert browser.execute_script(in_sight)


def test_the_timeline_has_names_and_an_axis(browser, tmp_path, report):
    show(browser, tmp_path, report)
    slowest = max(report.data["plan"]["ops"], key=lambda op: op["measured"]["median"])
    names = [e.text for e in browser.find_elements(By.CSS_SELECTOR, "#strip .piece") if e.text]
    assert any(name in (call_name(slowest), title(slowest)) for name in names)
    ticks = browser.find_elements(By.CSS_SELECTOR, "#strip .axis text")
    assert len(ticks) >= 3 and all(tick.text.endswith(" ms") for tick in ticks)


def test_the_largest_values_are_named(browser, tmp_path, report):
    show(browser, tmp_path, report)
    slots = [s for s in report.data["plan"]["slots"] if s["kind"] == "arena" and "alias_of" not in s]
    largest = max(slots, key=lambda slot: slot["bytes"])
    rows = browser.find_elements(By.CSS_SELECTOR, "#memory-charts .largest li")
    assert len(rows) == 5 and any(largest["var"] in row.text for row in rows)
    assert [e.text for e in browser.find_elements(By.CSS_SELECTOR, ".blockname")] == list("12345")


def test_one_run_has_no_interval_and_units_are_of_one_style(browser, tmp_path, report):
    data = json.loads(report.to_json())
    data["plan"]["times"] |= {"profiled_runs": 1, "run": {**data["plan"]["times"]["run"], "rounds": 1}}
    data["plan"]["ops"][0]["reason"] = "3.2 us estimated before plain with 4 us"
    show(browser, tmp_path, Report(data))
    assert "1 run only" in browser.find_element(By.ID, "cards").text
    click(browser, browser.find_element(By.ID, "node-n0"))
    assert "1 run only" in details(browser).text
    assert "3.2 \u00b5s estimated before plain with 4 \u00b5s" in details(browser).text
    assert not re.search(r"\d us\b", browser.find_element(By.TAG_NAME, "body").text)


def test_without_javascript_there_is_a_table(browser, tmp_path, report):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, tmp_path, report)
        text = browser.find_element(By.TAG_NAME, "body").text
        assert "need JavaScript, which is off" in text
        rows = browser.find_elements(By.CSS_SELECTOR, "noscript tbody tr")
        assert len(rows) == len(report.data["plan"]["ops"])
        assert "onednn/" in text and "\u00b5s" in text and not re.search(r"\d us\b", text)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_notebook_shows_the_page_in_a_frame(browser, tmp_path, report, monkeypatch):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><meta charset='utf-8'><link rel='icon' href='data:,'>{report._repr_html_()}")
    browser.get(path.as_uri())
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    try:
        assert details(browser).find_element(By.TAG_NAME, "h3").text
    finally:
        browser.switch_to.default_content()
    quiet(browser)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(libraries, "_DEBIAN", tmp_path / "none")
    shown = report._repr_html_()
    assert shown.startswith("<pre>&lt;Report lenet") and "pip install mpld3" in shown


def test_changes_are_shown(browser, tmp_path, report):
    older = json.loads(report.to_json())
    place, op = conv(report)
    older["plan"]["ops"][place].update(
        variant="older", measured={"median": 1.0, "low": 0.9, "high": 1.1})
    older["plan"]["times"]["run"].update(median=1.0, low=0.9, high=1.1)
    show(browser, tmp_path, report, against=Report(older))
    row = browser.find_element(By.CSS_SELECTOR, "#changes-body tbody tr")
    assert "kernel, faster" in row.text and "older" in row.text
    Select(browser.find_element(By.ID, "colour-mode")).select_by_value("change")
    node = browser.find_element(By.CSS_SELECTOR, f"#node-n{place} rect")
    others = browser.find_elements(By.CSS_SELECTOR, ".node:not(.fed) rect")
    colours = [rect.get_attribute("fill") for rect in others]
    assert colours.count(node.get_attribute("fill")) == 1
    quiet(browser)


@pytest.mark.parametrize("name", [
    "</script><script>document.body.innerHTML = 'hacked'</script>",
    "<img src=x onerror=\"document.body.innerHTML = 'hacked'\">",
    "\u2028\u202e\U0001f600\"'`${1}\\",
    "y" * 100_000,
], ids=range(4))
def test_hostile_names_are_shown_as_text(browser, tmp_path, name):
    y = sl.layers.relu(sl.data(name, [2, 3]))
    made = lab.report(sl.default_main_program(), {name: np.ones((2, 3), "f4")}, [y],
                      seconds=0.05, name=name)
    show(browser, tmp_path, made)
    shown = name if len(name) <= 400 else name[:400]
    assert browser.execute_script("return document.getElementById('title').textContent").startswith(shown)
    click(browser, browser.find_element(By.ID, "node-n0"))
    text = browser.execute_script("return document.getElementById('details').textContent")
    assert shown in text
    assert browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
    quiet(browser)


@pytest.mark.parametrize("ops", [0, 1, 5000])
def test_plans_of_any_length_open(browser, tmp_path, ops):
    x = sl.data("x", [2, 3])
    for _ in range(ops):
        x = sl.layers.scale(x, bias_after_scale=False)  # no step of a chain
    made = lab.report(sl.default_main_program(), {"x": np.ones((2, 3), "f4")}, [x] if ops else [],
                      seconds=0.1)
    show(browser, tmp_path, made)
    if ops > 1:
        node = browser.execute_script("""
          const place = sluice.report.ops[0].position;
          return sluice.report.graph.nodes.find(n => n.first <= place && place < n.first + n.count).id;""")
        click(browser, browser.find_element(By.ID, f"node-{node}"))
        assert "stretch of ops" in details(browser).text
        click(browser, details(browser).find_element(By.CSS_SELECTOR, "button.link"))
        assert "candidates" in details(browser).text
    quiet(browser)
