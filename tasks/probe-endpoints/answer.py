"""The four paths and the statuses they are served with."""

PATHS = ("/healthz", "/readyz", "/v1/models", "/v1/missing")


def expected(world, processes):
    return [f"{path} {world.route(path).status}" for path in PATHS]
