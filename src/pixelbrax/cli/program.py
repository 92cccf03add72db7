"""What a compiled program does on an accelerator, read from its text: kernels, bytes moved."""

import re
from typing import Any

_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "opt-barrier"}
_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "s64": 8, "u64": 8, "f64": 8}


def cost(program: Any) -> dict[str, int]:
    """Of one run of a compiled program: kernels started, the most bytes they read and write, and bytes in between.

    Bodies of loops count as often as they run, where XLA knows how often, and the dearest branch of several. An operand
    counts whole, also where only a part of it is read. A CPU has no kernels: there it is a number of operations.
    """
    kernels, moved = _cost("ENTRY", computations(program))
    memory = program.memory_analysis()
    return {"kernels": kernels, "bytes_moved": moved, "bytes_between": memory.temp_size_in_bytes if memory else 0}


def computations(program: Any) -> dict[str, list[str]]:
    """The lines of each computation of a compiled program; the program's own is called ENTRY."""
    blocks = re.findall(
        r"^(ENTRY )?%?([\w.\-]+) \([^\n]*\{\n(.*?)^\}", program.as_text() or "", re.MULTILINE | re.DOTALL
    )
    return {"ENTRY" if entry else name: body.strip().splitlines() for entry, name, body in blocks}


def num_bytes(shape: str) -> int:
    """Bytes of an array or tuple, as XLA writes it."""
    total = 0
    for kind, numbers in re.findall(r"([a-z]+\d*)\[([\d,]*)\]", re.sub(r"/\*.*?\*/", "", shape)):
        count = 1
        for number in filter(None, numbers.split(",")):
            count *= int(number)
        total += count * _BYTES.get(kind, 4)
    return total


def _cost(name: str, blocks: dict[str, list[str]]) -> tuple[int, int]:
    """Kernels and bytes of one run of a computation."""
    sizes: dict[str, int] = {}
    kernels = moved = 0
    for line in blocks.get(name, []):
        match = re.match(r"\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\(([^)]*)\)(.*)", line)
        if not match:
            continue
        result, shape, operation, operands, rest = match.groups()
        sizes[result] = num_bytes(shape)
        if inner := _inner(operation, rest):
            trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', rest)
            runs = int(trips[1]) if trips else 1
            dearest = max(_cost(computation, blocks) for computation in inner)
            kernels += runs * dearest[0]
            moved += runs * dearest[1]
        elif operation not in _FREE and not operation.endswith("-done"):
            kernels += 1
            moved += sizes[result] + sum(sizes.get(o, 0) for o in re.findall(r"%([\w.\-]+)", operands))
    return kernels, moved


def _inner(operation: str, rest: str) -> list[str]:
    """The computations that a loop, a call or a conditional runs."""
    if operation in ("while", "call"):
        return re.findall(r"(?:body|to_apply)=%?([\w.\-]+)", rest)
    if operation != "conditional":
        return []
    branches = re.findall(r"%([\w.\-]+)", rest.partition("branch_computations={")[2].partition("}")[0])
    return branches or re.findall(r"(?:true|false)_computation=%?([\w.\-]+)", rest)
