"""A run's settings, those that differ from the defaults first."""

from pixelbrax.report.facts import RunFacts, settings_of, shown
from pixelbrax.report.markup import Markup, tag
from pixelbrax.report.page import more, section, table


def settings_section(facts: RunFacts) -> Markup:
    """Two tables, of which the second is opened by a click."""
    settings = settings_of(facts.config)
    changed = {name: pair for name, pair in settings.items() if pair[0] != pair[1] and not _is_told(name)}
    rows = [(tag("code", name), shown(value), shown(default)) for name, (value, default) in changed.items()]
    same = [(tag("code", name), shown(value)) for name, (value, _) in settings.items() if name not in changed]
    return section(
        "Settings",
        table(("setting", "here", "default"), rows) if rows else tag("p", "All settings have their defaults."),
        more(f"{len(same)} settings with their defaults", table((), same)),
        note=f"{len(changed)} differ from the defaults of {facts.config.algorithm.upper()}.",
        wide=True,
    )


def _is_told(name: str) -> bool:
    """Whether the page says it elsewhere: facts identify an environment that was made in Python."""
    return name == "environment.facts"
