"""Who may ask the server: hosts, tokens and origins of pages."""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from nmt.errors import NmtError
from nmt.serving.limits import RefusedError

_USUAL_PORTS = {"http": 80, "https": 443}
"""Ports that browsers leave out of an origin."""


@dataclass(frozen=True)
class Access:
    """The rules of access."""

    hosts: tuple[str, ...] = ()
    """Names by which the server is known, besides localhost and addresses in digits."""
    origins: tuple[str, ...] = ()
    """Origins of other pages that may ask, such as https://example.org."""
    tokens: tuple[str, ...] = ()
    """Requests need one of these tokens; none are needed if there are no tokens."""

    def check_host(self, host: str) -> None:
        """Refuses a request for another host.

        A page of another host can let its name point to this machine (DNS rebinding), and its visitors' browsers would
        then send requests here. They name that host, so only known names are answered.

        Raises:
            RefusedError: an unknown name.
        """
        name = host_name(host)
        if name != "localhost" and name not in self.hosts and not _is_address(name):
            raise RefusedError(421, "this server is not known by the name in Host: nmt serve --allow-host names it")

    def check_origin(self, origin: str, host: str) -> None:
        """Refuses what a page of another origin sends, unless that origin is named.

        Raises:
            RefusedError: an unknown origin.
        """
        if origin and origin not in self.origins and _netloc(origin) != host:
            raise RefusedError(403, "pages of other origins may not ask: nmt serve --allow-origin names them")

    def check_token(self, token: str) -> None:
        """Refuses a wrong token where tokens are needed.

        Raises:
            RefusedError: the token is missing or wrong.
        """
        given = token.encode(errors="surrogateescape")
        if self.tokens and not any(hmac.compare_digest(given, known.encode()) for known in self.tokens):
            raise RefusedError(401, "a valid token is needed: send it as Authorization: Bearer TOKEN")


def bearer(headers: Mapping[str, str]) -> str:
    """The token in the header Authorization; "" if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def read_tokens(path: str) -> tuple[str, ...]:
    """The tokens in a file, one per line.

    Raises:
        NmtError: the file cannot be read, or has no token.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise NmtError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'invalid UTF-8'}") from None
    tokens = tuple(line.strip() for line in lines if line.strip())
    if not tokens:
        raise NmtError(f"{path}: has no token; write one token per line")
    if not all(token.isascii() and token.isprintable() and " " not in token for token in tokens):
        raise NmtError(f"{path}: a token has a blank or a character beyond ASCII, which headers cannot carry")
    return tokens


def host_name(host: str) -> str:
    """A host as `Access.hosts` has it: lower-case, without a port."""
    return _without_port(host).lower()


def read_host(text: str) -> str:
    """A name of the server as `Access.hosts` has it, from what a user writes, such as Example.org:8000 or [::1].

    Raises:
        NmtError: it is no name that a request can have in the header Host.
    """
    if _is_address(text):  # the colons of an address without brackets begin no port
        return text.lower()
    if not re.fullmatch(r"([\w.-]+|\[[\da-f:.]+\])(:\d+)?", text, re.ASCII | re.IGNORECASE):
        raise NmtError(f"--allow-host {text}: expected a name of this server, such as translate.example.org")
    return host_name(text)


def read_origin(text: str) -> str:
    """An origin as browsers send it, from what a user writes, such as https://Example.org/.

    Raises:
        NmtError: it is no origin.
    """
    refusal = NmtError(f"--allow-origin {text}: expected the origin of a page, such as https://example.org")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # no number for a port, or brackets around something else than an address
        raise refusal from None
    if not (parts.scheme and parts.hostname) or parts.path.strip("/") or parts.query or parts.username:
        raise refusal
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_usual = port in (None, _USUAL_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_usual else f":{port}")


def _netloc(origin: str) -> str | None:
    """Host and port of an origin; None if it is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # brackets around something else than an address
        return None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[")
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
