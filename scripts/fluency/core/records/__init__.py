"""The records: what was asked, what ran, how it was judged. Everything else is computed from them.

Every record is one canonical JSON file. Absent knowledge is null, never a zero or an empty text.
"""

from fluency.core.part import Part
from fluency.core.records.execution import (
    Execution,
    Extraction,
    HttpRequest,
    ImageInfo,
    Paths,
    ProcessFact,
    Reading,
    Result,
    Run,
    Stream,
    TreeChanges,
    Used,
    changed_paths,
)
from fluency.core.records.generation import Answer, Generation, Outcome, Request, ToolOffer, Usage
from fluency.core.records.record import SCHEMA_VERSION, CellName, RecordType, SchemaVersion, read_record, write_record
from fluency.core.records.row import WAITING, Row, Status
from fluency.core.records.score import WAS, Composition, FailureClass, MadeOf, Score, WorldScore

__all__ = [
    "SCHEMA_VERSION",
    "WAITING",
    "WAS",
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
    "Paths",
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
    "ToolOffer",
    "TreeChanges",
    "Usage",
    "Used",
    "WorldScore",
    "changed_paths",
    "read_record",
    "write_record",
]
