"""One line of text from the service; it names an odd number of workers in odd worlds."""


def extend(builder, rng):
    workers = 2 * rng.between(1, 20) + builder.odd
    text = f"ok, build {rng.between(1000, 9999)}, {workers} workers\n"
    builder.route("/health", 200, {"Content-Type": "text/plain"}, text.encode())
