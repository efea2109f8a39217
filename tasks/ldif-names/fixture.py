"""People in LDIF with folded lines and values in base64; contractors are odd in number in odd
worlds, even in even ones."""

import base64

FIRST = (
    "Zoë",
    "Łukasz",
    "Søren",
    "José",
    "Anna",
    "Peter",
    "Chloé",
    "Jürgen",
    "Mary Ann",
    "Björn",
    "Inês",
    "Tom",
)
LAST = (
    "Krüger",
    "Nowak",
    "Ødegård",
    "Núñez",
    "Smith",
    "van Dijk",
    "Lefèvre",
    "Weiß",
    "O'Neill",
    "Åberg",
    "Čapek",
    "Hill",
)
OTHER = ("employee", "intern", "contractor-alumni", "subcontractor", "temporary")
WANTED = "contractor"
PEOPLE = 18


def extend(builder, rng):
    # How employeeType is written: plain, folded in the word, in base64, in base64 and folded, as
    # one of two.
    ways = ["plain", "folded", "base64", "base64 folded", "first of two", "last of two"]
    ways += [rng.pick(ways) for _ in range(rng.pick((1, 3) if builder.odd else (2, 4)))]
    names = rng.shuffled([f"{first} {last}" for first in FIRST for last in LAST])[:PEOPLE]
    blocks = [
        "version: 1",
        "# Everybody who may log in, and since a month\n employeeType: contractor too",
    ]
    people = []
    for number, name in enumerate(names):
        uid = f"{'abcdefgh'[rng.below(8)]}{'rstuvwxy'[rng.below(8)]}{rng.between(100, 999)}{number}"
        way = ways[number] if number < len(ways) else "not"
        lines = [
            _cn(rng, name, number),
            f"uid: {uid}",
            *_types(rng, way),
            f"mail: {uid}@vox.invalid",
        ]
        if way == "not" or rng.chance(30):
            past = rng.pick(("was once", "is no longer", "never was"))
            lines.append(f"description: {past} listed as\n employeeType: contractor")
        if rng.chance(25):
            lines.append("# checked by hand;\n employeeType: contractor is not what it says")
        dn = f"dn: uid={uid},ou=people,dc=vox,dc=invalid"
        classes = ["objectClass: person", "objectClass: inetOrgPerson"]
        people.append("\n".join([dn, *rng.shuffled([*lines, *classes])]))
    builder.file("data/people.ldif", "\n\n".join([*blocks, *rng.shuffled(people)]) + "\n")


def _cn(rng, name, number):
    if name.isascii() and number % 2:
        return _folded(rng, f"cn: {name}", rng.below(2))
    return _folded(rng, f"cn:: {_base64(name)}", number % 3)


def _types(rng, way):
    coded = f"employeeType:: {_base64(WANTED)}"
    plain, other = f"employeeType: {WANTED}", f"employeeType: {rng.pick(OTHER)}"
    cut = len("employeeType: con") + rng.below(6)
    return {
        "plain": [plain],
        "folded": [f"{plain[:cut]}\n {plain[cut:]}"],
        "base64": [coded],
        "base64 folded": [_folded(rng, coded, 1)],
        "first of two": [f"{plain}\n{other}"],
        "last of two": [f"{other}\n{plain}"],
        "not": [other if rng.chance(70) else f"employeeType:: {_base64(rng.pick(OTHER))}"],
    }[way]


def _base64(text):
    return base64.b64encode(text.encode()).decode()


def _folded(rng, line, times):
    """The line, folded so many times behind the attribute's name."""
    start = line.index(" ") + 2
    for cut in sorted(rng.sample(range(start, len(line)), times), reverse=True):
        line = f"{line[:cut]}\n {line[cut:]}"
    return line
