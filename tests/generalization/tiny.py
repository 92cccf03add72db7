"""A benchmark that an agent of seconds obeys."""

from pixelbrax.generalization import Benchmark, TaskRules

TINY = Benchmark(
    "tiny",
    tasks=(TaskRules("probe/sides", "probe", blind=0.0, reference=20.0, episode_length=20, without=("light",)),),
    tracks={"plain": (), "looks": ("severity/noise-1",)},
    axes=("noise", "moving-noise", "light"),
    severities=(1, 5),
    image_size=8,
    num_steps=96,
    num_seeds=2,
    episodes=3,
)
