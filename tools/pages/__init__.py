"""Pages made from code, and the parts of a page between two marks."""


def filled(page: str, mark: str, text: str) -> str:
    """A page with the text between `<!-- mark: begin -->` and `<!-- mark: end -->` replaced."""
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    before, rest = page.split(begin)
    return f"{before}{begin}{text}\n{end}{rest.split(end)[1]}"
