"""How far a saved plan was verified, in words and as JSON values."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reconciler.report.style import Style, plain, safe

#: What a report says of a plan that was only read from a file.
NOT_VERIFIED: Final = (
    "Not verified against a cluster: access, effects, callouts, facts, counts and warnings are what the file says. "
    "Its bytes, ids and the order of its phases are checked."
)
#: What to do about that.
VERIFY: Final = "verify it with reconciler show PLAN PATH --cluster NAME, or plan again"


def verification_lines(cluster: str | None, differences: Sequence[str], style: Style = plain) -> Iterator[str]:
    """What comes before a saved plan; ``cluster`` is what it was verified against, ``None``: nothing."""
    if cluster is None:
        yield style("warn", NOT_VERIFIED)
        yield style("dim", VERIFY)
    elif differences:
        yield style("error", f"Not the plan that the manifests give for cluster {safe(cluster)} now. These differ:")
        yield from (style("error", f"  {safe(place)}") for place in differences)
    else:
        yield style("add", f"Verified: planned again for cluster {safe(cluster)}, it is the same plan.")
    yield ""


def verification_document(cluster: str | None, differences: Sequence[str]) -> dict[str, Any]:
    """The same as JSON values: ``verified`` only if there was a cluster and nothing differs."""
    return {
        "verified": cluster is not None and not differences,
        "cluster": cluster,
        "differences": list(differences),
        "note": NOT_VERIFIED if cluster is None else "",
    }
