"""Files of both trees under deploy/ whose bytes differ, relative to the tree."""


def expected(world, processes):
    trees = [
        {
            path.removeprefix(f"deploy/{name}/"): data
            for path, data in world.under(f"deploy/{name}").items()
        }
        for name in ("staging", "production")
    ]
    staging, production = trees
    return [path for path in staging if path in production and staging[path] != production[path]]
