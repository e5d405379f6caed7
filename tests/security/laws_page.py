"""The table of laws in ``docs/security.md``; run as a module it writes it again."""

from collections import defaultdict
from pathlib import Path

from reconciler.policy.laws import QUESTIONS, laws

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_BEGIN = "<!-- generated: make reference -->\n"


def refreshed(page: str) -> str:
    """The page with the answers as the table has them today."""
    head, mark, _ = page.partition(_BEGIN)
    assert mark, f"{PAGE} has lost the line {_BEGIN!r}"
    return f"{head}{mark}{''.join(_section(field, text) for field, text in QUESTIONS.items())}"


def _section(field: str, question: str) -> str:
    kinds = defaultdict(list)
    for law in laws().values():
        kinds[getattr(law, field).value].append(law.words)
    rows = "".join(f"| {', '.join(words)} | {answer} |\n" for answer, words in kinds.items())
    return f"\n## {question}\n\n| kind | answer |\n|---|---|\n{rows}"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
