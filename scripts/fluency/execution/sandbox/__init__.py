"""The sandbox: a command runs in a fresh container without network, as a user who may write nothing that matters."""

from fluency.execution.sandbox.image import ensure_image
from fluency.execution.sandbox.image_content import content_sha256
from fluency.execution.sandbox.powershell import powershell_source
from fluency.execution.sandbox.sandbox import Sandbox, open_sandbox
from fluency.execution.sandbox.start_engine import ensure_engine

__all__ = ["Sandbox", "content_sha256", "ensure_engine", "ensure_image", "open_sandbox", "powershell_source"]
