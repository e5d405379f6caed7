"""``reconciler approve``: sign a saved plan, so that an apply can count who approved it."""

import click

from reconciler.app.approvals import NAMESPACE, approve
from reconciler.cli.console import Exit, out, out_json, progress
from reconciler.cli.options import output_option
from reconciler.model.characters import safe
from reconciler.plan.file.document import plan_id
from reconciler.results.output import OutputKind
from reconciler.show.steps import summary


@click.command("approve", short_help="Sign a saved plan as its approver")
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--key",
    metavar="KEY",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Your private key, as ssh-keygen writes it without a passphrase: Ed25519, ECDSA or RSA.",
)
@click.option("--out", "file", metavar="FILE", help="Write the signature here.  [default: PLAN.FINGERPRINT.sig]")
@output_option
def command(*, plan_file: str, key: str, file: str | None, output: str) -> int:
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
