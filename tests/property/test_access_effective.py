"""Who may do what, against brute force; and smaller sets of bindings that mean the same."""

from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.effective import Access, Holders, OwnAccess, access_of, every_access, own_names, who_can
from reconciler.access.questions import AnswerWord, can_i, explain
from reconciler.access.remediation import simplify
from reconciler.model.acl import AclBinding, AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.results.access import AccessView, Basis
from reconciler.show import access_matrix
from reconciler.show.access import known_principals, own_holdings
from reconciler.show.access_matrix import _cell, _super_user_cell, matrix_of
from tests.property.access_naive import Cluster, meant, operations, reach
from tests.property.access_states import ASKERS, FROM, POINTS, changes, clusters
from tests.property.test_access_assertions import patterns
from tests.property.test_access_authorizer import authorizer_of
from tests.unit.access.linting import lint
from tests.worlds import bindings

quick = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def row_at(rows: list[Access], host: str, kind: ResourceType, name: str, version: tuple[int, ...]) -> list[Access]:
    return [
        row
        for row in rows
        if row.resources.resource_type is kind and row.resources.contains(name) and row.hosts.contains(host, version)
    ]


@quick
@given(clusters, st.sampled_from(ASKERS))
def test_access_of_a_principal_is_right_at_every_point(cluster: Cluster, principal: str) -> None:
    if principal in cluster.super_users:
        return
    rows = access_of(authorizer_of(cluster), principal)
    for host in FROM:
        for kind, name in POINTS:
            found = row_at(rows, host, kind, name, cluster.version)
            assert len(found) <= 1
            held = found[0].operations if found else frozenset()
            assert held == reach(cluster, principal, host, kind, name)
    for row in rows:
        assert reach(cluster, principal, row.host, row.resources.resource_type, row.name) == row.operations


@quick
@given(clusters)
def test_every_request_that_is_permitted_is_in_one_row_of_all(cluster: Cluster) -> None:
    authorizer = authorizer_of(cluster)
    rows = every_access(authorizer)
    for principal in ASKERS:
        own = {kind: own_names(authorizer, principal, kind) for kind, _ in POINTS}
        for host in FROM:
            for kind, name in POINTS:
                who = principal if any(zone.matches(name) for zone in own[kind]) else None
                found = row_at([row for row in rows if row.principal == who], host, kind, name, cluster.version)
                assert len(found) <= 1
                if principal not in cluster.super_users:
                    held = found[0].operations if found else frozenset()
                    assert held == reach(cluster, principal, host, kind, name)
    assert not {row.principal for row in rows} & {*cluster.super_users}


@quick
@given(changes())
def test_rows_of_its_own_and_everybody_elses_are_what_a_principal_may_do(change: tuple[Cluster, Cluster]) -> None:
    for cluster, other in (change, change[::-1]):
        own = OwnAccess(authorizer_of(cluster), [authorizer_of(other)])
        everybody = own.everybody_else
        for principal in set(ASKERS).difference(cluster.super_users):
            rows, names = own.rows(principal), own.names(principal)
            assert names == OwnAccess(authorizer_of(other), [authorizer_of(cluster)]).names(principal)
            for host in FROM:
                for kind, name in POINTS:
                    elsewhere = not any(one.resource_type is kind and one.contains(name) for one in names)
                    found = row_at([*rows, *(everybody if elsewhere else ())], host, kind, name, cluster.version)
                    assert {held for row in found for held in row.operations} == reach(
                        cluster, principal, host, kind, name
                    )


@quick
@given(clusters, patterns, st.data())
def test_who_can_is_right_at_every_point(cluster: Cluster, pattern: ResourcePattern, data: st.DataObject) -> None:
    kind = pattern.resource_type
    operation = data.draw(st.sampled_from(sorted(operations(cluster, kind))))
    holders = who_can(authorizer_of(cluster), operation, pattern)
    for principal in ASKERS:
        if principal in cluster.super_users:
            assert principal in holders.super_users
            continue
        for host in FROM:
            for of, name in POINTS:
                if of is not kind or not asks_about(pattern, name):
                    continue
                told = [
                    bool(row.operations)
                    for who in (principal, None)
                    for row in row_at(
                        [r for r in (*holders.rows, *holders.lacking) if r.principal == who],
                        host,
                        kind,
                        name,
                        cluster.version,
                    )
                ]
                assert (told[:1] == [True]) is (operation in reach(cluster, principal, host, kind, name))


