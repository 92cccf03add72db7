"""Frames per second of other renderers beside ours: same poses, cameras and machine, every pixel consumed.

Usage: python benchmarks/peers.py [--task halfcheetah humanoid] [--num-envs 256] [--size 64] [--seconds 5] [--json FILE]
           [--peer NAME ...] [--python PEER=PATH ...] [--pictures DIR] [--limit 300]

A task is one of `pixelbrax list`, or shadow_hand, MJX's, of 58,000 triangles, or shadow_hand_10k, simplified to 10,000.
Every renderer runs in its own process and is warmed up first; then they take turns, ours before and after all others
in each round, and ratios are taken within a round. One that is missing, crashes or hangs is listed with the reason.

Columns: batch, frames rendered at once; cores, the number kept busy; differs, mean difference of the colors (0..255)
from ours, as expected from shadows, reflections, a missing sky and other lights (see --pictures).

The peers are not dependencies of PixelBrax. They can live in separate virtual environments, given by --python:

  pip install mujoco-warp==3.17.0 warp-lang==1.18.0   # the version of PixelBrax's MuJoCo, and the Warp that MJX names
  pip install --no-deps jaxrenderer==0.3.2            # beside jax and jaxtyping; newer JAX than it requires works

MuJoCo's OpenGL renderer needs libEGL or libOSMesa: MUJOCO_GL chooses, else the first that works is used.
"""

import argparse
import contextlib
import functools
import importlib
import itertools
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, cast

# No other imports here: this file also runs in interpreters that have a peer and not PixelBrax.
import numpy as np

ROUNDS = 3
VECTORS = "--xla_cpu_prefer_vector_width=512"  # of all renderers in JAX, unless XLA_FLAGS is set; docs/scaling.md
PICTURES = 4  # frames kept from every renderer, to check that all render the same
PLANE, SPHERE, CAPSULE = 0, 2, 3  # MuJoCo's numbers of types of geoms
JAXRENDERER_CPU_BATCH = 8  # it keeps every triangle at every pixel of a row, so larger batches only take memory


@dataclass(frozen=True)
class Drawer:
    """A renderer that is ready to render."""

    draw: Callable[[], int]  # renders the next `batch` frames and returns a checksum of all their pixels
    batch: int
    pictures: Callable[[], np.ndarray]  # (PICTURES, size, size, 3) uint8, upright, of the first states
    device: str


def _mujoco_scene(folder: Path) -> tuple[Any, Any, dict[str, np.ndarray], float]:
    """MuJoCo's model, its data with lights where qpos0 puts them, the states, and their common field of view."""
    import mujoco

    states = dict(np.load(folder / "states.npz"))
    if np.ptp(states["fovy"]) > 1e-6:
        raise RuntimeError("MuJoCo's renderers take one field of view for all states")
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data, states, float(states["fovy"][0])


def _jax_drawer(image: Callable[[Any], Any], states: dict[str, np.ndarray], cpu_batch: int | None) -> Drawer:
    """A drawer for a JAX function from one state to one (size, size, 3) uint8 image."""
    import jax
    import jax.numpy as jnp

    images = jax.jit(jax.vmap(image))
    sums = jax.jit(lambda batch: jnp.sum(images(batch).astype(jnp.uint32), axis=(1, 2, 3)))
    worlds = len(states["xpos"])
    size = min(worlds, cpu_batch or worlds) if jax.default_backend() == "cpu" else worlds
    starts = range(0, worlds - size + 1, size)
    batches = [{name: jnp.asarray(x[start : start + size]) for name, x in states.items()} for start in starts]
    turn, device = itertools.cycle(batches), jax.devices()[0]
    return Drawer(
        draw=lambda: int(np.asarray(sums(next(turn))).sum(dtype=np.int64)),
        batch=size,
        pictures=lambda: np.asarray(images(batches[0]))[:PICTURES],
        device=f"{device.device_kind} ({device.platform})",
    )


