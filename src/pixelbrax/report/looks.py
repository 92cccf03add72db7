"""What a policy does and looks at: videos, evaluations, saliency."""

from typing import Any

from pixelbrax.report.facts import RunFacts, interval_of, shown
from pixelbrax.report.markup import Markup, tag
from pixelbrax.report.overlay import Saliency, overlays, strip
from pixelbrax.report.page import film, more, section, table
from pixelbrax.training import BEST, HELD_OUT, TEACHER, amount

_ON_THE_WAY, _MANY = "update ", 8  # names of evaluations during training; of more rows those are hidden at first


def videos_section(facts: RunFacts) -> Markup | None:
    """The run's videos, in the page itself; None without any."""
    looks = shown(facts.config.environment.distractors)
    held_out = shown(facts.config.eval_distractors)
    titles = {
        facts.run.video_file: "as it was trained" + (f", under {looks}" if looks != "none" else ""),
        facts.run.held_out_video_file: f"under held-out looks: {held_out}",
    }
    figures = [film(file, facts.titled(title, file)) for file, title in titles.items() if file.is_file()]
    return section("The policy, deterministic", tag("div", figures, class_="side"), wide=True) if figures else None


def saliency_section(facts: RunFacts) -> Markup | None:
    """Frames, and what the action depends on in them; None where it was not computed."""
    found = Saliency.load(facts.run.saliency_file)
    if found is None:
        return None
    times = [f"{seconds:.3g} s" for seconds in found.seconds]
    named = (
        ("what it sees", found.frames, "the newest frame of each observation, in one episode of its own"),
        ("gradient", overlays(found.frames, found.gradient), "how much its action changes per level of each pixel"),
        (
            "occlusion",
            overlays(found.frames, found.occlusion),
            "how much its action changes if the image is blurred around a pixel",
        ),
    )
    figures = [
        tag("figure", strip(images, name, times if k == 2 else None), tag("figcaption", tag("b", name), ": ", told))
        for k, (name, images, told) in enumerate(named)
    ]
    note = "Brighter is more; one scale for each row. Gradients are local, and may be large where nothing could change."
    return section(facts.titled("What it looks at", facts.run.saliency_file), figures, note=note, wide=True)


def evaluation_section(facts: RunFacts) -> Markup | None:
    """Every evaluation in a row; None without any."""
    if not facts.evaluations:
        return None
    results = [*facts.on_the_way]
    if BEST in facts.evaluations:
        results.append(("best on the way, in fresh episodes", facts.evaluations[BEST]))
    has_held_out = any(HELD_OUT in result for _, result in results)
    has_teacher = any(TEACHER in result for _, result in results)
    known = [name for name in facts.config.eval_metrics if any(name in result for _, result in results)]
    head = ["policy", "actions", "mean return (95 %)", "IQM", "episodes", "frames"]
    head += ["held-out (95 %)", "kept"] * has_held_out + ["its teacher"] * has_teacher
    head += [name.replace("_", " ") for name in known]
    rows = []
    for name, result in results:
        row = [name, f"{result['steps']:,.0f}", _mean(result), amount(result["iqm"])]
        row += [_number(result, "episodes"), _number(result, "mean_length")]
        if has_held_out:
            held_out = result.get(HELD_OUT)
            row += [_mean(held_out), _kept(held_out, result)] if held_out else ["-", "-"]
        if has_teacher:
            row.append(_mean(result[TEACHER]) if TEACHER in result else "-")
        row += [f"{result[metric]:.3g}" if metric in result else "-" for metric in known]
        rows.append(row)
    note = _held_out_note(facts) if has_held_out else None
    last = len(facts.on_the_way) - 1
    main = [row for k, row in enumerate(rows) if k == last or not row[0].startswith(_ON_THE_WAY)]
    main = main if len(rows) > _MANY else rows
    numeric = range(1, len(head))
    hidden = more(f"all {len(rows)} evaluations", table(head, rows, numeric)) if len(main) < len(rows) else None
    return section("Evaluations", table(head, main, numeric), hidden, note=note, wide=True)


def _held_out_note(facts: RunFacts) -> str:
    looks, own = facts.config.eval_distractors, facts.config.environment.distractors
    trained = shown(own) if own else "no distractors"
    return f"Held-out looks are {shown(looks)}, in the same episodes; it was trained under {trained}."


def _mean(result: dict[str, Any]) -> str:
    low, high = interval_of(result)
    return f"{amount(result['mean_return'])} ({amount(low)} to {amount(high)})"


def _number(result: dict[str, Any], name: str) -> str:
    return f"{result[name]:,.0f}" if name in result else "-"


def _kept(held_out: dict[str, Any], result: dict[str, Any]) -> str:
    return f"{held_out['mean_return'] / result['mean_return']:.0%}" if result["mean_return"] > 0 else "-"