def listed(holders: Holders, principal: str, host: str, point: tuple[ResourceType, str], cluster: Cluster) -> bool:
    """What ``who-can`` says of one request."""
    if principal in holders.super_users:
        return True
    for who in (principal, None):
        rows = [row for row in (*holders.rows, *holders.lacking) if row.principal == who]
        for row in row_at(rows, host, *point, cluster.version):
            return bool(row.operations)
    return False


@quick
@given(clusters, st.sampled_from(ASKERS), patterns, st.sampled_from([None, *FROM]), st.data())
def test_all_questions_give_the_answer_of_brute_force(
    cluster: Cluster, principal: str, pattern: ResourcePattern, host: str | None, data: st.DataObject
) -> None:
    """``can-i``, ``explain``, ``who-can`` and ``access`` on each name and host of the same arguments."""
    kind = pattern.resource_type
    operation = data.draw(st.sampled_from(sorted(operations(cluster, kind))))
    authorizer = authorizer_of(cluster)
    answer = can_i(authorizer, principal, operation, pattern, host or "*")
    holders = who_can(authorizer, operation, pattern)
    rows = [] if principal in cluster.super_users else access_of(authorizer, principal)
    found: set[bool] = set()
    for where in FROM if host is None else (host,):
        for point in POINTS:
            if point[0] is not kind or not asks_about(pattern, point[1]):
                continue
            expected = principal in cluster.super_users or operation in reach(cluster, principal, where, *point)
            found.add(expected)
            parts = [part for part in answer.parts if part.resources.contains(point[1])]
            (part,) = (one for one in parts if host is not None or one.hosts.contains(where, cluster.version))
            assert part.allowed is expected
            assert explain(authorizer, AccessRequest(principal, where, operation, *point)).allowed is expected
            assert listed(holders, principal, where, point, cluster) is expected
            held = row_at(rows, where, *point, cluster.version)
            assert principal in cluster.super_users or any(operation in row.operations for row in held) is expected
    assert answer.word is not AnswerWord.UNDECIDED
    assert found <= {AnswerWord.YES: {True}, AnswerWord.NO: {False}}.get(answer.word, {True, False})
    if not answer.parts:  # no topic can have such a name
        assert (answer.word, found) == (AnswerWord.NO, set())
        return
    assert {part.allowed for part in answer.parts} == {
        AnswerWord.YES: {True},
        AnswerWord.NO: {False},
        AnswerWord.DEPENDS: {True, False},
    }[answer.word]
    for part in answer.parts:
        assert explain(authorizer, part.example).allowed is part.allowed
    assert (answer.counterexample is None) is (answer.word is AnswerWord.YES)


def asks_about(pattern: ResourcePattern, name: str) -> bool:
    if pattern.pattern_type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in ("*", name)


@quick
@given(clusters, st.sampled_from(ASKERS), st.sampled_from(FROM), st.sampled_from(POINTS), st.data())
def test_explain_and_can_i_agree_with_brute_force(
    cluster: Cluster, principal: str, host: str, point: tuple[ResourceType, str], data: st.DataObject
) -> None:
    kind, name = point
    operation = data.draw(st.sampled_from(sorted(operations(cluster, kind))))
    authorizer = authorizer_of(cluster)
    expected = principal in cluster.super_users or operation in reach(cluster, principal, host, kind, name)
    explanation = explain(authorizer, AccessRequest(principal, host, operation, kind, name))
    assert explanation.allowed is expected
    assert {binding for binding, _ in explanation.considered} == set(meant(cluster, kind, name))
    if name != "*":  # as a pattern that is every name
        assert can_i(authorizer, principal, operation, ResourcePattern(kind, name), host).allowed is expected


