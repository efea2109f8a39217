"""Clients by the site of the most specific network that contains them."""

from collections import Counter
from ipaddress import ip_address, ip_network


def expected(world, processes):
    networks = [line.split() for line in world.lines("ops/networks.txt")]
    sites = {ip_network(network): site for network, site in networks}
    counts = Counter()
    for line in world.lines("logs/clients.log"):
        client = ip_address(line.split()[0])
        around = [network for network in sites if client in network]
        if around:
            counts[sites[max(around, key=lambda network: network.prefixlen)]] += 1
    return [f"{site} {count}" for site, count in counts.items()]
