"""``reconciler doctor``: whether a cluster can be reached, and what we may do there."""

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from reconciler.app.doctor import Diagnosis, NeedCheck, diagnose
from reconciler.app.options import ConnectionOptions
from reconciler.app.records import RecordOptions
from reconciler.cli.change_options import record_options
from reconciler.cli.console import CommandError, Exit, out, out_json, style_for
from reconciler.cli.options import cluster_option, connection_options, optional_path_argument, output_option
from reconciler.kafka.errors import WITHOUT_MESSAGES
from reconciler.model.characters import Style, counted
from reconciler.results import OutputKind


def _release(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})(\.[0-9]{1,2})?", text, re.ASCII)
    if match is None:
        raise click.BadParameter(f"{text!r} is no release of Kafka: write it as 4.4")
    return int(match[1]), int(match[2])


@click.command("doctor", short_help="Check connection, rights, authorizer and brokers")
@optional_path_argument
@cluster_option()
@click.option(
    "--canary",
    is_flag=True,
    help="Also create ACLs for the barrier's probe, check that they decide, and remove them.",
)
@click.option(
    "--for",
    "upgrade",
    metavar="VERSION",
    callback=_release,
    help="Also check what brokers of that Kafka release, such as 4.4, refuse or understand otherwise.",
)
@record_options
@connection_options
@output_option
def command(
    *,
    path: str | None,
    cluster: str | None,
    canary: bool,
    upgrade: tuple[int, int] | None,
    records: RecordOptions,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Check what planning and applying need from a cluster, and report what is missing.

    Nothing is changed, except by --canary, of which --audit keeps records. Exit 1 if planning for this cluster is not
    possible.
    """
    if records != RecordOptions() and not canary:
        raise CommandError("only --canary changes something that could be recorded", status=Exit.USAGE)
    diagnosis = diagnose(path, cluster, connection, canary=records if canary else None, upgrade=upgrade)
    if output == "json":
        out_json(OutputKind.DOCTOR, _document(diagnosis))
    else:
        out(_lines(diagnosis, style_for(sys.stdout)))
    return Exit.OK if diagnosis.can_plan else Exit.ERROR


_AUTHORIZER: Final = {
    "present": "the cluster has an authorizer",
    "absent": "the cluster has no authorizer: every ACL request is refused with SECURITY_DISABLED",
    "unknown": "your rights do not suffice to tell whether the cluster has an authorizer",
}
_FIELDS: Final = {"principal": "principal", "allow-everyone-if-no-acl-found": "allowEveryoneIfNoAclFound"}


def check_words(check: NeedCheck, diagnosis: Diagnosis) -> str:
    """What is so, met or not."""
    seen, may = diagnosis.inspection, "may" if check.met else "may not"
    texts = {
        "connection": f"connected to cluster {seen.cluster_id}, {counted(len(seen.brokers), 'broker')}",
        "authorizer": _AUTHORIZER[seen.authorizer],
        "message-client": f"kafka-python {check.detail}. {WITHOUT_MESSAGES}",
        "authorizer-class": f"the brokers' authorizer is Apache Kafka's: {check.detail}"
        if check.met
        else f"ACLs are stored here and may not decide: {check.detail}; doctor --canary tries whether they do",
        "own-rights": check.detail,
        "kafka-version": _version_words(check),
        "flavor": f"the vendor is {check.detail}" if check.met else check.detail,
        "list-acls": f"{may} list ACLs (DESCRIBE on CLUSTER): needed to plan",
        "alter-acls": f"{may} change ACLs (ALTER on CLUSTER): needed to apply",
        "acls-decide": "ACLs decide: brokers enforced the canaries, which are gone again"
        if check.met
        else check.detail,
        "readable-state": f"the cluster cannot be read: {check.detail}",
        "every-topic": f"sees every topic: {seen.visible_topics}" if check.met else check.detail,
        "cluster-document": "no Cluster document describes it yet: `reconciler export` writes one",
        "upgrade": f"nothing here is refused or understood otherwise by Kafka {check.detail}"
        if check.met
        else check.detail,
        **{need: f"{field} is {'' if check.met else 'not '}declared in Cluster" for need, field in _FIELDS.items()},
    }
    return texts[check.need]


def _version_words(check: NeedCheck) -> str:
    if check.met:
        return f"kafkaVersion is {check.detail}, and the cluster says so too"
    return check.detail if check.required else f"kafkaVersion is stated as {check.detail}; the cluster tells none"


def _lines(diagnosis: Diagnosis, style: Style) -> Iterator[str]:
    wrong, note = style("error", "wrong  "), style("warn", "note   ")
    for check in diagnosis.checks:
        mark = style("add", "ok     ") if check.met else wrong if check.required else note
        yield f"{mark}{check_words(check, diagnosis)}"
    for broker in diagnosis.inspection.brokers:
        rack = f", rack {broker.rack}" if broker.rack else ""
        yield f"       broker {broker.id} at {broker.host}:{broker.port}{rack}"
    if diagnosis.inspection.metadata_version is not None:
        yield f"       metadata.version {diagnosis.inspection.metadata_version}"


def _document(diagnosis: Diagnosis) -> dict[str, Any]:
    inspection = diagnosis.inspection
    return {
        "clusterId": inspection.cluster_id,
        "brokers": [
            {"id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack}
            for broker in inspection.brokers
        ],
        "controller": inspection.controller,
        "authorizer": str(inspection.authorizer),
        "operations": None if inspection.operations is None else sorted(inspection.operations),
        "canListAcls": inspection.can_list_acls,
        "canAlterAcls": inspection.can_alter_acls,
        "metadataVersion": inspection.metadata_version,
        "visibleTopics": inspection.visible_topics,
        "checks": [
            {
                "check": str(check.need),
                "ok": check.met,
                "text": check_words(check, diagnosis),
                "needed": check.required,
            }
            for check in diagnosis.checks
        ],
    }
