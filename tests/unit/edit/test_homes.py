"""Where something new belongs: the same by tables as by going through all teams, documents and topics."""

import re
from itertools import product
from random import Random
from unittest.mock import patch

from reconciler.manifest.documents.ownership import OwnerDeclaration
from reconciler.manifest.write import pages as module
from reconciler.manifest.write.pages import Owners, Page, fits, read, teams
from reconciler.manifest.write.spans import line_break
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.scope import NameSelector
from reconciler.model.topic import Topic
from reconciler.parts.edit.app import editing
from reconciler.parts.edit.kinds.interface import Changes
from reconciler.parts.edit.kinds.topic import extend
from tests.worlds import bindings

PLACE = Origin("a.yaml", 1, 1)
NAMES = ("*", "a", "a.", "a.b", "ab", "b")
PATTERNS = [
    ResourcePattern(kind, name, form)
    for kind, name, form in product((ResourceType.TOPIC, ResourceType.GROUP), NAMES, PatternType)
    if form in (PatternType.LITERAL, PatternType.PREFIXED)
]
GLOBS = ("a.yaml", "a/**", "a/*.yaml", "**", "é/*", "b?.yaml", "*")
PATHS = ("a.yaml", "a/b.yaml", "a/b/c.yaml", "é/x", "b1.yaml", "c")
PRINCIPALS = (None, NameSelector(("User:a",)), NameSelector((), ("User:", "User:a")), NameSelector(any_name=True))


def test_teams_of_principals_patterns_and_files_are_those_that_each_owner_says() -> None:
    chance = Random(6)
    for _ in range(300):
        declared = [
            OwnerDeclaration(
                chance.choice("xyz"),
                PLACE,
                tuple(chance.sample(GLOBS, chance.randrange(3))),
                chance.choice(PRINCIPALS),
                tuple(chance.sample(PATTERNS, chance.randrange(3))),
            )
            for _ in range(chance.randrange(5))
        ]
        owners = Owners(declared)
        for principal, pattern in product((None, "User:a", "User:ab", "User:*"), PATTERNS):
            named = [(one.team, one.principals) for one in declared if principal and one.principals]
            own = {team for team, names in named if names and names.selects_principal(principal or "")}
            theirs = {one.team for one in declared if any(held.contains(pattern) for held in one.patterns)}
            assert teams(owners, principal, [pattern]) == (own or theirs)
        for path in PATHS:
            holding = {one.team for one in declared if one.files_of([path])}
            assert owners.holding(path) == holding
            for belonging in (frozenset[str](), frozenset("x"), frozenset("yz")):
                assert fits(owners, path, belonging) is (bool(holding & belonging) if belonging else not holding)
        assert owners.globs("xy") == sorted(glob for one in declared if one.team in "xy" for glob in one.files)


CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"


def _topics(name: str, *topics: str) -> str:
    rows = "".join(f"    - {{name: {topic}}}\n" for topic in topics)
    return f"apiVersion: reconciler/v1\nkind: Topics\nmetadata: {{name: {name}}}\nspec:\n  topics:\n{rows}"


def test_topics_go_where_names_begin_with_the_same_words_and_each_document_is_declared_once() -> None:
    texts = {
        "c.yaml": CLUSTER,
        "a.yaml": _topics("a", "pay.orders", "x"),
        "b.yaml": _topics("b", "pay.orders.eu", "y.z"),
    }
    book = read(texts)
    homes = {
        "pay.orders.eu.x": "b.yaml",
        "pay.orders.us": "a.yaml",
        "y.z.q": "b.yaml",
        "new": "a.yaml",
        "x.q": "a.yaml",
    }
    homes |= {f"y.t{n}": "b.yaml" for n in range(40)}
    wanted = {name: DesiredTopic(Topic(name), PLACE) for name in homes}
    changes = Changes()
    with patch.object(Page, "declared", autospec=True, side_effect=Page.declared) as declared:
        extend(book, {"c": DesiredState(topics={**book.desired["c"].topics, **wanted})}, changes)
    assert declared.call_count == 2
    written = {path: "".join(splice.new for splice in splices) for path, splices in changes.splices.items()}
    for name, home in homes.items():
        assert [path for path, text in written.items() if re.search(rf"name: {re.escape(name)}[,}}\n]", text)] == [home]


def test_new_documents_of_a_file_are_joined_once() -> None:
    """Each gets a name of its own, and the end of lines of the file is looked for once, however many there are."""
    counts = []
    for size in (10, 40):
        texts = {"c.yaml": CLUSTER, "a.yaml": "---\n".join((_acls("User:o", 0), _acls("User:p", 1)))}
        book = read(texts)
        held = bindings(*(f"TOPIC:L:t{n} User:s{n}@* ALLOW READ" for n in range(size)))
        declared = {**book.desired["c"].bindings, **{one: Declaration(PLACE) for one in held}}
        with (
            patch.object(editing, "line_break", side_effect=line_break) as asked,
            patch.object(module, "_home", side_effect=module._home) as searched,
        ):
            edited = editing._steps(book, texts, {"c": DesiredState(declared)})
        assert dict(read(edited).desired["c"].bindings).keys() == declared.keys()
        assert edited.keys() == texts.keys()
        counts.append((asked.call_count, searched.call_count))
    assert counts[0][1] == counts[1][1]
    assert counts[1][0] <= 4 * counts[0][0]


def _acls(principal: str, number: int) -> str:
    head = f"apiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: d{number}}}\nspec:\n  principal: {principal}\n"
    return f"{head}  rules: [{{allow: READ, topics: [x]}}]\n"
