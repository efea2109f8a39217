"""A saved check: an odd number of errors with spans in odd worlds, an even one in even worlds."""

import json

FILES = ("crates/vox-mesh/src/peer.rs", "crates/vox-db/src/lib.rs", "crates/vox-cli/src/main.rs")


def extend(builder, rng):
    numbers = iter(rng.sample(range(10, 900), 60))

    def span(primary):
        line = next(numbers)
        return {
            "file_name": rng.pick(FILES),
            "line_start": line,
            "line_end": line + (rng.between(0, 3) if primary else 0),
            "is_primary": primary,
        }

    def message(level, text, spans, children=()):
        body = {"level": level, "message": text, "spans": spans, "children": list(children)}
        body["rendered"] = f"{level}: {text}"
        return {"reason": "compiler-message", "package_id": "vox", "message": body}

    note = {"level": "note", "message": "required here", "children": []}
    errors = [
        message("error", "mismatched types", [span(False), span(True)]),
        message("error", "cannot move out", [span(True)], [note | {"spans": [span(True)]}]),
    ]
    for _ in range(rng.pick((1, 3)) if builder.odd else rng.pick((2, 4))):
        text = rng.pick(("unresolved import", "unknown field", "no such method"))
        errors.append(message("error", text, [span(True)] + [span(False)] * rng.below(2)))
    errors[1]["message"]["spans"][0]["line_end"] += 2
    warned = [message("warning", "unused variable", [span(True)]) for _ in range(4)]
    said = {"level": "error", "message": "quoted", "children": [], "spans": [span(True)]}
    warned.append(message("warning", "lint raised", [span(True)], [said]))
    artifacts = [
        {"reason": "compiler-artifact", "package_id": "vox", "fresh": rng.chance(50)}
        for _ in range(6)
    ]
    lines = rng.shuffled([*errors, *warned, *artifacts])
    lines.append(message("error", "aborting due to previous errors", []))
    lines.append({"reason": "build-finished", "success": False})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    builder.file("logs/check.jsonl", text)
