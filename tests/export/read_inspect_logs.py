"""Exports archives and reads the logs back with Inspect AI, in the environment for it.

`python read_inspect_logs.py FOLDER ARCHIVE...` prints, as JSON, what Inspect finds in each log.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from fluency.archive.unpack import unpacked
from fluency.archive.verify import verified_view
from fluency.common.errors import UserError
from fluency.core.table import CellRecords
from fluency_inspect import logs


def scored(score):
    value = score.value if isinstance(score.value, str) else None
    return {"value": value, "answer": score.answer, "explanation": score.explanation}


def of_sample(sample):
    output, scores = sample.output, sample.scores or {}
    worlds = scores["passed"].metadata["worlds"] if scores else []
    return {
        "id": sample.id, "epoch": sample.epoch, "input": sample.input, "target": sample.target,
        "messages": [[each.role, each.text] for each in sample.messages],
        "completion": output.completion, "stop": output.stop_reason,
        "status": sample.metadata["status"],
        "usage": output.usage and [output.usage.input_tokens, output.usage.output_tokens],
        "error": sample.error and sample.error.message,
        "worlds": [[w["seed"], w["condition"], w["reading"], w["passed"]] for w in worlds],
        "scores": {name: scored(score) for name, score in scores.items()},
    }  # fmt: skip


def found(path):
    log = read_eval_log(path)
    summaries = read_eval_log_sample_summaries(path)
    metrics = {
        f"{s.name} {s.reducer}": {name: m.value for name, m in s.metrics.items()}
        for s in log.results.scores
    }
    return {
        "status": log.status, "model": log.eval.model, "ids": log.eval.dataset.sample_ids,
        "epochs": log.eval.config.epochs, "total": log.results.total_samples, "metrics": metrics,
        "usage": {name: usage.model_dump() for name, usage in log.stats.model_usage.items()},
        "listed": sorted((str(s.id), s.epoch) for s in summaries),
        "samples": {sample.metadata["cell"]: of_sample(sample) for sample in log.samples},
    }  # fmt: skip


if __name__ == "__main__":
    folder, *archives = map(Path, sys.argv[1:])
    answer = {}
    for archive in archives:
        into = folder / archive.name
        sys.argv = ["logs", "--archive", str(archive), "--into", str(into)]
        assert logs.main() == 0
        names = [info.name for info in list_eval_logs(str(into))]
        answer[archive.name] = {Path(name).stem: found(name) for name in names}
    with unpacked(archives[-1]) as files:
        view = verified_view(files)[0]
        try:
            unasked = replace(view, records=lambda cell: CellRecords(None, None, None))
            logs.write_logs(unasked, "unasked", "a test", folder / "unasked")
        except UserError as error:
            answer["unasked"] = str(error)
    (folder / "found.json").write_text(json.dumps(answer))
