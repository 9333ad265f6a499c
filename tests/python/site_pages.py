"""Looks at every page of the site in Chromium: heights, sideways scrolling, and
the contrast of text in light and dark. `./dev docs --look` calls it.

  python tests/python/site_pages.py build/site/html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

MAX_HEIGHT = 8000  # at 1280 pixels
MIN_CONTRAST = 4.5  # WCAG AA
# The least contrast of text with what is behind it, and that text.
CONTRAST = """
const parse = color => (color.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const light = c => c.slice(0, 3).map(v => v / 255).map(
  v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = node => {
  for (; node; node = node.parentElement) {
    const color = parse(getComputedStyle(node).backgroundColor);
    if (color.length < 4 || color[3] > 0.5) return color;
  }
  return [255, 255, 255];
};
let worst = [99, ""];
for (const node of document.querySelectorAll("article *")) {
  const text = [...node.childNodes].filter(n => n.nodeType == 3 && n.data.trim());
  if (!text.length || !node.getClientRects().length || node.closest(".headerlink")) continue;
  const style = getComputedStyle(node);
  if (style.visibility == "hidden") continue;
  const a = light(parse(style.color)), b = light(behind(node));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < worst[0]) worst = [ratio, node.className + ": " + text[0].data.trim()];
}
return worst;
"""


def browser():
    """A headless Chromium; needs Debian's chromium-driver and selenium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def problems(driver, page: Path, width: int) -> list[str]:
    """What is wrong with a page at this width."""
    root = "document.documentElement."
    found = []
    high = driver.execute_script(f"return {root}scrollHeight")
    if width == 1280 and high > MAX_HEIGHT:
        found.append(f"{high} px high, at most {MAX_HEIGHT}")
    wide = driver.execute_script(f"return {root}scrollWidth")
    if wide > width:
        found.append(f"{wide} px wide in a window of {width}")
    for theme in ("light", "dark"):
        driver.execute_script("document.body.dataset.theme = arguments[0]", theme)
        ratio, text = driver.execute_script(CONTRAST)
        if ratio < MIN_CONTRAST:
            found.append(f"{theme}: contrast {ratio:.2f}, at least {MIN_CONTRAST}: {text[:60]!r}")
    return found


def found_by(driver, html: Path, word: str) -> list[str]:
    """The pages that the search finds for a word."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get((html / "search.html").as_uri() + f"?q={word}")
    done = "return document.body.textContent.includes('matching the search query')"
    WebDriverWait(driver, 30).until(lambda one: one.execute_script(done))
    return driver.execute_script("return [...document.querySelectorAll('.search li a')].map(a => a.textContent)")


def check(html: Path) -> None:
    """Ends the program with all problems of the pages."""
    found, driver = [], browser()
    pages = sorted(html.rglob("*.html"))
    try:
        if "conv2d" not in found_by(driver, html, "winograd"):
            found.append("search: winograd does not find conv2d")
        for width in (1280, 390):
            # Emulated, as a window of Chromium is never narrower than 500.
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            for page in pages:
                driver.get(page.as_uri())
                found += [
                    f"{page.relative_to(html)}: {one}" for one in problems(driver, page, width)
                ]
    finally:
        driver.quit()
    if found:
        raise SystemExit("\n".join(found))
    print(f"docs: {len(pages)} pages looked at, none above {MAX_HEIGHT} px")


if __name__ == "__main__":
    check(Path(sys.argv[1]).resolve())
