"""What a certification's pack proves, by whose signers, and of which cluster."""

import json
import random
import re
from pathlib import Path

import pytest

from reconciler.app.reasons import StaleError
from reconciler.cli.main import run
from reconciler.parts.certify.campaign import digest_of
from reconciler.parts.certify.pack import _unpacked, packed, verify_pack
from tests.integration.test_certify import (
    DIR,
    DUE,
    answered,
    bank,
    closed,
    edited,
    opened,
    signed,
    write_cluster,
    write_signers,
)
from tests.worlds import bindings

__all__ = ["bank"]


def small_pack() -> bytes:
    write_cluster(*bindings("User:x ALLOW READ on TOPIC ledger.a"))
    opened()
    answered("keep", "ledger")
    signed("ledger")
    assert closed() == 0
    return Path("pack.tar").read_bytes()


def found_flips(data: bytes, places: list[int], chance: random.Random) -> None:
    for at in places:
        flipped = bytearray(data)
        flipped[at] ^= 1 << chance.randrange(8)
        with pytest.raises(StaleError):
            _unpacked(bytes(flipped))


def test_a_byte_of_a_pack_that_was_changed_is_found(bank: Path) -> None:
    data, chance = small_pack(), random.Random(1)
    found_flips(data, chance.sample(range(len(data)), 1_000), chance)
    for cut in (data[:-1], data + b"\0", data[:-512], b""):
        with pytest.raises(StaleError):
            _unpacked(cut)


@pytest.mark.long
def test_every_byte_of_a_pack_that_was_changed_is_found(bank: Path) -> None:
    data = small_pack()
    found_flips(data, list(range(len(data))), random.Random(2))


def test_a_pack_that_was_packed_again_does_not_prove_another_content(bank: Path) -> None:
    entries = _unpacked(small_pack())

    def problems(**changed: tuple[bytes, bytes]) -> str:
        made = dict(entries)
        for name, (old, new) in changed.items():
            file = next(one for one in made if one.startswith(name))
            assert old in made[file]
            made[file] = made[file].replace(old, new, 1)
        Path("other.tar").write_bytes(packed(made))
        return " ".join(verify_pack("other.tar").problems)

    assert problems(snapshot=(b"User:x", b"User:y")).count("reading") == 2
    assert "answers that count" in problems(closing=(b'"keep"', b'"revoke"'))
    assert "answers that count" in problems(ledger=(b"decision: keep", b"decision: revoke"))
    assert "plan is another" in problems(plan=(b'"bank"', b'"bonk"'))
    assert "not those of the reading" in problems(campaign=(b'"id":"', b'"id":"0'))
    # Of the same rights, in words that sound calmer; by another person; called complete.
    assert "in other words" in problems(campaign=(b"may READ", b"may LOOK"))
    assert "does not say who signed" in problems(closing=(b"carol@", b"alice@"))
    assert "does not say who signed" in problems(closing=(b'"conflicts":[]', b'"conflicts":["x"]'))
    Path("other.tar").write_bytes(packed({**entries, "payments.yaml": b"x"}))
    assert verify_pack("other.tar").problems == ("no campaign writes a file payments.yaml",)
    write_signers({"payments": ("ledger", "mallory")})
    assert "answers that count" in " ".join(verify_pack("pack.tar", "signers").problems)


def test_a_pack_is_told_by_whose_signers_it_was_checked(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_pack()
    digest = digest_of(Path("signers").read_bytes())
    # Somebody who names signers of their own, and answers for every owner, has a pack that agrees with itself.
    own = Path("signers").read_bytes()
    for old in DIR.glob("*.sig"):
        old.unlink()
    write_signers({"mallory": ("ledger", "carol")})
    edited("ledger", lambda text: re.sub("signed: .*", "signed: not yet", text))
    assert run(["certify", "sign", str(DIR / "ledger.yaml"), "--key", "mallory"]) == 0
    forged = digest_of(Path("signers").read_bytes())
    assert run(["certify", "close", str(DIR), "--allowed-signers", "signers", "--out", "forged.tar"]) == 0
    Path("signers").write_bytes(own)

    def told(*asked: str) -> tuple[int, str]:
        capsys.readouterr()
        status = run(["certify", "verify", *asked])
        return status, capsys.readouterr().out

    status, text = told("forged.tar")
    first, second, third, *rest = text.splitlines()
    assert status == 0
    assert "agrees with itself, by its own signers" in first
    assert "intact" not in text
    assert f"{forged}, as the packer chose them" in second
    assert "certify verify forged.tar --allowed-signers FILE" in third
    assert sum("by the packer's word alone: " in line for line in rest) == 4
    status, text = told("forged.tar", "--allowed-signers", "signers")
    assert (status, "not intact, by your signers" in text) == (4, True)
    assert "signed: nobody" in text
    status, text = told("pack.tar", "--allowed-signers", "signers")
    assert (status, ": intact, by your signers" in text, digest in text) == (0, True, True)
    for options, whose in (((), "pack"), (("--allowed-signers", "signers"), "file")):
        document = json.loads(told("pack.tar", *options, "-o", "json")[1])
        assert document["signers"] == {"from": whose, "digest": digest}
        assert any("reading of the cluster" in item for item in document["packerOnly"])


def test_a_forged_pack_or_one_of_another_cluster_is_no_base(bank: Path) -> None:
    entries = _unpacked(small_pack())
    entries["closing.json"] = entries["closing.json"].replace(b"carol@", b"alice@")
    Path("forged.tar").write_bytes(packed(entries))
    assert run(["certify", "open", "--due", str(DUE), "--out", "certify/next", "--base", "forged.tar"]) == 4
    write_cluster(*bindings("User:x ALLOW READ on TOPIC ledger.a"), cluster_id="another")
    assert run(["certify", "open", "--due", str(DUE), "--out", "certify/next", "--base", "pack.tar"]) == 64
