"""Names in logs that no manifest can hold, or that Kafka has no resource of: nothing is proposed on them."""

from reconciler.model import CLUSTER_NAME, WILDCARD, ResourceType, is_reserved, topic_name_problem
from reconciler.model.characters import is_visible


def name_problem(kind: ResourceType, name: str) -> str:
    """Why no grant may be proposed on this name; empty if one may."""
    if name == WILDCARD:
        return "a grant on the name * means every name"
    if not name or not is_visible(name) or name != name.strip() or is_reserved(name):
        return "no manifest can name this resource"
    if kind is ResourceType.TOPIC and topic_name_problem(name):
        return "Kafka has no topics of such a name"
    if kind is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return "there is no such cluster resource"
    return ""
