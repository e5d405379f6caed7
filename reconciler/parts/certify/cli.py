"""``reconciler certify``: owners confirm who has which access; what nobody confirms ends."""

import datetime
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli import options
from reconciler.cli.change_options import Duration, Keeping, edit_options, guardrails_option, key_option
from reconciler.cli.console import CommandError, Exit, error, info, out, out_json, progress
from reconciler.cli.notes import info_note
from reconciler.cli.parts import part_module
from reconciler.model.characters import counted, safe
from reconciler.model.desired import Expiry
from reconciler.parts.certify.app import CampaignTerms, Past, campaign_status, open_campaign, sign_answers
from reconciler.parts.certify.campaign import OwnerAnswers
from reconciler.parts.certify.pack import CLOSING, PACKER_ONLY, VerifiedPack, close_campaign, kept_in, verify_pack
from reconciler.parts.edit.cli.options import keep
from reconciler.results import OutputKind
from reconciler.system.files import write_atomically

_request = options.with_options(
    options.gathered(
        "request",
        StateRequest,
        options.path_option,
        options.cluster_option(needed=False),
        options.as_of_option,
        guardrails_option,
    )
)
_directory = click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))


def _signers_option(*, needed: bool, words: str) -> options.Decorator:
    return click.option(
        "--allowed-signers",
        metavar="FILE",
        required=needed,
        type=click.Path(exists=True, dir_okay=False),
        help=f"Who answers for which owner, with their keys: an OpenSSH allowed_signers file.{words}",
    )


@click.group("certify", short_help="Let owners confirm access; the rest ends")
def command() -> None:
    """Let the owners of resources confirm who has which access; access that no owner confirms ends.

    open writes a file for each owner. Owners answer and sign. close turns answers into ends of ACLs, by an edit of the
    manifests, and packs all of it for an auditor, who checks the pack with verify.
    """


