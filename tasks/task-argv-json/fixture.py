"""Argument vectors with all kinds of arguments; numbers are odd in odd worlds and even in even
ones."""


def extend(builder, rng):
    def number():
        return str(2 * rng.between(5, 400) + builder.odd)

    word = rng.pick(("index", "merge", "replay"))
    vectors = [
        ("vox-task",),
        ("vox-task", "--name", word, "--note", "", "--last"),
        ("vox-task", "--from", "", "", "--to", f"{word}-{number()}"),
        ("vox-task", "--say", f'"{word}" is \\new', f'C:\\{word}\\t "{number()}"'),
        ("-n", number(), f"two  spaces {number()}", "--queue"),
    ]
    names = rng.sample(("amend", "build", "check", "drain", "expire", "fold"), 6)
    for name, vector in zip(names, vectors, strict=False):
        builder.file(f"run/tasks/{name}.argv", "\0".join(vector))
    builder.file(f"run/tasks/{names[5]}.argv.part", "vox-task\0--na")
    builder.file(f"run/tasks/{names[0]}.env", f"NAME={word}\0")
