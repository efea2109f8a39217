"""The pipeline on one page: generate, execute, score, gather, report.

Each rule has one action (workflow/pipeline.py), and as params (workflow/rerun_keys.py) the hashes
of all that changes the rule's result, its code included (core/code_hashes.py).
`make archive` packs what these rules have made.
Sources are not input files, because Snakemake compares times: a source restored from a copy may be
older than what was made of it.
"""

import re

from fluency.workflow.pipeline import open_pipeline
from fluency.workflow.snakemake_internals import model_resources, of_cell


configfile: "config.yaml"


P = open_pipeline(config, workflow)
CELL = "{model}/{shell}/{task}/{trial}"
STUDY = f"results/{P.study.study}"
LOGS = f"logs/{P.study.study}"


def shown(result, holds):
    """How Snakemake's own report lists a file."""
    labels = {"result": result, "what it holds": holds}
    return {"category": P.study.study, "labels": labels}


def page_labels(wildcards):
    """Of a page in `pages/`: Snakemake's report keeps a folder's files together, so links hold."""
    if wildcards.page == "report":
        return shown("1 Report", "each model's gap, and how sure it is")["labels"]
    return shown("2 Explorer", "every run: prompt, reply, outputs")["labels"]


wildcard_constraints:
    model="|".join(re.escape(model.alias) for model in P.study.models),
    shell="|".join(P.study.shells),
    task="|".join(task.id for task in P.tasks),
    trial=r"\d+(\.[23])?",  # 1, or 1.2: its second turn


onstart:
    P.start()


rule all:
    """Measure every cell and write the report and the explorer."""
    input:
        # Snakemake makes a lost intermediate file only where a target needs it.
        lambda wildcards: P.loaded.products(),
        f"{STUDY}/figures",


rule image:
    """Build the sandbox image of a shell, or find it, and record what it holds."""
    output:
        "results/images/{shell}.json",
    log:
        f"{LOGS}/images/{{shell}}.log",
    priority: 1 << 42
    params:
        **P.keys.params("image"),
    run:
        P.image(wildcards, input, output, log)


rule generate:
    """Ask the model for one command, or take its answer from the store."""
    input:
        unpack(of_cell(P.loaded.before)),
    output:
        f"results/generations/{CELL}.json",
    log:
        f"{LOGS}/generations/{CELL}.log",
    priority: of_cell(P.study.priority)
    resources:
        **model_resources(P.study),
    params:
        **P.keys.params("generate"),
    run:
        P.generate(wildcards, input, output, log)


rule execute:
    """Run the command in every world and condition, one fresh container each."""
    input:
        image=rules.image.output,
        generation=rules.generate.output,
        before=of_cell(lambda cell: P.loaded.before(cell).get("execution", [])),
    output:
        f"results/executions/{CELL}.json",
    log:
        f"{LOGS}/executions/{CELL}.log",
    priority: 1 << 41
    resources:
        containers=1,
    params:
        **P.keys.params("execute"),
    run:
        P.execute(wildcards, input, output, log)


rule score:
    """Judge the executions: exit code, structure, content, failure class."""
    input:
        generation=rules.generate.output,
        execution=rules.execute.output,
    output:
        f"results/scores/{CELL}.json",
    log:
        f"{LOGS}/scores/{CELL}.log",
    priority: 1 << 42
    params:
        **P.keys.params("score"),
    run:
        P.score(wildcards, input, output, log)


rule control:
    """Run commands known to be right and wrong, and judge them like answers."""
    input:
        P.loaded.images(),
    output:
        f"{STUDY}/control.json",
    log:
        f"{LOGS}/control.log",
    params:
        **P.keys.params("control"),
    run:
        P.control(wildcards, input, output, log)


rule gather:
    """Write every cell of the design into one table, with its provenance."""
    input:
        lambda wildcards: P.loaded.record_paths(),
    output:
        table=report(f"{STUDY}/cells.csv", **shown("4 Table", "a row for each run")),
        provenance=f"{STUDY}/provenance.json",
    log:
        f"{LOGS}/gather.log",
    params:
        **P.keys.params("gather"),
    run:
        P.gather(wildcards, input, output, log)


rule report:
    """Write the report with its figures, and the explorer of all cells."""
    input:
        [f"{STUDY}/control.json"] if P.study.control else [],
        table=rules.gather.output.table,
        provenance=rules.gather.output.provenance,
    output:
        report=f"{STUDY}/report.md",
        page=f"{STUDY}/report.html",
        explorer=f"{STUDY}/explorer.html",
        pages=report(
            directory(f"{STUDY}/pages"),
            patterns=["{page}.html"],
            category=P.study.study,
            labels=page_labels,
        ),
        figures=report(
            directory(f"{STUDY}/figures"),
            patterns=["{figure}.svg"],
            **shown("3 Figure", "{figure}"),
        ),
    log:
        f"{LOGS}/report.log",
    params:
        **P.keys.params("report"),
    run:
        P.report(wildcards, input, output, log)
