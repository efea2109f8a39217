"""Orders as CSV with CRLF; all quantities together are odd in odd worlds and even in even ones."""

REGIONS = (
    ("North, inner", "South, outer", "Lakes, all", "Hills, rest"),
    ('The "Old" Town', 'Port "New"', '"East" Side', 'Bay "B" and "C"'),
    ("Coast", "Valley", "West End", "Midlands"),
)
CUSTOMERS = (
    "Abel, Ada",
    'Bo "Bolt" Lund',
    "Cleo Costa",
    "Diaz",
    'Fox, "F."',
    "Ito & Sons",
    "Jansen, Inc.",
)
COLUMNS = ("order", "customer", "coupon", "region", "quantity")


def extend(builder, rng):
    # In odd worlds the line ends at what is asked for; the coupon, which may be empty, stands
    # before some of it.
    while True:
        columns = rng.shuffled(COLUMNS)
        asked = max(columns.index("region"), columns.index("quantity"))
        if columns.index("coupon") < asked and (asked == 4 or not builder.odd):
            break
    regions = [rng.pick(kind) for kind in REGIONS] + [rng.pick(REGIONS[0] + REGIONS[1])]
    regions = list(dict.fromkeys([*regions, rng.pick(REGIONS[2])]))
    rows = []
    for number in range(rng.between(16, 22)):
        coupon = "" if number % 3 == 0 else rng.pick(("SPRING", "VOX10", "no, thanks"))
        region = regions[number % len(regions)]
        quantity = rng.between(1, 400)
        values = {
            "order": str(1000 + 7 * number),
            "customer": rng.pick(CUSTOMERS),
            "coupon": coupon,
        }
        rows.append(values | {"region": region, "quantity": quantity})
    rows[0]["quantity"] += sum(row["quantity"] for row in rows) % 2 != builder.odd
    lines = [",".join(columns)]
    for place, row in enumerate(rng.shuffled(rows)):
        lines.append(
            ",".join(_field(str(row[name]), name == "region" and place % 2) for name in columns)
        )
    body = "".join(f"{line}\r\n" for line in lines).encode()
    builder.route("/export/orders.csv", 200, {"Content-Type": "text/csv; charset=utf-8"}, body)


def _field(text, quoted):
    return '"' + text.replace('"', '""') + '"' if quoted or "," in text or '"' in text else text
