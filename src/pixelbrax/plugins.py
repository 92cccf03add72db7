"""Plugins: packages that register tasks, distractors, algorithms and hooks when they are imported.

An installed package is found by the entry-point group `pixelbrax.plugins`, whose entries name modules to import:

    [project.entry-points."pixelbrax.plugins"]
    my_tasks = "my_package.tasks"

Any other module is named: `pixelbrax COMMAND --import my_module`, or `pixelbrax.load_plugins("my_module")`.
"""

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import metadata

from pixelbrax.errors import ConfigError, warn_caller

GROUP = "pixelbrax.plugins"
_imported: dict[str, None] = {}  # modules loaded by their names, in order
_discovered: dict[tuple[str, str], bool] = {}  # names and values of entry points, and whether they could be loaded
_searched: list[str] | None = None  # `sys.path` at the last search
_registrations: list[tuple[str, Callable[[], object]]] = []  # who registered, and how to take it back


def load_plugins(*modules: str) -> list[str]:
    """Imports the installed plugins, and modules by their names.

    Args:
      *modules: names of modules or packages; the working directory is searched, too.

    Returns:
      Names of everything loaded so far: of the modules, and of the entry points.

    Raises:
      ConfigError: a module cannot be imported; what it has registered is taken back, so that it can be corrected and
        loaded. An installed plugin that cannot be is skipped with a warning.
    """
    for name in modules:
        _import(name)
    _discover()
    return [*_imported, *(name for (name, _), loaded in _discovered.items() if loaded)]


def load_installed_plugins() -> None:
    """Imports the installed plugins, if nobody did: a search reads the metadata of every installed package."""
    if _searched != sys.path:
        _discover()


def imported_modules() -> tuple[str, ...]:
    """Modules that were loaded by their names, for a run's config.toml."""
    return tuple(_imported)


def note_registration(take_back: Callable[[], object]) -> None:
    """Notes what a module registers, and how to take it back if its import fails."""
    _registrations.append((_module_being_imported(), take_back))


def _import(name: str) -> None:
    if name in _imported:
        return
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"cannot import {name!r}: it must be the name of a module, such as my_package.tasks")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    _warn_if_hidden(name)
    try:
        with _undone_if_it_fails(name):
            importlib.import_module(name)
    except (Exception, SystemExit) as e:
        missing = isinstance(e, ModuleNotFoundError) and e.name == name.split(".")[0]
        remedy = f": it is not in {os.getcwd()} either; go to the folder that has it, or name that in PYTHONPATH"
        raise ConfigError(f"cannot import {name}: {_reason(e)}{remedy * missing}") from e
    _imported[name] = None


def _warn_if_hidden(name: str) -> None:
    """Warns if Python has another module of that name before the one in the working directory: turtle, for one."""
    top = name.split(".")[0]
    files = [os.path.realpath(os.path.join(os.getcwd(), file)) for file in (f"{top}.py", f"{top}/__init__.py")]
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # of modules that were made otherwise than by an import
        return
    own = [file for file in files if os.path.isfile(file)]
    if own and spec is not None and spec.origin and os.path.realpath(spec.origin) not in own:
        warn_caller(
            f"import {name}: Python has another module {top} ({spec.origin}), and takes it, not {own[0]}: rename yours"
        )


def _discover() -> None:
    """Loads each installed plugin once."""
    global _searched
    _searched = list(sys.path)
    for entry in metadata.entry_points(group=GROUP):
        if (known := (entry.name, entry.value)) in _discovered:  # several packages may call theirs alike
            continue
        _discovered[known] = False
        try:
            if not entry.pattern.match(entry.value):  # of which Python says nothing that a reader understands
                raise ConfigError("it must be the name of a module, or MODULE:FUNCTION")
            with _undone_if_it_fails(entry.module):
                loaded = entry.load()
                if callable(loaded):
                    loaded()
        except (Exception, SystemExit) as e:  # a script that calls sys.exit would end every command
            package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
            warn_caller(f"plugin {entry.name!r}{package} ({entry.value}) is skipped: {_reason(e)}")
            continue
        _discovered[known] = True


@contextlib.contextmanager
def _undone_if_it_fails(module: str) -> Iterator[None]:
    """Where importing a module fails: forgets what its package has imported and registered, so that it can be repeated.

    What other modules have registered meanwhile stays: they stay imported, and would not register it again.
    """
    imported, first = set(sys.modules), len(_registrations)
    try:
        yield
    except BaseException:
        for name in sys.modules.keys() - imported:
            if name.split(".")[0] == module.split(".")[0]:
                _forget(name)
        for source, take_back in _registrations[first:]:
            if source not in sys.modules:
                take_back()
        raise


def _forget(module: str) -> None:
    """Undoes the import of a module, also for `from parent import module`."""
    del sys.modules[module]
    parent, _, name = module.rpartition(".")
    if parent in sys.modules:
        vars(sys.modules[parent]).pop(name, None)


def _module_being_imported() -> str:
    """The name of the innermost module whose own code is running; none while `_discover` calls a plugin's function."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        if frame.f_globals is globals() and frame.f_code.co_name == _discover.__name__:
            return ""
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def _reason(error: BaseException) -> str:
    """The error in one line, with its location outside of Python's import machinery."""
    text = (str(error).strip().splitlines() or [""])[0]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if len(frames) > 1 else ""
    return f"{type(error).__name__}: {text}{place}"
