"""Tables of what ran on GPUs: an H100, later an H200 for what the H100 had no time for."""

from markdown_tables import read, source, table

CARD, LATER_CARD = "h100", "h200"
_SHORT = 20_000  # ns; kernels that take less are counted together
# What kernels of an update belong to, by parts of their names; the first that fits.
_PARTS = {
    "convolutions of cuDNN": ("wgrad", "dgrad", "fprop", "convertTensor"),
    "images stacked, cut into patches and converted": ("loop_convert", "input_concatenate", "memcpy", "pad_fusion"),
    "the first layer's products": ("nvjet",),
    "the renderer's two kernels": ("loop_minimum", "loop_or"),
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
    data = read(f"{LATER_CARD}-update.json")
    row = data["rows"][0]
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
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{LATER_CARD}-update.json")


def learning() -> str:
    """Returns of policies that learned on the GPUs."""
    rows, sources = [], []
    for card in (CARD, LATER_CARD):
        (run,) = read(f"{card}-video.json")["rows"]
        sources.append(source(run["provenance"], f"{card}-video.json"))
        for evaluation in (
            each for each in run["evaluations"].values() if "held_out" in each
        ):  # the best again has not
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


def students() -> str:
    """Students of carried teachers that learned on the GPU side by side, at their last evaluation."""
    runs = read(f"{LATER_CARD}-students.json")["rows"]
    rows = []
    for run in runs:
        for each in run["evaluations"].values():
            both = [f"{x['mean_return']:,.0f} ± {x['standard_error']:,.0f}" for x in (each, each["held_out"])]
            teacher = each["teacher"]["mean_return"]
            share = f"{each['mean_return'] / teacher:.0%}"
            rows.append([run["env"], f"{each['steps']:,}", f"{teacher:,.0f}", *both, share])
    heading = ["task", "actions", "teacher", "student under `pixelbrax/video`", "under `pixelbrax/video@test`"]
    told = source(runs[0]["provenance"], f"{LATER_CARD}-students.json")
    return table([*heading, "of the teacher's"], rows) + "\n\n" + told


def update_ways() -> str:
    """An update of PPO, compiled in several ways."""
    data = read(f"{LATER_CARD}-update.json")
    own = next(row for row in data["rows"] if row["dtype"] == "float32")["xla_flags"]
    rows = []
    for row in data["rows"]:
        flags = row["xla_flags"].removeprefix(own).strip()
        rows.append(
            [
                f"`{row['of']}`" + (f", {row['dtype']}" if row["dtype"] != "float32" else ""),
                f"`{flags}`" if flags else "",
                f"{1e3 * row['seconds']:.0f}",
                f"{row['per_second']:,}",
            ]
        )
    heading = ["an update of", "more flags of XLA", "ms", "actions/s"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], f"{LATER_CARD}-update.json")


def flags() -> str:
    """What the command line's flags of XLA are worth."""
    rows, provenance, files = [], {}, []
    for name in ("its", "other"):
        files.append(f"{LATER_CARD}-render-{name}-flags.json")
        data = read(files[-1])
        provenance = dict(data["provenance"])
        its = provenance.pop("xla_flags")
        rows += [
            [f"{row['num_envs']:,} {row['env']}", f"`{its}`", f"{row['frames_per_second']:,}"] for row in data["rows"]
        ]
    return table(["images of", "XLA_FLAGS", "frames/s"], rows) + "\n\n" + source(provenance, ", ".join(files))


def mesh_loops() -> str:
    """Images of meshes per second, by the size of the loop that draws them."""
    rows, sources = [], []
    for file in (f"{LATER_CARD}-mesh-loops.json", f"{LATER_CARD}-mesh-loops-hand.json"):
        data = read(file)
        sources.append(source(data["provenance"], file))
        rows += [
            [
                f"{row['num_envs']:,} of {row['scene']}",
                row["tile"],
                row["loops"] or "all pairs",
                f"{row['frames_per_second']:,}",
                f"{row['temporary_gb']:.1f}",
                f"{row['other_pixels']:.6%}",
            ]
            for row in data["rows"]
        ]
    heading = [
        "images",
        "tile",
        "tiles x clusters a step",
        "frames/s",
        "GB of temporaries",
        "other pixels",
    ]
    return table(heading, rows) + "\n\n" + "\n".join(sources)


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
        "students": students,
        "update-ways": update_ways,
        "flags": flags,
    }.items()
}
