"""The same jobs without this project: rules of the same kind that only write a file."""

from itertools import product
from pathlib import Path

CELLS = [
    f"{model}/{shell}/{task}/{trial}"
    for model, shell, task, trial in product(
        *map(config["cells"].get, ("model", "shell", "task", "trial"))
    )
]
CELL = "{model}/{shell}/{task}/{trial}"


def write(output):
    Path(output[0]).write_text("{}")


wildcard_constraints:
    model="|".join(config["cells"]["model"]),
    shell="|".join(config["cells"]["shell"]),
    task="|".join(config["cells"]["task"]),
    trial=r"\d+",


rule gather:
    input:
        expand("trivial/scores/{cell}.json", cell=CELLS),
    output:
        "trivial/cells.csv",
    run:
        write(output)


rule image:
    output:
        "trivial/images/{shell}.json",
    run:
        write(output)


rule generate:
    output:
        f"trivial/generations/{CELL}.json",
    params:
        prompt=lambda wildcards: wildcards.task,
    run:
        write(output)


rule execute:
    input:
        image=rules.image.output,
        generation=rules.generate.output,
    output:
        f"trivial/executions/{CELL}.json",
    params:
        world=lambda wildcards: wildcards.task,
    run:
        write(output)


rule score:
    input:
        generation=rules.generate.output,
        execution=rules.execute.output,
    output:
        f"trivial/scores/{CELL}.json",
    params:
        check=lambda wildcards: wildcards.task,
    run:
        write(output)
