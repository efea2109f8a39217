"""The files under reports/ once the dated ones are in the folder of their quarter."""

import re


def state(world, processes):
    files = {}
    for path, data in world.under("reports").items():
        if dated := re.fullmatch(r"reports/inbox/([^/]+_(\d{4})(\d\d)\d\d\.csv)", path):
            name, year, month = dated[1], int(dated[2]), int(dated[3])
            if month == 1:
                year, month = year - 1, 13
            path = f"reports/FY{year}-Q{(month + 1) // 3}/{name}"
        files[path] = data
    names = [path.removeprefix("reports/") for path in files]
    return {"reports": {"files": names}, **files}
