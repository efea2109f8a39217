"""Sessions with and without shells; an odd number of processes is in those with one in odd worlds,
an even one in even."""

from fluency.world import HelperSpec


def extend(builder, rng):
    def number():
        return str(rng.between(100, 999))

    def some(key, name, count, parent):
        return [
            HelperSpec(f"{key}-{place}", name, ("--job", number()), parent)
            for place in range(count)
        ]

    login = [
        HelperSpec("login", "vox-login", ("--user", "ada"), own_session=True),
        HelperSpec("login-agent", "vox-agent", (), "login"),
        HelperSpec("login-shell", "vox-shell", ("--login",), "login"),
        HelperSpec("login-inner", "vox-shell", ("--inner",), "login-shell"),
        *some("login-job", "vox-job", rng.between(1, 3), "login-inner"),
    ]
    led = [
        HelperSpec("led", "vox-shell", ("--lead",), own_session=True),
        *some("led-job", "vox-job", rng.between(1, 2), "led"),
        HelperSpec("led-task", "vox-task", (), "led-job-0"),
        HelperSpec("alone", "vox-shell", ("--alone",), "led", own_session=True),
    ]
    gone = [
        HelperSpec("gone", "vox-login", ("--user", "bo"), own_session=True, ends=True),
        HelperSpec("gone-shell", "vox-shell", ("--left",), "gone"),
        *some("gone-job", "vox-job", rng.between(1, 2), "gone-shell"),
        *some("gone-watch", "vox-watch", 1, "gone"),
    ]
    members = len(login) + len(led) + len(gone) - 1
    gone += some("gone-more", "vox-job", members % 2 != builder.odd, "gone")
    without = [
        HelperSpec("cron", "vox-cron", (), own_session=True),
        *some("cron-job", "vox-job", rng.between(1, 2), "cron"),
    ]
    look_alike = [
        HelperSpec("shell-gc", "vox-shell-gc", ("--shell", "vox-shell"), own_session=True)
    ]
    for group in rng.shuffled([login, led, gone, without, look_alike]):
        for helper in group:
            builder.process(helper)
