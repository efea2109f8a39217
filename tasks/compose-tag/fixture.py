"""Services of which one has the name that is asked for."""


def extend(builder, rng):
    def tag():
        return f"{rng.between(1, 2)}.{rng.between(0, 4)}.{rng.between(1, 30)}"

    ours = f"registry.local:5000/shop/api:{tag()}"

    def service(name, image, *more):
        keys = [f"    restart: {rng.pick(('always', 'unless-stopped'))}", *more]
        return [f"  {name}:", *keys, f"    image: {image}", f"    mem_limit: {rng.below(900)}m"]

    deeper = ["    labels:", "      image: shop/api:stable", "      api: yes"]
    others = [
        service("api-docs", f"registry.local:5000/shop/docs:{tag()}"),
        service("admin-api", f"registry.local:5000/shop/admin:{tag()}"),
        service("worker", ours, "    depends_on: [api]", "    labels:", "      api: yes"),
        service("mail", f"mail:{tag()}"),
    ]
    services = rng.shuffled(others)
    services.insert(rng.between(1, 3), service("api", ours, "    # image: shop/api:old", *deeper))
    services.insert(rng.below(2), service("API", ours))
    ports = [f"    ports: ['{rng.between(8000, 8999)}:80']"]
    lines = ["services:"]
    for one in services:
        lines += [*one, *(ports if rng.chance(40) else [])]
    lines += ["volumes:", "  api:", "    name: api", "  mail: {}"]
    builder.file("deploy/compose.yaml", "\n".join(lines) + "\n")
