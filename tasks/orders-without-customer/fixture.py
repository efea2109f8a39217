"""Two exports with quoted fields of several lines; odd worlds have five or seven strayed orders,
even worlds six."""

FIRST = ("Ada", "Bo", "Cleo", "Dmitri", "Edna", "Femi", "Gus", "Hana", "Ines", "Jun")
LAST = ("Abel", "Brandt", "Costa", "Diaz", "Eriksen", "Fox", "Grant", "Hale", "Ito", "Jansen")
STREETS = ("Canal St", "Hill Rd", "Mill Lane", "North Quay", "Station Sq")
TOWNS = ("Bergen", "Cork", "Ghent", "Lyon", "Porto", "Turin")
TAGS = ("gift", "repeat", "web", "phone", "fragile")
CUSTOMERS = 22
ORDERS = 50


def extend(builder, rng):
    ids = [
        rng.pick("abcdefgh") + rng.pick("KLMNPQRS") + str(number)
        for number in rng.sample(range(100, 999), 40)
    ]
    known, gone, text_only = ids[:CUSTOMERS], ids[22:25], ids[25:28]
    other_case = [name.swapcase() for name in rng.sample(known, 3)]
    parts = [name[:4] for name in known[:2]]
    strayed = [other_case[0], parts[0], text_only[0], gone[0], other_case[1]]
    strayed += rng.sample(
        [other_case[2], parts[1], text_only[1], gone[1]], rng.pick((0, 2)) if builder.odd else 1
    )
    addresses = [_address(rng) for _ in known]
    for place, name in enumerate((other_case[0], text_only[0], text_only[1])):
        addresses[place] = f"c/o {rng.pick(LAST)}\nNew Office,{name},{rng.pick(TOWNS)}"
    customers = [
        (_name(rng), name, address) for name, address in zip(known, addresses, strict=True)
    ]
    numbers = [str(number) for number in rng.sample(range(1000, 9999), ORDERS + 4)]
    pasted = iter(numbers[ORDERS:])
    notes = [
        f"copied from mail:\n{next(pasted)},none,{text_only[0]},{rng.between(10, 99)},web",
        f"was\n{next(pasted)},late,{gone[2]},{rng.between(10, 99)},gift\nbefore",
        f"new address:\n{rng.pick(FIRST)},{text_only[0]},{rng.pick(TOWNS)}",
        f'see\n{rng.pick(FIRST)},{parts[0]},"1 {rng.pick(STREETS)}"',
        '"Rush" delivery',
        'wrapped, says "thanks"',
        "call first, then ring",
    ]
    notes += [
        rng.pick(("", "left at door", "paid", "two boxes, one small"))
        for _ in range(ORDERS - len(notes))
    ]
    # The last order is strayed, for loops that end in a test.
    *others, last = rng.shuffled(strayed)
    others += [rng.pick(known) for _ in range(ORDERS - len(strayed))]
    buyers = [*rng.shuffled(others), last]
    orders = [
        (
            number,
            note,
            buyer,
            str(rng.between(20, 9000)),
            ", ".join(rng.sample(TAGS, rng.between(1, 3))),
        )
        for number, note, buyer in zip(numbers, rng.shuffled(notes), buyers, strict=False)
    ]
    _write(builder, rng, "customers", ("name", "id", "address"), rng.shuffled(customers))
    _write(builder, rng, "orders", ("order", "note", "customer", "total", "tags"), orders)


def _name(rng):
    return (
        f"{rng.pick(LAST)}, {rng.pick(FIRST)}"
        if rng.chance(50)
        else f"{rng.pick(FIRST)} {rng.pick(LAST)}"
    )


def _address(rng):
    lines = [
        f"{rng.between(1, 90)} {rng.pick(STREETS)}",
        f"{rng.pick(TOWNS)}, {rng.between(1000, 9999)}",
    ]
    return "\n".join(lines[: rng.between(1, 2)] + rng.pick((["Europe"], [])))


def _write(builder, rng, name, header, rows):
    def field(text):
        needed = any(mark in text for mark in '",\n')
        return '"' + text.replace('"', '""') + '"' if needed or rng.chance(35) else text

    lines = [",".join(map(field, row)) for row in rows]
    builder.file(f"data/{name}.csv", "\n".join([",".join(header), *lines]) + "\n")
