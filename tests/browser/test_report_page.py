"""The report's page as a reviewer meets it: without scripts, by keyboard, in the dark, on paper, and when large."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.results.findings import Finding, Level
from reconciler.show.formats.html import page as render
from reconciler.show.reading import Report
from tests.browser.axe import findings
from tests.browser.driver import Browser, Page
from tests.integration.report.formats import report_of
from tests.integration.report.large import large_report
from tests.integration.report.results import HOSTILE, example_documents, hostile_documents

pytestmark = pytest.mark.browser

_HEAD = "Widens: 4 principals gain access, User:svc-analytics and User:svc-batch lose access"


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return example_documents(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def example(documents: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = report_of([documents["plan"], documents["lint"], documents["test"]])
    return _written(report, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hostile")
    return _written(report_of(hostile_documents(directory).values()), directory)


@pytest.fixture(scope="module", params=[20_000, pytest.param(100_000, marks=pytest.mark.long)])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A page, and its rows of access."""
    page = _written(large_report(steps=2_000, rows=request.param), tmp_path_factory.mktemp("large"))
    return page, request.param


@pytest.fixture
def shown(browser: Browser, example: Path) -> Iterator[Page]:
    with browser.page(example) as page:
        yield page
        assert page.problems == []
        assert page.requests == [example.as_uri()]


def test_begins_with_the_verdict_and_the_numbers(shown: Page) -> None:
    assert shown.text("h1") == _HEAD
    tiles = shown.text(".tiles").split("\n")
    assert tiles[:4] == ["gain access", "4", "lose access", "2"] or tiles[:4] == [
        "4",
        "gain access",
        "2",
        "lose access",
    ]
    assert "What stands out" in shown.text("main")


def test_everything_is_there_without_scripts(browser: Browser, example: Path) -> None:
    with browser.page(example) as page:
        rows, steps, found = (page.count(what) for what in (".who tr", ".phase li", ".finding"))
    with browser.page(example, javascript=False) as page:
        assert page.problems == []
        assert page.text("#search") == ""
        assert page.style(".search", "display") == "none"
        assert (page.count(".who tr"), page.count(".phase li"), page.count(".finding")) == (rows, steps, found)
        assert page.count(".pager") == 0
        assert "User:svc-reports" in page.text("main")


def test_the_filter_finds_in_all_parts(shown: Page) -> None:
    _filter(shown, "svc-batch")
    assert _visible(shown, ".who") == 1
    assert _visible(shown, ".phase li") == 1
    assert "User:svc-batch" in shown.text(".who.on")
    assert shown.text("#found") == "2 found"
    _filter(shown, "svc-payments write refunds")
    assert _visible(shown, ".who") == 1
    _filter(shown, "nobody of this name")
    assert _visible(shown, ".who") == 0
    assert "no principals that match" in shown.text("main")
    _filter(shown, "")
    assert _visible(shown, ".who") == shown.count(".who")


def test_steps_keep_their_numbers_when_filtered(shown: Page) -> None:
    _filter(shown, "orders.returned")
    numbers = shown.evaluate("[...document.querySelectorAll('.phase li.on')].map(li => li.value)")
    _filter(shown, "")
    lines = shown.evaluate("[...document.querySelectorAll('.phase li')].map(li => li.textContent)")
    assert numbers
    assert all("orders.returned" in lines[number - 1] for number in numbers)


def test_gains_and_losses_are_kept_and_sorted(shown: Page) -> None:
    _choose(shown, "[data-keep]", "losses")
    assert 0 < _visible(shown, ".who") < shown.count(".who")
    assert shown.count(".who.on .chip.loss") >= _visible(shown, ".who")
    _choose(shown, "[data-keep]", "")
    _choose(shown, "[data-sort]", "gains")
    order = shown.evaluate("[...document.querySelectorAll('.who')].map(who => Number(who.dataset.gains))")
    assert order == sorted(order, reverse=True)
    _choose(shown, "[data-sort]", "")
    names = shown.evaluate("[...document.querySelectorAll('.who h4')].map(name => name.textContent)")
    assert names == sorted(names)


def test_works_by_keyboard_alone(shown: Page) -> None:
    shown.press("Tab")
    assert shown.evaluate("document.activeElement.textContent") == "Skip to the content"
    shown.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "content"
    shown.evaluate("document.querySelector('.contents a').focus()")
    for _ in range(shown.count(".contents a")):
        shown.press("Tab")
    assert shown.evaluate("document.activeElement.id") == "search"
    shown.type("svc-batch")
    shown.press("Enter")
    assert _visible(shown, ".who") == 1
    assert float(shown.style("#search", "outline-width").removesuffix("px")) >= 2


def test_a_screen_reader_is_told_what_colours_say(shown: Page) -> None:
    names = shown.names()
    headings = [name for role, name in names if role == "heading"]
    assert headings[0] == _HEAD
    assert {"What stands out", "Who gains and who loses what", "What is sent, in this order"} <= set(headings)
    tables = [name for role, name in names if role == "table"]
    assert "Access of User:svc-reports" in tables
    said = shown.evaluate("document.querySelector('.chip.loss').textContent")
    assert "loses READ" in said
    assert any(role in {"img", "image"} and name == "Matrix of changes" for role, name in names)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("which", ["example", "hostile"])
