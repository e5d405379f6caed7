"""Tightening random manifests by random logs: the edit declares the narrower rights, and a second finds nothing."""

import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, PatternType
from reconciler.model.desired import Declaration
from reconciler.parts.evidence.app.tighten import Tightening, TightenOptions, tighten
from reconciler.parts.evidence.suggestion import Thresholds
from tests.property import edits

TODAY, LATER = datetime.date(2026, 11, 23), datetime.date(2027, 2, 1)
FACTS = edits.CLUSTER.replace(", vars: {team: red}", ", allowEveryoneIfNoAclFound: false")
EAGER = TightenOptions(
    bounds=Thresholds(days=0, silent_days=999, quarter_ends=0, principal_days=0, unseen_days=0, hosts=2), any_age=True
)


def declared(texts: dict[str, str], day: datetime.date = TODAY) -> dict[AclBinding, Declaration]:
    manifests = load(Source(path, text) for path, text in texts.items())
    return dict(desired_state(manifests, "demo", day).bindings)


def request(random: Random, binding: AclBinding) -> str:
    """A line about an access that a binding permits or refuses."""
    (kind, name, pattern_type), (principal, host, operation, permission) = binding
    name += random.choice("xy") if pattern_type is PatternType.PREFIXED else ""
    operation = AclOperation.DESCRIBE if random.random() < 0.3 else operation
    verdict = "Allowed" if permission is AclPermissionType.ALLOW else "Denied"
    day = TODAY - datetime.timedelta(days=random.choice([1, 80, 100]))
    return (
        f"[{day} 10:00:00,000] DEBUG Principal = {principal} is {verdict} operation = {operation.name} "
        f"from host = {host if host != '*' else '10.0.0.9'} on resource = {kind.name.title()}:LITERAL:{name} "
        "for request = Any with resourceRefCount = 1 based on rule DefaultAllow\n"
    )


def check(seed: int) -> None:
    random = Random(seed)
    texts = edits.Author(random).manifests()
    before = declared(texts)
    with TemporaryDirectory() as directory:
        place, logs, facts = Path(directory, "m"), Path(directory, "log"), Path(directory, "facts.yaml")
        for path, text in texts.items():
            place.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
            place.joinpath(path).write_bytes(text.encode())
        lines = [request(random, one) for one in sorted(before) if random.random() < 0.6]
        logs.write_text("".join([f"[{TODAY - datetime.timedelta(days=120)} 10:00:00,000] INFO started\n", *lines]))
        facts.write_text(FACTS, encoding="utf-8")

        def tightened() -> Tightening:
            asked = StateRequest(str(place), as_of=TODAY)
            return tighten(asked, [str(logs)], EAGER, ConnectionOptions(connections=str(facts)))

        found = tightened()
        if found.thin:
            return
        found.edit.write()
        written = {str(one.relative_to(place)): one.read_bytes().decode() for one in place.rglob("*.yaml")}
        after = declared(written)
        again = tightened()
    assert again.narrowings == ()
    # Nor does anybody gain anything on the day after some of it has ended.
    later = [Authorizer(declared(side, LATER), allow_everyone_if_no_acl_found=False) for side in (texts, written)]
    assert not any(row.gained for row in compare_access(*later).rows)
    gone = {one for narrowing in found.narrowings for one in narrowing.bindings}
    new = {one for narrowing in found.narrowings for one in narrowing.into}
    assert after.keys() == (before.keys() - gone) | new
    assert {one for one in before if one.entry.permission_type is AclPermissionType.DENY} <= after.keys()
    # What people said of a right, they say of what takes its place.
    said = {one: {before[old][1:4] for n in found.narrowings if one in n.into for old in n.bindings} for one in new}
    for binding, words in said.items():
        assert after[binding][1:4] in words | ({before[binding][1:4]} if binding in before else set())


@settings(max_examples=30)
@given(st.integers(0, 1_000_000))
def test_the_edit_declares_the_narrower_rights_and_a_second_finds_nothing(seed: int) -> None:
    check(seed)
