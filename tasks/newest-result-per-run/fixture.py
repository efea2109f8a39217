"""Runs whose newest result is neither the one in the run's own folder nor the highest step; decoys
that are newer."""

NAMES = (
    "ablation-ctx",
    "corpus-dedup",
    "gate-sweep",
    "judge-cal",
    "oratio-asr",
    "planner-sft",
    "router-eval",
)


def extend(builder, rng):
    # The number in one run's name has the seed's parity, so that no odd and even world share an
    # answer.
    baseline = f"baseline v{2 * rng.between(1, 9) + builder.odd}"
    runs = rng.shuffled([baseline, *rng.sample(NAMES, 4)])
    for number, run in enumerate(runs):
        _add_run(builder, rng.split(run), f"runs/{run}", number)
    builder.file("runs/fresh-start/train.log", "step 1 of 2000\n", age_days=0.3)
    builder.file("runs/fresh-start/eval/events.jsonl", '{"step": 1}\n', age_days=0.3)
    builder.file("runs/index.json", "[]\n", age_days=0.2)


def _add_run(builder, rng, run, number):
    low, high = sorted(step * 100 for step in rng.sample(range(1, 9), 2))
    newest = (
        f"{run}/metrics.json",
        f"{run}/eval/deep/pass-1/a-step-{low:04d}.json",
        f"{run}/eval/rerun of {low}/final report.json",
        f"{run}/eval/step-{low:04d}.json",
    )[min(number, 3)]
    others = [
        f"{run}/metrics.json",
        f"{run}/eval/step-{high:04d}.json",
        f"{run}/eval/step-{high + 900:04d}.json",
    ]
    if newest in others:
        others[0] = f"{run}/eval/pass-2/z-step-{high:04d}.json"
    age = rng.between(2500, 3500) / 1000
    for path in (newest, *rng.shuffled(others)):
        builder.file(path, f'{{"loss": {rng.between(100, 999)}}}\n', age_days=age)
        age += rng.between(1100, 1300) / 1000
        age = max(age, 8.2) if age > 5.8 else age  # no world has ages near seven days
    decoys = {
        ".tmp/step-1950.json": 0.7,
        "eval/.state.json": 0.9,
        "eval/events.jsonl": 0.5,
        "eval/step-1900.json.partial": 0.6,
        "train.log": 0.4,
        "export.json/weights.bin": 0.8,
    }
    for name, age in decoys.items():
        builder.file(f"{run}/{name}", f"{rng.below(1000)}\n", age_days=age)
    builder.age(f"{run}/export.json", 0.8)