def test_axe_finds_nothing(which: str, browser: Browser, request: pytest.FixtureRequest, *, dark: bool) -> None:
    with browser.page(request.getfixturevalue(which), dark=dark) as page:
        assert findings(page) == []
    with browser.page(request.getfixturevalue(which), dark=dark, size=(360, 740)) as page:
        assert findings(page) == []


def test_hostile_names_stay_text(browser: Browser, hostile: Path) -> None:
    for javascript in (True, False):
        with browser.page(hostile, javascript=javascript) as page:
            assert page.problems == []
            assert page.requests == [hostile.as_uri()]
            assert page.count("script") == 1
            assert page.count("img, iframe, object, embed, a[href^='http'], [onerror], [style]") == 0
            text = page.evaluate("document.body.textContent")
            assert HOSTILE[0] in text
            assert HOSTILE[1] in text
            assert "\u202e" not in text


def test_the_policy_stops_what_is_not_the_pages_own(browser: Browser, example: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted.html"
    text = example.read_text(encoding="utf-8")
    more = "<script>document.title = 'owned'</script><p id='p' style='color: red' onclick='owned()'>x</p>"
    more += "<img src='https://127.0.0.1:9/x'><style>h1 { display: none }</style>"
    planted.write_text(text.replace("</main>", f"{more}</main>"), encoding="utf-8")
    with browser.page(planted) as page:
        assert page.evaluate("document.title") != "owned"
        assert page.style("h1", "display") != "none"
        assert page.style("#p", "color") != "rgb(255, 0, 0)"
        page.click("#p")
        for what in ("inline script", "inline style", "inline event handler", "127.0.0.1:9"):
            assert _said(page, what), page.problems


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_fits_the_screen(width: int, browser: Browser, hostile: Path) -> None:
    with browser.page(hostile, size=(width, 800)) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_breaks_no_name(browser: Browser, example: Path) -> None:
    with browser.page(example, size=(390, 844)) as page:
        names = "[...document.querySelectorAll('.who code')].filter(code => !code.textContent.includes(' '))"
        assert page.evaluate(f"{names}.length") > 10
        assert page.evaluate(f"{names}.filter(c => c.getClientRects().length > 1).map(c => c.textContent)") == []


def test_says_at_the_top_what_it_is_about(shown: Page) -> None:
    about = shown.text("header .about")
    for what in ("demo", "as of 2026-11-21", "Approve with --require-id", "plan-", "reconciler 1.2.3"):
        assert what in about, what


def test_findings_of_a_rule_share_its_advice(browser: Browser, tmp_path: Path) -> None:
    advice = "remove it: access stays the same"
    found = [
        Finding("KA001", "redundant", Level.WARNING, f"another one says this {n}", advice, "demo", f"User:svc-{n} on t")
        for n in range(53)
    ]
    with browser.page(_written(Report(findings=tuple(found)), tmp_path), size=(390, 844)) as page:
        assert page.text("#findings").count(advice) == 1
        assert _visible(page, ".finding") == 20
        assert page.evaluate("document.documentElement.scrollHeight") < 4_000


def test_prints_everything(browser: Browser, tmp_path: Path) -> None:
    with browser.page(_written(large_report(steps=100, rows=100, principals=50), tmp_path)) as page:
        assert page.evaluate("document.querySelector('.who:nth-child(30)').offsetHeight") == 0
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.querySelector('.who:nth-child(30)').offsetHeight") > 0
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.querySelector('.who:nth-child(30)').offsetHeight") == 0
        page.print_media()
        assert page.style(".contents", "display") == "none"
        assert page.style("body", "background-color") == "rgb(255, 255, 255)"
        assert page.pdf().startswith(b"%PDF-")


def test_tens_of_thousands_of_rows_stay_usable(browser: Browser, large: tuple[Path, int]) -> None:
    file, rows = large
    with browser.page(file) as page:
        assert page.problems == []
        names = "[...document.querySelectorAll('.who td')].map(cell => cell.textContent.split('.topic-').length - 1)"
        assert sum(page.evaluate(names)) == rows
        assert _visible(page, ".who") == 25
        assert _visible(page, ".phase li") <= 400
        assert "1 to 25 of 5,000 principals" in page.text("#plan-1-access")
        page.click("#plan-1-access .pager button:nth-of-type(2)")
        assert "26 to 50 of 5,000 principals" in page.text("#plan-1-access")
        _filter(page, "svc-4321")
        assert _visible(page, ".who") == 1
        assert page.text(".who.on h4") == "User:svc-4321"


def _said(page: Page, what: str) -> bool:
    """Whether the policy stopped it; the browser's log comes when it comes."""
    for _ in range(200):
        if any(what in one and "Content Security Policy" in one for one in page.problems):
            return True
        page.evaluate("new Promise(done => setTimeout(done, 50))")
    return False


def _filter(page: Page, words: str) -> None:
    page.evaluate("document.getElementById('search').value = ''")
    page.click("#search")
    if words:
        page.type(words)
    page.press("Enter")


def _choose(page: Page, selector: str, value: str) -> None:
    page.evaluate(
        f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('change')); }})(document.querySelector('{selector}'))"
    )


def _visible(page: Page, selector: str) -> int:
    return page.count(", ".join(f"{one.strip()}.on" for one in selector.split(",")))


def _written(report: Report, directory: Path) -> Path:
    file = directory / "page.html"
    file.write_text(render(report, "1.2.3"), encoding="utf-8")
    assert not re.search(r"(src|href)=\"(?!#)", file.read_text(encoding="utf-8"))
    return file
