"""``reconciler can-i``, ``who-can``, ``explain``, ``access``, ``reach`` and ``quota``: who may do what, and why."""

import sys
from dataclasses import replace

import click

from reconciler.access.effective import who_can
from reconciler.app.ask import quota_views, reach
from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.states import access_views
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import (
    TYPES,
    asked_host,
    asked_operation,
    asked_principal,
    host_option,
    operation_argument,
    principal_argument,
    resource_argument,
    state_options,
)
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.results import OutputKind
from reconciler.results.access import with_condition
from reconciler.show import access, questions
from reconciler.show.access_matrix import matrix_document, matrix_lines, matrix_of, matrix_table
from reconciler.show.quota import Client, ClientLimits, quota_document, quota_lines, quota_table


@click.command("can-i", short_help="Check whether a principal may do something")
@principal_argument
@operation_argument
@resource_argument
@host_option
@state_options()
def can_i_command(
    *,
    principal: str,
    operation: str,
    pattern: ResourcePattern,
    host: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Check whether PRINCIPAL may do OPERATION on RESOURCE.

    RESOURCE is topic/NAME, group/NAME and so on, or cluster; topic/payments.* is every name that begins so, topic/*
    every name. Yes means on every such name, and from every host without --host; no means on none.
    PRINCIPAL User:* is everybody. Without --cluster, the answer is about what is declared. Exit 3 unless it is yes.
    """
    wanted = asked_operation(operation, pattern)
    who, address = asked_principal(principal), asked_host(host)
    answers: list[questions.Answered] = [
        questions.ask(view, who, wanted, pattern, address) for view in access_views(request, connection, tell=info_note)
    ]
    if output == "json":
        out_json(OutputKind.CAN_I, questions.can_i_document(answers))
    else:
        out(questions.can_i_lines(answers, style_for(sys.stdout)))
    return Exit.OK if answers[-1].allowed else Exit.FAILED_CHECK


@click.command("who-can", short_help="List who may do something")
@operation_argument
@resource_argument
@state_options("states.holders", "states.lacking", "states.clusterAdmins", "states.superUsers=principal")
def who_can_command(
    *,
    operation: str,
    pattern: ResourcePattern,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """List who may do OPERATION on RESOURCE, such as topic/payments.orders.

    With topic/payments.* or topic/*, on some of these names, and on which: whoever is not listed gets a no from can-i.
    Principals that may ALTER the cluster, or its configs, could get it by themselves and are listed separately. Without
    --cluster, the answer is about what is declared.
    """
    wanted = asked_operation(operation, pattern)
    groups = wanted is AclOperation.READ and pattern.resource_type in (ResourceType.TOPIC, ResourceType.GROUP)
    states = [
        with_condition(view, lambda view: who_can(view.authorizer, wanted, pattern))
        for view in access_views(request, connection, groups=groups, tell=info_note)
    ]
    if output == "json":
        document_of = access.holders_table if settings.table else access.holders_document
        out_json(OutputKind.WHO_CAN, document_of(wanted, pattern, states))
    else:
        out(access.holders_lines(wanted, pattern, states, style_for(sys.stdout)))
    return Exit.OK


@click.command("explain", short_help="Explain why a request is allowed or denied")
@principal_argument
@operation_argument
@resource_argument
@host_option
@click.option("--client-id", metavar="ID", help="Also explain which quotas limit PRINCIPAL with this client id.")
@state_options()
def explain_command(
    *,
    principal: str,
    operation: str,
    pattern: ResourcePattern,
    host: str | None,
    client_id: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Explain why PRINCIPAL may or may not do OPERATION on RESOURCE, such as topic/payments.orders.

    The answer is that of can-i, with the rule, the deciding ACL and its line, and every ACL on the name. Without
    --cluster, it is about what is declared. With --client-id, also why this client is throttled: the quota that
    Kafka picks for each limit, and those that it overrides ("" for a client without an id).
    """
    _check_one_name(pattern)
    wanted = asked_operation(operation, pattern)
    who, address = asked_principal(principal), asked_host(host)
    if who == "User:*":
        raise CommandError(
            "User:* is not a principal: a request comes from one principal", "ask can-i User:*", Exit.USAGE
        )
    views = access_views(request, connection, beside=True, tell=info_note)
    answers = [questions.ask(view, who, wanted, pattern, address) for view in views]
    if client_id is not None:
        client = Client(who, client_id)
        states = quota_views(request, connection)  # what there is to note was noted with the first reading
        answers = [
            replace(answered, limits=ClientLimits(view, client)) for answered, view in zip(answers, states, strict=True)
        ]
    if output == "json":
        out_json(OutputKind.EXPLAIN, questions.explain_document(answers))
    else:
        out(questions.explain_lines(answers, style_for(sys.stdout)))
    return Exit.OK


def _check_one_name(pattern: ResourcePattern) -> None:
    if pattern.name == WILDCARD or pattern.pattern_type is PatternType.PREFIXED:
        raise CommandError("a request is about one name", "give its name, or ask can-i", Exit.USAGE)


@click.command("access", short_help="List everything that principals may do")
@click.argument("principals", metavar="[PRINCIPAL]...", nargs=-1)
@click.option("--matrix", is_flag=True, help="Print a table: resources down, principals across.")
@click.option(
    "--type",
    "resource_type",
    type=click.Choice(TYPES, case_sensitive=False),
    help="Only resources of this type.  [default: all; with --matrix: topic]",
)
@state_options("states.principals.access")
def access_command(
    *,
    principals: tuple[str, ...],
    matrix: bool,
    resource_type: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """List everything that each PRINCIPAL may do; without one, for every known principal and everybody else.

    What everybody else may do is then listed once, and of a principal what it may do where its own ACLs decide. Access
    through User:* and the default is included. Without --cluster, the answer is about what is declared.
    """
    who = tuple(asked_principal(principal) for principal in principals)
    if "User:*" in who:
        raise CommandError("User:* is nobody", "omit PRINCIPAL: everybody else has a section", Exit.USAGE)
    kind = ResourceType[resource_type.upper().replace("-", "_")] if resource_type else None
    names = matrix and kind in (None, ResourceType.TOPIC)
    views = access_views(request, connection, topic_names=names, beside=not matrix, groups=not matrix, tell=info_note)
    style = style_for(sys.stdout)
    if matrix:
        tables = [with_condition(view, lambda view: matrix_of(view, kind or ResourceType.TOPIC, who)) for view in views]
        if output == "json":
            out_json(OutputKind.ACCESS_MATRIX, matrix_table(tables) if settings.table else matrix_document(tables))
        else:
            out(matrix_lines(tables, style), whole=True)
        return Exit.OK
    held = [with_condition(view, lambda view: access.holdings(view, who, kind, views)) for view in views]
    if output == "json":
        out_json(OutputKind.ACCESS, access.access_table(held) if settings.table else access.access_documents(held))
    else:
        out(access.access_lines(held, style))
    return Exit.OK


@click.command("reach", short_help="List as whom a principal could act, and what it gets so")
@principal_argument
@click.option("--hops", type=click.IntRange(0), metavar="N", help="Follow at most N hops.  [default: all]")
@state_options()
def reach_command(
    *, principal: str, hops: int | None, request: StateRequest, connection: ConnectionOptions, output: str
) -> int:
    """List as whom PRINCIPAL could act, by which rights, and what each of these principals may do.

    This is what a stolen credential is worth. A hop is a right to act as somebody else: CREATE_TOKENS or
    DESCRIBE_TOKENS on a user, ALTER, ALTER_CONFIGS or CLUSTER_ACTION on the cluster, and WRITE on a control topic that
    AccessTests declare. Records could be moved where others may READ one topic and WRITE another; nobody says that they
    are. Without --cluster, the answer is about what is declared.
    """
    who = asked_principal(principal)
    if who == WILDCARD_PRINCIPAL:
        raise CommandError("User:* is nobody", "name a principal", Exit.USAGE)
    answers = reach(request, who, hops, connection, tell=info_note)
    if output == "json":
        out_json(OutputKind.REACH, questions.reach_document(answers))
    else:
        out(questions.reach_lines(answers, style_for(sys.stdout)))
    return Exit.OK


@click.command("quota", short_help="Explain which quotas limit a client")
@click.argument("principal", metavar="[PRINCIPAL]", required=False)
@click.option("--client-id", metavar="ID", default="", help="The client id.  [default: none]")
@click.option("--host", "ip", metavar="ADDRESS", help="Instead of PRINCIPAL: the address that connections come from.")
@state_options("answers.limits", past=False)
def quota_command(
    *,
    principal: str | None,
    client_id: str,
    ip: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Explain which quotas limit the clients of PRINCIPAL, or the connections from an address.

    For each key, Kafka takes the first level that sets it (KIP-55): the quota that wins comes first, then those that it
    overrides. Without --cluster, the answer is about what is declared.
    """
    if (principal is None) == (ip is None) or (ip is not None and client_id):
        raise CommandError("say PRINCIPAL, perhaps with --client-id, or --host", status=Exit.USAGE)
    client = Client(None if principal is None else asked_principal(principal), client_id, ip)
    views = quota_views(request, connection, tell=info_note)
    if output == "json":
        out_json(OutputKind.QUOTA, (quota_table if settings.table else quota_document)(views, client))
    else:
        out(quota_lines(views, client, style_for(sys.stdout)))
    return Exit.OK
