"""Variables inside texts mean what the same text written by hand means: the same desired state, or the same problem."""

import datetime
import json

from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.characters import composed

DAY = datetime.date(2027, 1, 1)
HEAD = "apiVersion: reconciler/v1\n"
ACLS = f"{HEAD}kind: Acls\nmetadata: {{name: a}}\nspec:\n  principal: "
#: A document for each place where a text can be; ``NAME`` is that text.
DOCUMENTS = (
    f"{ACLS}User:a\n  rules: [{{allow: READ, topics: [NAME, other]}}]\n",
    f"{ACLS}User:a\n  rules: [{{allow: [READ, DESCRIBE], topics: {{prefix: NAME}}}}]\n",
    f"{ACLS}User:a\n  rules: [{{allow: READ, groups: NAME, reason: NAME}}]\n",
    f"{ACLS}User:a\n  rules: [{{allow: READ, groups: {{literal: [NAME]}}}}]\n",
    f"{ACLS}User:a\n  rules: [{{role: transactional-producer, topics: x, transactionalIds: {{prefix: NAME}}}}]\n",
    f"{ACLS}NAME\n  rules: [{{deny: ALL, topics: x}}]\n",
    f"{HEAD}kind: Topics\nmetadata: {{name: t}}\nspec: {{topics: [{{name: NAME, owner: 'User:a'}}]}}\n",
    f"{HEAD}kind: Quotas\nmetadata: {{name: q}}\nspec:\n  quotas:\n"
    "    - {user: NAME, limits: {producer_byte_rate: 1}}\n",
)
_LETTERS = st.text("ab.-_:é\u0301а !{}/'\"\\9", max_size=6)
#: Pieces of a text, and whether each comes from a variable; the last piece may be dangerous.
PIECES = st.lists(
    st.tuples(
        st.one_of(_LETTERS, st.sampled_from(["User:", "*", "?", "$", "${vars.v0}", "__kr.", "a" * 130])), st.booleans()
    ),
    min_size=1,
    max_size=4,
)


def _outcome(document: str, text: str, values: dict[str, str]) -> object:
    """What is declared, without places, or the problems by code and words."""
    cluster = f"{HEAD}kind: Cluster\nmetadata: {{name: c}}\nspec: {{vars: {json.dumps(values, ensure_ascii=False)}}}\n"
    written = document.replace("NAME", json.dumps(text, ensure_ascii=False))
    try:
        state = desired_state(load([Source("a.yaml", written), Source("c.yaml", cluster)]), "c", DAY)
    except ManifestError as error:
        return {(problem.code, problem.message) for problem in error.problems}
    return (
        {binding: declared[1:] for binding, declared in state.bindings.items()},
        {name: (item.topic, item.labels) for name, item in state.topics.items()},
        {key: wish.item for items in state.listed.values() for key, wish in items.items()},
    )


@given(st.sampled_from(DOCUMENTS), PIECES)
@example(DOCUMENTS[6], [("__kr.", True)])
@example(DOCUMENTS[5], [("User:", False), ("*", True)])
@example(DOCUMENTS[5], [("User", True), (":*", False)])
@example(DOCUMENTS[2], [("e", False), ("\u0301", True)])
@example(DOCUMENTS[2], [("$", True), ("{vars.v0}", False)])
@example(DOCUMENTS[1], [("a", False), ("", True)])
@example(DOCUMENTS[0], [("prod", True), (".orders", False)])
def test_a_text_of_variables_is_that_text_written_by_hand(document: str, pieces: list[tuple[str, bool]]) -> None:
    # A lone $ before a variable would be half of the escape.
    pieces = [
        (composed(piece if varies or "${" in piece else piece.replace("$", "")), varies) for piece, varies in pieces
    ]
    values = {f"v{number}": piece for number, (piece, varies) in enumerate(pieces) if varies and "${" not in piece}
    template = "".join(
        f"${{vars.v{number}}}" if f"v{number}" in values else piece.replace("${", "$${")
        for number, (piece, _) in enumerate(pieces)
    )
    by_hand = "".join(piece for piece, _ in pieces)
    found = _outcome(document, template, values)
    whole = template in [f"${{vars.{name}}}" for name in values]
    kept_out = [
        value for value in values.values() if (value.startswith("$") if whole else not value or set("*?$") & set(value))
    ]
    if kept_out or (values and by_hand in ("*", "User:*")):
        assert isinstance(found, set)
        assert {code for code, _ in found} == {"KR031"}
    else:
        assert found == _outcome(document, by_hand.replace("${", "$${"), {})


@given(st.integers(1, 1_000), st.booleans())
def test_numbers_and_booleans_keep_their_types(number: int, absent: bool) -> None:
    topics = f"{HEAD}kind: Topics\nmetadata: {{name: t}}\nspec:\n  topics: [{{name: x, NAME}}]\n"
    field, value = ("absent", "true") if absent else ("partitions", str(number))
    cluster = f"{HEAD}kind: Cluster\nmetadata: {{name: c}}\nspec: {{vars: {{v: {value}}}}}\n"

    def topic(text: str) -> object:
        sources = [Source("a.yaml", topics.replace("NAME", f"{field}: {text}")), Source("c.yaml", cluster)]
        return desired_state(load(sources), "c", DAY).topics["x"]

    assert topic("'${vars.v}'") == topic(value)
