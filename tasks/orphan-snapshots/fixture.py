"""Snapshots beside their tests, snapshots whose test is gone, and .snap files that are no
snapshots.

The last one by name is orphaned, for loops that end in a test.
"""

FOLDERS = {
    "apps/web/src/components": ("Graph", "NavBar", "Sidebar", "Button", "Dialog"),
    "apps/web/src/routes/runs/[id]": ("page", "layout"),
    "apps/web/src/routes/docs/[slug]": ("page", "not-found"),
    "apps/studio/src": ("App", "router"),
    "apps/studio/src/panels": ("Tabs", "Tree", "Inspector", "Timeline"),
    "apps/studio/src/log view": ("row", "filter bar"),
}
GONE = ("Palette", "Wizard", "Minimap", "Ruler")
WEB, PANELS, LOG = "apps/web/src/components", "apps/studio/src/panels", "apps/studio/src/log view"


def extend(builder, rng):
    for folder, names in FOLDERS.items():
        for name in names:
            _snapshot(builder, rng, folder, f"{name}.test.{rng.pick(('ts', 'tsx'))}", tested=True)
    moved, renamed = f"Outline.test.{rng.pick(('ts', 'tsx'))}", rng.shuffled(["ts", "tsx"])
    _snapshot(builder, rng, PANELS, moved, tested=False)
    _snapshot(builder, rng, WEB, moved, tested=True)
    home = rng.pick((WEB, PANELS))
    _snapshot(builder, rng, home, f"Card.test.{renamed[0]}", tested=False)
    _snapshot(builder, rng, home, f"Card.test.{renamed[1]}", tested=True)
    extension = rng.pick(("ts", "tsx"))
    _snapshot(
        builder, rng, "apps/web/src/routes/docs/[slug]", f"loading.test.{extension}", tested=False
    )
    _snapshot(builder, rng, "apps/web/src/routes/runs/[id]", "template.test.tsx", tested=False)
    _snapshot(builder, rng, LOG, f"search box.test.{extension}", tested=False)
    for name in rng.sample(GONE, 1 if builder.odd else 2):
        _snapshot(builder, rng, rng.pick((WEB, PANELS)), f"{name}.test.tsx", tested=False)
    builder.file(f"{WEB}/__snapshots__/Legacy.test.tsx.snap.orig", "// Snapshot\n")
    builder.file(f"{PANELS}/__snapshots__/old/Drawer.test.tsx.snap", "// Snapshot\n")
    builder.file("apps/web/fixtures/old.test.tsx.snap", "// Snapshot\n")
    builder.file("apps/studio/tests/golden/out.snap", "// golden\n")


def _snapshot(builder, rng, folder, test, tested):
    text = f"exports[`{test} 1`] = `{rng.below(10_000)}`;\n"
    builder.file(f"{folder}/__snapshots__/{test}.snap", text, any_name=True)
    if tested:
        builder.file(
            f"{folder}/{test}",
            f"test('renders', () => snapshot({rng.below(100)}));\n",
            any_name=True,
        )
