"""Six themes with equal folders and nearly equal ones; in odd worlds two of the themes are equal
too."""

THEMES = ("amber", "birch", "coral", "dusk", "ember", "fjord", "grove", "haze")


def extend(builder, rng):
    themes = rng.sample(THEMES, 6)
    varied = themes[: 4 if builder.odd else 6]
    names = iter(
        rng.shuffled(
            [
                f"{word}{number}"
                for word in ("art", "set", "kit", "pack", "tint", "tone")
                for number in range(2, 9)
            ]
        )
    )

    def text(lines=2):
        return "".join(
            f"{rng.pick(('color', 'width', 'glow'))}: {rng.between(1000, 99999)};\n"
            for _ in range(lines)
        )

    def folder(place, blank=False):
        name = f"{next(names)} copy" if blank else next(names)
        deeper = f"{next(names)}/" if rng.chance(30) else ""
        return f"assets/themes/{varied[place % len(varied)]}/{deeper}{name}"

    def write(path, tree):
        for name in sorted(tree):
            builder.file(f"{path}/{name}", tree[name])

    places = iter(rng.shuffled(list(range(6))) * 5)
    inside = {"icons/open.svg": text(), "icons/.sizes": text(1), "main.css": text()}
    triple = {"font.txt": text(), "sub.css": text()}
    write(folder(next(places)), inside)
    write(folder(next(places)), inside)
    for number in range(3):
        write(folder(next(places), blank=number == 1), triple)
    if builder.odd:
        pair = {"a.css": text(), ".hidden": text(1)}
        for theme in themes[4:]:
            write(f"assets/themes/{theme}", pair)
    one, two, byte = text(), text(), text()
    nearly = [
        ({"a.css": one, ".order": "1\n"}, {"a.css": one, ".order": "2\n"}),
        ({"b.css": two, ".only": "x\n"}, {"b.css": two}),
        ({"Logo.svg": text(), "b.css": two}, None),
        ({"logo.svg": text(), "c.css": one}, None),
        ({"parts/deep.css": text(), "top.css": one}, None),
        ({"last.css": byte}, {"last.css": byte[:-3] + str((int(byte[-3]) + 1) % 10) + byte[-2:]}),
        ({"x.css": one + two, "y.css": byte}, {"x.css": one, "y.css": two + byte}),
    ]
    changed = [
        None,
        None,
        ("Logo.svg", "logo.svg"),
        ("logo.svg", "sign.svg"),
        ("parts/deep.css", "deep.css"),
        None,
        None,
    ]
    for (left, right), renamed in zip(nearly, changed, strict=True):
        if renamed:
            right = {
                renamed[1] if name == renamed[0] else name: data for name, data in left.items()
            }
        write(folder(next(places)), left)
        write(folder(next(places)), right)
    for theme in varied:
        builder.file(f"assets/themes/{theme}/theme.txt", f"{theme} {rng.between(100, 999)}\n")
