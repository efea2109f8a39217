"""Uploads with names of all kinds; an odd number of files in odd worlds.

Groups of names that become one name, the oldest first, which is not their order by name.
"""

WORDS = ["Atlas", "Budget", "Census", "Digest", "Estate", "Forum", "Grants", "Harbor"]
GROUPS = (
    # The oldest one gets the name that the next one has.
    ("{a} Plan.txt", "{a_}-plan.txt", "{a}_plan.TXT"),
    ("[{b}]_v1.{year}.pdf", "{b}-v1.{year}.PDF", "{b} v1 . {year}.pdf", "({b}) v1.{year}.pdf"),
    ("{c}'s list.csv", "{c} s*list.csv"),
    ("-{d} final!.md",),
    ("{e} [new] & {year}.Md",),
    ("{f}--{year}.txt", "{f} [{year}].txt"),
    ('{g} "{year}" (2).csv',),
    ("{h_}.txt",),
    ("{d}.{e}.tar.GZ",),
)


def extend(builder, rng):
    words = dict(zip("abcdefgh", rng.shuffled(WORDS), strict=True))
    words |= {f"{key}_": word.lower() for key, word in words.items()}
    words["year"] = rng.pick((1997, 2009, 2019))
    groups = [[name.format(**words) for name in names] for names in GROUPS]
    extra = ["{g}#{year}.md", "{h} @home.csv", "{c}~{d}.txt"]
    groups += [[name.format(**words)] for name in rng.sample(extra, 3 if builder.odd else 2)]

    total = sum(map(len, groups))
    builder.require(total % 2 == builder.odd, "the number of files has the seed's parity")
    sizes = rng.sample(range(20, 400), total)
    ages = [9 + 2 * number + rng.below(1000) / 1000 for number in range(total)]
    order = rng.shuffled([group for group, names in enumerate(groups) for _ in names])
    left = [iter(names) for names in groups]
    for group, size, age in zip(order, sizes, reversed(ages), strict=True):
        path = f"docs/incoming/{next(left[group])}"
        builder.file(path, "x" * (size - 1) + "\n", age_days=age, any_name=True)
    for name in ("{a} Plan.txt", "{b}.pdf"):
        text = "x" * rng.between(400, 500)
        builder.file(f"docs/incoming/Old Files/{name.format(**words)}", text)
