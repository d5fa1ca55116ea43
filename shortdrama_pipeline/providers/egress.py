"""Where a result may be fetched from (D-17, P-7.10): scheme, host, port, then every resolved address.

The address that was checked is the address that is connected to, so a name that answers differently
a moment later changes nothing. Each redirect is checked like the first link.
"""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from shortdrama_pipeline.errors import EgressRefused
from shortdrama_pipeline.providers.ports import Binding

Resolve = Callable[[str, int], Sequence[str]]
_PORTS = {"http": 80, "https": 443}
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """An allowed place: connect to `address`, speak as to `host`."""

    url: SplitResult
    scheme: str
    host: str
    port: int
    address: str

    @property
    def host_header(self) -> str:
        """The Host header as every client writes it: a signed link is signed over exactly this."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"


def resolve_system(host: str, port: int) -> list[str]:
    """All addresses of a host, by the system's resolver."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def allow(url: str, binding: Binding, *, resolve: Resolve = resolve_system) -> Target:
    """Return where to connect, or raise EgressRefused with the rule that forbids it; nothing is contacted."""
    parts = _split(url, binding)
    host = (parts.hostname or "").rstrip(".").lower()
    base = urlsplit(binding.base_url)
    base_host = (base.hostname or "").rstrip(".").lower()
    try:
        port = parts.port or _PORTS.get(parts.scheme, 0)
        base_port = base.port or _PORTS.get(base.scheme, 0)
    except ValueError as error:
        raise _refused(binding, "the port is not a number", host=host) from error
    at_home = (host, port) == (base_host, base_port)
    if parts.scheme != "https" and not (at_home and parts.scheme == base.scheme == "http"):
        raise _refused(binding, f"scheme {parts.scheme or 'none'}", host=host)
    if not at_home and not _listed(host, port, parts.scheme, binding.egress, base_host):
        raise _refused(binding, "the host is not listed", host=host, port=port)
    addresses = list(resolve(host, port))
    if not addresses:
        raise _refused(binding, "the host has no address", host=host)
    if not (at_home and binding.allow_private):
        for each in addresses:
            if not is_public(each):
                raise _refused(binding, "it leads to a private or special address", host=host)
    return Target(parts, parts.scheme, host, port, addresses[0])


def is_public(address: str) -> bool:
    """Say whether an address, with every address it wraps, belongs to the public internet."""
    try:
        parsed = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast for each in _unwrapped(parsed))


def _unwrapped(address: Address) -> list[Address]:
    found: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner: list[ipaddress.IPv4Address | None] = [address.ipv4_mapped, address.sixtofour]
        if address.teredo:
            inner += list(address.teredo)
        if any(address in network for network in _NAT64) or int(address) >> 32 == 0:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.ipv4_mapped is not None:
            found = []  # it is that address and nothing else
        found += [each for each in inner if each is not None]
    return found


def _split(url: str, binding: Binding) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _refused(binding, "the link cannot be read") from error
    if not parts.hostname or any(ord(each) <= 32 or ord(each) == 127 for each in url):
        raise _refused(binding, "the link names no host")
    if parts.username is not None or parts.password is not None:
        raise _refused(binding, "the link carries a user name")
    return parts


def _listed(host: str, port: int, scheme: str, egress: Sequence[str], base_host: str) -> bool:
    if host == base_host and port == _PORTS.get(scheme):
        return True
    for entry in egress:
        name, _, wanted_port = entry.strip().lower().partition(":")
        if port != (int(wanted_port) if wanted_port.isdigit() else _PORTS.get(scheme)):
            continue
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    return False


def _refused(binding: Binding, why: str, **facts: str | int) -> EgressRefused:
    return EgressRefused(
        f"A result of {binding.id} may not be fetched: {why}",
        hint="If the vendor really delivers from there, add the host to the binding's `egress`",
        binding_id=binding.id,
        rule=why,
        **facts,
    )
