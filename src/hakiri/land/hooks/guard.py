"""Keep webhooks away from this machine and from internal networks: check each address before it is used."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Resolver = Callable[[str, int], tuple[str, ...]]
"""Returns all addresses of a host as text. Raises OSError."""

Policy = Callable[[str], bool]
"""Returns whether webhooks may be sent to the address."""

# The special-purpose registries of RFC 6890 and its successors.
_NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),  # the last one is Azure's internal service
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
_NOT_UNICAST = tuple(
    map(
        IPv6Network,
        # Protocols and Teredo, documentation, 6to4, documentation.
        ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)


class NotAllowed(Exception):
    """Webhooks may not be sent to this host. The text is one line."""


def is_public(address: str) -> bool:
    """Return whether the address is public; False if it cannot be parsed."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    match found:
        case IPv4Address():
            return not any(found in network for network in _NOT_PUBLIC)
        case IPv6Address():
            # NAT64 (64:ff9b::/96, 64:ff9b:1::/48) is not allowed: it may lead into the local network.
            return found in _UNICAST and not any(found in network for network in _NOT_UNICAST)


def resolve(host: str, port: int) -> tuple[str, ...]:
    """Return the answer of the system's resolver. Raises OSError."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(place[0]) for *_, place in answers))


def guarded(host: str, port: int, *, resolver: Resolver = resolve, policy: Policy = is_public) -> tuple[str, ...]:
    """Resolve the host once and return its addresses; connect to these without resolving again.

    Raises NotAllowed if there are none or one of them is not allowed; OSError.
    """
    addresses = resolver(host, port)
    if not addresses:
        raise NotAllowed(f"`{host}` has no address")
    if any(not policy(address) for address in addresses):
        # The address is left out: it may be an internal one.
        raise NotAllowed(f"`{host}` leads to an address that is not public")
    return addresses
