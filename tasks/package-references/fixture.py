"""Four projects; seven or nine distinct pairs in odd worlds, eight in even ones."""

NAMES = (
    "Serilog",
    "Serilog.Sinks.File",
    "Dapper",
    "Polly",
    "NodaTime",
    "Npgsql",
    "Humanizer",
    "CsvHelper",
    "MailKit",
    "FluentResults",
)
PROJECTS = ("src/Shop/Shop.csproj", "src/Shop/Jobs/Jobs.csproj", "src/Mail/Mail.csproj")


def extend(builder, rng):
    names = rng.shuffled(NAMES)
    version = {name: f"{rng.between(1, 9)}.{rng.below(20)}.{rng.below(9)}" for name in names}
    asked, others = names[: rng.pick((7, 9)) if builder.odd else 8], names[9:]

    def element(name):
        pair = [f'Include="{name}"', f'Version="{version[name]}"']
        if rng.chance(30):
            pair = [one.replace('"', "'") for one in reversed(pair)]
        return rng.pick(
            ("    <PackageReference {} {} />", "    <PackageReference\n      {}\n      {} />")
        ).format(*pair)

    parts = {path: [] for path in PROJECTS}
    for number, name in enumerate(asked):
        parts[PROJECTS[number % 3]].append(element(name))
    parts[PROJECTS[0]].append(element(asked[1]))  # a pair that repeats
    parts[PROJECTS[1]].append(
        f'    <!-- <PackageReference Include="Gone" Version="{rng.below(9)}.0.0" /> -->'
    )
    parts[PROJECTS[2]] += [
        '    <PackageReference Include="Central.Pinned" />',
        f'    <PackageVersion Include="Central.Pinned" Version="{rng.between(1, 9)}.1.0" />',
        f'    <PackageReference Include="By.Element"><Version>{rng.below(9)}.2.0</Version></PackageReference>',
    ]
    for path, lines in parts.items():
        body = "\n".join(rng.shuffled(lines))
        text = f'<Project Sdk="Microsoft.NET.Sdk">\n  <ItemGroup>\n{body}\n  </ItemGroup>\n</Project>\n'
        builder.file(path, text)
    old = (
        f'<Project><PackageReference Include="Old.Name" Version="{rng.below(9)}.0.1" /></Project>\n'
    )
    builder.file("src/Mail/Mail.csproj.bak", old)
    builder.file("src/README.md", " ".join(others) + "\n")
