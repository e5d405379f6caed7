"""The pictures of the README and of the documents, made by the tests' browser: ``make pictures``.

The comment is the Markdown that a pipeline posts, drawn as code forges draw it; the page is the report's own.
"""

import hashlib
import html
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from click.testing import CliRunner
from markdown_it import MarkdownIt

from reconciler.cli.main import program
from tests.browser.driver import Browser
from tests.browser.npm import MERMAID, script

ROOT: Final = Path(__file__).parents[2]
PICTURES: Final = ROOT / "docs" / "pictures"
#: Of what the pictures were made from.
DIGEST: Final = "made-from.sha256"
WIDTH: Final = 860
_QUICKSTART: Final = ROOT / "examples" / "quickstart"
_STYLE: Final = """\
:root { color-scheme: light dark; --text: #1f2328; --back: #fff; --line: #d1d9e0; --soft: #59636e; --code: #818b981f }
@media (prefers-color-scheme: dark) {
  :root { --text: #f0f6fc; --back: #0d1117; --line: #3d444d; --soft: #9198a1; --code: #656c7633 } }
body { margin: 0; padding: 16px; color: var(--text); background: var(--back); font: 14px/1.5 system-ui, sans-serif }
main { border: 1px solid var(--line); border-radius: 6px; padding: 4px 16px 12px }
h3 { font-size: 1.25em; margin: 14px 0 } h4 { margin: 16px 0 8px } ul { padding-left: 2em }
code { background: var(--code); border-radius: 6px; padding: .2em .4em; font: 85% ui-monospace, monospace }
table { border-collapse: collapse; width: 100% }
th, td { border: 1px solid var(--line); padding: 6px 13px; text-align: left }
summary { margin: 8px 0 } .gain { color: #1a7f37 } .loss { color: #d1242f } sub { color: var(--soft) }
"""
#: As code forges do with a chart in a comment.
_DRAW: Final = """
(async () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  mermaid.initialize({startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "default"});
  for (const [number, code] of document.querySelectorAll("code.language-mermaid").entries()) {
    const {svg} = await mermaid.render(`chart${number}`, code.textContent);
    code.parentElement.outerHTML = `<div class="chart">${svg}</div>`;
  }
  return "";
})()
"""
#: Name, value and colour.
BADGES: Final = {
    "kafka": ("kafka", "3.9 – 4.4", "#1a7f37"),
    "python": ("python", "≥ 3.11", "#0969da"),
    "license": ("license", "Apache 2.0", "#57606a"),
}


def review(directory: Path) -> tuple[str, Path]:
    """The quickstart's review: its Markdown, and the file of its page."""
    result, comment, page = (directory / name for name in ("result.json", "comment.md", "page.html"))
    # Outside of the repository: a report names the commit of what it read, and pictures of each commit would differ.
    manifests = shutil.copytree(_QUICKSTART, directory / "manifests")
    facts = ["--connections", str(ROOT / "examples" / "operator.yaml")]
    plan = ["plan", str(manifests), "--cluster", f"snapshot:{manifests / 'live.json'}", *facts, "--allow-deletes"]
    printed = CliRunner().invoke(program, [*plan, "--as-of", "2026-11-23", "--output", "json"], prog_name="reconciler")
    result.write_text(printed.stdout, encoding="utf-8")
    report = ["report", str(result), "-o", f"markdown={comment}", "-o", f"html={page}"]
    if CliRunner().invoke(program, report, prog_name="reconciler").exit_code:
        raise RuntimeError("the quickstart has no report")
    return comment.read_text(encoding="utf-8"), page


def comment_page(markdown: str) -> str:
    """A comment as a page."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    # The tests' browser has no font with these signs.
    body = body.replace("➕", '<b class="gain">+</b>').replace("➖", '<b class="loss">−</b>')
    head = f'<meta charset="utf-8"><title>comment</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en">{head}<main>{body}</main></html>'


def badge(name: str, value: str, colour: str) -> str:
    """A badge as SVG, with the widths that its letters need."""
    left, right = 12 + 6.2 * len(name), 12 + 6.2 * len(value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img" '
        f'aria-label="{html.escape(name)}: {html.escape(value)}">'
        f'<rect width="{left:.0f}" height="20" fill="#444"/>'
        f'<rect x="{left:.0f}" width="{right:.0f}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2:.0f}" y="14">{html.escape(name)}</text>'
        f'<text x="{left + right / 2:.0f}" y="14">{html.escape(value)}</text></g></svg>\n'
    )


def digest(markdown: str, page: str) -> str:
    """A digest of all that the pictures show: the comment, the top of the page with its style, no time of day."""
    top = "</section>".join(page.split("</section>")[:2])
    top = re.sub(r"<script>.*?</script>|'sha256-[^']*'", "", top, flags=re.S)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME", comment_page(markdown) + top)
    # An id binds all of a plan, and so changes with every field of it.
    text = re.sub(r"\b(plan|change)-[0-9a-f]{64}\b", r"\1-ID", text)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def write(pictures: Path, browser: Browser) -> list[Path]:
    """Draws every picture into a directory, light and dark, and their digest; returns the pictures."""
    pictures.mkdir(parents=True, exist_ok=True)
    files = []
    with tempfile.TemporaryDirectory() as scratch:
        markdown, page = review(Path(scratch))
        (pictures / DIGEST).write_text(f"{digest(markdown, page.read_text(encoding='utf-8'))}\n", encoding="utf-8")
        comment = Path(scratch, "comment.html")
        comment.write_text(f'{comment_page(markdown)}<script src="mermaid.js"></script>', encoding="utf-8")
        Path(scratch, "mermaid.js").write_text(script(MERMAID, "dist/mermaid.min.js"), encoding="utf-8")
        for name, address, height, scale in (("comment", comment, 0, 1.25), ("page", page, 560, 1.5)):
            for dark in (False, True):
                file = pictures / f"{name}-{'dark' if dark else 'light'}.png"
                with browser.page(address, dark=dark, size=(WIDTH, height or 100), scale=scale) as shown:
                    if not height:
                        shown.evaluate(_DRAW)
                    shown.screenshot(file, whole=not height)
                files.append(file)
    for name, words in BADGES.items():
        file = pictures / f"{name}.svg"
        file.write_text(badge(*words), encoding="utf-8")
        files.append(file)
    return files


if __name__ == "__main__":
    with Browser() as started:
        written = write(PICTURES, started)
    for file in written:
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1024} KiB")
