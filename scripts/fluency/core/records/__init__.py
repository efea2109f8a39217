"""The records: what was asked, what ran, how it was judged. Everything else is computed from them.

Every record is one canonical JSON file. Absent knowledge is null, never a zero or an empty text.
"""

from fluency.core.part import Part
from fluency.core.records.execution import (
    Execution,
    Extraction,
    HttpRequest,
    ImageInfo,
    ProcessFact,
    Reading,
    Result,
    Run,
    Stream,
    Used,
)
from fluency.core.records.generation import Answer, Generation, Outcome, Request, Usage
from fluency.core.records.record import SCHEMA_VERSION, CellName, RecordType, SchemaVersion, read_record, write_record
from fluency.core.records.row import Row, Status
from fluency.core.records.score import Composition, FailureClass, MadeOf, Score, WorldScore

__all__ = [
    "SCHEMA_VERSION",
    "Answer",
    "CellName",
    "Composition",
    "Execution",
    "Extraction",
    "FailureClass",
    "Generation",
    "HttpRequest",
    "ImageInfo",
    "MadeOf",
    "Outcome",
    "Part",
    "ProcessFact",
    "Reading",
    "RecordType",
    "Request",
    "Result",
    "Row",
    "Run",
    "SchemaVersion",
    "Score",
    "Status",
    "Stream",
    "Usage",
    "Used",
    "WorldScore",
    "read_record",
    "write_record",
]
