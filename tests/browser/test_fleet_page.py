"""The page of a fleet's drift as somebody looks at it: light and dark, narrow, with names that are hostile."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.results.fleet_drift import ClusterDrift, DriftCounts, Failure, FleetDrift
from reconciler.show.fleet_report import fleet_report
from reconciler.show.formats.html import page as report_page
from reconciler.show.reading import fleet_result
from tests.browser.axe import findings
from tests.browser.driver import Browser

pytestmark = pytest.mark.browser

HOSTILE = "</title><script>alert(1)</script><img src=//127.0.0.1:1/x onerror=alert(2)>"
CLUSTERS = (
    ClusterDrift("as-declared", counts=DriftCounts(5, 5)),
    ClusterDrift("prod-eu", counts=DriftCounts(9, 9, creates=12_300, deletes=4)),
    ClusterDrift("prod-us", counts=DriftCounts(9, 9, creates=1)),
    ClusterDrift("gone", failure=Failure("gone", "timed_out", HOSTILE)),
)
TEAMS: Mapping[str, Mapping[str, int]] = {
    "prod-eu": {"orders": 12_300, "payments": 3, HOSTILE: 1},
    "prod-us": {"payments": 1},
}


def drift_page(drift: FleetDrift, teams: Mapping[str, Mapping[str, int]]) -> str:
    fleet = fleet_report(drift, lambda _: ((), ()), taken={}, teams=teams, shown=10)
    return report_page(fleet_result(fleet), "1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    page = tmp_path / "drift.html"
    page.write_text(drift_page(FleetDrift("run", "2026-01-01", 0, 0, 0, CLUSTERS), TEAMS), encoding="utf-8")
    return page


@pytest.mark.parametrize("dark", [False, True])
def test_everybody_can_read_it_and_nothing_is_loaded(browser: Browser, file: Path, *, dark: bool) -> None:
    with browser.page(file, dark=dark) as page:
        assert page.problems == []
        assert page.requests == [file.as_uri()]
        assert findings(page) == []
        assert "4 clusters: 1 as declared, 2 differ, 1 not known." in page.text()
        assert page.style("body", "background-color") == ("rgb(16, 21, 28)" if dark else "rgb(246, 247, 249)")


def test_the_map_has_a_cell_for_each_cluster_and_team(browser: Browser, file: Path) -> None:
    with browser.page(file) as page:
        assert page.count("svg rect:not(.unknown)") == 6
        titles = page.evaluate("[...document.querySelectorAll('svg rect title')].map(t => t.textContent)")
        assert titles[0] == "gone: not known"
        assert {"prod-eu, orders: 12,300", "prod-eu, payments: 3", "prod-us, orders: 0"} <= set(titles)
        assert page.evaluate("[...document.querySelectorAll('svg text')].map(t => t.textContent)").count("12k") == 1
        fills = "[...document.querySelectorAll('svg rect')].map(r => getComputedStyle(r).fill)"
        # Nothing, one, a few and most are told apart, and what is not known looks like none of them.
        assert len(set(page.evaluate(fills))) == 4
        assert page.count("main script, img") == 0


def test_a_narrow_window_scrolls_the_map_and_not_the_page(browser: Browser, tmp_path: Path) -> None:
    teams = {"prod-eu": {f"team-{number}": number for number in range(1, 60)}}
    file = tmp_path / "wide.html"
    file.write_text(drift_page(FleetDrift("run", "now", 0, 0, 0, CLUSTERS[1:2]), teams), encoding="utf-8")
    with browser.page(file, size=(800, 600)) as page:
        map_width = page.evaluate("document.querySelector('.map').scrollWidth")
        assert map_width > 800 >= page.evaluate("document.querySelector('.map').clientWidth")


def test_a_fleet_as_declared_has_no_map(browser: Browser) -> None:
    with browser.page(drift_page(FleetDrift("run", "now", 0, 0, 0, CLUSTERS[:1]), {})) as page:
        assert page.count("svg, table") == 0
        assert "1 cluster: 1 as declared" in page.text()
