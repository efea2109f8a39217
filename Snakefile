"""The pipeline on one page: generate, execute, score, gather, report, explore, archive.

Each rule has one action and one param, both in scripts/fluency/pipeline.py. The param is the canonical JSON
of what changes the rule's answer; the code a rule depends on is named among its inputs.
"""

from snakemake.utils import min_version

from fluency.front import open_pipeline
from fluency.pipeline import code

min_version("9.27")


configfile: "config.yaml"


P = open_pipeline(config, workflow)
CELL = "{model}/{shell}/{task}/{trial}"
STUDY = f"results/{P.study.study}"


wildcard_constraints:
    model="|".join(model.alias for model in P.study.models),
    shell="|".join(P.study.shells),
    task="|".join(task.id for task in P.tasks),
    trial=r"\d+",


onstart:
    P.start()


rule all:
    """Measure every cell and write the report and the explorer."""
    input:
        f"{STUDY}/report.md",
        f"{STUDY}/explorer.html",


rule image:
    """Build the sandbox image, or find it, and record which shells it holds."""
    input:
        code("sandbox/Dockerfile", "sandbox/*.py", "sandbox/*.c"),
    output:
        "results/image.json",
    params:
        key=P.image_key(),
    priority: 3_000_000
    run:
        P.image(output[0])


rule generate:
    """Ask the model for one command, or take its answer from the store."""
    output:
        f"results/generations/{CELL}.json",
    params:
        key=P.generate_key,
    resources:
        generations=1,
    priority: P.priority
    run:
        P.generate(wildcards, output[0])


rule execute:
    """Run the command in every world and condition, one fresh container each."""
    input:
        code=code("scripts/fluency/execute.py", "scripts/fluency/command.py"),
        image=rules.image.output,
        generation=rules.generate.output,
    output:
        f"results/executions/{CELL}.json",
    params:
        key=P.execute_key,
    priority: 2_000_000
    run:
        P.execute(wildcards, input.generation[0], output[0])


rule score:
    """Judge the executions: exit code, structure, content, failure class."""
    input:
        code=code("scripts/fluency/score.py", "scripts/fluency/checks/**/*.*"),
        answer="tasks/{task}/answer.py",
        generation=rules.generate.output,
        execution=rules.execute.output,
    output:
        f"results/scores/{CELL}.json",
    params:
        key=P.score_key,
    priority: 3_000_000
    run:
        P.score(wildcards, input.generation[0], input.execution[0], output[0])


rule gather:
    """Lay every cell of the design into one table, with its provenance."""
    input:
        [
            f"results/{stage}/{cell.path}.json"
            for stage in ("generations", "executions", "scores")
            for cell in P.cells
        ],
        code=code("scripts/fluency/gather.py", "scripts/fluency/table.py"),
    output:
        table=f"{STUDY}/cells.csv",
        provenance=f"{STUDY}/provenance.json",
    params:
        key=P.gather_key(),
    run:
        P.gather(output.table, output.provenance)


rule report:
    """Write the Markdown report with its figures."""
    input:
        code=code("report/*.md.j2", "scripts/fluency/report/*", "scripts/fluency/analysis/*"),
        table=rules.gather.output.table,
        provenance=rules.gather.output.provenance,
    output:
        f"{STUDY}/report.md",
    params:
        key=P.report_key(),
    run:
        P.report(input.table, input.provenance, output[0])


rule explore:
    """Write the explorer: one page that opens every cell."""
    input:
        code=code("report/explorer*", "report/explorer/*", "scripts/fluency/explorer/*"),
        table=rules.gather.output.table,
    output:
        f"{STUDY}/explorer.html",
    params:
        key=P.report_key(),
    run:
        P.explore(input.table, output[0])


rule archive:
    """Pack the decision record: report, records, answers, worlds, code and hashes."""
    input:
        rules.all.input,
    output:
        P.archive_path(),
    params:
        key=P.report_key(),
    run:
        P.archive(output[0])
