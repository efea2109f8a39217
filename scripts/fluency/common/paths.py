"""The folders of the project."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TASKS = ROOT / "tasks"
ENTRIES = ROOT / "shells"
SANDBOX = ROOT / "sandbox"
REPORT = ROOT / "report"
CONFIG = ROOT / "config.yaml"
CACHE = ROOT / ".cache"
ANSWERS = ROOT / "answers"
RESULTS = ROOT / "results"
ARCHIVES = ROOT / "archive"
