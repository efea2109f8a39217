"""Texts a model or its command might write to run a script, to hide, or to break a page or a terminal."""

CANARY = "window.canary=1"
RIGHT_TO_LEFT = "\u202e"

MARKUP = [
    f"<script>{CANARY}</script>",
    f"</script><script>{CANARY}</script>",
    f"</SCRIPT ><svg/onload='{CANARY}'>",
    f"<!--<script>{CANARY}",
    f"--><script>{CANARY}</script>",
    f"<![CDATA[<script>{CANARY}</script>]]>",
    f'<img src=x onerror="{CANARY}">',
    f"\"><img src=x onerror='{CANARY}'>",
    f"' autofocus onfocus='{CANARY}' x='",
    f"<a href=\"javascript:{CANARY}\" id=link>click</a> javascript:{CANARY}",
    f"<iframe srcdoc=\"<script>parent.{CANARY}</script>\"></iframe>",
    f"<svg><animate onbegin={CANARY} attributeName=x dur=1s>",
    f"<details open ontoggle={CANARY}><summary>x</summary></details>",
    "</style><style>*{display:none!important}</style>",
    '<style>@import "http://127.0.0.1:9/x.css"</style><link rel=stylesheet href="http://127.0.0.1:9/x.css">',
    '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">',
    '<base href="http://127.0.0.1:9/"><form action="http://127.0.0.1:9/"><button>send</button></form>',
    "</pre></dialog></main></body></html>",
    f"{{{{constructor.constructor('{CANARY}')()}}}} ${{{CANARY}}} {{% raw %}}",
    "__proto__ constructor hasOwnProperty toString",
]  # fmt: skip
MARKS = [
    f"{RIGHT_TO_LEFT}txt.exe \u2066isolated\u2069 \u200f\u200e\u061c",
    "\u2028line\u2029paragraph\u0085next",
    "\x1b[2J\x1b[31mred\x1b]0;title\x07 \x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07 \x9b31m bell\x07 back\x08\x08 \rover",
    "zero\u200bwidth\u200d\ufeff\u00ad tag\U000e0041 variation\ufe0f",
    "Z" + "\u0335\u0336\u0337" * 20 + " " + "ﷺ" * 5,
]  # fmt: skip
HOSTILE = "\n".join(MARKUP + MARKS)
WITH_NUL = HOSTILE + "\nnul\x00after"