def prepare_ours(name: str, folder: Path, size: int) -> Drawer:
    """PixelBrax: all states at once."""
    from peer_scenes import scene_of

    from pixelbrax.render import Camera, GeomPose, render

    scene = scene_of(name)

    def image(state):
        camera = Camera(state["cam_pos"], state["cam_mat"], state["fovy"])
        return render(scene, GeomPose(state["xpos"], state["xmat"]), camera, size, size).rgb

    return _jax_drawer(image, dict(np.load(folder / "states.npz")), None)


def _opengl_backend() -> str:
    """The first of MuJoCo's headless OpenGL backends that provides a context."""
    backends = os.environ.get("MUJOCO_GL", "egl osmesa").split()
    # MuJoCo chooses once, when it is imported: each candidate needs its own process.
    command = [sys.executable, "-c", "import mujoco; mujoco.GLContext(64, 64).make_current()"]
    for backend in backends:
        environment = os.environ | {"MUJOCO_GL": backend}
        if not subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False).returncode:
            return backend
    raise RuntimeError(f"no OpenGL context from MUJOCO_GL={' or '.join(backends)}")


def prepare_opengl(name: str, folder: Path, size: int, plain: bool) -> Drawer:
    """MuJoCo's OpenGL renderer, which works frame by frame; `plain` turns off its most expensive features."""
    backend = os.environ["MUJOCO_GL"] = _opengl_backend()
    import mujoco

    model, data, states, fovy = _mujoco_scene(folder)
    window = model.vis.global_
    window.fovy = fovy
    window.offwidth, window.offheight = max(window.offwidth, size), max(window.offheight, size)
    renderer = mujoco.Renderer(model, size, size)
    if plain:
        for flag in ("SHADOW", "REFLECTION", "SKYBOX"):
            renderer.scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = False
    # A free camera, because not every model has a camera.
    camera = mujoco.MjvCamera()
    camera.distance = 1.0
    forward = -states["cam_mat"][:, :, 2]
    azimuth = np.degrees(np.arctan2(forward[:, 1], forward[:, 0]))
    elevation = np.degrees(np.arcsin(np.clip(forward[:, 2], -1, 1)))

    def frame(i: int) -> np.ndarray:
        data.geom_xpos[:] = states["xpos"][i]
        data.geom_xmat[:] = states["xmat"][i].reshape(-1, 9)
        camera.lookat[:] = states["cam_pos"][i] + forward[i]
        camera.azimuth, camera.elevation = azimuth[i], elevation[i]
        renderer.update_scene(data, camera)
        return renderer.render()

    gl = importlib.import_module("OpenGL.GL")
    device = f"{gl.glGetString(gl.GL_RENDERER).decode()} through {backend}"
    turn = itertools.cycle(range(len(forward)))
    first = range(len(forward))[:PICTURES]
    return Drawer(lambda: int(frame(next(turn)).sum()), 1, lambda: np.stack([frame(i) for i in first]), device)


