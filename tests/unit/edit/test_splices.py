"""Changes that meet at the end of a text without a last line break."""

import pytest

from reconciler.manifest.write.spans import Splice, comments_between, spliced

TEXT = "a: 1\n- one\n- two"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_last_lines_go_and_new_ones_come_before_them(newline: str) -> None:
    """Seen where the last topic of a file went, and the one before it got a config."""
    text = TEXT.replace("\n", newline)
    first = text.index("- two")
    cut = Splice(first - len(newline), len(text))
    new = Splice(first, first, f"  more{newline}")
    assert spliced(text, [cut, new]) == newline.join(["a: 1", "- one", "  more"])
    assert spliced(text, [cut]) == newline.join(["a: 1", "- one"])
    appended = Splice(len(text), len(text), f"{newline}- three")
    assert spliced(text, [cut, new, appended]) == newline.join(["a: 1", "- one", "  more", "- three"])


def test_two_cuts_of_which_the_first_leaves_a_comment() -> None:
    first, last = TEXT.index("- one"), TEXT.index("- two")
    cuts = [Splice(first, last, "# kept\n"), Splice(last - 1, len(TEXT))]
    assert spliced(TEXT, cuts) == "a: 1\n# kept"
    assert spliced(TEXT, [cuts[0], cuts[1]._replace(new="\n# too")]) == "a: 1\n# kept\n# too"


def test_comments_are_read_without_what_stands_before_them() -> None:
    assert comments_between(",  # one \n  # two\r\n#three\n[# four") == ["# one", "# two", "#three", "# four"]
    assert comments_between(" a#b ") == []
