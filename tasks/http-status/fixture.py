"""A successful answer, of other statuses in odd worlds than in even ones."""

ODD, EVEN = (201, 203), (200, 202)


def extend(builder, rng):
    status = rng.pick(ODD if builder.odd else EVEN)
    body = f'{{"waiting": {rng.between(1, 90)}}}'
    builder.route("/queue", status, {"Content-Type": "application/json"}, body.encode())