def prepare_warp(name: str, folder: Path, size: int) -> Drawer:
    """The ray tracer of mujoco_warp (the one behind `mujoco.mjx.render`): all states at once, no shadows, like ours."""
    wp, mjw = importlib.import_module("warp"), importlib.import_module("mujoco_warp")
    model, data, states, fovy = _mujoco_scene(folder)
    if not model.ncam:
        raise RuntimeError("it draws only what a model's own cameras see, and this model has none")
    model.cam_fovy[:] = fovy
    worlds = len(states["xpos"])
    warp_model, warp_data = mjw.put_model(model), mjw.put_data(model, data, nworld=worlds)
    warp_data.geom_xpos.assign(states["xpos"])
    warp_data.geom_xmat.assign(states["xmat"])
    warp_data.cam_xpos.assign(np.repeat(states["cam_pos"][:, None], model.ncam, axis=1))
    warp_data.cam_xmat.assign(np.repeat(states["cam_mat"][:, None], model.ncam, axis=1))
    outputs = {"render_rgb": True, "render_depth": False, "render_seg": False, "render_skybox": True}
    context = mjw.create_render_context(model, nworld=worlds, cam_res=(size, size), cam_active=[0], **outputs)
    sums = wp.zeros(worlds, dtype=wp.uint32)

    @wp.kernel(enable_backward=False)
    def add_pixels(
        packed: wp.array2d(dtype=wp.uint32),  # pyright: ignore[reportInvalidTypeForm]
        sums: wp.array(dtype=wp.uint32),  # pyright: ignore[reportInvalidTypeForm]
    ):
        world, pixel = wp.tid()
        wp.atomic_add(sums, world, packed[world, pixel] & wp.uint32(0xFFFFFF))

    def launch() -> None:
        mjw.refit_bvh(warp_model, warp_data, context)
        mjw.render(warp_model, warp_data, context)
        sums.zero_()
        wp.launch(add_pixels, dim=context.rgb_data.shape, inputs=[context.rgb_data, sums])

    launch()
    again = launch
    if wp.get_device().is_cuda:
        # As mujoco_warp's own benchmark does: one graph instead of many launches.
        with wp.ScopedCapture() as capture:
            launch()
        again = functools.partial(wp.capture_launch, capture.graph)

    def draw() -> int:
        again()
        return int(sums.numpy().sum(dtype=np.int64))  # waits for the device

    def pictures() -> np.ndarray:
        packed = context.rgb_data.numpy()[:PICTURES].reshape(-1, size, size)
        return np.stack([packed >> shift & 255 for shift in (16, 8, 0)], axis=-1).astype(np.uint8)

    return Drawer(draw, worlds, pictures, wp.get_device().name)


def prepare_jaxrenderer(name: str, folder: Path, size: int) -> Drawer:
    """jaxrenderer, a copy of which the paper uses, with the paper's meshes: capsules, and a box for the floor."""
    import jax
    import jax.numpy as jnp

    # Version 0.3.2 sets an option that JAX removed when it became the only way.
    update = jax.config.update
    jax.config.update = lambda name, value: None if name == "jax_array" else update(name, value)
    jr = importlib.import_module("renderer")
    look = {name: jnp.asarray(x, jnp.float32) for name, x in np.load(folder / "look.npz").items()}
    light = jr.LightParameters(direction=look["to_light"], ambient=0.4, diffuse=0.6)
    models = [_jaxrenderer_mesh(jr, look, i) for i in range(len(look["type"]))]

    def image(state):
        objects = [
            jr.ModelObject(model).replace_with_position(pos).replace_with_orientation(rotation_matrix=mat)
            for model, pos, mat in zip(models, state["xpos"], state["xmat"], strict=True)
        ]
        eye, mat, fov = state["cam_pos"], state["cam_mat"], state["fovy"]
        view = {"position": eye, "target": eye - mat[:, 2], "up": mat[:, 1], "hfov": fov, "vfov": fov}
        camera = jr.CameraParameters(viewWidth=size, viewHeight=size, **view)
        rgb = jr.Renderer.get_camera_image(objects, light, camera, size, size, colour_default=look["sky"])
        return jr.transpose_for_display((jnp.clip(rgb, 0, 1) * 255).astype(jnp.uint8))

    return _jax_drawer(image, dict(np.load(folder / "states.npz")), JAXRENDERER_CPU_BATCH)


def _jaxrenderer_mesh(jr: Any, look: dict[str, Any], geom: int) -> Any:
    """One geom's mesh."""
    import jax.numpy as jnp

    kind, size, color, period = (look[key][geom] for key in ("type", "size", "rgb", "period"))
    if kind == PLANE:
        half, checker = 1000.0, look["checker"]
        # A quarter of the texture lies on each of the box's wide sides.
        return jr.create_cube(jnp.array([half, half, 1e-4]), 8 * half / period, checker, jnp.full((2, 2), 2.0))
    if kind not in (SPHERE, CAPSULE):
        raise RuntimeError(f"no mesh for geom {geom} of type {kind:g}: only planes, spheres and capsules have one here")
    half = size[1] * (kind == CAPSULE)
    return jr.create_capsule(size[0], half, jr.UpAxis.Z, color.reshape(1, 1, 3), jnp.full((1, 1), 2.0))


