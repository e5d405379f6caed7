"""Check the certificate of a plan without the program that made it (docs/certificate.md).

Exit status 0: proven; 1: refuted, with a witness, or the files do not belong together; 2: it cannot be judged.
"""

import argparse
import json
from collections import defaultdict
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address, ip_network
from operator import itemgetter

OPERATIONS = """READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE
CREATE_TOKENS DESCRIBE_TOKENS TWO_PHASE_COMMIT""".split()  # noqa: SIM905
BIT = {name: 1 << number for number, name in enumerate(OPERATIONS)}
EVERY = (1 << len(OPERATIONS)) - 1
# StandardAuthorizerData: an ALLOW of the first implies the second; a DENY implies nothing.
IMPLIED = dict.fromkeys(("READ", "WRITE", "DELETE", "ALTER"), "DESCRIBE") | {"ALTER_CONFIGS": "DESCRIBE_CONFIGS"}
LETTERS = "zyxwvutsrqponmlkjihgfedcbaABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"  # of the names of topics
NEVER = 1 << 60
pattern_of = itemgetter("resourceType", "patternType", "name")
row_of = itemgetter("resourceType", "patternType", "name", "principal", "host", "permissionType", "operation")


class Acl:
    """One ACL, with the phase that creates it (-2: it was there before) and the phase that deletes it."""

    def __init__(self, row, created=-2, temporary=False):
        self.created, self.deleted, self.temporary, self.moves = created, NEVER, temporary, False
        self.where, (self.principal, self.host, permission, operation) = row[:3], row[3:]
        self.allows, self.operations = permission == "ALLOW", EVERY if operation == "ALL" else BIT[operation]
        self.operations |= BIT[IMPLIED[operation]] if self.allows and operation in IMPLIED else 0

    def shows(self, now, first, last):
        """0: at this moment no broker can show it. 1: one may. 2: all do."""
        gone = self.created > now or self.deleted < first
        return 0 if gone else 1 if self.created == now or self.deleted <= last else 2

    def applies(self, address, ranges):
        """The host is "*", or what InetAddress.getHostAddress gives; since Kafka 4.4 with "/" a range (KIP-1276)."""
        within = ranges and "/" in self.host and ip_address(address) in ip_network(self.host, strict=False)
        return within or self.host in ("*", address)


class Patterns(dict):  # what stands on each (pattern type, name) of one resource type
    def matching(self, name):
        """LITERAL: equal, or "*". PREFIXED: a beginning. There are no other patterns."""
        keys = [("LITERAL", "*"), ("LITERAL", name), *(("PREFIXED", name[:end]) for end in range(1, len(name) + 1))]
        return [item for key in keys for item in self.get(key, ())]

    def fresh(self, start):
        """A name that begins so, equals no pattern and begins with no longer one; "" where there is none."""
        names = [start] if start else [letter for letter in LETTERS if ("PREFIXED", letter) not in self]
        for name in names:
            if ("LITERAL", name) not in self:
                return name
            names += [name + letter for letter in LETTERS if ("PREFIXED", name + letter) not in self]
        return ""

    def representatives(self, moved):
        """Of the names that a moved pattern matches, one for every set of patterns that a name can match."""
        found = {self.fresh("")} if (wide := ("LITERAL", "*") in moved) else set()
        for kind, name in self.keys() - {("LITERAL", "*")}:
            if wide or moved & {(kind, name), *(("PREFIXED", name[:end]) for end in range(1, len(name) + 1))}:
                found.add(name if kind == "LITERAL" else self.fresh(name))
        return sorted(found - {""})


def addresses(hosts, ranges):
    """An address, as Java writes it, for every set of these hosts that one can match."""
    found = {ip_address("198.51.100.7")}
    for host in hosts:
        # A set begins where a host begins or ends. No address equals "*" or a name; none comes after the last.
        with suppress(ValueError):
            network = ip_network(host, strict=False) if ranges else ip_network(ip_address(host))
            found.add(network[0])
            found.add(network[-1] + 1)
    return {str(a) if a.version == 4 else ":".join(f"{int(x, 16):x}" for x in a.exploded.split(":")) for a in found}


