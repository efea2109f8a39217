"""The files under reports/ once the dated ones are in the folder of their quarter."""

import re


def expected(world, processes):
    paths = []
    for path in world.under("reports"):
        if dated := re.fullmatch(r"reports/inbox/([^/]+_(\d{4})(\d\d)\d\d\.csv)", path):
            name, year, month = dated[1], int(dated[2]), int(dated[3])
            if month == 1:
                year, month = year - 1, 13
            path = f"reports/FY{year}-Q{(month + 1) // 3}/{name}"
        paths.append(path)
    return paths
