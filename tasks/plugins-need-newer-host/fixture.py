"""An index of plugins and their manifests; odd worlds hold four plugins that need a newer host,
even worlds three.

The last plugin of the index is one of them, so that a loop that ends in a test ends with status 0.
"""

import json

KINDS = (
    "container",
    "crypto",
    "forge",
    "mesh",
    "oratio",
    "publisher",
    "repository",
    "scheduler",
    "telemetry",
    "workflow",
)
JSON = {"Content-Type": "application/json"}


def extend(builder, rng):
    minor, patch = rng.between(10, 12), rng.between(3, 9)
    lower = [
        f"1.9.{rng.between(0, 20)}",
        f"1.{minor}.{rng.below(patch)}",
        f"0.{rng.between(20, 40)}.{rng.below(9)}",
    ]
    higher = [
        f"1.{minor}.{rng.between(10, 29)}",
        f"1.{minor + 1}.{rng.below(4)}",
        f"2.0.{rng.below(3)}",
    ]
    higher += [f"1.{minor + rng.between(2, 9)}.{rng.below(9)}"] * builder.odd
    required = [*lower, f"1.{minor}.{patch}", *higher, None]
    plugins = []
    for kind, version in zip(rng.sample(KINDS, len(required)), required, strict=True):
        path = f"/registry/{rng.split(kind).bytes(2).hex()}/{kind}.json"
        manifest = {
            "title": f"The {kind} plugin",
            "abi": f"{rng.between(1, 3)}.{rng.below(30)}.{rng.below(30)}",
        }
        if version:
            # abi is higher where api is not, and the reverse: whoever reads the wrong key gets the
            # wrong plugins.
            manifest["requires"] = {
                "abi": "0.1.0" if version in higher else f"3.{rng.below(9)}.0",
                "api": version,
            }
        builder.route(path, 200, JSON, json.dumps(manifest).encode())
        plugins.append({"name": f"vox-plugin-{kind}", "manifest": path})
    last = plugins.pop(rng.between(4, 6))
    index = {"plugins": [*rng.shuffled(plugins), last]}
    builder.route("/registry/index.json", 200, JSON, json.dumps(index).encode())
    host = {"name": "vox-host", "abi": f"1.{rng.below(9)}.0", "api_version": f"1.{minor}.{patch}"}
    builder.file("ops/host.json", json.dumps(host) + "\n")
