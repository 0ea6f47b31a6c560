"""The page in a browser: nothing missing, nothing said on the console, nothing wider than the screen."""

import importlib
import os
import shutil

import pytest

from driftnet.cli import main

WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING_PICTURES = """
() => [
  ...[...document.images].filter((image) => !image.complete || !image.naturalWidth).map((image) => image.alt),
  ...[...document.querySelectorAll("svg")].filter((svg) => !svg.getBoundingClientRect().height).map((svg) => svg.outerHTML),
  ...[...document.querySelectorAll("svg use")].filter((use) => !use.getAttribute("xlink:href").startsWith("#")
      || !document.querySelector(use.getAttribute("xlink:href"))).map((use) => use.outerHTML),
  ...[...document.querySelectorAll(".viewer canvas")].filter((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.every((value, at) => value === data[at % 4]);
  }).map((canvas) => canvas.outerHTML),
]
"""
UNNAMED = """
() => [...document.querySelectorAll("select, input, button, canvas[role], svg[role], [role=region], [role=group]")]
  .filter((part) => !(part.ariaLabel || part.textContent.trim() && part.matches("button") || part.labels?.[0]?.textContent))
  .map((part) => part.outerHTML.slice(0, 200))
"""
TOO_SMALL_CONTRAST = """
() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = light(getComputedStyle(document.body).backgroundColor);
  const contrast = (colour) => (Math.max(light(colour), page) + 0.05) / (Math.min(light(colour), page) + 0.05);
  const texts = [...document.querySelectorAll("p, td, th, dt, dd, a, label, figcaption, summary")].map((e) => [e, "color"]);
  const drawn = [...document.querySelectorAll("svg text")].map((e) => [e, "fill"]);
  return [...texts, ...drawn]
    .filter(([e, kind]) => contrast(getComputedStyle(e)[kind]) < 4.5).map(([e]) => e.outerHTML.slice(0, 99));
}
"""


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; where CI is set it has to be there."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if "CI" not in os.environ:
        pytest.importorskip("playwright")
        if found is None:
            pytest.skip(f"no browser: none of {', '.join(NAMES)}")
    assert found, f"no browser: none of {', '.join(NAMES)}"
    with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-background-networking"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(several_runs, tmp_path_factory) -> str:
    output = tmp_path_factory.mktemp("page") / "report.html"
    main(["report", str(several_runs), str(several_runs / "NS-PwC/drift-net-tiny/9"), "--output", str(output)])
    return output.as_uri()


class Visit:
    """An open page and what it said and asked for."""

    def __init__(self, browser, address, scheme="light", size="desktop"):
        width, height = WIDTHS[size]
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def part(self, name):
        return self.page.locator(f'[data-part="{name}"]').first

    def pixels(self, name) -> str:
        return self.part(name).evaluate("canvas => canvas.toDataURL()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS)
def test_the_page_is_complete_quiet_and_no_wider_than_the_screen(scheme, size, browser, address):
    visit = Visit(browser, address, scheme, size)
    assert visit.page.locator("figure svg").count() == 7
    assert visit.page.evaluate(MISSING_PICTURES) == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[size][0]
    assert visit.page.evaluate(UNNAMED) == []
    assert visit.page.evaluate(TOO_SMALL_CONTRAST) == []
    assert visit.said == []
    assert [url for url in visit.asked if not url.startswith("data:")] == [address]
    visit.page.close()


def test_the_checks_of_the_page_can_fail(browser, address):
    visit = Visit(browser, address)
    wrong = (
        '<img src="data:image/png;base64,AAAA" alt="broken">',
        '<div style="width:3000px">.</div><p style="color:#eee">pale</p><select></select>',
    )
    visit.page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", "".join(wrong))
    visit.page.evaluate("console.error('said')")
    visit.page.wait_for_function("document.images[0].complete")
    assert visit.page.evaluate(MISSING_PICTURES) == ["broken"]
    assert visit.page.evaluate("document.documentElement.scrollWidth") > WIDTHS["desktop"][0]
    assert visit.page.evaluate(TOO_SMALL_CONTRAST) == ['<p style="color:#eee">pale</p>']
    assert visit.page.evaluate(UNNAMED) == ["<select></select>"]
    assert "said" in visit.said
    visit.page.close()


def test_the_slider_moves_through_time_by_keyboard_and_says_where_it_is(browser, address):
    visit = Visit(browser, address)
    last, fields = visit.part("when").inner_text(), visit.pixels("prediction")
    visit.part("frame").focus()
    visit.page.keyboard.press("Home")
    assert "step 3 of 3" in last
    assert "step 1 of 3" in visit.part("when").inner_text()
    assert visit.part("frame").get_attribute("aria-valuetext") == visit.part("when").inner_text()
    assert visit.pixels("prediction") != fields
    assert "step 1 of 3, relative L1 0." in visit.part("error").get_attribute("aria-label")
    visit.part("play").click()
    visit.page.wait_for_function("() => document.querySelector('[data-part=when]').textContent.includes('step 2')")
    assert visit.part("play").inner_text() == "Pause"
    assert visit.said == []
    visit.page.close()


def test_model_trajectory_channel_and_scale_can_be_chosen(browser, address):
    visit = Visit(browser, address)
    seen = {visit.pixels("error")}
    for part, choice in (("scale", "own"), ("model", "1"), ("trajectory", "1"), ("channel", "1")):
        visit.part(part).select_option(choice)
        seen.add(visit.pixels("error"))
    assert len(seen) >= 4  # The model of the largest error has the shared scale for its own.
    assert "solver-half" in visit.part("prediction").get_attribute("aria-label")
    assert visit.said == []
    visit.page.close()


def test_fields_follow_the_colour_scheme(browser, address):
    visit = Visit(browser, address)
    light = visit.pixels("truth")
    visit.page.emulate_media(color_scheme="dark")
    visit.page.wait_for_function("before => document.querySelector('[data-part=truth]').toDataURL() !== before", arg=light)
    visit.page.close()
