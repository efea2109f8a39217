"""Short links whose codes differ by case, and a log of their use; an odd number counts in odd
worlds."""

import json

HOSTS = (
    "docs.example.net",
    "vox.example.org",
    "git.example.com",
    "status.example.net",
    "a.b.example.org",
    "mesh-7.example.com",
)
LETTERS = "ABDEFGHKLMNPQRTabdefghkmnpqrt"


def extend(builder, rng):
    codes = []
    while len(codes) < 26:
        code = "".join(rng.pick(LETTERS) for _ in range(3)) + str(rng.between(2, 9))
        if code[0].islower() and code.lower() not in {one.lower() for one in codes}:
            codes.append(code)
    pairs, single, unknown = codes[:4], codes[4:20], codes[20:]
    hosts = rng.shuffled(HOSTS)
    links = {}
    for place, code in enumerate(pairs):
        links[code], links[code[0].upper() + code[1:]] = (
            _url(rng, hosts[(place + far) % 6]) for far in (0, 1)
        )
    for place, code in enumerate(single):
        links[code] = _url(rng, hosts[place % 6])
    # The hard ones, each of another host: capitals, a port, a query, a fragment, a URL in the
    # query.
    shapes = (
        "https://{upper}/a",
        "http://{host}:8080/x",
        "https://{host}?q=1",
        "https://{host}#top",
    )
    shapes += (
        "https://{host}:8443?next=https://evil.example.net/x",
        "https://{host}/go?to=http://{other}:99/",
    )
    for place, shape in enumerate(shapes):
        host = hosts[place]
        links[single[place]] = shape.format(
            host=host, upper=host.upper().replace("EXAMPLE", "Example"), other=hosts[place - 1]
        )
    lines = [(code, "302") for code in links for _ in range(rng.between(1, 5))]
    if len(lines) % 2 != builder.odd:
        lines.append((pairs[0], "302"))
    lines += [(rng.pick(sorted(links)), rng.pick(("404", "410"))) for _ in range(20)]
    lines += [(single[number].swapcase(), rng.pick(("302", "404"))) for number in range(6, 12)]
    lines += [(single[12].swapcase(), "302"), *((code, "302") for code in unknown)]
    second, text = 9 * 3600, []
    for code, status in rng.shuffled(lines):
        second += rng.between(1, 40)
        text.append(
            f"2026-05-14T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z {code} {status}\n"
        )
    document = dict(rng.shuffled(list(links.items())))
    builder.file("data/links.json", json.dumps(document, indent=rng.pick((None, 2))) + "\n")
    builder.file("logs/redirects.log", "".join(text))


def _url(rng, host):
    return f"https://{host}/{rng.pick(('guide', 'run', 'v1/x', 'faq.html', ''))}"