def ask(applying, rest, times, default, held):
    """The first phase and operation for which the law is broken, or None; ``rest`` are others' ACLs on the name."""

    def permitted(moment, more=(), others=2):
        """StandardAuthorizer: what an ALLOW applies to and no DENY; the default if no ACL at all is on the name."""
        found, allowed, denied = [*more, *(acl for acl in applying if acl.shows(*moment) == 2)], 0, 0
        for acl in found:
            allowed, denied = (allowed | acl.operations, denied) if acl.allows else (allowed, denied | acl.operations)
        return allowed & ~denied if found or any(acl.shows(*moment) >= others for acl in rest) else default

    before, after = permitted(times[0]), permitted(times[-1])
    for moment in times[1:-1]:
        most = [acl for acl in applying if acl.shows(*moment) == 1 and acl.allows]
        least = permitted(moment, [acl for acl in applying if acl.shows(*moment) == 1 and not acl.allows], 1)
        # Of all parts that may show, one of these permits most, and one refuses most.
        for now in (least, permitted(moment), permitted(moment, most), *(permitted(moment, [acl]) for acl in most)):
            if bad := now & ~(before | after) or (~now & before & after if held else 0):
                law = "may, but may not before or after" if bad & now else "may not, but may before and after"
                return f"in phase {moment[0] + 1}", law, next(name for name in OPERATIONS if BIT[name] & bad)
    return None


def judge(acls, times, certificate, default, ranges, uninterrupted):
    """Ask about everybody, everywhere, every name at every moment; the number of questions."""
    types, questions = defaultdict(Patterns), 0
    items = [*((acl.where, acl) for acl in acls), *((pattern_of(told), None) for told in certificate["mayInterrupt"])]
    for (kind, pattern, name), item in items:
        types[kind].setdefault((pattern, name), []).append(item)
    for kind in sorted({acl.where[0] for acl in acls if acl.moves}):
        patterns, moved = types[kind], {acl.where[1:] for acl in acls if acl.where[0] == kind and acl.moves}
        if odd := [key for key in patterns if key[1][0] <= "*" and key != ("LITERAL", "*")]:
            raise ValueError(f"a broker's scan goes wrong on names that begin with * or sort before it: {odd[0]}")
        for name in patterns.representatives(moved) if kind != "CLUSTER" else ["kafka-cluster"]:
            found, own = patterns.matching(name), defaultdict(list)
            there = [acl for acl in found if acl is not None]
            # A temporary ACL keeps its name open, whatever is told of the names around it.
            held = uninterrupted and (not default or None not in found or any(acl.temporary for acl in there))
            for acl in there:
                own[acl.principal].append(acl)
            principals = {acl.principal for acl in there if acl.moves}
            if "User:*" in principals or (default and all(acl.moves for acl in there)):
                principals = {*own, "User:anybody-else" + "+" * len(own)}
            for principal in sorted(principals - {"User:*", *certificate["facts"]["superUsers"]}):
                concerned = own.get(principal, []) + own.get("User:*", [])
                for address in sorted(addresses({acl.host for acl in concerned}, ranges)):
                    applying = [acl for acl in concerned if acl.applies(address, ranges)]
                    rest = [acl for acl in there if acl not in applying] if default else []
                    questions += (len(times) - 2) * len(OPERATIONS)
                    if bad := ask(applying, rest, times, default, held):
                        raise SystemExit(
                            f"refuted: {bad[0]} {principal} from {address} {bad[1]}: {bad[2]} {kind} {name}"
                        )
    return questions


