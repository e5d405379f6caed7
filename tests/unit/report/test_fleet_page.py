"""A fleet's page: what came from clusters and manifests stays text, and shows what it hides."""

from reconciler.fleet import ClusterDrift, Counts, Failure, FleetDrift
from reconciler.report.fleet_html import drift_page

_HOSTILE = "<b>\u202egnp\x1b[31m\n\n&amp;"


def test_hostile_names_and_messages_stay_text() -> None:
    clusters = (
        ClusterDrift("a", failure=Failure("a", "code", _HOSTILE)),
        ClusterDrift("b", Counts(creates=1)),
        ClusterDrift("c", doubt=_HOSTILE),
    )
    page = drift_page(FleetDrift("run", "now", clusters), {"b": {_HOSTILE: 1}})
    assert [sign for sign in ("\u202e", "\x1b", "<b>") if sign in page] == []
    assert "1 not seen whole" in page
    assert "code: &lt;b&gt;\\u202egnp\\u001b[31m &amp;amp;" in page