@quick
@given(clusters)
def test_a_minimised_set_means_the_same_and_is_minimal(cluster: Cluster) -> None:
    authorizer = authorizer_of(cluster)
    smaller = simplify(authorizer)
    assert smaller.kept.bindings == frozenset(cluster.bindings) - {removal.binding for removal in smaller.removed}
    assert compare_access(authorizer, smaller.kept).is_empty
    after = cluster._replace(bindings=smaller.kept.bindings)
    for principal in ASKERS:
        for kind, name in POINTS:
            assert reach(cluster, principal, FROM[0], kind, name) == reach(after, principal, FROM[0], kind, name)
    assert simplify(smaller.kept).removed == ()


@quick
@given(clusters)
def test_what_is_found_superfluous_changes_nothing_when_it_goes(cluster: Cluster) -> None:
    authorizer = authorizer_of(cluster)
    for finding in lint(authorizer):
        if finding.binding is not None and finding.rule.name in ("redundant", "shadowed", "idle-deny"):
            assert compare_access(authorizer, authorizer.with_changes(removed=[finding.binding])).is_empty
            assert finding.rule.name == "idle-deny" or finding.related


@quick
@given(st.frozensets(st.sampled_from([AclOperation.READ, AclOperation.WRITE]), min_size=1))
def test_what_all_covers_is_redundant(held: frozenset[AclOperation]) -> None:
    from reconciler.model.acl import AccessControlEntry, AclPermissionType

    pattern = ResourcePattern(ResourceType.TOPIC, "a")
    narrow = [
        AclBinding(pattern, AccessControlEntry("User:a", "*", operation, AclPermissionType.ALLOW)) for operation in held
    ]
    wide = AclBinding(
        ResourcePattern(ResourceType.TOPIC, "*"),
        AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW),
    )
    smaller = simplify(authorizer_of(Cluster([*narrow, wide])))
    assert smaller.kept.bindings == {wide}
    assert {removal.because for removal in smaller.removed} == {(wide,)}


@quick
@given(clusters, st.sampled_from([None, True, False]), st.booleans())
def test_a_cell_of_the_matrix_is_what_all_rows_say_of_its_name(
    cluster: Cluster, default_allow: bool | None, everybody: bool
) -> None:
    authorizer = Authorizer(cluster.bindings, cluster.super_users, default_allow, cluster.version)
    view, asked = AccessView("c", Basis.LIVE, authorizer), () if everybody else ASKERS
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER):
        matrix = matrix_of(view, kind, asked)
        usual, *named = own_holdings(view, asked or sorted(known_principals(view)), kind)
        columns = [usual, *named] if everybody else named
        assert matrix.principals == tuple(one.name for one in columns)
        for _, name, cells in matrix.rows:
            elsewhere = [row for row in usual.rows if row.resources.contains(name)]
            for holding, cell in zip(columns, cells, strict=True):
                rows = [row for row in holding.rows if row.resources.contains(name)]
                own = any(resources.resource_type is kind and resources.contains(name) for resources in holding.own)
                if holding.like_everybody and not own:
                    rows += elsewhere
                expected = _super_user_cell(kind) if holding.super_user else _cell(rows, kind)
                assert cell == expected
                assert cell.letters == expected.letters


def test_a_cell_is_computed_only_where_own_acls_decide() -> None:
    counts = []
    for size in (10, 40):
        held = bindings(*(f"TOPIC:L:t{n} User:s{n}@* ALLOW READ" for n in range(size)))
        view = AccessView("c", Basis.LIVE, Authorizer(held, (), None))
        with patch.object(access_matrix, "_cell", side_effect=_cell) as computed:
            matrix = matrix_of(view, ResourceType.TOPIC)
        assert (len(matrix.rows), len(matrix.principals)) == (size + 1, size + 1)
        counts.append(computed.call_count)
    assert counts[1] <= 4 * counts[0]
