"""The picture in a review, drawn by the Mermaid that code forges run: hostile names are text and change no structure.

The library is npm's ``mermaid`` (MIT), fetched for tests only and pinned.
"""

import json
from pathlib import Path
from typing import Any, Final

from reconciler.access.difference import Witness
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import LITERAL, NameSet, ResourceSet
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.characters import safe, with_points
from reconciler.plan.review.access_change import AccessChange
from reconciler.show.formats.markdown import MOST_NODES, access_chart
from tests.browser.driver import Browser
from tests.browser.npm import MERMAID, script
from tests.integration.hostile import HOSTILE

#: What means something to Mermaid, to HTML or to Markdown, which its labels know.
_NAMES: Final = (
    *HOSTILE,
    '"] --> evil["x',
    "end",
    "n1",
    "a --> b",
    'a\nclick n1 href "https://evil.example"',
    "click n1 call alert(1)",
    '%%{init: {"securityLevel": "loose"}}%%',
    "---\ntitle: x\n---",
    "subgraph x",
    "style n1 fill:#f00",
    "classDef default fill:#f00",
    "```\n# out of the fence",
    "`**bold**`",
    "**bold** _x_ ~~y~~",
    "1. a list",
    "- a list",
    "# a heading",
    "https://evil.example",
    "[x](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "&lt;b&gt;",
    "#35;",
    "#quot;",
    "fa:fa-ban",
    "$$x^2$$",
    "@{ shape: circle }",
    ":::evil",
    "a;b",
    "a|b",
    "{a}",
    "(a)",
    "\\u0041",
    "ﬂ°°35¶ß",
    "x" * 300,
)
_DRAW: Final = """
(async () => {
  mermaid.initialize({startOnLoad: false, securityLevel: "strict"});
  const drawn = [];
  for (const chart of %s) {
    document.body.replaceChildren();
    const {svg} = await mermaid.render(`picture${drawn.length}`, chart);
    document.body.innerHTML = svg;
    const all = selector => [...document.querySelectorAll(selector)];
    drawn.push({
      nodes: all(".node").map(node => node.textContent.trim()),
      edges: all("path.flowchart-link").length,
      clusters: all(".cluster").length,
      foreign: all("a, img, script, iframe, strong, em, del, ul, ol, h1, h2, math, i, b, code").length,
    });
  }
  return JSON.stringify(drawn);
})()
"""


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    charts = [access_chart([_gain(f"User:{name}", name), _gain("User:plain", "orders")]) for name in _NAMES]
    (tmp_path / "mermaid.js").write_text(script(MERMAID, "dist/mermaid.min.js"), encoding="utf-8")
    (tmp_path / "page.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>picture</title><body><script src="mermaid.js"></script>'
    )
    with browser.page(tmp_path / "page.html") as page:
        drawn: list[dict[str, Any]] = json.loads(page.evaluate(_DRAW % json.dumps(charts)))
    for name, found in zip(_NAMES, drawn, strict=True):
        assert (len(found["nodes"]), found["edges"], found["clusters"], found["foreign"]) == (4, 2, 0, 0), name
        assert "User:plain" in found["nodes"]
        shown = safe(with_points(f"User:{name}")).replace("\ufb02", "\\ufb02").replace("\xb6", "\\u00b6")
        shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
        assert shown.split() in [node.split() for node in found["nodes"]], name


def test_a_picture_that_nobody_could_read_is_not_drawn() -> None:
    few = [_gain(f"User:{number}", "orders") for number in range(MOST_NODES - 1)]
    assert access_chart(few).count("==>") == MOST_NODES - 1
    assert access_chart([*few, _gain("User:more", "orders")]) == ""
    assert access_chart([]) == ""


def test_a_right_on_a_user_leads_on_to_what_that_user_gains() -> None:
    """So the picture shows how somebody comes to what another one gains. A topic of that name is another thing."""
    kind, tokens = ResourceType.USER, AclOperation.CREATE_TOKENS
    chart = access_chart([_gain("User:ci", "User:appr", kind, tokens), _gain("User:appr", "approvals")])
    assert [line.split('"')[::2] for line in chart.splitlines() if "==>" in line] == [
        ["  n1 == ", " ==> n2"],
        ["  n2 == ", " ==> n3"],
    ]
    assert access_chart([_gain("User:ci", "User:appr"), _gain("User:appr", "approvals")]).count("[") == 4
    assert access_chart([_gain("User:ci", "User:other", kind, tokens), _gain("User:appr", "x")]).count("[") == 4


def _gain(
    principal: str,
    name: str,
    kind: ResourceType = ResourceType.TOPIC,
    operation: AclOperation = AclOperation.READ,
) -> AccessChange:
    resources, witness = ResourceSet(kind, NameSet(name, LITERAL)), Witness(principal, "10.0.0.1", name)
    return AccessChange(principal, str(ANY_HOST), resources, (operation,), (), witness, (), 0)
