"""Nested networks and clients at their edges; an odd number of clients counts in odd worlds."""

from ipaddress import ip_address, ip_network

SITES = (
    "bergen",
    "cork",
    "depot-2",
    "ghent",
    "hq",
    "lab",
    "lyon",
    "porto",
    "spare",
    "turin",
    "vpn-eu",
    "yard",
)


def extend(builder, rng):
    ten, site = rng.between(1, 9) * 8, iter(rng.sample(SITES, 9))
    third, wide, high = rng.between(1, 7) * 32, rng.between(4, 12) * 16, rng.between(16, 31)
    networks = [
        ("10.0.0.0/8", next(site)),
        (f"10.{ten}.0.0/13", next(site)),
        (f"10.{ten + 3}.{third}.0/19", next(site)),
        (f"10.{ten + 3}.{third + 4}.64/27", next(site)),
        (f"10.{ten + 3}.{third + 4}.{64 + rng.between(1, 30)}/32", next(site)),
        (f"172.{high}.0.0/{rng.pick((17, 18))}", next(site)),
        # All clients of the first of these are in the other two.
        (f"192.168.{wide}.0/20", next(site)),
        (f"192.168.{wide}.0/22", next(site)),
    ]
    networks += [
        (f"192.168.{wide + 8}.0/21", networks[2][1]),
        (f"203.0.113.{rng.between(1, 14) * 16}/28", next(site)),
    ]
    networks.append((f"198.51.{rng.between(1, 120) * 2}.0/23", networks[5][1]))
    nets = [ip_network(network) for network, _ in networks]
    clients = []
    for number, net in enumerate(nets):
        inside = [
            net[0],
            net[-1],
            *(net[rng.below(net.num_addresses)] for _ in range(rng.between(1, 4))),
        ]
        outside = [net[0] - 1, net[-1] + 1]
        clients += inside if number != 6 else []
        clients += [
            one
            for one in outside
            if not (one in nets[6] and one not in nets[7] and one not in nets[8])
        ]
    clients += [
        ip_address(
            f"{rng.pick((9, 11, 100, 172, 192, 203))}.{rng.between(64, 127)}.1.{rng.between(1, 250)}"
        )
        for _ in range(6)
    ]
    counted = sum(any(one in net for net in nets) for one in clients)
    clients += [nets[0][5]] * (counted % 2 != builder.odd)
    lines = [
        f"{one} GET /{rng.pick(('', 'v1/embed', 'healthz'))} {rng.pick((200, 204, 404))}\n"
        for one in rng.shuffled(clients)
    ]
    # Not from narrow to wide: the widest stands before one that it contains.
    order = [networks[0], *rng.shuffled(networks[1:])]
    at = rng.between(1, 5)
    builder.file(
        "ops/networks.txt",
        "".join(f"{network} {name}\n" for network, name in [*order[1:at], order[0], *order[at:]]),
    )
    builder.file("logs/clients.log", "".join(lines))
