"""The draft of an Ownership, held against the files that it is for before anybody sees it."""

import datetime
from collections.abc import Mapping

from reconciler.manifest import ManifestError, Source, desired_state, load
from reconciler.model import AclBinding, ClusterState
from reconciler.report.export.cluster import cluster_document
from reconciler.report.export.ownership_draft import DRAFT_FILE, draft_text, ownership_draft
from reconciler.report.ownership_text import breach_lines
from reconciler.workflow.access_checks import breaches_of, ownerships_of

#: Nothing that was read of a cluster ends.
_DAY = datetime.date.min
_NAME = "draft"


def proven_draft(state: ClusterState, places: Mapping[AclBinding | str, str], files: Mapping[str, str]) -> str:
    """The draft for the exported files; what breaks its rules there is named at its head."""
    lines = ownership_draft(state, places, files)
    texts = {path: text for path, text in files.items() if path != "cluster.yaml"}
    texts |= {"cluster.yaml": cluster_document(_NAME, ["broker:9092"], {}), DRAFT_FILE: "\n".join(lines) + "\n"}
    try:
        manifests = load(Source(path, text) for path, text in texts.items())
        desired = desired_state(manifests, _NAME, _DAY)
    except ManifestError as error:
        return draft_text(lines, [str(problem) for problem in error.problems])
    breaches = breaches_of(ownerships_of(manifests, _NAME, _DAY), desired)
    return draft_text(lines, list(breach_lines(breaches)) if breaches else ())
