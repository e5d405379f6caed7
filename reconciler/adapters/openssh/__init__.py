"""Detached signatures as ``ssh-keygen -Y`` makes and checks them, for machines that do not have that program."""

from reconciler.adapters.openssh.allowed_signers import AllowedSigners, SignersError, parse_allowed_signers
from reconciler.adapters.openssh.keys import KeyFileError, fingerprint, private_key
from reconciler.adapters.openssh.sshsig import SignatureError, sign, verify

__all__ = [
    "AllowedSigners",
    "KeyFileError",
    "SignatureError",
    "SignersError",
    "fingerprint",
    "parse_allowed_signers",
    "private_key",
    "sign",
    "verify",
]
