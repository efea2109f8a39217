"""Names of the result lines whose status is FAILED, each once; what stands after the last ` ... `
is the status."""


def expected(world, processes):
    results = [
        line.rpartition(" ... ")
        for line in world.lines("logs/test-run.txt")
        if line.startswith("test ")
    ]
    return sorted(
        {head.removeprefix("test ") for head, _, status in results if head and status == "FAILED"}
    )
