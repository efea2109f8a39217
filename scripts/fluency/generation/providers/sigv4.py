"""Amazon's Signature Version 4 of one request with a body in memory. Pure.

Written here because the package that the SDK would sign with (boto3) cannot be installed beside the pinned ones.
Source: AWS, "Create a signed AWS API request"; the tests hold its published example and values of botocore.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class KeyPair:
    """Credentials; `token` is that of a temporary pair, else empty."""

    access_key: str
    secret_key: str
    token: str = ""


def signed_headers(
    pair: KeyPair, method: str, url: str, body: bytes, *, headers: Mapping[str, str], region: str, service: str, at: str
) -> dict[str, str]:
    """The headers to add: `at` is the time as 20150830T123600Z; `headers` are signed along with the host and those."""
    parts = urlsplit(url)
    added = {"x-amz-date": at} | ({"x-amz-security-token": pair.token} if pair.token else {})
    signed = {
        name.lower(): " ".join(value.split()) for name, value in {"host": parts.netloc, **headers, **added}.items()
    }
    names = ";".join(sorted(signed))
    query = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in parse_qsl(parts.query, True))
    canonical = [
        method.upper(),
        quote(parts.path or "/", safe="/~"),
        "&".join(f"{name}={value}" for name, value in query),
        *(f"{name}:{signed[name]}" for name in sorted(signed)),
        "",
        names,
        hashlib.sha256(body).hexdigest(),
    ]
    scope = f"{at[:8]}/{region}/{service}/aws4_request"
    told = "\n".join([ALGORITHM, at, scope, hashlib.sha256("\n".join(canonical).encode()).hexdigest()])
    key = f"AWS4{pair.secret_key}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, told.encode(), "sha256").hex()
    credential = f"Credential={pair.access_key}/{scope}"
    return added | {"authorization": f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"}
