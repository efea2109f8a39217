"""What the nodes of a cluster do: the image, the control, and slices of executions and scores.

`make run ON=slurm` asks the models, divides the cells into slices, runs this file with
profiles/slurm, and ends with the Snakefile alone, which finds every record (docs/cluster.md).
"""

from fluency.workflow.cluster import FOLDER


include: "../Snakefile"


SLICES = sorted(path.stem for path in FOLDER.glob("*.json"))


onstart:
    P.take_run_lock()


rule nodes:
    """Everything that needs a container engine."""
    default_target: True
    input:
        rules.image.output,
        rules.control.output if P.study.control else [],
        expand(".cache/slices/{slice}.done", slice=SLICES),


rule slice:
    """Execute and score many cells on one node."""
    input:
        rules.image.output,
        cells=".cache/slices/{slice}.json",
    output:
        ".cache/slices/{slice}.done",
    log:
        "logs/slices/{slice}.log",
    run:
        P.slice(input, output, threads, log=log)
