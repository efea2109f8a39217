"""No canary survives, whatever it is wrapped in; and what is not private stays readable."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fluency.miner.redact import GENERIC_NAMES, redact, user_names

LETTERS = string.ascii_lowercase
NAME = st.text(LETTERS, min_size=5, max_size=12).map(lambda text: f"q{text}z")
TOKEN = st.text(string.ascii_letters + string.digits, min_size=24, max_size=60).filter(
    lambda text: any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
)
AROUND = ["{}", " {} ", "'{}'", '"{}"', "({})", "grep {} log | head", "see {}, please", "a={}", "{}: x", "[{}]"]
AROUND += ["find . -name x; {}", "Über '{}'", "a\nb {}", "--flag ({})"]
HOST = st.tuples(NAME, st.sampled_from(["com", "internal", "co.uk", "corp", "dev", "io"])).map(".".join)
PRIVATE = {
    "the name in a home folder": (
        NAME,
        [
            "/home/{}/x", "/Users/{}/a b", r"C:\Users\{}\x", r"C:\\Users\\{}\\x", "/mnt/c/Users/{}/x", "~{}/x",
            "-home-{}-x",
        ],
    ),
    "a host": (
        HOST,
        ["{}", "a.{}", "https://{}/p?q=1", "http://{}:8080/", "postgres://{}/db", "ssh://u@{}", "{}:443", "me@{}"],
    ),
    "a host without a domain": (NAME, ["https://{}/x", "http://{}:80", "{}:8080", "me@{}", "redis://{}"]),
    "a user's mail address": (NAME, ["{}@host.org", "{}+tag@other.example.com", "x.{}@mail.other.de"]),
    "a mail address's host": (NAME, ["me@{}.org", "me+tag@{}.example.com", "x.me@mail.{}.de"]),
    "a key": (TOKEN, ["{}", "sk-{}", "ghp_{}", "AKIA{}", "Bearer {}", "x-api-key: {}", "--token {}", "--password={}"]),
    "a key in its place": (
        TOKEN,
        [
            "API_KEY={}",
            "export DB_PASSWORD='{}'",
            "curl -u me:{} x",
            "https://me:{}@h/x",
            "https://h/x?sig={}",
            "eyJ{}.{}",
        ],
    ),
}  # fmt: skip
WEAK = ["--password {}", "--api-key={}", "PASSWORD={}", "my_secret: {}", "Authorization: {}", "Cookie: sid={}"]
WEAK += ["curl -u {}:x http://h", "https://{}:x@h/", "https://u:{}@h/"]


@pytest.mark.parametrize("kind", PRIVATE)
@given(data=st.data())
def test_what_is_private_goes_whatever_stands_around(kind, data):
    secrets, forms = PRIVATE[kind]
    secret, form = data.draw(secrets), data.draw(st.sampled_from(forms))
    text = redact(data.draw(st.sampled_from(AROUND)).format(form.replace("{}", secret)))
    assert secret.partition(".")[0] not in text


@given(NAME, st.sampled_from(AROUND))
def test_a_known_name_goes_wherever_it_stands(name, around):
    assert name not in redact(around.format(name.upper()), {name}).lower()


@given(st.ip_addresses(), st.sampled_from(AROUND))
def test_addresses_go(address, around):
    assume(not address.is_loopback and not address.is_unspecified)
    assert str(address) not in redact(around.format(address)).replace("<ip>", "")


@given(NAME, st.sampled_from(WEAK))
def test_weak_secrets_go_where_their_place_tells(secret, form):
    assert secret not in redact(form.format(secret))


@given(st.text(max_size=300))
def test_any_text_is_taken_and_redacting_twice_changes_little(text):
    assert isinstance(redact(text, {"zaphod"}), str)


@pytest.mark.parametrize(
    "text",
    [
        "find crates/vox-ml-cli -type f -mtime -7 -size +10240c",
        "grep -rn 'fn main' src/main.rs | cut -d: -f1 | sort -u",
        "curl -fsS http://127.0.0.1:8765/api/crates | jq -r '.crates[].name'",
        "curl http://localhost:8080/healthz",
        "ps -eo pid=,rss=,comm= --sort=-rss | head -n 2 2>/dev/null",
        "Get-ChildItem -Recurse | Where-Object { $_.Length -gt 10KB } | ForEach-Object FullName",
        "awk -F'\"' '{print $2}' Cargo.toml",
        "stat -c '%s %n' Cargo.lock README.md",
        "rg 'std::fs::read' --type rust -c",
        "grep -n '12:30:45' app.log",
        "List the files of the last 7 days that are larger than 10 KB.",
    ],
)
def test_what_is_not_private_stays(text):
    assert redact(text, {"zaphod"}, "/srv/work") == text


def test_the_sessions_folder_becomes_the_current_one():
    folder = "/home/zaphod/heart-of-gold"
    assert redact(f"ls {folder}/src {folder} {folder}-two/x", (), folder) == "ls src . ~/heart-of-gold-two/x"


def test_names_come_from_home_folders_but_not_the_generic_ones():
    assert user_names("/home/zaphod/x") == {"zaphod"} == user_names(r"C:\Users\zaphod\x")
    assert user_names("/srv/x") == set() == user_names("/home/ubuntu/x")
    assert redact("ls /dev/null", GENERIC_NAMES & {"ubuntu"}) == "ls /dev/null"
