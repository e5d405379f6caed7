"""``reconciler doctor``: whether a cluster can be reached, and what we may do there."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reconciler.cli.console import out, out_json, style_for
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import cluster_option, connection_options, output_option
from reconciler.report.style import counted
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from reconciler.adapters.kafka.inspection import Inspection
    from reconciler.report.style import Style
    from reconciler.workflow import Target


@click.command("doctor", short_help="Check connection, rights, authorizer and brokers")
@click.argument("path", required=False, type=click.Path(exists=True), metavar="[PATH]")
@cluster_option()
@connection_options
@output_option
def command(*, path: str | None, cluster: str, connection: ConnectionOptions, output: str) -> int:
    """Check what planning and applying need from a cluster, and report what is missing.

    Nothing is changed. Exit 1 if planning for this cluster is not possible.
    """
    from reconciler.adapters.kafka.cluster import KafkaCluster
    from reconciler.ports import ClusterError
    from reconciler.workflow import open_any

    with open_any(path, cluster, connection) as (_, target):
        if not isinstance(target.cluster, KafkaCluster):
            raise CommandError("a snapshot needs no doctor: it is a file", status=Exit.USAGE)
        try:
            found = target.cluster.inspect()
        except ClusterError as error:
            raise CommandError(str(error), error.advice) from error
        reading = reading_check(target, found)
    checks = list(all_checks(found, target, reading))
    if output == "json":
        out_json(_document(found, checks))
    else:
        out(_lines(found, checks, style_for(sys.stdout)))
    return Exit.OK if all(good for good, _, needed in checks if needed) else Exit.ERROR


class DoctorCheck(NamedTuple):
    """Whether it is well, what it is, whether planning needs it."""

    ok: bool
    text: str
    needed: bool


def reading_check(target: "Target", found: "Inspection") -> DoctorCheck:
    """Whether a plan could read the cluster, and whether it would see every topic."""
    from reconciler.ports import ClusterError, ReadRequest

    declaration = target.declaration
    request = ReadRequest(
        acls=bool(found.can_list_acls),
        principal=declaration.principal if declaration else None,
        super_users=declaration.super_users if declaration else (),
    )
    try:
        gap = target.cluster.read(request).topic_gap
    except ClusterError as error:
        return DoctorCheck(False, f"the cluster cannot be read: {error}", True)
    if gap is None or found.can_list_acls is None:  # without an authorizer nothing is hidden from anybody
        return DoctorCheck(True, f"sees every topic: {found.visible_topics}", False)
    return DoctorCheck(False, gap, False)


def all_checks(found: "Inspection", target: "Target", reading: DoctorCheck) -> Iterator[DoctorCheck]:
    """Everything there is to say of a cluster and its declaration; each text says what is so, well or not."""
    yield DoctorCheck(True, f"connected to cluster {found.cluster_id}, {counted(len(found.brokers), 'broker')}", True)
    yield DoctorCheck(found.authorizer != "absent", _AUTHORIZER[str(found.authorizer)], True)
    if found.can_list_acls is not None:
        text = f"{_may(found.can_list_acls)} list ACLs (DESCRIBE on CLUSTER): needed to plan"
        yield DoctorCheck(found.can_list_acls, text, True)
    if found.can_alter_acls is not None:
        text = f"{_may(found.can_alter_acls)} change ACLs (ALTER on CLUSTER): needed to apply"
        yield DoctorCheck(found.can_alter_acls, text, False)
    yield reading
    declared = target.declaration
    if declared is None:
        yield DoctorCheck(False, "no Cluster document describes it yet: `reconciler export` writes one", False)
        return
    yield _declared("principal", declared.principal is not None)
    yield _declared("allowEveryoneIfNoAclFound", declared.allow_everyone_if_no_acl_found is not None)


def _may(allowed: bool) -> str:
    return "may" if allowed else "may not"


def _declared(field: str, given: bool) -> DoctorCheck:
    return DoctorCheck(given, f"{field} is {'declared' if given else 'not declared'} in Cluster", False)


_AUTHORIZER = {
    "present": "the cluster has an authorizer",
    "absent": "the cluster has no authorizer: every ACL request is refused with SECURITY_DISABLED",
    "unknown": "your rights do not suffice to tell whether the cluster has an authorizer",
}


def _lines(found: "Inspection", checks: list[DoctorCheck], style: "Style") -> Iterator[str]:
    for good, text, needed in checks:
        mark = style("add", "ok     ") if good else style("error", "wrong  ") if needed else style("warn", "note   ")
        yield f"{mark}{text}"
    for broker in found.brokers:
        rack = f", rack {broker.rack}" if broker.rack else ""
        yield f"       broker {broker.id} at {broker.host}:{broker.port}{rack}"
    if found.metadata_version is not None:
        yield f"       metadata.version {found.metadata_version}"


def _document(found: "Inspection", checks: list[DoctorCheck]) -> dict[str, Any]:
    return {
        "clusterId": found.cluster_id,
        "brokers": [
            {"id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack} for broker in found.brokers
        ],
        "controller": found.controller,
        "authorizer": str(found.authorizer),
        "operations": None if found.operations is None else sorted(found.operations),
        "canListAcls": found.can_list_acls,
        "canAlterAcls": found.can_alter_acls,
        "metadataVersion": found.metadata_version,
        "visibleTopics": found.visible_topics,
        "checks": [{"ok": good, "text": text, "needed": needed} for good, text, needed in checks],
    }
