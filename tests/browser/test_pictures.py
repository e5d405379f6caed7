"""The README's pictures: small, there for light and dark, and made again by one command."""

import re
import struct
from pathlib import Path

import pytest

from tests.browser.driver import Browser
from tests.browser.pictures import DIGEST, PICTURES, ROOT, digest, review, write

#: A page that loads on a phone.
MOST_BYTES = 200_000


def _size(png: Path) -> tuple[int, int]:
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return struct.unpack(">II", head[16:])


def test_the_readme_shows_each_picture_in_light_and_dark() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"docs/pictures/([\w-]+\.(?:png|svg))", readme))
    assert shown == {path.name for path in PICTURES.iterdir()} - {DIGEST}
    assert {name.replace("dark", "light") for name in shown} <= shown
    assert re.findall(r"<img (?!alt=\"\w)", readme) == []


def test_pictures_show_what_is_printed_now(tmp_path: Path) -> None:
    """By what they were made from, so that no browser is needed to see that they are old."""
    markdown, page = review(tmp_path)
    shown = page.read_text(encoding="utf-8")
    assert digest(markdown, shown) == (PICTURES / DIGEST).read_text(encoding="utf-8").strip(), "run `make pictures`"
    assert digest(markdown.replace("User:", "Group:"), shown) != digest(markdown, shown)
    assert digest(markdown, shown.replace("verdict", "other", 1)) != digest(markdown, shown)


def test_pictures_are_small() -> None:
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > MOST_BYTES] == []


@pytest.mark.browser
def test_pictures_are_made_again(browser: Browser, tmp_path: Path) -> None:
    files = write(tmp_path, browser)
    assert {file.name for file in files} == {path.name for path in PICTURES.iterdir()} - {DIGEST}
    for file in files:
        if file.suffix == ".svg":
            assert file.read_bytes() == (PICTURES / file.name).read_bytes()
        else:
            assert _size(file)[0] == _size(PICTURES / file.name)[0]
