"""The page in a real browser: a headless Chromium, skipped where there is none."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixelbrax.viewer import Session, ViewServer, Workshop, catalog
from tests.viewer.browser import CHROMIUM, Browser
from tests.viewing import probe_config

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.usefixtures("probe_tasks"),
]
PATIENCE = 300.0
# A number for the pixels of a canvas.
SUM = """(id => [...document.getElementById(id).toDataURL()].reduce(
  (sum, x) => (sum * 31 + x.charCodeAt()) % 1000000007, 7))"""


@pytest.fixture(scope="module")
def address(probe_tasks, tmp_path_factory) -> Iterator[str]:
    workshop, folder = Workshop(), tmp_path_factory.mktemp("recordings")
    server = ViewServer(lambda: Session(workshop, probe_config(), folder=folder), catalog())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.address
    server.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(browser, address) -> Iterator[Browser]:
    """The page with an environment that runs; nothing may reach the console as an error."""
    browser.errors.clear()
    browser.open(address, 1280, 800)
    browser.wait("Number(document.getElementById('step').textContent) > 0", PATIENCE)
    yield browser
    browser.evaluate("fetch('style.css')")  # events that are on their way arrive before its answer
    assert browser.errors == []


def _sum(page: Browser, canvas: str) -> int:
    return page.evaluate(f"{SUM}({canvas!r})")


def _choose(page: Browser, picker: str, value: str) -> None:
    """What a user does to a picker."""
    page.evaluate(
        f"(x => {{ x.value = {value!r}; x.dispatchEvent(new Event('input', {{bubbles: true}}));"
        f" x.dispatchEvent(new Event('change', {{bubbles: true}})); }})(document.getElementById({picker!r}))"
    )


def _text(page: Browser, element: str) -> str:
    return page.evaluate(f"document.getElementById({element!r}).textContent")


def _pause(page: Browser) -> None:
    page.key(" ")
    page.wait("document.getElementById('pause').textContent === 'Resume'")
    page.wait("document.getElementById('fps').textContent === 'paused'")


def test_pictures_and_plots_move_and_their_rate_is_shown(page):
    page.key("f")  # a camera that follows sees the probe's ball in the middle of a plain floor, wherever it is
    page.wait("!document.getElementById('follows').checked")
    for canvas in ("agent", "free", "reward-plot", "action-plot"):
        page.wait(f"{SUM}('{canvas}') !== {_sum(page, canvas)}")
    page.wait("Number(document.getElementById('fps').textContent) > 1")
    assert page.evaluate("getComputedStyle(document.getElementById('agent')).imageRendering") == "pixelated"


def test_keys_pause_step_and_restart(page):
    _pause(page)
    step = int(_text(page, "step"))
    for i in (1, 2):
        page.key(".")
        page.wait(f"document.getElementById('step').textContent === '{step + i}'")
    page.key("r")
    page.wait("document.getElementById('step').textContent === '0'")
    page.key(" ")
    page.wait("Number(document.getElementById('step').textContent) > 0")


def test_the_mouse_moves_the_free_camera_alone(page):
    _pause(page)
    x, y, width, height = page.evaluate(
        "(r => [r.x, r.y, r.width, r.height])(document.getElementById('free').getBoundingClientRect())"
    )
    agent, x, y = _sum(page, "agent"), x + width / 2, y + height / 2
    for button, modifiers in (("left", 0), ("left", 8), ("right", 0)):
        free = _sum(page, "free")
        page.mouse("mousePressed", x, y, button=button, clickCount=1, modifiers=modifiers)
        page.mouse(
            "mouseMoved", x + 60, y + 25, button=button, buttons=2 if button == "right" else 1, modifiers=modifiers
        )
        page.mouse("mouseReleased", x + 60, y + 25, button=button, modifiers=modifiers)
        page.wait(f"{SUM}('free') !== {free}")
    free = _sum(page, "free")
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=300)
    page.wait(f"{SUM}('free') !== {free}")
    assert _sum(page, "agent") == agent


def test_pickers_change_the_pictures(page):
    _pause(page)
    for view in ("segmentation", "depth", "color"):
        agent, free = _sum(page, "agent"), _sum(page, "free")
        page.evaluate(f"document.querySelector('#views [value={view}]').click()")
        page.wait(f"{SUM}('agent') !== {agent} && {SUM}('free') !== {free}")
    for picker, value in (("resolution", "32"), ("distractors", "dcs/color-hard")):
        agent = _sum(page, "agent")
        _choose(page, picker, value)
        page.wait(f"{SUM}('agent') !== {agent}", PATIENCE)
    _choose(page, "task", "probe/wide_sides")  # which looks the same
    page.wait("document.querySelectorAll('#sliders input').length === 2", PATIENCE)
    assert _text(page, "task-name") == "probe/wide_sides"
    assert _text(page, "agent-note").startswith("32 ")


def test_what_cannot_be_built_is_told_and_the_old_one_stays(page):
    _choose(page, "distractors", "vigen/light-position-hard")
    page.evaluate("document.getElementById('seed').value = '-5'")
    page.evaluate("document.getElementById('restart').click()")
    page.wait("document.getElementById('message-text').textContent.includes('seed is -5')")
    page.errors.clear()  # the console tells of the answer 400
    assert _text(page, "task-name") == "probe/sides"


def test_a_strength_that_is_refused_is_told_and_the_slider_goes_back(page):
    _choose(page, "distractors", "dcs/background-hard")
    page.wait("!document.getElementById('strength').disabled", PATIENCE)
    _choose(page, "strength", "1.5")
    page.wait("document.getElementById('message-text').textContent.includes('the strength stays 1')")
    page.wait("document.getElementById('strength').value === '1'")
    step = int(_text(page, "step"))
    page.wait(f"Number(document.getElementById('step').textContent) !== {step}")


def test_an_action_that_is_not_finite_leaves_the_page_alive(page):
    shown = page.evaluate(
        "import('./settings.js').then(({ Actions }) => {"
        " const actions = new Actions({ sources: [] }, () => {});"
        " actions.build({ actions: ['hip', 'knee'], policy: 'run', misfit: '' });"
        " actions.show('policy', [null, 0.5]);"
        " return actions.rows.map(({ output }) => output.textContent); })"
    )
    assert shown == ["\N{EN DASH}", "0.50"]


def test_sliders_act(page):
    page.evaluate(
        "(x => { x.value = 0.5; x.dispatchEvent(new Event('input')); })(document.querySelector('#sliders input'))"
    )
    page.wait("document.querySelector('#sources [value=sliders]').checked")


def test_a_recording_says_where_it_is(page):
    page.evaluate("document.getElementById('record').click()")
    page.wait("document.getElementById('record').textContent === 'Stop'")
    page.wait("Number(document.getElementById('step').textContent) > 20", PATIENCE)
    page.evaluate("document.getElementById('record').click()")
    text = page.wait("(m => m.startsWith('wrote') && m)(document.getElementById('message-text').textContent)")
    assert Path(text.split()[1]).stat().st_size > 0


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (420, 900)])
def test_nothing_is_wider_than_the_window_and_all_is_named(page, width, height):
    page.resize(width, height)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select, canvas')].filter(x => "
        "!x.labels?.length && !x.ariaLabel && !x.textContent.trim()).map(x => x.outerHTML)"
    )
    assert nameless == []


def test_titles_of_settings_beside_each_other_are_on_one_line(page):
    page.resize(700, 900)
    first, second = page.evaluate(
        "[...document.querySelectorAll('aside legend')].slice(0, 2).map(x => x.getBoundingClientRect().top)"
    )
    assert first == second
