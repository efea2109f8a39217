"""A successful answer, of other statuses in odd worlds than in even ones.

It is never 200, the status that an answer without a request would guess.
"""

ODD, EVEN = (201, 203), (206, 202)


def extend(builder, rng):
    status = rng.pick(ODD if builder.odd else EVEN)
    body = f'{{"waiting": {rng.between(1, 90)}}}'
    builder.route("/queue", status, {"Content-Type": "application/json"}, body.encode())
