"""The ``Cluster`` document that stands beside exported manifests."""

from collections.abc import Mapping, Sequence

from reconciler.manifest import DEFAULT_DELETE_PERCENT, DEFAULT_PERCENT_ABOVE, document_name_problem
from reconciler.report.export.expressible import text_problem
from reconciler.report.export.yaml_text import document_head, one_or_list, scalar


def cluster_document(
    name: str,
    bootstrap_servers: Sequence[str],
    client: Mapping[str, str],
    *,
    principal: str | None = None,
    super_users: Sequence[str] = (),
    default_allow: bool | None = None,
) -> str:
    """A ``Cluster`` of that name. ``client`` holds references instead of secrets: ``${env:KAFKA_PASSWORD}``.

    ``default_allow`` is the brokers' allow.everyone.if.no.acl.found; ``None``, unknown, is left out. Raises
    ``ValueError`` for text that no manifest can hold, and for a name that no document can have.
    """
    texts = [name, *bootstrap_servers, *client, *client.values(), principal or "", *super_users]
    unfit = [text for text in texts if text_problem(text.replace("${", "")) is not None]
    if unfit:
        raise ValueError(f"{unfit[0]!a} cannot stand in a manifest")
    if (problem := document_name_problem(name)) is not None:
        raise ValueError(problem)
    lines = document_head("Cluster", name)
    lines += one_or_list("bootstrapServers", bootstrap_servers, 2, always_list=True)
    if client:
        lines += ["  client:", *(f"    {scalar(key)}: {scalar(client[key])}" for key in sorted(client))]
    if principal is not None:
        lines.append(f"  principal: {scalar(principal)}")
    if super_users:
        lines += one_or_list("superUsers", super_users, 2, always_list=True)
    if default_allow is not None:
        lines.append(f"  allowEveryoneIfNoAclFound: {str(default_allow).lower()}")
    # What holds anyway, where somebody looks who has to raise it.
    lines += [
        "  limits:",
        f"    maxDeletePercent: {DEFAULT_DELETE_PERCENT}",
        f"    percentAbove: {DEFAULT_PERCENT_ABOVE}",
    ]
    return "\n".join(lines) + "\n"
