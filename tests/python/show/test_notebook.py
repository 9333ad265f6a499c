"""Rich displays as a notebook shows them, in headless Chromium."""

import os
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import sluice as sl

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
MISSING += [name for name in ("selenium",) if not find_spec(name)]
if MISSING and os.environ.get("DEMAND"):
    raise RuntimeError(f"displays are not tested without {MISSING}, and DEMAND is set")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"without {MISSING}")

# What is wrong with the page: text with a contrast below 4.5 or below 11 px.
POOR = """
  const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const beneath = e => {
    for (let at = e; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.ownerSVGElement || ['STYLE', 'svg'].includes(e.tagName) || !e.checkVisibility()) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const style = getComputedStyle(e);
    let opacity = 1;
    for (let at = e; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
    const under = beneath(e);
    const over = parse(style.color).map((v, i) => opacity * v + (1 - opacity) * under[i]);
    const [a, b] = [light(over), light(under)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5 || parseFloat(style.fontSize) < 11) poor.push([e.textContent.slice(0, 60), contrast, style.fontSize]);
  }
  return poor;
"""


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def cells():
    """What the cells of a notebook show."""
    with sl.program_guard(sl.Program(), sl.Program()), sl.scope_guard(sl.Scope()), sl.unique_name.guard():
        image, label = sl.data("image", [None, 1, 8, 8]), sl.data("label", [None, 1], "int64")
        hidden = sl.layers.batch_norm(sl.layers.conv2d(image, 8, 3), act="relu")
        loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(sl.layers.fc(hidden, 10), label))
        sl.optimizer.Momentum(0.1).minimize(loss)
        main, exe = sl.default_main_program(), sl.Executor()
        exe.run(sl.default_startup_program())
        feed = {"image": np.ones((4, 1, 8, 8), "f4"), "label": np.zeros((4, 1), "i8")}
        run = dict(feed=feed, fetch_list=[loss])
        (value,) = exe.run(**run, return_numpy=False)
        yield {
            "program": main, "variable": loss, "tensor": value, "summary": main.summary(),
            "explanation": exe.explain(), "one op": exe.explain(op=0), "all": exe.explain(all=True),
            "plan": exe.prepare(**run), "executor": exe, "scope": sl.global_scope(),
            "profile": exe.profile(**run, budget=0.02),
            "comparison": sl.compare(main, feed, "require variant=plain", "", budget=0.02),
            "tuned": sl.tune(main, feed, [loss], budget=0.05),
        }


def open_page(browser, tmp_path, cells, width, scheme):
    ground = "#fff;color:#111" if scheme == "light" else "#111;color:#eee"
    page = tmp_path / "notebook.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<body style="background:{ground};font:14px sans-serif">'
        + "".join(f'<section title="{name}">{shown._repr_html_()}</section>' for name, shown in cells.items()),
        encoding="utf-8")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get(page.as_uri())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_displays_are_legible_and_no_wider_than_the_window(browser, tmp_path, cells, width, scheme):
    open_page(browser, tmp_path, cells, width, scheme)
    wide = browser.execute_script("""
      return [...document.querySelectorAll('section')].filter(s => s.scrollWidth > window.innerWidth).map(s => s.title)""")
    assert wide == []
    assert browser.execute_script(POOR) == []
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_an_explanation_is_a_table_without_scripts(cells):
    shown = cells["explanation"]._repr_html_()
    assert "<table" in shown and "<script" not in shown
    assert cells["plan"]._repr_html_().count("<table") == 1
