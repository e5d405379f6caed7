"""Every problem that a manifest can have, by a stable code; ``docs/manifests/problems.md`` explains each."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Code(StrEnum):
    """The code of a problem, as users see it and search for it."""

    UNREADABLE_FILE = "KR001"
    OUTSIDE_ROOT = "KR002"
    FILE_TOO_LARGE = "KR003"
    NO_MANIFESTS = "KR004"
    FORBIDDEN_CHARACTER = "KR005"
    YAML_SYNTAX = "KR006"
    ANCHOR_OR_ALIAS = "KR007"
    TAG = "KR008"
    MERGE_KEY = "KR009"
    DUPLICATE_KEY = "KR010"
    TOO_DEEP = "KR011"
    NO_VALUE = "KR012"
    KEY_IS_NO_TEXT = "KR013"
    MORE_PROBLEMS = "KR014"
    NOT_NORMALISED = "KR015"
    FILE_NOT_READ = "KR016"

    NOT_A_MANIFEST = "KR020"
    API_VERSION = "KR021"
    UNKNOWN_KIND = "KR022"
    DUPLICATE_NAME = "KR024"
    MISSING_FIELD = "KR025"
    UNKNOWN_FIELD = "KR026"
    WRONG_SHAPE = "KR027"
    WRONG_VALUE = "KR028"
    VARIABLE_FORM = "KR029"
    UNSET_VARIABLE = "KR030"
    VARIABLE_VALUE = "KR031"

    PRINCIPAL = "KR040"
    DEAD_PRINCIPAL = "KR041"
    HOST = "KR042"
    TOPIC_NAME = "KR043"
    DEAD_NAME = "KR044"
    HANGING_NAME = "KR045"
    RESERVED_NAME = "KR046"
    OPERATION = "KR047"
    UNSUPPORTED_OPERATION = "KR048"
    RULE_FORM = "KR049"
    DUPLICATE_BINDING = "KR050"
    TOO_MANY_BINDINGS = "KR051"
    EXPIRED_RULE = "KR052"

    UNKNOWN_ROLE = "KR060"
    ROLE_PARAMETERS = "KR061"
    BUILT_IN_ROLE = "KR062"
    ROLE_NOT_HERE = "KR063"

    CONFLICTING_TOPIC = "KR070"
    COLLIDING_TOPICS = "KR071"
    SETTING_VALUE = "KR072"
    UNKNOWN_SETTING = "KR073"
    INTERNAL_TOPIC = "KR074"
    ABSENT_TOPIC = "KR075"
    REPLICA_ASSIGNMENT = "KR076"
    REFUSED_SETTING = "KR077"

    OUTSIDE_SCOPE = "KR080"
    UNKNOWN_CLUSTER = "KR081"
    SELECTOR_FORM = "KR082"
    EXPIRED_ACKNOWLEDGEMENT = "KR083"
    ADDRESS = "KR084"
    FLEET_WAVE = "KR085"
    CONTRADICTED_FACT = "KR086"
    CLEAR_TEXT = "KR087"
    REFERENCE_IN_MANIFEST = "KR088"
    PRUNES_NOTHING = "KR089"

    TEST_FORM = "KR090"
    EXPIRED_WAIVER = "KR091"
    OWNERSHIP_FORM = "KR092"
    OWNER_WITHOUT_FILES = "KR093"
    POLICY_FORM = "KR094"
    EXPRESSION = "KR095"

    ITEM_FORM = "KR100"
    CONFLICTING_ITEM = "KR101"
    CLIENT_SETTING = "KR102"


#: What each code is about, in a few words.
CODES: Final[Mapping[Code, str]] = MappingProxyType(
    {
        Code.UNREADABLE_FILE: "a file cannot be read as UTF-8 text",
        Code.OUTSIDE_ROOT: "a file is outside the manifests' root",
        Code.FILE_TOO_LARGE: "a file is too large",
        Code.NO_MANIFESTS: "there are no manifests",
        Code.FORBIDDEN_CHARACTER: "a character that a reviewer cannot see or tell",
        Code.YAML_SYNTAX: "the text is not YAML",
        Code.ANCHOR_OR_ALIAS: "an anchor or an alias",
        Code.TAG: "a tag",
        Code.MERGE_KEY: "a merge key",
        Code.DUPLICATE_KEY: "a key appears twice in one mapping",
        Code.TOO_DEEP: "the nesting is too deep",
        Code.NO_VALUE: "a key or a list item has no value",
        Code.KEY_IS_NO_TEXT: "a key is not a text",
        Code.MORE_PROBLEMS: "more problems than are shown",
        Code.NOT_NORMALISED: "a text is not in Unicode's composed form",
        Code.FILE_NOT_READ: "a file that looks like manifests is not read",
        Code.NOT_A_MANIFEST: "a document is not a manifest",
        Code.API_VERSION: "the apiVersion is missing or unsupported",
        Code.UNKNOWN_KIND: "the kind is missing or unknown",
        Code.DUPLICATE_NAME: "two documents of one kind have the same name",
        Code.MISSING_FIELD: "a required field is missing",
        Code.UNKNOWN_FIELD: "a field is unknown",
        Code.WRONG_SHAPE: "a mapping, a list or a single value is expected",
        Code.WRONG_VALUE: "a value is of the wrong type or out of range",
        Code.VARIABLE_FORM: "a variable is malformed, or not allowed here",
        Code.UNSET_VARIABLE: "a variable is not set by the cluster",
        Code.VARIABLE_VALUE: "a variable has a value that cannot be put there",
        Code.PRINCIPAL: "a text is not a principal",
        Code.DEAD_PRINCIPAL: "a principal that cannot exist",
        Code.HOST: "a host that no connection can have",
        Code.TOPIC_NAME: "a topic name that Kafka refuses",
        Code.DEAD_NAME: "a wildcard that Kafka does not have, or an empty name",
        Code.HANGING_NAME: "a name that hangs brokers",
        Code.RESERVED_NAME: "a name that is reserved for the reconciler",
        Code.OPERATION: "an operation is unknown",
        Code.UNSUPPORTED_OPERATION: "an operation that the resource type does not have",
        Code.RULE_FORM: "a rule is incomplete or contradicts itself",
        Code.DUPLICATE_BINDING: "one binding is declared in two places",
        Code.TOO_MANY_BINDINGS: "a rule multiplies to more bindings than any cluster holds",
        Code.EXPIRED_RULE: "a rule has expired",
        Code.UNKNOWN_ROLE: "a role is unknown",
        Code.ROLE_PARAMETERS: "a role's parameters do not fit",
        Code.BUILT_IN_ROLE: "a built-in role cannot be redefined",
        Code.ROLE_NOT_HERE: "a role does not apply to the cluster",
        Code.CONFLICTING_TOPIC: "one topic is declared in two ways",
        Code.COLLIDING_TOPICS: "two topic names collide",
        Code.SETTING_VALUE: "a config has a value of the wrong type",
        Code.UNKNOWN_SETTING: "a config is unknown",
        Code.INTERNAL_TOPIC: "Kafka manages this topic itself",
        Code.ABSENT_TOPIC: "an absent topic has properties",
        Code.REPLICA_ASSIGNMENT: "a replica assignment contradicts itself, or counts are given as well",
        Code.REFUSED_SETTING: "a topic config that brokers refuse or stumble over",
        Code.OUTSIDE_SCOPE: "a declaration is outside the cluster's scope",
        Code.UNKNOWN_CLUSTER: "a cluster is not declared",
        Code.SELECTOR_FORM: "a selector is empty, or names two kinds of resource",
        Code.EXPIRED_ACKNOWLEDGEMENT: "an acknowledgement has expired",
        Code.ADDRESS: "a bootstrap server is not host:port",
        Code.FLEET_WAVE: "a fleet wave is declared twice, or has no cluster",
        Code.CONTRADICTED_FACT: "a manifest contradicts the operator's file",
        Code.CLEAR_TEXT: "a secret is written in clear text",
        Code.REFERENCE_IN_MANIFEST: "a manifest refers to a secret",
        Code.PRUNES_NOTHING: "pruneTopics without topics in the scope",
        Code.TEST_FORM: "an access test is incomplete or contradicts itself",
        Code.EXPIRED_WAIVER: "a waiver has expired",
        Code.OWNERSHIP_FORM: "an owner or a consent is incomplete, or names an unknown team",
        Code.OWNER_WITHOUT_FILES: "a team has no files",
        Code.POLICY_FORM: "a policy rule is incomplete or contradicts itself",
        Code.EXPRESSION: "an expression of a policy cannot be compiled",
        Code.ITEM_FORM: "a declared resource is incomplete or contradicts itself",
        Code.CONFLICTING_ITEM: "one resource is declared in two places",
        Code.CLIENT_SETTING: "a client setting that no connection can use",
    }
)