def order_of(certificate, phases):
    """The ACLs of one order; it sends each step of the plan once, and leaves nothing temporary."""
    changes, acls = certificate["changes"], {row_of(item): Acl(row_of(item)) for item in certificate["before"]}
    sent = [(number, changes[index]) for number, phase in enumerate(phases) for index in phase["changes"]]
    if sorted(c["step"] for _, c in sent if c["step"]) != sorted(c["step"] for c in changes if c["step"]):
        raise SystemExit("refuted: an order leaves a step out, or sends it twice")
    for number, change in sent:
        row, temporary = row_of(change), change["step"] is None
        acl = acls.get(row) or Acl(row, number, temporary)
        if (change["action"] == "create") == (row in acls) or acl.temporary != temporary or acl.deleted != NEVER:
            raise SystemExit(f"refuted: phase {number + 1} cannot {change['action']} {' '.join(row)}")
        acls[row], acl.moves, acl.deleted = acl, True, number if change["action"] == "delete" else NEVER
    if left := [row for row, acl in acls.items() if acl.temporary and acl.deleted == NEVER]:
        raise SystemExit(f"refuted: it is temporary and stays: {' '.join(left[0])}")
    return list(acls.values())


def check(certificate):
    """Every order in which a run may go, under every reading of the facts; the number of questions."""
    facts, orders, questions = certificate["facts"], certificate["orders"], 0
    flag, plain = facts["allowEveryoneIfNoAclFound"], [order for order in orders if not order["observed"]]
    if not plain:
        raise SystemExit("refuted: the order of a run that does not observe the default is missing")
    for order in orders:
        acls, end = order_of(certificate, order["phases"]), len(order["phases"])
        # A moment: the phase whose creations are under way, the first and the last phase between two checks.
        times, first = [(-1, 0, -1)], 0
        for last, phase in enumerate(order["phases"], 1):
            if phase["check"] or last == end:
                times, first = times + [(now, first, last - 1) for now in range(first, last)], last
        for allow in {True} if order["observed"] else {True, False} if flag is None else {flag}:
            # Where the default is to allow, temporary ACLs keep names open: of a run that observes the default.
            held = order["observed"] or not allow or (flag is True and len(plain) == len(orders))
            for ranges in {True, False} if facts["hostRanges"] is None else {facts["hostRanges"]}:
                questions += judge(acls, [*times, (end, end, end - 1)], certificate, allow * EVERY, ranges, held)
    return questions


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for argument in ("certificate", "--plan", "--snapshot"):
        parser.add_argument(argument, type=argparse.FileType("rb"))
    given = parser.parse_args()
    try:
        certificate = json.load(given.certificate)
        if given.plan:
            text = given.plan.read()
            steps = [step for step in json.loads(text)["steps"] if step["action"] in ("CreateAcl", "DeleteAcl")]
            wanted = [(s["id"], s["action"][:6].lower(), row_of(s["after"] or s["before"])) for s in steps]
            own = [(c["step"], c["action"], row_of(c)) for c in certificate["changes"] if c["step"]]
            if certificate["plan"] != f"file-{sha256(text).hexdigest()}" or wanted != own:
                raise SystemExit("refuted: the certificate is of another plan")
        if given.snapshot:
            state = json.load(given.snapshot)
            rows = {(*pattern_of(g), *e[:3], name) for g in state["acls"] for e in g["entries"] for name in e[3:]}
            if state["opaque"] or rows != set(map(row_of, certificate["before"])):
                raise SystemExit("refuted: the snapshot has other ACLs than the certificate")
        count, questions, told = len(certificate["changes"]), check(certificate), len(certificate["mayInterrupt"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        parser.error(f"cannot be judged: {error!r}")
    law = "at no moment may anybody do what neither before nor after permits, and nobody is interrupted"
    but = f", but on the names of {told:,} patterns (mayInterrupt)" if told else ""
    print(f"{count:,} steps, {count + 1:,} states, {questions:,} questions: {law}{but}.")
