"""What the nodes of a cluster do: the image, the control, and slices of executions and scores.

`make run ON=slurm` asks the models, divides the cells into slices, runs this file with
profiles/slurm, and ends with the Snakefile alone, which finds every record (docs/cluster.md).
"""

import shlex

from fluency.workflow.cluster import FOLDER
from fluency.workflow.snakemake_process import snakemake_command


include: "../Snakefile"


SLICES = sorted(path.stem for path in FOLDER.glob("*.txt"))


onstart:
    P.take_run_lock()


rule nodes:
    """Everything that needs a container engine."""
    default_target: True
    input:
        P.loaded.images(),
        rules.control.output if P.study.control else [],
        expand(".cache/slices/{slice}.done", slice=SLICES),


rule slice:
    """Execute and score many cells on one node, which may ask no model.

    One process works on a slice at a time: a node that Slurm took for dead may still do it.
    """
    input:
        P.loaded.images(),
        cells=".cache/slices/{slice}.txt",
    output:
        touch(".cache/slices/{slice}.done"),
    log:
        f"{LOGS}/slices/{{slice}}.log",
    params:
        snakemake=shlex.join(snakemake_command(P.loaded, "--no-hooks")),
    run:
        P.check_node(wildcards, input, output, log)
        shell(
            "flock {FOLDER}/{wildcards.slice}.txt.lock {params.snakemake} --cores {threads}"
            " --allowed-rules execute score -- $(cat {input.cells})"
        )
