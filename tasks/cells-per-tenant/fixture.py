"""Cells of tenants whose names need argument borders and case: five tenants in odd worlds, four in
even ones."""

from fluency.world import HelperSpec

NAMES = ("Acme", "Globex", "Initech", "Umbra", "Vandelay", "Hooli", "Stark")
SECOND = ("Labs", "Works", "Foods", "Media", "Freight")
PLACES = ("first", "between", "last")


def extend(builder, rng):
    one, other, third, old = rng.sample(NAMES, 4)
    second, word = rng.sample(SECOND, 2)
    two_words = f"{one} {second}"
    tenants = [
        two_words,
        f"{two_words} --{rng.pick(('North', 'West', 'East'))}",
        two_words.lower() if rng.chance(50) else f"{one} {second.upper()}",
        f"{other} * {word}",
        *([f"{third} {word}"] if builder.odd else []),
    ]
    cells = [[tenant, rng.pick(PLACES)] for tenant in tenants for _ in range(rng.between(1, 3))]
    # Another option's value holds the words, once before and once after the option itself.
    for cell, place in zip(rng.sample(cells, 2), ("note first", "note last"), strict=True):
        cell[1] = place
    helpers = [
        _cell(rng, f"cell-{number}", *cell, old) for number, cell in enumerate(rng.shuffled(cells))
    ]
    gc = HelperSpec("cell-gc", "vox-cell-gc", ("--tenant", two_words))
    helpers.insert(rng.between(0, len(helpers)), gc)
    for helper in helpers:
        builder.process(helper)


def _cell(rng, key, tenant, place, old):
    option, note = ("--tenant", tenant), ("--note", f"was --tenant {old}")
    port, zone = ("--port", str(rng.between(7000, 7999))), ("--zone", rng.pick(("a", "b", "c")))
    parts = {
        "first": (option, port, zone),
        "between": (port, option, zone),
        "last": (zone, port, option),
        "note first": (note, option, port),
        "note last": (port, option, note),
    }[place]
    return HelperSpec(key, "vox-cell", sum(parts, ()))
