"""A list of links; the number of those that lead nowhere has the seed's parity. The last one of the
list is among them."""

WORDS = ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath"]


def extend(builder, rng):
    site, tool, page, data = rng.sample(WORDS, 4)
    new, old, none = (f"releases/{low + rng.below(20)}" for low in (40, 20, 60))
    for release in (new, old):
        builder.file(f"www/{release}/bin/{tool}", f"{tool} {rng.below(1000)}\n")
        builder.file(f"www/{release}/etc/{site}.conf", f"id = {rng.below(1000)}\n")
    for path in (f"www/share/{page} 1.txt", f"www/share/.{page}", f"www/{data}/{data}.csv"):
        builder.file(path, f"{rng.below(1000)}\n")
    builder.file(f"{data}.csv", f"{rng.below(1000)}\n")
    # These lead through a link further down.
    first = [(f"www/{data}/a", "b"), (f"www/{data}/x", "y")]
    good = [
        ("www/current", new),
        ("www/previous", old),
        ("www/etc", "current/etc"),
        ("www/all", "/work/www/share"),
        (f"www/bin/{tool}", f"../current/bin/{tool}"),
        (f"www/bin/{tool}-old", f"/work/www/previous/bin/{tool}"),
        (f"www/share/{page} 2.txt", f"{page} 1.txt"),
        (f"www/share/{page} hidden", f".{page}"),
        (f"www/.cache/{data}", f"../{data}/{data}.csv"),
        (f"www/{data}/b", "c"),
        (f"www/{data}/c", f"{data}.csv"),
        ("www/root.csv", f"../{data}.csv"),
    ]
    bad = [
        ("www/next", none),
        (f"www/bin/{tool}-next", f"../next/bin/{tool}"),
        # There if one looks from the current directory.
        (f"www/share/{page} 3.txt", f"{data}.csv"),
        (f"www/share/{page} 4.txt", f"www/share/{page} 1.txt"),
        (f"www/bin/{site}", f"current/bin/{tool}"),
        (f"www/{data}/y", "z"),
        (f"www/{data}/z", f"../{data}/{data}.tsv"),
        (f"www/.cache/{site}", f"/work/www/current/etc/{site}.ini"),
    ]
    bad += [(f"www/share/{site}", f"../{data}/{site}.csv")] * (not builder.odd)
    *others, last = rng.shuffled(bad)
    rows = [*first, *rng.shuffled([*good, *others]), last]
    builder.file("ops/links.tsv", "".join(f"{link}\t{target}\n" for link, target in rows))