# Each renderer's name in the table, the function that prepares it, and the packages whose versions are recorded.
PEERS: dict[str, tuple[str, Callable[[str, Path, int], Drawer], str]] = {
    "ours": ("PixelBrax", prepare_ours, "pixelbrax jax jaxlib"),
    "opengl": ("MuJoCo OpenGL, default flags", functools.partial(prepare_opengl, plain=False), "mujoco PyOpenGL"),
    "opengl-plain": ("MuJoCo OpenGL, plain", functools.partial(prepare_opengl, plain=True), "mujoco PyOpenGL"),
    "warp": ("MuJoCo Warp ray tracer", prepare_warp, "mujoco-warp warp-lang mujoco"),
    "jaxrenderer": ("jaxrenderer (the paper's)", prepare_jaxrenderer, "jaxrenderer jax jaxlib"),
}


def serve(peer: str, name: str, folder: Path, size: int, num_envs: int) -> None:
    """A renderer's process: prepares, reports, then measures for as many seconds as each line of input requests."""
    # Libraries may print anything; answers have a separate pipe.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _, prepare, packages = PEERS[peer]
    try:
        if peer == "ours":
            from peer_scenes import write_states

            write_states(name, folder, num_envs)
        start = time.perf_counter()
        drawer = prepare(name, folder, size)
        facts = {"checksum": drawer.draw(), "warm_up_seconds": round(time.perf_counter() - start, 2)}
        facts |= {"batch": drawer.batch, "device": drawer.device, "python": platform.python_version()}
        np.save(folder / f"{peer}.npy", drawer.pictures())
        print(json.dumps(facts | {package: metadata.version(package) for package in packages.split()}), file=answers)
        for line in sys.stdin:
            drawer.draw()  # after a rest, caches are cold
            frames, start, busy = 0, time.perf_counter(), time.process_time()
            while (elapsed := time.perf_counter() - start) < float(line):
                drawer.draw()
                frames += drawer.batch
            cores = (time.process_time() - busy) / elapsed
            print(json.dumps({"rate": frames / elapsed, "cores": cores}), file=answers)
    except Exception as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}".splitlines()[0]}), file=answers)
        raise


class PeerFailedError(Exception):
    """A renderer cannot be measured; the message is the reason."""


