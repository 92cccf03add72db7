"""A plugin in ten lines: a task, a distractor and a hook, known by their names once this module is imported."""

import pixelbrax
from pixelbrax.distractors import Brightness, Preset, register_preset
from pixelbrax.training import register_hook


class Quiet(pixelbrax.Hook):
    def on_end(self, run):
        (run.path / "ended.txt").write_text("by a plugin")


def _load(backend):
    from tests.probe import ProbePhysics  # engines are loaded when they are needed

    return ProbePhysics(pays_side=True)


camera = pixelbrax.CameraSpec(offset=(0.0, -3.0), height=0.5, target_height=0.5, fovy=45.0, body=None)
pixelbrax.register(pixelbrax.Task("plugin/sides", "the probe's sides", ("probe",), _load, camera))
register_preset(Preset("plugin/dim", "darker", lambda setting: [Brightness()]))
register_hook("plugin-end", Quiet)
