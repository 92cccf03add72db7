"""What a compiled program costs on an accelerator: kernels and bytes moved, parsed from its HLO text.

What XLA does: its own `cost_analysis()` counts the body of a loop once, however often it runs, and counts no kernels.
Seen with: jaxlib 0.10.2 and 0.11.2. The text format is not stable: `tests/test_benchmarks.py` compares with programs
of known cost.
Used by: `pixelbrax bench` and `benchmarks/cross_compile.py`.
Remove when: `cost_analysis()` counts kernels, and loops as often as they run.
"""

import re
from typing import Any, NamedTuple

_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "opt-barrier"}
_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "s64": 8, "u64": 8, "f64": 8}


def program_cost(program: Any) -> dict[str, int]:
    """Cost of one run of a compiled program: kernels launched, bytes they read and write, and bytes of temporaries.

    A loop's body counts once per iteration where XLA knows the trip count; a conditional counts its most expensive
    branch. A CPU has no kernels: there it is the number of operations.
    """
    kernels, moved = _cost("ENTRY", computations(program))
    memory = program.memory_analysis()
    return {"kernels": kernels, "bytes_moved": moved, "bytes_between": memory.temp_size_in_bytes if memory else 0}


def computations(program: Any) -> dict[str, list[str]]:
    """The lines of each computation of a compiled program; the outermost is called ENTRY."""
    blocks = re.findall(
        r"^(ENTRY )?%?([\w.\-]+) \([^\n]*\{\n(.*?)^\}", program.as_text() or "", re.MULTILINE | re.DOTALL
    )
    return {"ENTRY" if entry else name: body.strip().splitlines() for entry, name, body in blocks}


def shape_bytes(shape: str) -> int:
    """Bytes of an array or tuple from its shape in XLA's notation, such as "f32[3,4]{1,0}"."""
    total = 0
    for kind, numbers in re.findall(r"([a-z]+\d*)\[([\d,]*)\]", re.sub(r"/\*.*?\*/", "", shape)):
        count = 1
        for number in filter(None, numbers.split(",")):
            count *= int(number)
        total += count * _BYTES.get(kind, 4)
    return total


class _Operation(NamedTuple):
    """A line of a computation: its name, shape, kind and operands, and the rest of the line."""

    name: str
    shape: str
    kind: str
    operands: list[str]
    rest: str


def _operations(lines: list[str]) -> list[_Operation]:
    pattern = r"\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\(([^)]*)\)(.*)"
    found = (re.match(pattern, line) for line in lines)
    return [_Operation(m[1], m[2], m[3], re.findall(r"%([\w.\-]+)", m[4]) or [m[4]], m[5]) for m in found if m]


def _cost(name: str, blocks: dict[str, list[str]]) -> tuple[int, int]:
    """Kernels and bytes of one run of a computation."""
    operations = _operations(blocks.get(name, []))
    sizes = {operation.name: shape_bytes(operation.shape) for operation in operations}
    kernels = moved = 0
    for operation in operations:
        if inner := _inner(operation.kind, operation.rest):
            trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', operation.rest)
            runs = int(trips[1]) if trips else 1
            costliest = max(_cost(computation, blocks) for computation in inner)
            kernels += runs * costliest[0]
            moved += runs * costliest[1]
        elif operation.kind not in _FREE and not operation.kind.endswith("-done"):
            kernels += 1
            moved += _moved(operation, sizes, blocks)
    return kernels, moved


def _moved(operation: _Operation, sizes: dict[str, int], blocks: dict[str, list[str]]) -> int:
    """Bytes that one kernel reads and writes; of an array that it slices or updates in place, those of the slice."""
    fused = re.search(r"calls=%?([\w.\-]+)", operation.rest) if operation.kind == "fusion" else None
    inside = [operation]
    inputs = {name: name for name in operation.operands}
    if fused:
        inside = _operations(blocks[fused[1]])
        parameters = {x.name: int(x.operands[0]) for x in inside if x.kind == "parameter"}
        inputs = {name: operation.operands[number] for name, number in parameters.items()}
    own = sizes | {x.name: shape_bytes(x.shape) for x in inside}
    read = sum(min(_read(name, inside, own), sizes.get(given, 0)) for name, given in inputs.items())
    return read + _written(inside, own)


def _read(name: str, inside: list[_Operation], sizes: dict[str, int]) -> int:
    """Bytes read of an array: all of it, or its slices."""
    same, slices = {name}, 0
    for operation in inside:
        first, *others = operation.operands
        if same.isdisjoint(operation.operands) or operation.kind == "parameter":
            continue
        if operation.kind == "bitcast":
            same.add(operation.name)
        elif first not in same or not same.isdisjoint(others):
            return sizes.get(name, 0)
        elif operation.kind in ("slice", "dynamic-slice", "gather"):
            slices += sizes[operation.name]
        elif operation.kind != "dynamic-update-slice":  # which is done in place
            return sizes.get(name, 0)
    return slices


def _written(inside: list[_Operation], sizes: dict[str, int]) -> int:
    """Bytes of the results; of one updated in place, those of the update."""
    known = {operation.name: operation for operation in inside}
    *_, root = inside
    results = root.operands if root.kind == "tuple" else [root.name]
    total = 0
    for result in results:
        operation = known.get(result)
        while operation and operation.kind == "bitcast":
            operation = known.get(operation.operands[0])
        in_place = operation is not None and operation.kind == "dynamic-update-slice"
        total += sizes.get(operation.operands[1] if operation and in_place else result, 0)
    return total


def _inner(operation: str, rest: str) -> list[str]:
    """The computations that a loop, a call or a conditional runs."""
    if operation in ("while", "call"):
        return re.findall(r"(?:body|to_apply)=%?([\w.\-]+)", rest)
    if operation != "conditional":
        return []
    branches = re.findall(r"%([\w.\-]+)", rest.partition("branch_computations={")[2].partition("}")[0])
    return branches or re.findall(r"(?:true|false)_computation=%?([\w.\-]+)", rest)
