"""No webhook reaches this machine, its network or its cloud's inside: every address is judged, then used as it is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Resolver = Callable[[str, int], tuple[str, ...]]
"""Every address of a host, as text. Raises OSError."""

Policy = Callable[[str], bool]
"""Whether a webhook may go to the address."""

# What the registries of special purposes keep from the public, RFC 6890 and its successors.
_NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),  # the last is a cloud's own, on a public number
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
_NOT_UNICAST = tuple(
    map(
        IPv6Network,
        # Protocols and Teredo, documentation, 6to4, documentation: none is a server's own address.
        ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)


class NotAllowed(Exception):
    """A host that no webhook may go to. Its text is one line."""


def is_public(address: str) -> bool:
    """Whether the address is one of the open internet's; never for what cannot be read."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    match found:
        case IPv4Address():
            return not any(found in network for network in _NOT_PUBLIC)
        case IPv6Address():
            # NAT64 (64:ff9b::/96, 64:ff9b:1::/48) is not among them: where it leads is for its network to say.
            return found in _UNICAST and not any(found in network for network in _NOT_UNICAST)


def resolve(host: str, port: int) -> tuple[str, ...]:
    """What the system's resolver answers. Raises OSError."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(place[0]) for *_, place in answers))


def guarded(host: str, port: int, *, resolver: Resolver = resolve, policy: Policy = is_public) -> tuple[str, ...]:
    """The host's addresses, asked for once; whoever connects uses these and asks for no others.

    Raises NotAllowed where there is none, or where one of them is not allowed; OSError.
    """
    addresses = resolver(host, port)
    if not addresses:
        raise NotAllowed(f"`{host}` has no address")
    if any(not policy(address) for address in addresses):
        # Which one is not told: the answer of a resolver inside a network is that network's own business.
        raise NotAllowed(f"`{host}` leads to an address that is not public")
    return addresses
