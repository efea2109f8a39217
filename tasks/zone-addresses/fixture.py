"""A master file with every way to write a record; an odd number of aliases leads to an address in
odd worlds."""

HOSTS = (
    "atlas",
    "borea",
    "ceres",
    "dione",
    "eris",
    "flora",
    "gaia",
    "hebe",
    "iris",
    "juno",
    "kari",
    "luna",
)
ALIASES = (
    "api", "auth", "blog", "cdn", "docs", "ftp", "git", "help", "img", "jobs", "kb", "lab", "mail", "news", "ops",
    "pay", "shop", "wiki",
)  # fmt: skip


def extend(builder, rng):
    hosts, names = iter(rng.shuffled(HOSTS)), iter(rng.shuffled(ALIASES))
    lines = []

    def record(owner, kind, data, comment=""):
        before = rng.pick(("", "IN", "300 IN", "IN 300", f"{rng.between(60, 900)}"))
        gap = rng.pick((" ", "\t", "    "))
        return (
            f"{owner}{gap}"
            + " ".join(filter(None, (before, kind, data)))
            + (f" ; {comment}" if comment else "")
        )

    def address():
        return f"192.0.2.{rng.between(1, 254)}"

    def full(name):
        return f"{name}.example.net."

    plain, absolute, dotted, silent = (next(hosts) for _ in range(4))
    region = rng.pick(("eu", "us"))
    lines.append(
        [
            record(plain, "A", address(), f"was {address()}"),
            record("", "AAAA", f"2001:db8::{rng.below(99)}"),
        ]
    )
    lines.append([record(full(absolute), "A", address())])
    lines.append([record(f"{dotted}.{region}", "A", address())])
    # Owner left out before the A record, after records that read like others.
    lines.append(
        [
            record(silent, "TXT", f'"old IN CNAME {plain}"'),
            record("", "MX", f"10 {plain}"),
            record("", "A", address()),
        ]
    )
    lines.append(
        [record("@", "TXT", f'"moved from {absolute} A 192.0.2.9"'), record("", "A", address())]
    )
    lines.append([record("note", "TXT", f'"www CNAME {plain}"')])
    chain = [next(names) for _ in range(4)]
    targets = [chain[1], full(chain[2]), f"{chain[3]}.{region}", silent]
    owners = [*chain[:3], f"{chain[3]}.{region}"]
    aliases = list(zip(owners, targets, strict=True))
    aliases += [
        (next(names), plain),
        (full(next(names)), full(absolute)),
        (next(names), f"{dotted}.{region}"),
    ]
    aliases += [(next(names), "@"), (f"{next(names)}.{region}", silent)]
    # To an address: nine, and one or two more; then to none.
    aliases += [
        (next(names), rng.pick((plain, silent)))
        for _ in range(rng.pick((0, 2)) if builder.odd else 1)
    ]
    outside, missing, undotted = (next(names) for _ in range(3))
    aliases += [
        (outside, f"{plain}.example.org."),
        (missing, f"gone-{rng.between(1, 99)}"),
        (undotted, f"{plain}.example.net"),
    ]
    aliases += [(next(names), rng.pick((outside, missing)))]
    lines += [
        [record(owner, "CNAME", target, rng.pick(("", "", "moved in May")))]
        for owner, target in aliases
    ]
    lines += [[f"; {next(hosts)} IN CNAME {plain}"], [""]]
    serial = f"20260514{rng.between(1, 99):02d}"
    head = [
        "$ORIGIN example.net.",
        "$TTL 3600",
        "@ IN SOA ns1.example.net. hostmaster.example.net. (",
    ]
    head += [
        f"        {serial} ; serial",
        "        7200 900",
        "        1209600 ; expire",
        "        300 )",
    ]
    head += ["  IN NS ns1.example.net.", f"ns1 IN A {address()}"]
    body = [line for group in rng.shuffled(lines) for line in group]
    builder.file("ops/zone.db", "\n".join([*head, *body]) + "\n")
