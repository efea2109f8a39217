"""The links of the list, and those that lead nowhere once all of them are there."""

from posixpath import dirname, join


def listed(world):
    return dict(line.split("\t") for line in world.lines("ops/links.tsv"))


def state(world, processes):
    return {link: {"link": target} for link, target in listed(world).items()}


def expected(world, processes):
    links = listed(world)

    def real(path):
        done = ""
        for part in path.split("/"):
            done = dirname(done) if part == ".." else join(done, part)
            if target := links.get(done):
                inside = target.removeprefix("/work/")
                done = real(inside if inside != target else join(dirname(done), target))
        return done

    made = {dirname(link) for link in links}
    there = {*world.files, *world.dirs, *made}
    return [link for link in links if real(link) not in there]
