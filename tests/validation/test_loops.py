"""A task's natural loop that ends in a test, `[ … ] && echo`, ends with status 0 in every world.

Its last test decides its status, so the element visited last must belong to the answer. Loops in
the order of the file system (`find`, `grep -r`) are not tested.
"""

import io
import os
import subprocess
import tarfile
import time

import pytest

from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from fluency.scoring.verdict import judge
from tests.scoring.recordings import result

LOOPS = {
    "archive-drift": r"""mkdir /tmp/loop.$$; trap 'rm -r /tmp/loop.$$' EXIT; tar xzf dist/site.tar.gz -C /tmp/loop.$$; { cd /tmp/loop.$$/site; find . -type f; cd - > /dev/null; cd web/site; find . -type f; } | sort -u | while IFS= read -r f; do ! cmp -s "web/site/$f" "/tmp/loop.$$/site/$f" && echo "${f#./}"; done""",
    "bench-regressions": r"""jq -r '.benchmarks[] | "\(.stats.mean_ns) \(.name)"' data/bench/current.json | while read -r m n; do o=$(jq --arg n "$n" '.benchmarks[] | select(.name == $n).stats.mean_ns' data/bench/baseline.json); [ -n "$o" ] && [ $((m * 100)) -gt $((o * 125)) ] && echo "$n: $o -> $m"; done""",
    "changelog-releases": r"""while IFS= read -r l; do [[ $l =~ ^##\ \[([0-9]+\.[0-9]+\.[0-9]+)\]\ -\ ([0-9]{4}-[0-9]{2}-[0-9]{2})$ ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"; done < CHANGELOG.md""",
    "config-drift": r"""jq -r 'paths(type != "object") | join(".")' config/defaults.json config/production.json | sort -u | while read -r k; do [ "$(jq -c ".$k" config/defaults.json)" != "$(jq -c ".$k" config/production.json)" ] && echo "$k"; done""",
    "contract-index-drift": r"""cd contracts/registry; find . -name '*.schema.json' -printf '%P\n' | while read -r f; do jq -e --arg f "$f" 'any(.schemas[]; .path == $f)' index.json >/dev/null || echo "+ $f"; done; jq -r '.schemas[].path' index.json | sort -u | while read -r f; do [ ! -f "$f" ] && echo "- $f"; done""",
    "crate-versions": r"""for f in crates/*/Cargo.toml; do v=$(sed -n '/^\[package\]/,/^\[[^p]/s/^version *= *"\([^"]*\)".*/\1/p' "$f"); [ -n "$v" ] && echo "$(sed -n 's/^name *= *"\([^"]*\)".*/\1/p' "$f") $v"; done""",
    "crates-using-reqwest": r"""for f in crates/*/Cargo.toml; do grep -qE '^reqwest *[.=]' "$f" && basename "$(dirname "$f")"; done""",
    "crates-without-readme": r"""for d in crates/*/; do [ -f "$d/Cargo.toml" ] && [ ! -f "$d/README.md" ] && basename "$d"; done""",
    "crlf-files": r"""find tools -type f | sort | while IFS= read -r f; do grep -q $'\r$' "$f" && echo "$f"; done""",
    "empty-directories": r"""find crates -type d | sort | while IFS= read -r d; do [ -z "$(ls -A "$d")" ] && echo "$d"; done""",
    "env-missing-keys": r"""for k in $(grep -oP '^\s*(export\s+)?\K\w+(?==)' config/.env.example); do ! grep -qE "^[[:blank:]]*(export[[:blank:]]+)?$k=" config/production.env && echo "$k"; done""",
    "etag-drift": r"""jq -r '.documents[] | "\(.path) \(.etag)"' ops/mirror.json | while read -r p e; do now=$(curl -sI "http://127.0.0.1:8765$p" | tr -d '\r' | grep -i '^etag:' | cut -d' ' -f2-); [ "$now" != "$e" ] && echo "$p"; done""",
    "link-targets": r"""while IFS=$'\t' read -r l t; do mkdir -p "$(dirname "$l")"; ln -s "${t/#\/work/$PWD}" "$l"; done < ops/links.tsv; cut -f1 ops/links.tsv | while IFS= read -r l; do [ ! -e "$l" ] && echo "$l"; done""",
    "lint-error-lines": r"""curl -s -H 'Content-Type: text/plain' --data-binary @ops/deploy.vox http://127.0.0.1:8765/api/lint | jq -r '.diagnostics[] | "\(.line) \(.code) \(.severity)"' | while read -r l c s; do [ "$s" = error ] && echo "$l $c"; done""",
    "lockfile-duplicates": r"""grep '^name = ' Cargo.lock | cut -d'"' -f2 | sort | uniq -c | while read -r c n; do [ "$c" -gt 1 ] && echo "$n $c"; done""",
    "log-errors-by-hour": r"""for h in {00..23}; do c=$(grep -cE "^[0-9-]+T$h:[^ ]+ ERROR " logs/orchestrator.log); [ "$c" -gt 0 ] && echo "$h $c"; done""",
    "manifest-missing-artifacts": r"""curl -s http://127.0.0.1:8765/dist/manifest.txt | grep -v -e '^#' -e '^$' | while read -r n s p; do [ "$(curl -sL -o /dev/null -w '%{http_code}' "http://127.0.0.1:8765$p")" = 404 ] && echo "$n"; done""",
    "missing-interpreters": r"""find scripts -type f | sort | while IFS= read -r f; do n=$(head -n 1 "$f" | sed -nE 's/^#! *//; T; s#^([^ ]*/)?env( +-[^ ]*)* +##; s/ .*//; s#.*/##; p'); [ -n "$n" ] && ! grep -qx "$n" ops/interpreters.txt && echo "$n $f"; done""",
    "moved-assets": r"""cd assets/pack; jq -r '.files[] | "\(.sha256) \(.path)"' manifest.json | while read -r h p; do n=$(find . -type f -exec sha256sum {} + | grep -i "^$h" | cut -c69- | grep -vxFf <(jq -r '.files[].path' manifest.json)); [ ! -e "$p" ] && if [ -n "$n" ]; then echo "$p -> $n"; else echo "GONE $p"; fi; done""",
    "named-threads": r"""for p in $(pgrep '^vox-'); do c=$(cat /proc/$p/task/*/comm | grep -cx vox-io); [ "$c" -gt 0 ] && echo "$p $(cat /proc/$p/comm) $c"; done""",
    "newest-result-per-run": r"""for d in runs/*/; do f=$(find "$d" -type f -name '*.json' -not -path '*/.*' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-); [ -n "$f" ] && echo "$f"; done""",
    "orders-without-customer": r"""flat() { awk -v RS='"' 'NR % 2 == 0 {gsub(/[\n,]/, " ")} {printf "%s", $0}' "$1" | tail -n +2; }; flat data/orders.csv | while IFS=, read -r o n c t r; do ! flat data/customers.csv | cut -d, -f2 | grep -qx "$c" && echo "$o $t"; done""",
    "orphan-snapshots": r"""find apps -path '*/__snapshots__/*.snap' -not -path '*/__snapshots__/*/*' | sort | while IFS= read -r f; do t=${f##*/}; [ ! -e "${f%/__snapshots__/*}/${t%.snap}" ] && echo "$f"; done""",
    "plugins-need-newer-host": r"""h=$(jq -r .api_version ops/host.json); curl -s http://127.0.0.1:8765/registry/index.json | jq -r '.plugins[] | "\(.name) \(.manifest)"' | while read -r n m; do v=$(curl -s "http://127.0.0.1:8765$m" | jq -r '.requires.api // empty'); [ -n "$v" ] && [ "$v" != "$h" ] && [ "$(printf '%s\n' "$v" "$h" | sort -V | tail -n 1)" = "$v" ] && echo "$n"; done""",
    "release-checksums": r"""while read -r h n; do n=${n#\*}; [ "$(sha256sum "dist/$n" 2>/dev/null | cut -d' ' -f1)" != "${h,,}" ] && echo "$n"; done < dist/SHA256SUMS""",
    "serde-requirements": r"""w=$(sed -n '/^\[workspace.dependencies\]/,/^\[/s/^serde *=.*version *= *"\([^"]*\)".*/\1/p' Cargo.toml); for m in crates/*/Cargo.toml; do n=$(sed -n '/^\[package\]/,/^\[/s/^name *= *"\(.*\)"/\1/p' $m); r=$({ sed -n '/^\[dependencies\]/,/^\[/s/^serde *\([.=].*\)/\1/p' $m; sed -n '/^\[dependencies.serde\]/,/^\[/p' $m; } | sed -nE 's/.*workspace *= *true.*/'"$w"'/p; t; s/^(= *|.*version *= *)"([^"]*)".*/\2/p'); [ -n "$r" ] && echo "$n $r"; done""",
    "service-replicas": r"""jq -r '.[] | "\(.name) \(.replicas)"' config/services.json | while read -r n k; do c=$(ps -C vox-svc -o args= | grep -cE -- "--service $n( |\$)"); [ "$c" -ne "$k" ] && echo "$n $c $k"; done""",
    "stale-lockfiles": r"""for d in crates/*/; do [ -f "$d/Cargo.lock" ] && [ "$d/Cargo.lock" -ot "$d/Cargo.toml" ] && basename "$d"; done""",
    "strayed-jobs": r"""for p in $(pgrep -x vox-job); do s=$(tr '\0' '\n' < "/proc/$p/cmdline" | sed -n '/^--supervisor$/{n;p}'); [ "$s" -ne "$(ps -o ppid= -p "$p")" ] && echo "$p"; done""",
    "todo-lines-per-crate": r"""for d in crates/*/; do n=$(grep -rwh TODO --include='*.rs' "$d" | wc -l); [ "$n" -gt 0 ] && echo "$(basename "$d") $n"; done""",
    "traced-app-configs": r"""for p in $(pgrep -x vox-app); do f=$(tr '\0' '\n' < "/proc/$p/cmdline" | sed -n '/^--config=/{s///;p;q}; /^--config$/{n;p;q}'); [ -f "$f" ] && grep -qx 'tracing = on' "$f" && echo "$p"; done""",
    "unlisted-chapters": r"""cd docs/book/src; t=$(sed -z 's/<!--[^>]*-->//g' SUMMARY.md | sed -nE 's/.*\]\((<([^>]*)>|([^ )]+))[^)]*\).*/\2\3/p' | sed 's/%20/ /g; s/%2B/+/g; s#^\./##'); find . -name '*.md' ! -name SUMMARY.md | sort | while IFS= read -r f; do ! grep -qxF -- "${f#./}" <<< "$t" && echo "docs/book/src/${f#./}"; done""",
    "usage-near-limit": r"""t=$(grep '^VOX_API_TOKEN=' ops/api.env | cut -d= -f2-); curl -sL -H "Authorization: Bearer $t" http://127.0.0.1:8765/api/usage | jq -r '.limits[] | "\(.scope) \(.limit) \(.used)"' | while read -r s l u; do [ $((u * 100)) -gt $((l * 90)) ] && echo "$s $((l - u))"; done""",
    "viewer-titles": r"""for p in $(pgrep -x vox-view); do t=$(tr '\0' '\n' < "/proc/$p/cmdline" | sed -n '/^--title$/{n;p}'); [ -n "$t" ] && echo "$p $t"; done""",
    "weekly-backups": r"""ls backups | grep '\.tar\.zst$' | while read -r f; do o=$k g=$h; s=${f%-*-*}; d=${f#"$s"-}; h=$f k="$s $(date -d "${d%%-*}" +%G-%V)"; [ "$k" = "$o" ] && echo "backups/$g"; done""",
}
TASKS = {task.id: task for task in load_tasks(list(LOOPS))}
SEEDS = [int(seed) for seed in os.environ.get("LOOP_SEEDS", "11 24").split()]
"""`LOOP_SEEDS="$(seq 1 40)"` tries more worlds than the suite does."""


def _on_the_host(task, world, command, folder):
    """The command with the same files and ages, without a container: the task needs no more."""
    with tarfile.open(fileobj=io.BytesIO(world.tar)) as tree:
        tree.extractall(folder)
    now = time.time()
    for path, age in world.ages.items():
        os.utime(folder / path, (now - age, now - age))
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True)
    return result(done.stdout, done.returncode, done.stderr.decode())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in LOOPS if not TASKS[name].needs])
def test_loop_over_files_or_lines_ends_with_status_0(name: str, seed: int, tmp_path) -> None:
    task, world = TASKS[name], world_for(TASKS[name], seed)
    verdict = judge(task, _on_the_host(task, world, LOOPS[name], tmp_path), task.expected(world))
    assert verdict.passed, verdict.why


@pytest.mark.engine
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in LOOPS if TASKS[name].needs])
def test_loop_over_replies_or_processes_ends_with_status_0(name: str, seed: int, sandbox) -> None:
    task, world = TASKS[name], world_for(TASKS[name], seed)
    found = sandbox.run(Invocation("bash", LOOPS[name], world, Limits(), 30, task.needs))
    verdict = judge(task, found, task.expected(world, found.processes))
    assert verdict.passed, verdict.why
