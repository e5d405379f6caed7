"""``reconciler audit``: whether an audit log is as it was written, and what it says."""

import datetime
import re
import sys

import click

from reconciler.app.audit import list_audit, verify_audit
from reconciler.app.options import ConnectionOptions
from reconciler.apply.audit import AUDIT_CHECK
from reconciler.cli.change_options import audit_places
from reconciler.cli.console import CommandError, Exit, error, info, out, out_json, style_for
from reconciler.cli.options import Since, cluster_option, connection_options, output_option, path_option
from reconciler.cli.questions import one_topic_and_principal
from reconciler.model.characters import safe
from reconciler.results import OutputKind
from reconciler.results.audit import AUDIT_ENTRY, AuditQuestion
from reconciler.show.findings import entry_lines


class Digest(click.ParamType[str]):
    """``sha256:`` and 64 hex digits."""

    name = "digest"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, or fail with what was expected."""
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
            self.fail(f"{value!r} is not a digest: write sha256: and 64 hex digits", param, ctx)
        return value


def _topic(place: str | None) -> str | None:
    if place is None:
        return None
    topic = audit_places([place])["audit_topic"]
    if topic is None:
        raise CommandError(f"--audit {place}: the copy is in a topic", "write topic/NAME", Exit.USAGE)
    return topic


@click.group("audit", short_help="Check an audit log, and ask it")
def command() -> None:
    """Check the audit log that apply --audit keeps, and ask it what was done."""


@command.command("verify", short_help="Find lines that were changed, dropped or moved")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.argument("heads", metavar="[DIGEST]...", nargs=-1, type=Digest())
@cluster_option(needed=False)
@click.option("--audit", metavar="topic/NAME", help="With --cluster: compare with the copy that apply sent there.")
@path_option
@connection_options
@output_option
def verify(
    *,
    file: str,
    heads: tuple[str, ...],
    cluster: str | None,
    audit: str | None,
    path: str | None,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Check that no line of an audit log was changed, dropped, added or moved.

    Each line carries the digest of the line before it. Nothing in the file vouches for its last line: pass the DIGEST
    that the last run printed, or compare with the topic. A DIGEST is in the log, or ends an earlier one in the topic.
    With the topic, a log that was deleted, emptied or begun anew is found too. Exit status 4 if the log is not as it
    was written, or is not there.
    """
    check = verify_audit(file, heads, cluster=cluster, topic=_topic(audit), path=path, connection=connection)
    if output == "json":
        out_json(OutputKind.AUDIT_VERIFY, AUDIT_CHECK.write(check))
    else:
        style = style_for(sys.stdout)
        lines = [style("error", f"  {safe(text)}") for text in check.problems]
        verdict = "intact" if check.intact else "not as it was written"
        copied = "" if check.copied is None else f", {check.copied} of them in the topic"
        out([*lines, f"{safe(check.file)}: {verdict}. {check.lines} lines{copied}, head {check.head}"])
    for note in check.notes:
        info(f"note: {note}")
    return Exit.OK if check.intact else Exit.STALE


@command.command("list", short_help="List what was done, by whom, approved by whom")
@click.argument("subjects", metavar="[topic/NAME|PRINCIPAL]...", nargs=-1)
@click.option(
    "--audit",
    "files",
    metavar="FILE",
    multiple=True,
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="An audit log; repeatable.",
)
@click.option("--by", metavar="WHO", help="Only what WHO ran, proposed or approved: name or key; NAME* is a prefix.")
@click.option("--since", metavar="TIME", type=Since(), help="Only from this day, instant, or time ago (90d) on.")
@output_option
def list_(
    *,
    subjects: tuple[str, ...],
    files: tuple[str, ...],
    by: str | None,
    since: datetime.datetime | None,
    output: str,
) -> int:
    """List what audit logs say was done: when, what, its outcome, who ran, proposed and approved it.

    With topic/NAME or PRINCIPAL, only what is about them, and ACLs whose pattern covers the topic. Several logs are
    read together. The operator and the proposer name themselves; the approvers signed. Exit status 4
    if a line does not follow the one before it: what is listed may then be altered.
    """
    entries, wrong = list_audit(files, AuditQuestion(*one_topic_and_principal(subjects), by, since))
    if output == "json":
        document = {"entries": [AUDIT_ENTRY.write(entry) for entry in entries], "problems": list(wrong)}
        out_json(OutputKind.AUDIT_LIST, document)
    else:
        out(entry_lines(entries))
    for text in wrong:
        error(text, "reconciler audit verify says more")
    return Exit.STALE if wrong else Exit.OK
