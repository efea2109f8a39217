"""Generation: what a model is asked, the answer store, and everything that keeps an answer from being paid twice."""

from fluency.generation.generate import Generator
from fluency.generation.keys import require_keys
from fluency.generation.policies import Policy, resolve
from fluency.generation.request import PROTOCOL, order_key, request_for, request_key
from fluency.generation.retry import Patience
from fluency.generation.store import AnswerStore

__all__ = [
    "PROTOCOL",
    "AnswerStore",
    "Generator",
    "Patience",
    "Policy",
    "order_key",
    "request_for",
    "request_key",
    "require_keys",
    "resolve",
]
