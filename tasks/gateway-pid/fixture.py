"""A gateway, started last; eight probes before it in odd worlds give it another process id there."""

from fluency.world import HelperSpec


def extend(builder, rng):
    probes = 8 if builder.odd else 0
    for zone in range(probes):
        builder.process(HelperSpec(f"probe-{zone}", "vox-probe", ("--zone", str(zone))))
    builder.process(HelperSpec("watch", "vox-watch", ("--target", "vox-gateway")))
    port = rng.between(9000, 9999)
    builder.process(HelperSpec("gateway", "vox-gateway", ("--listen", str(port))))