class Worker:
    """A handle to a renderer's process."""

    def __init__(self, peer: str, name: str, folder: Path, args: argparse.Namespace):
        self.limit, self.log = args.limit, folder / f"{peer}.log"
        command = [args.python.get(peer, sys.executable), __file__, "--serve", peer, str(folder), "--task", name]
        command += ["--size", str(args.size), "--num-envs", str(args.num_envs)]
        # Several processes share an accelerator's memory.
        environment = {"XLA_FLAGS": VECTORS} | os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        try:
            self.process = subprocess.Popen(command, env=environment, stderr=self.log.open("wb"), **pipes)
        except OSError as e:
            raise PeerFailedError(f"{command[0]}: {e.strerror}") from e
        self.stdin, self.stdout = cast(Any, self.process.stdin), cast(Any, self.process.stdout)

    def answer(self) -> dict[str, Any]:
        """The next line the process prints."""
        if not select.select([self.stdout], [], [], self.limit)[0]:
            self.process.kill()
            raise PeerFailedError(f"no answer within {self.limit:g} s")
        line = self.stdout.readline()
        if not line:
            said = self.log.read_text(errors="replace").split("\n")
            raise PeerFailedError(f"ended with status {self.process.wait()}: {' '.join(said[-3:]).strip()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailedError(answer["error"])
        return answer

    def measure(self, seconds: float) -> dict[str, float]:
        """Frames per second and cores kept busy."""
        with contextlib.suppress(BrokenPipeError):  # then no answer comes, and that says why
            self.stdin.write(f"{seconds}\n".encode())
        return self.answer()

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()


def take_turns(name: str, rows: dict[str, dict[str, Any]], args: argparse.Namespace, folder: Path) -> dict[str, list]:
    """Starts the renderers and has them measure in turns; notes in `rows` what they report or why they fail."""
    workers: dict[str, Worker] = {}
    slices: dict[str, list[dict[str, float]]] = {peer: [] for peer in rows}
    try:
        for peer in [*rows] + [*rows] * ROUNDS + ["ours"]:
            try:
                if "reason" in rows[peer]:
                    continue
                if peer in workers:
                    slices[peer].append(workers[peer].measure(args.seconds / ROUNDS))
                else:
                    workers[peer] = Worker(peer, name, folder, args)
                    rows[peer] |= workers[peer].answer()
            except PeerFailedError as e:
                rows[peer]["reason"] = str(e)
                if peer == "ours":  # without it there are neither states nor ratios
                    for row in rows.values():
                        row.setdefault("reason", f"ours failed: {e}")
                    break
    finally:
        for worker in workers.values():
            worker.close()
    return slices


def compare(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per renderer, all for one environment."""
    rows: dict[str, dict[str, Any]] = {peer: {"env": name, "renderer": peer} for peer in ["ours", *args.peer]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        slices = take_turns(name, rows, args, folder)
        images = {peer: np.load(folder / f"{peer}.npy") for peer in rows if "reason" not in rows[peer]}
    ours = [measured["rate"] for measured in slices["ours"]]
    for peer, image in images.items():
        rates = [measured["rate"] for measured in slices[peer]]
        # A round is compared with ours before and after it; ours relative to itself is 1.
        ratios = [1.0] if peer == "ours" else [2 * r / (a + b) for r, a, b in zip(rates, ours, ours[1:], strict=False)]
        rows[peer] |= {
            "frames_per_second": round(statistics.median(rates), 1),
            "times_ours": float(f"{statistics.median(ratios):.3g}"),
            "cores_busy": round(statistics.median(measured["cores"] for measured in slices[peer]), 1),
            "mean_difference": round(float(np.abs(image.astype(float) - images["ours"]).mean()), 1),
        }
        if args.pictures:
            from PIL import Image

            args.pictures.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.concatenate(image, axis=1)).save(args.pictures / f"{name}-{peer}.png")
    return list(rows.values())


def main() -> None:
    """Prints a table, and writes it with versions and machine if requested."""
    others = [peer for peer in PEERS if peer != "ours"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=["halfcheetah", "humanoid"])
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0, help=f"seconds per renderer, in {ROUNDS} slices")
    parser.add_argument("--peer", nargs="+", default=others, choices=others)
    parser.add_argument("--python", nargs="+", default=[], metavar="PEER=PATH", help="a peer's own interpreter")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a silent peer is abandoned")
    parser.add_argument("--pictures", type=Path, help="folder for the images of each renderer")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve[0], args.task[0], Path(args.serve[1]), args.size, args.num_envs)
    args.python = dict(choice.split("=", 1) for choice in args.python)
    rows = []
    columns = "{:<18} {:<28} {:>6} {:>9} {:>10} {:>10} {:>6} {:>8}"
    print(columns.format("env", "renderer", "batch", "warm-up s", "frames/s", "times ours", "cores", "differs"))
    keys = "batch warm_up_seconds frames_per_second times_ours cores_busy mean_difference".split()
    for name in args.task:
        for row in compare(name, args):
            rows.append(row)
            title = PEERS[row["renderer"]][0]
            cannot = f"{name:<18} {title:<28} cannot run: {row.get('reason')}"
            print(cannot if "reason" in row else columns.format(name, title, *(row[k] for k in keys)), flush=True)
    if args.json:
        from pixelbrax.training import provenance

        facts = {"provenance": provenance(), "size": args.size, "num_envs": args.num_envs, "rows": rows}
        args.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
