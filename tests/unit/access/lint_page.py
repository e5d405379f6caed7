"""The reference of lint rules in ``docs/lint.md``; run as a module it writes it again."""

from pathlib import Path
from textwrap import fill

from reconciler.access.lint import GROUPS, RULES
from reconciler.access.lint.rule import LintRule

PAGE = Path(__file__).parents[3] / "docs" / "lint.md"
_BEGIN = "<!-- generated: make reference -->\n"


def refreshed(page: str) -> str:
    """The page with the reference as the rules have it today."""
    head, mark, _ = page.partition(_BEGIN)
    assert mark, f"{PAGE} has lost the line {_BEGIN!r}"
    errors = [rule.code for rule in RULES if rule.severity == "error"]
    groups = (f"\n## {title}\n{''.join(map(_section, rules))}" for title, rules in GROUPS.items())
    return f"{head}{mark}\nErrors are {', '.join(errors[:-1])} and {errors[-1]}.\n{''.join(groups)}"


def _section(rule: LintRule) -> str:
    weight = "An error. " if rule.severity == "error" else ""
    text = f"{weight}{rule.about} *Do:* {rule.cure[0].lower()}{rule.cure[1:]}"
    text += {"same": " *Fixed by* `--fix`.", "asked": f" *Fixed by* `--fix --also {rule.code}`.", "none": ""}[rule.fix]
    return f"\n### {rule.code}: {rule.name}\n\n{fill(text, 132, break_on_hyphens=False)}\n"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
