"""Imported files and folders with names that Windows does not allow, and names that only look
so."""

ALWAYS = (
    "fixtures/AUX/readme.md",
    "fixtures/aux.tar.gz",
    "crawl/host:8080/index.html",
    "crawl/host:8080/about us.html",
    "crawl/.seen:1",
    "crawl/Con.",
    "keep/Prn.rs",
    "keep/nul.d/x.bin",
    "trailing.",
)
DRAWN = (
    "crawl/plain/a|b.txt",
    "crawl/plain/glob*.txt",
    "crawl/plain/x<y>.svg",
    "crawl/plain/what?.md",
    "crawl/plain/etc.../hosts",
    "keep/mesh/pRn",
    "keep/mesh/nUl.json",
    "keep/mesh/NUL",
    "keep/con.vox",
)
ALLOWED = (
    "fixtures/console.log",
    "fixtures/null.json",
    "fixtures/auxiliary.md",
    "fixtures/con-fig.toml",
    "keep/my.aux",
    "keep/.nul",
    "keep/list[1].json",
    "keep/it's.txt",
    "keep/a.b.c",
    "keep/recon/prnt",
    "keep/recon/prn_2.txt",
    "crawl/plain/index.html",
)


def extend(builder, rng):
    drawn = rng.sample(DRAWN, rng.pick((4, 6) if builder.odd else (5, 7)))
    quoted = f'crawl/plain/"quoted" {rng.between(10, 99)}.html'
    for name in (*ALWAYS, *drawn, quoted, *ALLOWED):
        builder.file(f"data/import/{name}", f"{rng.below(100_000)}\n", any_name=True)
