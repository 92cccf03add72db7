"""Tables of what ran on GPUs: an H100, later an H200 for what the H100 had no time for."""

from markdown_tables import read, source, table

CARD, LATER_CARD = "h100", "h200"
_SHORT = 20_000  # ns; kernels that take less are counted together
# What kernels of an update belong to, by parts of their names; the first that fits.
_PARTS = {
    "convolutions of cuDNN": ("convolve", "conv", "wgrad", "dgrad", "fprop", "xmma", "convertTensor"),
    "the renderer's two kernels": ("loop_minimum", "loop_or"),
    "copies and stacks of images": ("input_concatenate", "memcpy", "wrapped_convert", "pad_fusion"),
}


def agreement() -> str:
    """Whether the GPU renders what the CPU renders, and the same again."""
    data = read(f"{CARD}-agreement.json")
    rows = [
        [
            row["env"],
            " ".join(f"`{name}`" for name in row["distractors"]) or "none",
            f"{row['same_geom']:.4%}",
            f"{row['color_largest']}",
            "same bits" if row["replay_same_bits"] else "other bits",
        ]
        for row in data["rows"]
        if "env" in row
    ]
    heading = ["task", "distractors", "pixels that show the same geom", "largest difference of color", "played again"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{CARD}-agreement.json")


def kernels() -> str:
    """Programs on the GPU: their rate, and what of their time kernels take."""
    data = read(f"{CARD}-kernels.json")
    rows = []
    for row in data["rows"]:
        name = {"render": "images of", "step": "steps of", "update": "an update of"}[row["program"]]
        what = f"`{row['of']}`" if row["program"] == "update" else f"{row['num_envs']:,} {row['of']}"
        busy = min(1.0, row["kernel_seconds"] / row["seconds"])
        rows.append(
            [
                f"{name} {what}",
                f"{row['per_second']:,}",
                f"{1e3 * row['seconds'] / _calls(row):.2f}",
                f"{row['kernels'] / _calls(row):,.0f}",
                f"{busy:.0%}",
                f"{row['bytes_per_second'] / row['copy_bytes_per_second']:.0%}",
            ]
        )
    heading = ["program", "per second", "ms", "kernels", "of the time in kernels", "of a copy's bandwidth"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{CARD}-kernels.json")


def _calls(row: dict) -> int:
    """Steps of all environments in a measured call."""
    return round(row["per_second"] * row["seconds"] / row["num_envs"]) if row["program"] == "step" else 1


def counters() -> str:
    """Nsight Compute's counters of the renderer's longest kernels."""
    data = read(f"{CARD}-counters.json")
    pixels = data["num_envs"] * data["size"] ** 2
    rows, rest = [], 0.0
    for row in data["rows"]:
        if row["nanoseconds"] < _SHORT:
            rest += row["nanoseconds"]
            continue
        rows.append(
            [
                f"`{row['kernel']}`",
                f"{row['nanoseconds'] / 1e3:.0f}",
                f"{32 * row['warp_instructions'] / pixels:,.0f}",
                f"{row['issue_slots_busy_percent']:.0f}%",
                f"{row['registers']:.0f}",
                f"{row['achieved_occupancy_percent']:.0f}%",
                f"{row['dram_throughput_percent']:.0f}%",
            ]
        )
    rows.append([f"{len(data['rows']) - len(rows)} others", f"{rest / 1e3:.0f}", *[""] * 5])
    heading = ["kernel", "us", "instructions per pixel", "issue slots busy", "registers", "occupancy"]
    heading.append("of DRAM's bandwidth")
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{CARD}-counters.json")


def update_parts() -> str:
    """Where the time of an update goes: the kernels that take longest, by what they belong to."""
    data = read(f"{CARD}-kernels.json")
    (row,) = (row for row in data["rows"] if row["program"] == "update")
    parts: dict[str, list[float]] = {}
    for kernel in row["longest"]:
        name = next((part for part, words in _PARTS.items() if any(w in kernel["kernel"] for w in words)), "others")
        count, seconds = parts.setdefault(name, [0, 0.0])
        parts[name] = [count + kernel["runs"], seconds + kernel["seconds"]]
    seen = sum(seconds for name, (_, seconds) in parts.items() if name != "others")
    runs = sum(count for name, (count, _) in parts.items() if name != "others")
    parts["others"] = [row["kernels"] - runs, row["kernel_seconds"] - seen]
    rows = [
        [name, f"{count:,.0f}", f"{1e3 * seconds:.0f}", f"{seconds / row['kernel_seconds']:.0%}"]
        for name, (count, seconds) in sorted(parts.items(), key=lambda item: -item[1][1])
    ]
    heading = ["kernels", "runs", "ms", "of the update"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{CARD}-kernels.json")


def learning() -> str:
    """Returns of policies that learned on the GPUs."""
    rows, sources = [], []
    for card in (CARD, LATER_CARD):
        (run,) = read(f"{card}-video.json")["rows"]
        sources.append(source(run["provenance"], f"{card}-video.json"))
        for evaluation in run["evaluations"].values():
            both = (evaluation, evaluation["held_out"])
            returns = [f"{each['mean_return']:,.0f} ± {each['standard_error']:,.0f}" for each in both]
            rows.append([card.upper(), f"{evaluation['steps']:,}", *returns, f"{min(evaluation['returns']):,.0f}"])
    heading = [
        "card",
        "actions",
        "return under `pixelbrax/video`",
        "under `pixelbrax/video@test`",
        "worst of the first",
    ]
    return table(heading, rows) + "\n\n" + "\n".join(sources)


def mesh_loops() -> str:
    """Images of meshes per second, by the size of the loop that draws them."""
    data = read(f"{LATER_CARD}-mesh-loops.json")
    rows = []
    for row in data["rows"]:
        one = f"{row['tiles']} x {row['clusters']}" if row.get("tiles") else ""  # before a scene had several loops
        rows.append(
            [
                f"{row['num_envs']:,} of {row['scene']}",
                row.get("tile", "4x8"),
                row.get("loops", one) or "all pairs",
                f"{row['frames_per_second']:,}",
                f"{row['temporary_gb']:.1f}",
                f"{row['other_pixels']:.6%}",
            ]
        )
    heading = ["images", "tile", "tiles x clusters a step", "frames/s", "GB of temporaries", "other pixels"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{LATER_CARD}-mesh-loops.json")


def summary() -> str:
    """The README's line of figures."""
    programs = {(row["program"], row["of"]): row for row in read(f"{CARD}-kernels.json")["rows"]}
    most = max(read(f"{CARD}-environment.json")["rows"], key=lambda row: row["steps_per_second"])
    figures = {
        "images of HalfCheetah, 64x64": programs["render", "halfcheetah"]["per_second"],
        "images of Humanoid, 64x64": programs["render", "humanoid"]["per_second"],
        "steps of 4,096 HalfCheetahs with pixels": programs["step", "halfcheetah"]["per_second"],
        f"steps of {most['num_envs']:,} HalfCheetahs with pixels": most["steps_per_second"],
        "actions of PPO from pixels, learning included": programs["update", "ppo-gpu"]["per_second"],
    }
    rows = [[name, f"{figure / 1e6:.2f} million"] for name, figure in figures.items()]
    return table(["on one H100", "per second"], rows)


TABLES = {
    f"gpu-{name}": make
    for name, make in {
        "agreement": agreement,
        "kernels": kernels,
        "counters": counters,
        "update": update_parts,
        "learning": learning,
        "mesh-loops": mesh_loops,
    }.items()
}
