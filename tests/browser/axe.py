"""axe-core in a page: what keeps people with screen readers, keyboards or weak sight out.

The engine is npm's ``axe-core`` (MPL-2.0), fetched for tests only, pinned, and kept in ``$XDG_CACHE_HOME/reconciler``.
"""

import fcntl
import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.browser.driver import Page
from tests.browser.npm import Package, packed

_AXE: Final = Package(
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)


def findings(page: Page) -> list[str]:
    """Everything that axe calls a violation: impact, rule, and the first elements."""
    # Through the debugger, which a page's own policy does not bind.
    page.evaluate(f"{_engine()}; true")
    found: dict[str, Any] = json.loads(page.evaluate("axe.run(document).then(found => JSON.stringify(found))"))
    assert found["passes"], "axe looked at nothing"
    return [_words(violation) for violation in found["violations"]]


def _words(violation: dict[str, Any]) -> str:
    nodes = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:5])
    return f"{violation['impact']}: {violation['id']} ({violation['help']}) at {nodes}"


def _engine() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reconciler"
    file = cache / f"axe-core-{_AXE.version}.js"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "axe-core.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            _fetch(cache, file)
    return file.read_text(encoding="utf-8")


def _fetch(cache: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as scratch, tarfile.open(packed(_AXE, Path(scratch))) as package:
        member = package.extractfile("package/axe.min.js")
        if member is None:
            raise AssertionError("the package has no axe.min.js")
        whole = Path(scratch) / "axe.js"
        whole.write_bytes(member.read())
        whole.rename(target)
