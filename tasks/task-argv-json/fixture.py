"""Tasks whose arguments are empty, look like JSON or have blanks; numbers are odd in odd worlds and even in even ones."""

from fluency.world import HelperSpec


def extend(builder, rng):
    def number():
        return str(2 * rng.between(5, 400) + builder.odd)

    word = rng.pick(("index", "merge", "replay"))
    vectors = [
        (),
        ("--name", word, "--note", ""),
        ("--from", "", "", "--to", f"{word}-{number()}"),
        ("--say", f'"{word}" is \\new', f'C:\\{word}\\t "{number()}"'),
        ("-n", number(), f"two  blanks {number()}", "--queue"),
    ]
    helpers = [HelperSpec(f"task-{place}", "vox-task", args) for place, args in enumerate(vectors)]
    helpers.append(HelperSpec("task-gc", "vox-task-gc", ("--name", word)))
    for helper in rng.shuffled(helpers):
        builder.process(helper)
