"""What a control plane on loopback proves itself with: certificates, a key for service accounts, a token.

All of it is in one folder, and found there again by the next control plane whose state was kept: kubeconfigs that
people have in their shells stay good.
"""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.certificates import Authority, Pair, is_good, signing_pair

LOOPBACK: Final = "127.0.0.1"
LIFE: Final = dt.timedelta(days=365)
LEFT: Final = dt.timedelta(days=1)
"""What is about to expire is made anew while nobody uses it."""
_COMPLETE: Final = "complete"


@dataclass(frozen=True, slots=True)
class PlaneKeys:
    authority: Path
    server: Pair
    kubelets: Pair
    to_kubelets: Pair
    accounts: Pair
    token: str
    token_file: Path


def plane_keys(folder: Path) -> PlaneKeys:
    """Those in the folder, made there if they are missing or old."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = PlaneKeys(
        folder / "ca.crt",
        _pair(folder, "apiserver"),
        _pair(folder, "kubelets"),
        _pair(folder, "to-kubelets"),
        Pair(folder / "service-accounts.pub", folder / "service-accounts.key"),
        _kept_token(folder) or secrets.token_urlsafe(24),
        folder / "tokens.csv",
    )
    # Written last: whoever was killed half way left none.
    complete = folder / _COMPLETE
    if not (complete.exists() and is_good(keys.authority, LEFT)):
        complete.unlink(missing_ok=True)
        _make(folder, keys.token)
        complete.touch()
    return keys


def _make(folder: Path, token: str) -> None:
    authority = Authority(folder, "ca", LIFE)
    authority.issue(
        "apiserver", "kube-apiserver", addresses=[LOOPBACK, "localhost", "kubernetes.default.svc"]
    )
    authority.issue("kubelets", "kubelets", addresses=[LOOPBACK, "localhost"])
    authority.issue("to-kubelets", "kube-apiserver", groups=["system:masters"])
    signing_pair(folder, "service-accounts")
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{token},kubernetes-admin,admin,"system:masters"\n', encoding="utf-8")


def _kept_token(folder: Path) -> str:
    try:
        return (folder / "tokens.csv").read_text("ascii").partition(",")[0]
    except (OSError, UnicodeDecodeError):
        return ""


def _pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.crt", folder / f"{name}.key")
