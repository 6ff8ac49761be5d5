"""Random numbers of training depend only on (seed, stage, epoch, step): nothing to save, exact to resume."""

import hashlib

import torch


def derived_seed(*parts: object) -> int:
    """A 63-bit number from the parts, the same on every machine and in every run."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator_for(*parts: object) -> torch.Generator:
    """A CPU generator of its own for the named purpose."""
    return torch.Generator().manual_seed(derived_seed(*parts))
