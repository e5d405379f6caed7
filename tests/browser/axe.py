"""axe-core in a page: what keeps people with screen readers, keyboards or weak sight out.

The engine is npm's ``axe-core`` (MPL-2.0), fetched for tests only, pinned, and kept in ``$XDG_CACHE_HOME/reconciler``.
"""

import json
from typing import Any, Final

from tests.browser.driver import Page
from tests.browser.npm import Package, script

_AXE: Final = Package(
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)


def findings(page: Page) -> list[str]:
    """Everything that axe calls a violation: impact, rule, and the first elements."""
    # Through the debugger, which a page's own policy does not bind.
    page.evaluate(f"{script(_AXE, 'axe.min.js')}; true")
    found: dict[str, Any] = json.loads(page.evaluate("axe.run(document).then(found => JSON.stringify(found))"))
    assert found["passes"], "axe looked at nothing"
    return [_words(violation) for violation in found["violations"]]


def _words(violation: dict[str, Any]) -> str:
    nodes = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:5])
    return f"{violation['impact']}: {violation['id']} ({violation['help']}) at {nodes}"