@command.command("open", short_help="Write a file for each owner")
@click.option(
    "--due", metavar="DATE", type=options.Until(), required=True, help="Through which day owners answer; 14d, 2w."
)
@click.option(
    "--interval",
    metavar="DURATION",
    type=Duration(),
    default="90d",
    show_default=True,
    help="Until the next campaign is due.",
)
@click.option(
    "--grace",
    metavar="DURATION",
    type=Duration(),
    default="14d",
    show_default=True,
    help="After --due, until a right without an answer ends.",
)
@click.option("--out", metavar="DIR", required=True, help="A new directory, called as the campaign: certify/2026Q4.")
@click.option(
    "--base",
    metavar="PACK",
    type=click.Path(exists=True, dir_okay=False),
    help="The last campaign: what it kept is asked about last, in one group.",
)
@click.option("--store", metavar="PLACE", help="Readings, as of history: since when, approved by whom.")
@options.past_audit_option
@click.option("--logs", metavar="PLACE", multiple=True, help="With --store: authorizer logs, for the last use.")
@_request
@options.connection_options
@options.output_option
def open_(
    *,
    due: Expiry,
    interval: datetime.timedelta,
    grace: datetime.timedelta,
    out: str,
    base: str | None,
    store: str | None,
    audit: tuple[str, ...],
    logs: tuple[str, ...],
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Read the cluster and write what there is to confirm: a file for each owner, as Ownership says.

    Every right that somebody has is in one file, and what no team owns is in platform.yaml. Unused and new rights come
    first.
    """
    if store is None and (audit or logs):
        raise CommandError("--audit and --logs need --store", "add --store PLACE", Exit.USAGE)
    terms = CampaignTerms(due, interval, grace, kept_in(base) if base is not None else None)
    opened = open_campaign(request, connection, terms, out, _past(store, audit, logs), info_note)
    campaign = opened.campaign
    counts = {owner: len(rights) for owner, rights in campaign.by_owner().items()}
    if output == "json":
        ends = {"due": str(campaign.due), "lapse": str(campaign.lapse), "renewed": str(campaign.renewed)}
        named = {"campaign": campaign.name, "cluster": campaign.cluster, **ends}
        lists = {"owners": counts, "gaps": list(campaign.gaps), "files": list(opened.files)}
        out_json(OutputKind.CERTIFY_OPEN, {**named, **lists})
    else:
        lines = [f"  {owner}: {counted(count, 'right')}" for owner, count in counts.items()]
        head = f"{safe(campaign.name)} of cluster {safe(campaign.cluster)}, due {campaign.due}"
        _out([f"{head}: {counted(len(campaign.rights), 'right')}", *lines])
        progress(f"wrote {len(opened.files)} files into {safe(out)}; a right without an answer ends: {campaign.lapse}")
    return _report_errors("incomplete: nobody can certify this", campaign.gaps, Exit.ERROR)


_out: Final = out


def _past(store: str | None, audit: tuple[str, ...], logs: tuple[str, ...]) -> Past | None:
    if store is None:
        return None
    module: Any = part_module("history", "certify --store")
    result: Past = partial(module.since_when, module.PastSources(store, audit, logs))
    return result


def _report_errors(title: str, sentences: tuple[str, ...], status: Exit) -> int:
    for sentence in sentences:
        error(f"{title}: {safe(sentence)}")
    return status if sentences else Exit.OK


@command.command("sign", short_help="Sign the answers of an owner")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@key_option
@options.as_of_option
@options.output_option
def sign(*, file: str, key: str, as_of: datetime.date | None, output: str) -> int:
    """Sign FILE, the answers of an owner: check it, write the day into it, and write a signature next to it.

    With a key in an agent, or with a passphrase, write the day yourself, and sign with OpenSSH:

    \b
    ssh-keygen -Y sign -n kafka-reconciler-certify/OWNER -f KEY OWNER.yaml
    """
    signed = sign_answers(file, key, as_of)
    if output == "json":
        named = {"owner": signed.owner, "file": signed.file, "key": signed.key, "namespace": signed.namespace}
        out_json(OutputKind.CERTIFY_SIGN, {**named, "unanswered": signed.unanswered})
        return Exit.OK
    ending = f"; {counted(signed.unanswered, 'right')} without an answer will end" if signed.unanswered else ""
    out([f"Signed for {safe(signed.owner)}{ending}"])
    progress(f"wrote {safe(signed.file)}, signed with {signed.key}")
    return Exit.OK


def _document(item: OwnerAnswers) -> dict[str, Any]:
    asked = [right for right in item.rights if right.through]
    return {
        "owner": item.owner,
        "rights": len(asked),
        "answered": sum(right.id in item.given for right in asked),
        "counted": len(item.decisions),
        "unanswered": [{"id": right.id, "right": right.right} for right in item.unanswered],
        "signedBy": sorted(map(min, item.people)),
        "refused": list(item.refused),
    }


@command.command("status", short_help="Show who has answered")
@_directory
@_signers_option(needed=True, words="")
@options.as_of_option
@options.listing_option(
    "owners",
    columns={
        "OWNER": "owner",
        "RIGHTS": "rights",
        "ANSWERED": "answered",
        "COUNTED": "counted",
        "SIGNED BY": "signedBy",
        "REFUSED": "refused",
    },
)
def status(*, directory: str, allowed_signers: str, as_of: datetime.date | None, output: str) -> int:
    """Show how far each owner is, and which answers do not count and why. Exit status 3 if some do not."""
    campaign, answers = campaign_status(directory, allowed_signers, as_of)
    documents = [_document(item) for item in answers]
    if output == "json":
        named = {"campaign": campaign.name, "cluster": campaign.cluster, "due": str(campaign.due)}
        out_json(OutputKind.CERTIFY_STATUS, {**named, "lapse": str(campaign.lapse), "owners": documents})
    else:
        out([f"{safe(campaign.name)} of cluster {safe(campaign.cluster)}, due {campaign.due}", *map(_line, documents)])
    refused = tuple(f"{item.owner}: {reason}" for item in answers for reason in item.refused)
    return _report_errors("does not count", refused, Exit.FAILED_CHECK)


def _line(item: dict[str, Any]) -> str:
    signed = f"signed by {', '.join(item['signedBy'])}" if item["signedBy"] else "not signed"
    return safe(f"  {item['owner']}: {item['answered']} of {item['rights']} answered, {signed}")


@command.command("close", short_help="Turn answers into ends of ACLs, and pack them")
@_directory
@_signers_option(needed=True, words=" Never take it from the proposed branch.")
@click.option("--out", "pack", metavar="PACK", required=True, help="Write the pack here: certify/2026Q4.tar.")
@click.option("--audit", metavar="FILE", help="An audit log of runs: the pack names its last line.")
@_request
@edit_options
@options.connection_options
@options.output_option
def close(
    *,
    directory: str,
    allowed_signers: str,
    pack: str,
    audit: str | None,
    request: StateRequest,
    keeping: Keeping,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Edit the manifests by the answers, and write the pack.

    What is kept gets a new end, what is revoked goes, and everything else ends --grace after --due. You see what the
    edit does to access, and get a patch; --write writes it. Merge and apply it as usual; serve --act ends what lapses.
    Exit status 3 if answers do not count or cannot be followed, 1 if the cluster could not be read whole.
    """
    closed = close_campaign(directory, request, connection, allowed_signers, audit, info_note)
    closing = closed.closing
    words = f"Certification {closed.campaign.name}"
    extra = {"pack": pack, **CLOSING.write(closing)}
    keep(OutputKind.CERTIFY_CLOSE, closed.edit, keeping, message=words, output=output, extra=extra)
    write_atomically(closed.pack, pack)
    for note in closing.notes:
        info(f"note: {safe(note)}")
    progress(f"wrote {safe(pack)}: {counted(len(closing.decisions), 'answer')} counted")
    statuses = (
        _report_errors("does not count", closing.refused, Exit.FAILED_CHECK),
        _report_errors("cannot be followed", closing.conflicts, Exit.FAILED_CHECK),
        _report_errors("incomplete", closed.gaps, Exit.ERROR),
    )
    return Exit.ERROR if Exit.ERROR in statuses else max(statuses)


@command.command("verify", short_help="Check a pack, offline")
@click.argument("pack", metavar="PACK", type=click.Path(exists=True, dir_okay=False))
@_signers_option(needed=False, words="  [default: the copy in the pack, which proves nothing against the packer]")
@options.output_option
def verify(*, pack: str, allowed_signers: str | None, output: str) -> int:
    """Check that a pack is as it was written: each byte, each signature, and that no right was left out.

    The rights are derived again from the reading in the pack. No cluster is contacted. Without --allowed-signers, the
    signers are those that the packer named. Exit status 4 if the pack is not as it was written, 1 if the campaign could
    not read or follow all.
    """
    result = verify_pack(pack, allowed_signers)
    campaign, closing = result.campaign, result.closing
    if output == "json":
        named = {"campaign": campaign.name, "cluster": campaign.cluster, "rights": len(campaign.rights)}
        signers = {"from": "pack" if allowed_signers is None else "file", "digest": result.signers}
        judged = {"signers": signers, "packerOnly": list(PACKER_ONLY), "problems": list(result.problems)}
        out_json(OutputKind.CERTIFY_VERIFY, {**named, **CLOSING.write(closing), "signed": result.signed, **judged})
    else:
        out([safe(line) for line in _verdict(result, pack, own=allowed_signers is not None)])
    incomplete = _report_errors("incomplete", result.incomplete, Exit.ERROR)
    return _report_errors("not as it was written", result.problems, Exit.STALE) or incomplete


def _verdict(result: VerifiedPack, pack: str, *, own: bool) -> Iterator[str]:
    """What was checked, by whose signers, and what nothing in the pack can prove."""
    campaign = result.campaign
    verdict = "not intact" if result.problems else "intact" if own else "agrees with itself"
    sizes = f"{len(campaign.rights)} rights, {len(result.closing.decisions)} answers"
    whose = "your" if own else "its own"
    yield f"{campaign.name} of cluster {campaign.cluster}: {verdict}, by {whose} signers. {sizes}"
    if own:
        yield f"  signers: {result.signers}, your file"
    else:
        yield f"  signers: {result.signers}, as the packer chose them; whoever packs may sign for every owner"
        yield f"  against yours: reconciler certify verify {pack} --allowed-signers FILE"
    who = ", ".join(f"{owner} by {' and '.join(people)}" for owner, people in sorted(result.signed.items()))
    yield f"  signed: {who or 'nobody'}"
    yield from (f"  by the packer's word alone: {item}" for item in PACKER_ONLY)
