"""The documents as a site: ``make docs`` writes ``site/``, plain pages that need no script and no network.

Pages, order and titles come from the documents themselves; links between them become links between pages.
"""

import html
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[1]
#: What stands where in the menu; a document that no group names is a guide.
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Start": (
        "README.md",
        "docs/tutorials/first-hour.md",
        "docs/tutorials/first-pull-request.md",
        "docs/tutorials/adopting-a-cluster.md",
    ),
    "Guides": (),
    "Reference": (
        "docs/commands.md",
        "docs/compatibility.md",
        "docs/manifests.md",
        "docs/plan-file.md",
        "docs/client-settings.md",
        "docs/python.md",
        "docs/glossary.md",
    ),
    "Project": ("CONTRIBUTING.md", "docs/packages.md", "docs/life-of-a-rule.md", "CHANGELOG.md", "SECURITY.md"),
    "Decisions": (),
}
_STYLE: Final = """\
:root { color-scheme: light dark; --line: #8886; --code: #8882 }
body { margin: 0 auto; max-width: 78rem; display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem;
  padding: 1rem; font: 1rem/1.55 system-ui, sans-serif }
nav { font-size: .9rem; border-right: 1px solid var(--line); padding-right: 1rem }
nav ul { list-style: none; padding: 0 } nav h2 { font-size: 1rem; margin: 1rem 0 .2rem }
pre, code { background: var(--code); border-radius: .2rem; font-size: .9em } code { padding: 0 .2em }
pre { padding: .8rem; overflow-x: auto } pre code { padding: 0; background: none }
table { border-collapse: collapse; display: block; overflow-x: auto }
td, th { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top }
[aria-current] { font-weight: bold } a { text-underline-offset: .15em }
@media (max-width: 50rem) { body { display: block } nav { border: 0 } }
@media print { nav { display: none } body { display: block } }
"""
_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'"


@cache
def documents() -> tuple[Path, ...]:
    """Every Markdown file of the project, by its path."""
    return tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))


def page_name(document: Path) -> str:
    """``docs/decisions/journal.md`` is ``decisions-journal.html``, the README is the index."""
    name = document.relative_to(ROOT).as_posix().removeprefix("docs/").removesuffix(".md").replace("/", "-")
    return "index.html" if name == "README" else f"{name}.html"


def anchor(heading: str) -> str:
    """The name by which documents link to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache  # every menu has all of them
def title(document: Path) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else document.stem


def menu(current: Path) -> str:
    """All pages, by group, with this one marked."""
    named = {ROOT / name for names in _GROUPS.values() for name in names}
    lines = []
    for group, names in _GROUPS.items():
        members = [ROOT / name for name in names]
        if group in ("Guides", "Decisions"):
            others = (page for page in documents() if page not in named)
            members += [page for page in others if ("decisions" in page.parts) is (group == "Decisions")]
        lines.append(f"<h2>{group}</h2><ul>")
        for page in members:
            mark = ' aria-current="page"' if page == current else ""
            lines.append(f'<li><a href="{page_name(page)}"{mark}>{html.escape(title(page))}</a></li>')
        lines.append("</ul>")
    return "\n".join(lines)


def rendered(document: Path) -> str:
    """One page."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(document.read_text(encoding="utf-8"))
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[index + 1].content))
        _relink(token.children or [], document)
    body = parser.renderer.render(tokens, parser.options, {})
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_CSP}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title(document))}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f'<nav aria-label="Pages">\n{menu(document)}\n</nav>\n<main>\n{body}</main>\n</body>\n</html>\n'
    )


def _relink(tokens: list[Token], document: Path) -> None:
    """A link to a document leads to its page; one to another file of the project only names that file."""
    known, named = set(documents()), False
    for token in tokens:
        if token.type == "link_close" and named:
            token.tag, named = "span", False
        target = str(token.attrGet("href") or "")
        if token.type != "link_open" or re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        path, hash_sign, fragment = target.partition("#")
        linked = (document.parent / path).resolve()
        if linked in known:
            token.attrSet("href", f"{page_name(linked)}{hash_sign}{fragment}")
        elif linked == ROOT / "docs" / "decisions":
            token.attrSet("href", page_name(linked / "README.md"))
        else:
            token.tag, token.attrs, named = "span", {"title": linked.relative_to(ROOT).as_posix()}, True


def build(directory: Path) -> list[Path]:
    """Writes every page; returns them."""
    directory.mkdir(parents=True, exist_ok=True)
    pages = []
    for document in documents():
        page = directory / page_name(document)
        page.write_text(rendered(document), encoding="utf-8")
        pages.append(page)
    return pages


if __name__ == "__main__":
    print(f"wrote {len(build(Path(sys.argv[1] if len(sys.argv) > 1 else 'site')))} pages")
