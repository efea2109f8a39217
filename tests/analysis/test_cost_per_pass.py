"""What a passed run costs, recomputed run by run, and the cases without a ratio."""

import numpy as np

from fluency.analysis.study_analysis import analyse
from tests.synthetic_tables import from_counts, make_frame, make_study, make_tasks

TASKS, STUDY = make_tasks(), make_study()
COUNTS = {task.id: (1 + n % 4, n % 6) for n, task in enumerate(TASKS)}


def costs(frame):
    (pair,) = analyse(frame, STUDY, TASKS).contrasts
    return {line.unit: line for line in pair.costs}


def frame_of(counts=COUNTS):
    frame = make_frame(STUDY, TASKS, from_counts(counts))
    frame["output_tokens"] = np.random.default_rng(1).integers(5, 90, len(frame))
    return frame


def test_cost_per_pass_has_no_ratio_at_the_floor_and_needs_every_cost():
    rare = dict.fromkeys(COUNTS, (3, 0)) | {"task-01": (3, 5)}
    assert costs(frame_of(rare))["output tokens"].ratio is None
    frame = frame_of()
    frame.loc[0, "output_tokens"] = None
    assert "output tokens" not in costs(frame) and "seconds" in costs(frame)
