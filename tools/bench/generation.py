"""Generation against what the endpoint could give: 2,000 cells, 20 ms an answer, 8 calls in flight.

The comparison is a bare loop: eight threads with one raw socket each, sending the same bytes and reading the
answer, no SDK, no store. The SDK alone, without store, locks, budget and records, is measured too, since
it takes most of a call's processor time. All run against the same endpoint each in its own process, in turns.
"""

from __future__ import annotations

import asyncio
import json
import operator
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CELLS, DELAY_S, IN_FLIGHT, ROUNDS = 2000, 0.02, 8, 3
SMALL = (80, 1)
"""Cells and rounds of a trial of the benchmark itself."""
MESSAGE = {
    "id": "",  # none, since every reply is the same
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "find . -name Cargo.toml -size +10k"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 120, "output_tokens": 20},
}


async def serve() -> None:
    """Answer every POST after DELAY_S; print the port first."""
    body = json.dumps(MESSAGE).encode()
    reply = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        % len(body)
        + body
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(
                    int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                )
                await asyncio.sleep(DELAY_S)
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def bare(port: int, cells: int) -> float:
    """Answers a second of the bare loop."""
    body = json.dumps(
        {"model": "m", "max_tokens": 1024, "messages": [{"role": "user", "content": "x" * 400}]}
    ).encode()
    request = (
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    )

    def loop(number: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for _ in range(cells // IN_FLIGHT):
                connection.sendall(request)
                data = b""
                while not data.endswith(b"}}"):
                    data += connection.recv(65536)

    start = time.perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(loop, range(IN_FLIGHT)))
    return cells / (time.perf_counter() - start)


def sdk_alone(port: int, cells: int) -> float:
    """Answers a second of the SDK in eight threads with nothing around it."""
    import anthropic

    http = anthropic.DefaultHttpxClient(trust_env=False, verify=False)
    client = anthropic.Anthropic(
        api_key="k", base_url=f"http://127.0.0.1:{port}", max_retries=0, http_client=http
    )

    def ask(number: int) -> None:
        prompt = {"role": "user", "content": f"{'x' * 400} {number}"}
        client.messages.create(model="m", max_tokens=1024, messages=[prompt])

    ask(0)
    start = time.perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(ask, range(cells)))
    return cells / (time.perf_counter() - start)


def generated(port: int, cells: int, folder: Path) -> float:
    """Answers a second of the generator, into a fresh store in `folder`."""
    from fluency.core.study import Cell, validate_study
    from fluency.generation.generator import Generator
    from fluency.generation.request import request_for
    from fluency.generation.store import AnswerStore

    entry = {
        "alias": "m",
        "id": "claude-sonnet-4-6",
        "in_flight": IN_FLIGHT,
        "requests_per_minute": 1_000_000,
    }
    study = validate_study(
        {"study": "bench", "trials": 100, "models": [entry], "budget": {"stop_usd": 1e6}}
    )
    asked = [Cell("m", "bash", f"task-{n // 100}", n % 100 + 1) for n in range(cells + 1)]
    generator = Generator(
        study,
        store=AnswerStore(folder),
        address_of=lambda _: f"http://127.0.0.1:{port}",
        environ={"ANTHROPIC_API_KEY": "sk-bench"},
    )

    def ask(cell: Cell) -> None:
        request = request_for(study, cell, f"{'x' * 400} {cell.path}")
        generator.generate(cell, request, "0" * 64)

    ask(asked[0])  # the imports, and the probe
    start = time.perf_counter()
    with ThreadPoolExecutor(2 * IN_FLIGHT) as pool:
        list(pool.map(ask, asked[1:]))
    speed = cells / (time.perf_counter() - start)
    generator.close()
    return speed


def main(small: bool = False) -> dict[str, object]:
    """Measure in turns; speeds in answers a second, the ratio wanted is 0.9."""
    cells, rounds = SMALL if small else (CELLS, ROUNDS)
    command = [sys.executable, "-m", "tools.bench.generation", "serve"]
    bare_speeds, sdk_speeds, speeds = [], [], []
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as server,
        # On the project's disk, and removed after the last round: ext4 makes files slowly after many removals.
        tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder,
    ):
        port = int(server.stdout.readline())
        try:
            for number in range(rounds):
                bare_speeds.append(bare(port, cells))
                sdk_speeds.append(sdk_alone(port, cells))
                speeds.append(generated(port, cells, Path(folder) / str(number)))
        finally:
            server.kill()
    ratios = [mine / possible for mine, possible in zip(speeds, bare_speeds, strict=True)]
    return {
        "cells": cells,
        "delay_s": DELAY_S,
        "in_flight": IN_FLIGHT,
        "bare_per_s": [round(speed, 1) for speed in bare_speeds],
        "sdk_alone_per_s": [round(speed, 1) for speed in sdk_speeds],
        "generated_per_s": [round(speed, 1) for speed in speeds],
        "ratio": round(statistics.median(ratios), 3),
        "ratio_to_the_sdk_alone": round(
            statistics.median(map(operator.truediv, speeds, sdk_speeds)), 3
        ),
    }


if __name__ == "__main__":
    asyncio.run(serve())
