"""Documents by the rules of ``words.toml``, and how many words people wrote: part of ``make lint``.

Ends with 1 if a rule is broken or the documents have grown beyond the limit.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RULES: Final = Path(__file__).with_suffix(".toml")
#: From here on a page is written by `make reference`.
_GENERATED: Final = "<!-- generated"
_TABLE: Final = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.S)
_FENCE: Final = re.compile(r"^(```|~~~~).*?^\1", re.M | re.S)
#: Code, comments and the targets of links: not prose.
_CODE: Final = re.compile(r"``[^`]*``|`[^`\n]*`|<!--.*?-->|(?<=\])\([^)\s]*\)|<[a-z/][^>]*>", re.S)


@cache
def rules() -> dict[str, Any]:
    """The file of rules."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    """The documents that people write, in whole or in part; `make figures` writes its own."""
    top = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
    return top + sorted(page for page in ROOT.glob("docs/**/*.md") if page.name != "figures.md")


def by_hand(page: Path) -> str:
    """A page's text without the parts that are generated."""
    return _TABLE.sub("", page.read_text(encoding="utf-8").partition(_GENERATED)[0])


def count(page: Path) -> int:
    """Words outside of code blocks, which tests hold: what has a letter or a digit."""
    return len([word for word in _FENCE.sub("", by_hand(page)).split() if re.search(r"\w", word)])


def prose(text: str) -> str:
    """The text with blanks where code is, as long and with the same lines."""
    for pattern in (_FENCE, _CODE):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def broken(text: str) -> Iterator[tuple[int, str, str]]:
    """The line of each word that a rule finds, the words, and what to say instead."""
    paragraphs = re.finditer(r"(?:^(?!#).+\n?)+", prose(text), re.M)
    for paragraph in paragraphs:
        # Each row of a table and each item of a list begins a sentence.
        for part in re.finditer(r"(?:[^\n]|\n(?!\s*[-|*\d]))+", paragraph[0]):
            words = re.sub(r"^[\s|*\-\d.]+", lambda found: " " * len(found[0]), part[0])
            for rule in rules()["rule"]:
                pattern = rule["find"].replace("(?:^|", r"(?:^\s*|")
                for found in re.finditer(pattern, words, re.I if "What" not in pattern else 0):
                    line = text.count("\n", 0, paragraph.start() + part.start() + found.end()) + 1
                    yield line, " ".join(found[0].split()), rule["say"]


def main() -> int:
    """What is wrong, and the count."""
    wrong, total = 0, 0
    for page in pages():
        # The pages of commands are their help texts, with a sentence or two above.
        total += 0 if page.parent.name == "commands" else count(page)
        if page.relative_to(ROOT).as_posix() in rules()["later"]:
            continue
        for line, words, say in broken(by_hand(page)):
            print(f"{page.relative_to(ROOT)}:{line}: {words!r}: say {say}")
            wrong += 1
    most = rules()["most_words"] + sum(rules()["capabilities"].values())
    print(f"{total:,} words by hand, at most {most:,}")
    return int(wrong > 0 or total > most)


if __name__ == "__main__":
    sys.exit(main())
