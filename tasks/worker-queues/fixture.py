"""Workers with further arguments after --queue NAME, and all but one before it."""

from dataclasses import replace


def extend(builder, rng):
    for place, helper in enumerate(builder.processes):
        if helper.name == "vox-worker":
            slot = () if helper.key == "worker-0" else ("--slot", str(rng.between(1, 9)))
            args = (*slot, *helper.args, "--lease", str(rng.between(10, 90)))
            builder.processes[place] = replace(helper, args=args)
