"""The process of the model: llama.cpp's own server until its standard input ends.

`python -m fluency.generation.local_model.serve WEIGHTS MODEL_ID THREADS CONTEXT` writes one JSON
line, {"address": …} or {"error": …}, to standard output. The parent has the other end of standard
input: when it ends, this process does.
"""

import json
import os
import sys
import threading
from typing import Any

import xllamacpp  # type: ignore[import-untyped]  # it ships no types


def load(path: str, model_id: str, threads: int, context: int) -> Any:
    """The server with its model in memory."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {model_id}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # Answers computed together differ in the last digits, and so sometimes in a word.
    params.n_parallel = 1
    params.n_ctx = context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    # With the prompt cache the text of a prompt and seed depends on what was asked before.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.endpoint_slots = False
    params.ui = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def end_with_the_pipe() -> None:
    """End this process when its standard input does.

    The library's clean-up is left out, because it can crash.
    """
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Load the model, print the address, serve."""
    path, model_id, *numbers = arguments
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the library prints, too, and the parent reads one line
    threading.Thread(target=end_with_the_pipe, daemon=True).start()
    try:
        server = load(path, model_id, *map(int, numbers))
    except Exception as error:
        output.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        os._exit(1)
    output.write(json.dumps({"address": server.listening_address}) + "\n")
    threading.Event().wait()  # the server answers from its own threads


if __name__ == "__main__":
    main(sys.argv[1:])
