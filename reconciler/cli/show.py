"""``reconciler show`` and ``approve``: print and verify a saved plan; sign it, so that an apply can count approvals."""

import sys

import click

from reconciler.app.approvals import NAMESPACE, approve
from reconciler.app.options import ConnectionOptions
from reconciler.app.plan import NOT_VERIFIED, verify
from reconciler.app.records import saved_plan
from reconciler.cli.change_options import key_option, plan_file_argument
from reconciler.cli.console import CommandError, Exit, out, out_json, progress, settings, style_for, watched
from reconciler.cli.notes import info_note
from reconciler.cli.options import cluster_option, connection_options, optional_path_argument, output_option
from reconciler.model.characters import safe
from reconciler.plan.file import plan_id
from reconciler.results import OutputKind
from reconciler.show.plan import plan_lines, plan_report
from reconciler.show.review import verification_document, verification_lines
from reconciler.show.steps import summary


@click.command("show", short_help="Print a saved plan, and verify it")
@plan_file_argument
@optional_path_argument
@cluster_option(needed=False)
@click.option("--guardrails", metavar="DIR", help="The guardrails that the plan was made under.")
@click.option("--base", metavar="DIR", help="The base that the plan's guardrails were compared with.")
@connection_options
@output_option
def command(
    *,
    plan_file: str,
    path: str | None,
    cluster: str | None,
    guardrails: str | None,
    base: str | None,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Print a saved plan. An altered file is refused.

    Whoever can write the file can write false access rows into it. With --cluster, the plan is made again from PATH and
    the cluster, or a snapshot of it, and compared: status 4 if anything differs that its id binds. Without it, the
    plan is marked as not verified.
    """
    plan, digest = saved_plan(plan_file)
    verified = NOT_VERIFIED
    if cluster is not None:
        verified = verify(
            plan,
            path or connection.default_path,
            cluster,
            connection,
            guardrails=guardrails,
            base=base,
            tell=info_note,
        )
    elif path or guardrails or base:
        raise CommandError("PATH, --guardrails and --base count with --cluster only", "add --cluster NAME", Exit.USAGE)
    if output == "json":
        verification = verification_document(verified.cluster, verified.differences)
        out_json(OutputKind.SHOW, {**plan_report(plan), "fileDigest": digest, "verification": verification})
    else:
        style = style_for(sys.stdout)
        out(verification_lines(verified.cluster, verified.differences, style))
        out(plan_lines(plan, style, expand=settings.expand, short_id=watched(sys.stdout)))
        out([style("dim", digest)])
    return Exit.STALE if verified.differences else Exit.OK


@click.command("approve", short_help="Sign a saved plan as its approver")
@plan_file_argument
@key_option
@click.option("--out", "file", metavar="FILE", help="Write the signature here.  [default: PLAN.FINGERPRINT.sig]")
@output_option
def approve_command(*, plan_file: str, key: str, file: str | None, output: str) -> int:
    """Approve a plan: write a detached OpenSSH signature over the bytes of PLAN.

    Read the plan first, with `reconciler show PLAN PATH --cluster NAME`. The signature is the one that OpenSSH writes,
    which also signs with a key in an agent, or with a passphrase:

    \b
    ssh-keygen -Y sign -n kafka-reconciler-plan -f KEY PLAN

    `reconciler apply --require-approvals N --allowed-signers FILE` counts the people who signed.
    """
    signed = approve(plan_file, key, file)
    name = plan_id(signed.plan)
    if output == "json":
        out_json(OutputKind.APPROVE, {"planId": name, "file": signed.file, "key": signed.key, "namespace": NAMESPACE})
        return Exit.OK
    what = summary(signed.plan) or "nothing to do"
    out([f"Approved for cluster {safe(signed.plan.terms.cluster)}: {what}", name])
    progress(f"wrote {signed.file}, signed with {signed.key}")
    return Exit.OK
