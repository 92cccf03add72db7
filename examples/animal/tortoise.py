"""An animal of your own as the task "creatures/tortoise": `pixelbrax COMMAND --import tortoise`, in this folder."""

from pathlib import Path

from pixelbrax.creatures import Creature
from pixelbrax.tasks import register_creature

register_creature(
    Creature(
        name="tortoise",
        mjcf=Path(__file__).with_suffix(".xml"),
        root="shell",
        feet=("foot_fl", "foot_fr", "foot_rl", "foot_rr"),
        gait=((0, 3), (1, 2)),
        standing=(0.2, 0.38),
        speed=1.0,
    ),
    camera="side",
)
