"""A crate whose files have an identifier, and names that contain it."""


def extend(builder, rng):
    def body():
        number = rng.between(1000, 9999)
        lines = [
            f"/// Calls load_entry, then load_entry again, {number} times.",
            f"pub fn load_entry(at: u64) -> Entry {{ cache(at, LOAD_ENTRY_{number}) }}",
            "let entry = load_entry(load_entry(0).next);",
            "let entries = load_entry_all(at); preload_entry(at); load_entry2(at);",
            'assert_eq!(LOAD_ENTRY, Load_Entry, "load_entry failed");',
            f"const DEPTH: u64 = {number};",
        ]
        return "\n".join(rng.shuffled(lines)) + "\n"

    names = ("src/lib.rs", "src/store.rs", "src/disk/mod.rs", "tests/reads.rs")
    for name in (*names, "src/store.rs.bk", "README.md", "src/disk/notes.md"):
        builder.file(f"crates/vox-ledger/{name}", body())
