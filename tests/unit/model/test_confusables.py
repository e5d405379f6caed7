"""Names that look alike, among many that do not."""

from collections import defaultdict

from reconciler.model.characters import LookAlikes, look_alikes, skeleton


def test_every_set_of_names_with_one_skeleton_is_found_once_and_in_order() -> None:
    plain = [f"svc-{number}.{letter}" for number in range(200) for letter in "abo0lI1"]
    names = [*plain, "svc-\u0430", "svc-a", "corn", "com", "svc-a"]
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[skeleton(name)].append(name)
    alike = [tuple(group) for group in groups.values() if len(group) > 1]
    assert ("com", "corn") in alike
    assert ("svc-a", "svc-\u0430") in alike
    assert list(look_alikes(names)) == list(look_alikes(frozenset(names))) == alike


def test_of_no_names_none_are_alike() -> None:
    assert list(look_alikes([])) == []


def test_of_what_is_seen_only_what_looks_like_a_given_name_is_kept() -> None:
    alikes = LookAlikes(["al", "com", "other"])
    alikes.see(["a1", "corn", "al"])
    alikes.see(["corn", "else"])
    assert sorted(alikes.sets()) == [("a1", "al"), ("com", "corn")]
