"""Two files of settings; the example has keys that the other lacks, and some that it seems to."""


def extend(builder, rng):
    def line(key):
        return f"{key}={rng.pick(('a=b', 'two words', 'x', '/srv/x'))}{rng.between(100, 999)}"

    names = ("API_URL", "CACHE_DIR", "DB_PATH", "LOG_LEVEL", "REGION", "RETRIES", "WORKERS")
    missing = ["TOKEN", "TOKEN_FILE", "MAIL_HOST", "QUEUE", "queue_size"]
    missing += rng.sample(names, rng.between(1, 2))
    there = [name for name in names if name not in missing]
    own = [line(key) for key in (*there, "TOKEN_FILE_MODE", "MY_TOKEN", "QUEUE_SIZE")]
    own += [f"# {line('MAIL_HOST')}", f"#{line('TOKEN_FILE')}", "NOTE=QUEUE=7", ""]
    own = [*rng.shuffled(own), line("LAST_KEY")]
    keys = [*missing, *rng.sample(there, len(there) - 1), "QUEUE_SIZE"]
    example = [line(key) for key in keys] + [f"# {line('OLD_KEY')}", "# Tokens", ""]
    example = [*rng.shuffled(example), line("ZONE")]
    builder.file("web/.env", "\n".join(own))
    builder.file("web/.env.example", "\n".join(example) + "\n")
