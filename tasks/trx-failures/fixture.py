"""Results of 24 tests of six classes; an odd number of results failed in odd worlds, an even one in
even ones."""

CLASSES = (
    "Vox.Db.Store",
    "Vox.Mesh.Route",
    "Vox.Cli.Parse",
    "Vox.Queue.Drain",
    "Vox.Plugin.Host",
    "Vox.Git.Walk",
)
WORDS = ("Accepts", "Closes", "Drops", "Keeps", "Merges", "Opens", "Rejects", "Sorts")


def extend(builder, rng):
    classes = [f"{name}{rng.pick(('Tests', 'Specs', 'Checks'))}" for name in rng.shuffled(CLASSES)]
    tests = []
    for place in range(24):
        data = rng.split(f"test-{place}").bytes(16).hex()
        guid = "-".join((data[:8], data[8:12], data[12:16], data[16:20], data[20:]))
        tests.append((guid, classes[place % 6], f"{rng.pick(WORDS)}{place}"))
    # The last class has no failed result; a test of the first one failed twice, one failed and
    # passed.
    results = [
        (tests[0], "Failed"),
        (tests[0], "Failed"),
        (tests[6], "Failed"),
        (tests[6], "Passed"),
        (tests[5], "NotExecuted"),
    ]
    results += [(tests[place], "Failed") for place in (1, 2, 3, 4)]
    rest = [test for test in tests if test not in [one for one, _ in results]]
    results += [
        (test, "Passed" if test[1] == classes[5] else rng.pick(("Failed", "Passed", "NotExecuted")))
        for test in rest
    ]
    if sum(outcome == "Failed" for _, outcome in results) % 2 != builder.odd:
        results.append((tests[1], "Failed"))
    results = rng.shuffled(results)
    lines = [_result(rng, test, outcome) for test, outcome in results]

    def copied(outcome="Failed"):
        """A result in one line, of a class of its own choice."""
        return f'<UnitTestResult testId="{rng.pick(tests)[0]}" outcome="{outcome}" />'

    output = f"<Output><StdOut><![CDATA[was\n{copied()}\n{copied()}\n]]></StdOut></Output>"
    lines[3] = lines[3].replace(" />", f">\n      {output}\n    </UnitTestResult>")
    lines.insert(rng.between(5, 20), f"<!-- {copied()} -->")
    definitions = [_definition(rng, test) for test in rng.shuffled(tests)]
    entries = [
        _tag(rng, "TestEntry", [("testId", guid), ("testListId", tests[0][0])])
        for guid, _, _ in tests
    ]
    text = '<?xml version="1.0" encoding="utf-8"?>\n<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">\n'
    for name, inside in (
        ("Results", lines),
        ("TestDefinitions", definitions),
        ("TestEntries", entries),
    ):
        text += f"  <{name}>\n" + "".join(f"    {line}\n" for line in inside) + f"  </{name}>\n"
    counters = f'<Counters total="{len(results)}" />'
    builder.file(
        "reports/tests.trx",
        text + f'  <ResultSummary outcome="Failed">{counters}</ResultSummary>\n</TestRun>\n',
    )


def _result(rng, test, outcome):
    guid, _, name = test
    own = [
        ("testId", guid),
        ("testName", name),
        ("outcome", outcome),
        ("duration", f"00:00:0{rng.below(10)}.1"),
    ]
    return _tag(rng, "UnitTestResult", own)


def _definition(rng, test):
    guid, name, method = test
    head = _tag(
        rng, "UnitTest", [("id", guid), ("name", method), ("storage", "vox.tests.dll")]
    ).replace(" />", ">")
    inside = _tag(
        rng, "TestMethod", [("className", name), ("name", method), ("codeBase", "vox.tests.dll")]
    )
    return f'{head}\n      <Execution id="{rng.between(1000, 9999)}" />\n      {inside}\n    </UnitTest>'


def _tag(rng, name, attributes):
    between = rng.pick((" ", " ", "\n        "))
    return (
        f"<{name} "
        + between.join(f'{key}="{value}"' for key, value in rng.shuffled(attributes))
        + " />"
    )
