"""Names that a resource pattern can have, checked before any broker sees them (``Topic.java``, ``AclAuthorizer``)."""

from typing import Final

from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.model import (
    MAX_TOPIC_NAME_LENGTH,
    METADATA_TOPIC,
    RESERVED_PREFIXES,
    RESOURCE_FIELDS,
    WILDCARD,
    PatternType,
    ResourceType,
    is_reserved,
    topic_name_problem,
)
from reconciler.model.characters import is_visible

#: A field of a rule or selector, and the resources it names.
FIELDS: Final = RESOURCE_FIELDS
_ANY_ADVICE: Final = "write {any: true} for every name"


def name_problem(kind: ResourceType, text: str, pattern_type: PatternType, *, spelled_out: bool) -> Trouble | None:
    """Why ``text`` cannot be the name of such a pattern; ``spelled_out`` if it is in ``{literal: …}``."""
    if not text:
        return Trouble(Code.DEAD_NAME, "a name cannot be empty", _ANY_ADVICE)
    if text == WILDCARD:
        return Trouble(Code.DEAD_NAME, "a lone '*' is not a name here", _ANY_ADVICE)
    if is_reserved(text):
        message = f"{quoted(text)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
        return Trouble(Code.RESERVED_NAME, message, "choose another name")
    if text.endswith(WILDCARD) and (kind is ResourceType.TOPIC or not spelled_out) and kind is not ResourceType.USER:
        return _star_problem(kind, text, pattern_type)
    if kind is ResourceType.TOPIC:
        return _topic_problem(text, pattern_type)
    return _other_problem(kind, text, pattern_type)


def _star_problem(kind: ResourceType, text: str, pattern_type: PatternType) -> Trouble:
    bare = text.rstrip(WILDCARD)
    message = f"{quoted(text)} is not a pattern: in Kafka '*' is an ordinary character in names"
    advice = f"write {{prefix: {bare}}}" if bare else _ANY_ADVICE
    if pattern_type is PatternType.LITERAL and kind is not ResourceType.TOPIC:
        advice += f"; if the name does end with a star, {{literal: [{quoted(text)}]}}"
    return Trouble(Code.DEAD_NAME, message, advice)


def _topic_problem(text: str, pattern_type: PatternType) -> Trouble | None:
    if text == METADATA_TOPIC and pattern_type is PatternType.LITERAL:
        return Trouble(Code.TOPIC_NAME, f"{METADATA_TOPIC} is not a topic that ACLs speak of", "remove it")
    if pattern_type is PatternType.PREFIXED and text in (".", ".."):
        return None
    problem = topic_name_problem(text)
    if problem is None:
        return None
    if pattern_type is PatternType.LITERAL:
        return Trouble(Code.TOPIC_NAME, f"no topic can be called {quoted(text)}: {problem}", _topic_advice(text))
    return Trouble(Code.TOPIC_NAME, f"no topic's name can begin with {quoted(text)}: {problem}", _topic_advice(text))


def _topic_advice(text: str) -> str:
    if text.startswith("$"):
        return "parameters such as $topics belong in a Role; variables are written ${vars.name}"
    if len(text) > MAX_TOPIC_NAME_LENGTH:
        return "shorten it"
    return "name the topic as the broker lists it"


def _other_problem(kind: ResourceType, text: str, pattern_type: PatternType) -> Trouble | None:
    if text[0] < WILDCARD:
        message = f"{quoted(text)} begins with a character below '*': an ACL on such a name can hang brokers"
        return Trouble(Code.HANGING_NAME, message, "rename the resource, or cover it with another pattern")
    if not is_visible(text):
        return Trouble(Code.DEAD_NAME, f"{quoted(text)} contains a line break or a tab", "write the name on one line")
    if kind is ResourceType.USER and pattern_type is PatternType.LITERAL:
        return principal_problem(text, may_be_everyone=False)
    return None
