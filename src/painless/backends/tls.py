"""Certificates for a Dask cluster; without one, nobody can connect or eavesdrop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from painless.common.errors import InputError


@dataclass(frozen=True)
class Tls:
    """Paths of PEM files, as in Dask's own options."""

    ca_file: str
    cert: str
    key: str

    @classmethod
    def from_options(cls, ca_file: str | None, cert: str | None, key: str | None) -> Tls | None:
        """Return the certificates of the command line's options; None if none is given."""
        if ca_file is None and cert is None and key is None:
            return None
        if ca_file is None or cert is None or key is None:
            raise InputError("TLS needs all of --tls-ca-file, --tls-cert and --tls-key")
        return cls(ca_file, cert, key)

    def __post_init__(self) -> None:
        for path in (self.ca_file, self.cert, self.key):
            if not Path(path).is_file():
                raise InputError(
                    f"{path} does not exist; give PEM files for --tls-ca-file, --tls-cert and --tls-key"
                )

    def security(self) -> Any:
        """Return Dask's security object: the same certificate for all roles, and nothing unencrypted."""
        from distributed import Security

        roles = {f"tls_{role}_cert": self.cert for role in ("client", "scheduler", "worker")}
        roles |= {f"tls_{role}_key": self.key for role in ("client", "scheduler", "worker")}
        return Security(tls_ca_file=self.ca_file, require_encryption=True, **roles)
