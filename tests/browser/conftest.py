"""One browser a session, started when a test first asks for it."""

from collections.abc import Iterator

import pytest

from tests.browser.driver import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: ``with browser.page(PATH_OR_HTML, dark=True) as page``."""
    with Browser() as started:
        yield started
