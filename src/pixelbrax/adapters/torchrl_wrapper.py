"""A `PixelEnv` by TorchRL's interface, `torchrl.envs.EnvBase` of TorchRL 0.14; see `pixelbrax.adapters.torchrl`."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import pixelbrax
from pixelbrax.adapters.arrays import from_torch, to_torch, torch_device
from pixelbrax.adapters.functional import Differentiable, SmoothStep, StateLeaves
from pixelbrax.adapters.observations import Bounds, ObsView
from pixelbrax.adapters.stepping import EnvBatch, check_batch_shape, known_settings, refuse
from pixelbrax.envs import PixelEnv, State, check_reversible, check_soft_image, with_autoreset
from pixelbrax.errors import MAX_SEED, ConfigError, check_count, check_flag, check_keywords, check_number
from pixelbrax.tasks import task_names

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Bounded, Categorical, Composite, TensorSpec, Unbounded
    from torchrl.envs.common import _EnvWrapper
    from torchrl.envs.utils import _classproperty

    from pixelbrax.adapters.torch_autograd import linked
except ImportError as e:
    raise ConfigError(f"TorchRL cannot be imported ({e}): pip install 'pixelbrax[torchrl]'") from e

_OTHER_KEYS = ("observation", "state", "action", "reward", "next", "done", "terminated", "truncated")
_ENDS = ("done", "terminated", "truncated")
_DTYPES = {name: getattr(torch, name) for name in ("bool", "uint8", "int32", "float32")}


class PixelBraxWrapper(_EnvWrapper):
    """A `PixelEnv` by TorchRL's interface, as a batch of environments on JAX's device.

    Entries: "observation", the engine's observation vector, unless `pixels_only`; images under `pixels_key`; "reward";
    "done", "terminated" and "truncated". Every episode's true last image is there, as the "next" of the step that ends
    it. Images share JAX's memory unless they are stacked frames: change none in place.

    The states stay on JAX's device (`states`), or travel as the entry "state" if the environment is `functional`: a
    step then depends on its tensordict alone, for planning from stored states and for gradients.
    """

    _has_frame_skip = True  # as the environment's action_repeat: TorchRL adds no transform of its own
    git_url = "https://arxiv.org/abs/2502.00021"
    libname = "pixelbrax"

    def __init__(
        self,
        env: PixelEnv | None = None,
        *,
        device: Any = None,
        batch_size: Sequence[int] | torch.Size | None = None,
        from_pixels: bool | None = None,
        pixels_only: bool = False,
        pixels_key: str = "pixels",
        requires_grad: bool = False,
        functional: bool | None = None,
        soft: float = 1.5,
        cache_clear_frequency: int | bool | None = None,
        categorical_action_encoding: bool = False,
        allow_done_after_reset: bool = False,
        **kwargs: Any,
    ):
        """Wraps an environment; the first `reset` and the first `step` compile.

        Args:
          env: whatever its auto-reset, which is left to TorchRL.
          device: of the tensors; by default JAX's own, from which they need not be copied.
          batch_size: of any number of axes; the environments are stepped together.
          from_pixels: whether to give images; by default if the environment has some.
          pixels_only: whether to leave out "observation".
          pixels_key: the key of images; with several cameras each is below it, under its name.
          requires_grad: whether gradients flow from "reward", "observation", "state" and images to actions and states,
            on engines with a derivative in reverse mode. Images are then float32 in [0, 1], of the newest frame, with
            soft silhouettes; distractors that change frames instead of the scene are refused.
          functional: whether states travel in the tensordict as "state"; by default where gradients are required.
          soft: width in pixels over which silhouettes fade in images with gradients.
          cache_clear_frequency: steps after which compiled programs are dropped. Not needed: nothing accumulates.
          categorical_action_encoding: of no effect: actions are continuous.
          allow_done_after_reset: as in `EnvBase`.
          **kwargs: refused: settings of the environment are those of `pixelbrax.make`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        if env is None:
            raise ConfigError("PixelBraxWrapper needs an environment: give a PixelEnv, or PixelBraxEnv a task's name")
        check_keywords("PixelBraxWrapper", kwargs, (*known_settings(PixelBraxWrapper), "frame_skip", "camera_id"))
        refuse(kwargs, kwargs, "give settings of the environment to pixelbrax.make")
        self._clear_every = _cleared(cache_clear_frequency)
        super().__init__(
            device=torch_device() if device is None else torch.device(device),
            batch_size=torch.Size(check_batch_shape("batch_size", batch_size)),
            allow_done_after_reset=allow_done_after_reset,
            env=env,
            from_pixels=from_pixels,
            pixels_only=check_flag("pixels_only", pixels_only),
            pixels_key=pixels_key,
            requires_grad=check_flag("requires_grad", requires_grad),
            functional=check_flag("functional", requires_grad if functional is None else functional),
            soft=soft,
        )

    @_classproperty
    def available_envs(cls) -> list[str]:
        """Names of the tasks."""
        return list(task_names())

    @_classproperty
    def lib(cls) -> Any:
        """The library behind it."""
        return pixelbrax

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment of which these are copies."""
        return self._env

    @property
    def states(self) -> State | None:
        """The states of all environments along one axis, on JAX's device; None before the first `reset`."""
        return self._batch.states

    def clear_cache(self) -> None:
        """Drops the compiled programs of this environment; the next step compiles anew."""
        self._compile()

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Gives the device's memory back."""
        self._batch.close()
        super().close(raise_if_closed=raise_if_closed)

    def _check_kwargs(self, kwargs: dict[str, Any]) -> None:
        env = kwargs["env"]
        if not isinstance(env, PixelEnv):
            raise ConfigError(f"env is {env!r:.80}: it must be a PixelEnv, as pixelbrax.make gives")
        has_images = env.observation_spec.keys() != {"state"}
        wanted, grad = kwargs["from_pixels"], kwargs["requires_grad"]
        if wanted is None:
            kwargs["from_pixels"] = wanted = has_images
        check_flag("from_pixels", wanted)
        if wanted and not has_images and not grad:
            raise ConfigError("from_pixels: the environment has no images: make it with outputs=('pixels',)")
        if kwargs["pixels_only"] and not wanted:
            raise ConfigError("pixels_only without from_pixels would observe nothing: set from_pixels=True")
        if grad and not kwargs["functional"]:
            raise ConfigError("requires_grad needs functional=True: gradients flow through the entry 'state'")
        if grad and wanted and env.distractors.changes_frames:
            raise ConfigError("requires_grad with pixels: these distractors change frames, which has no gradient")
        if grad and wanted and (env.images.grayscale or len(env.cameras) > 1):
            raise ConfigError("requires_grad with pixels: make the environment with one camera, without grayscale")
        if grad and wanted and (others := [name for name in env.images.outputs if name != "pixels"]):
            raise ConfigError(f"requires_grad with pixels: leave {others[0]!r} out of outputs: it has no gradient")
        if grad and wanted:
            check_soft_image(env)
        outputs = {name.partition("/")[0] for name in env.observation_spec} - {"pixels"}
        if not isinstance(key := kwargs["pixels_key"], str) or key in (*_OTHER_KEYS, *outputs):
            raise ConfigError(f"pixels_key is {key!r}: it must be a name that no other entry has")
        check_number("soft", kwargs["soft"], above=0.0)

    def _build_env(self, env: PixelEnv, **settings: Any) -> PixelEnv:
        self._settings = settings
        return with_autoreset(env, "disabled")

    def _init_env(self) -> None:
        self._steps, self.frame_skip = 0, self._env.action_repeat

    def _compile(self) -> None:
        """Programs anew; the states stay."""
        batch = EnvBatch(self._env, self.numel())
        batch.states = self._batch.states if "_batch" in vars(self) else None
        self._batch = batch
        if self._settings["functional"]:
            self._leaves = StateLeaves(self._env)
            images = self._settings["from_pixels"] and self._settings["requires_grad"]
            self._smooth = SmoothStep(self._env, self._leaves, self._settings["soft"] if images else None)

    def _make_specs(self, env: PixelEnv) -> None:
        self._seed: int | None = None
        self._compile()
        if self._settings["requires_grad"]:
            check_reversible(env)
        given = self._settings
        keys = [] if given["pixels_only"] else ["state"]
        if given["from_pixels"] and not given["requires_grad"]:
            keys += [name for name in env.observation_spec if name != "state"]
        self._view = ObsView(env, keys) if keys else None
        shown = self._view.bounds if self._view else {}
        spec = {self._key(name): self._spec(bounds) for name, bounds in shown.items()}
        if given["from_pixels"] and given["requires_grad"]:
            shape = (3, *env.images.shape) if env.images.channels_first else (*env.images.shape, 3)
            spec[self._key("pixels")] = self._spec(Bounds(0.0, 1.0, shape, np.dtype(np.float32)))
        observed = Composite(shape=self.batch_size, device=self.device)
        for key, each in spec.items():
            observed[key] = each
        if given["functional"]:
            leaves = {name: self._spec(_unbounded(leaf)) for name, leaf in self._leaves.spec.items()}
            state = Composite(leaves, shape=self.batch_size, device=self.device)
            observed["state"] = state
            self.state_spec = Composite(state=state.clone(), shape=self.batch_size, device=self.device)
        self.observation_spec = observed
        self.action_spec = self._spec(Bounds(-1.0, 1.0, (env.action_size,), np.dtype(np.float32)))
        self.reward_spec = self._spec(Bounds(-np.inf, np.inf, (1,), np.dtype(np.float32)))
        end = Categorical(2, shape=torch.Size((*self.batch_size, 1)), dtype=torch.bool, device=self.device)
        self.full_done_spec = Composite(
            {name: end.clone() for name in _ENDS}, shape=self.batch_size, device=self.device
        )

    def _set_seed(self, seed: int | None) -> None:
        if seed is None:
            raise ConfigError("set_seed needs a whole number")
        # TorchRL's own seeds of workers go beyond those that every JAX configuration takes.
        self._seed = check_count("seed", seed, least=0) % (MAX_SEED - self.numel())

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        if kwargs:
            raise ConfigError(f"reset has no setting {next(iter(kwargs))!r}")
        mask = None if tensordict is None else tensordict.get("_reset", None)
        flags = np.ones(self.numel(), bool) if mask is None else self._flags(mask)
        carried, seed = self._take(tensordict), None
        if flags.all():
            seed, self._seed = self._seed, None
            # Only states that travel can have other parameters than the defaults: all others begin anew.
            goes_on = self._settings["functional"] and mask is not None and self._batch.states is not None
            if not carried and not goes_on:
                return self._shown(self._batch.reset(seed))
        return self._shown(self._batch.reset(seed, flags))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        mask = tensordict.get("_step", None)
        mask = None if mask is None else self._flags(mask)
        if self._settings["requires_grad"] and mask is not None:
            raise ConfigError("requires_grad: steps of some environments only ('_step') have no gradient")
        if self._settings["functional"] and "state" not in tensordict:
            raise ConfigError("a functional environment steps from the entry 'state', which the tensordict lacks")
        if "action" not in tensordict:
            raise ConfigError("step: the tensordict lacks the entry 'action', which the policy gives")
        self._take(tensordict)
        before, action = self._batch.states, tensordict.get("action")
        rows = self._flat(action)
        actions = self._batch.checked(rows)
        state = self._batch.step(actions, mask)
        smooth = None
        if self._settings["requires_grad"]:
            names = self._leaves.differentiable
            inputs = {name: self._flat(tensordict.get(("state", name))) for name in names}
            leaves, results = self._leaves.of(before), self._smooth.results(state)
            smooth = linked(self._smooth, leaves, actions, results, inputs, rows)
        shown = self._shown(state, smooth)
        reward = self._tensor(state.reward) if smooth is None else self._batched(smooth.reward)
        shown.set("reward", reward.unsqueeze(-1))
        self._steps += 1
        if self._clear_every and self._steps % self._clear_every == 0:
            self.clear_cache()
        return shown

    def _take(self, tensordict: TensorDictBase | None) -> bool:
        """Takes the states of the tensordict, if it has some; what TorchRL resets after a step comes without them."""
        state = None if tensordict is None or not self._settings["functional"] else tensordict.get("state", None)
        if state is not None:
            self._check_state(state)
            leaves = {name: self._flat(state.get(name)) for name in self._leaves.spec}
            self._batch.states = self._leaves.states(from_torch(leaves, self._batch.device))
        return state is not None

    def _check_state(self, state: Any) -> None:
        """Refuses an entry "state" that is not of this environment."""
        remedy = "give that of a reset or a step of this environment as a whole"
        known = self.state_spec["state"]
        if not isinstance(state, TensorDictBase):
            raise ConfigError(f"the entry 'state' is a {type(state).__name__}: {remedy}")
        if missing := sorted(known.keys() - state.keys()):
            raise ConfigError(f"the entry 'state' lacks {missing[0]!r}: {remedy}")
        for name, spec in known.items():
            given = state.get(name)
            if (given.shape, given.dtype) != (spec.shape, spec.dtype):
                has, needs = (f"{x.dtype} {tuple(x.shape)}" for x in (given, spec))
                raise ConfigError(f"the entry 'state' has {name!r} as {has}, and not {needs}: {remedy}")

    def _shown(self, state: State, smooth: Differentiable | None = None) -> TensorDictBase:
        """What TorchRL is given of a state."""
        given = self._settings
        shown = TensorDict({}, batch_size=self.batch_size, device=self.device)
        for name, array in (self._view.of(state.obs) if self._view else {}).items():
            shared = name != "state" and not self._stacked(name)
            shown.set(self._key(name), self._tensor(array, shared))
        if given["functional"]:
            leaves = {name: self._tensor(x, shared=True) for name, x in self._leaves.of(state).items()}
            if smooth is not None:
                leaves |= {name: self._batched(x) for name, x in smooth.leaves.items()}
            shown.set("state", TensorDict(leaves, batch_size=self.batch_size, device=self.device))
        if given["requires_grad"]:
            if given["from_pixels"]:
                image = self._tensor(self._smooth.image(state)) if smooth is None else self._batched(smooth.image)
                shown.set(self._key("pixels"), image)
            if smooth is not None and not given["pixels_only"]:
                shown.set(self._key("state"), self._batched(smooth.state))
        for name in _ENDS:
            shown.set(name, self._tensor(getattr(state, name)).unsqueeze(-1))
        return shown

    def _key(self, name: str) -> Any:
        """The key in tensordicts of an entry of `State.obs`."""
        if name == "state":
            return "observation"
        output, _, camera = name.partition("/")
        key = self._settings["pixels_key"] if output == "pixels" else output
        return (key, camera) if camera else key

    def _stacked(self, name: str) -> bool:
        """Whether the next step reads an image, of which the caller is given a copy therefore."""
        return name.startswith("pixels") and self._env.images.frame_stack > 1

    def _spec(self, bounds: Bounds) -> TensorSpec:
        """TorchRL's spec of a batch of arrays of which each has these bounds."""
        shape, dtype = torch.Size((*self.batch_size, *bounds.shape)), _DTYPES[bounds.dtype.name]
        if dtype is torch.bool:
            return Categorical(2, shape=shape, dtype=dtype, device=self.device)
        if np.isfinite(bounds.low) and np.isfinite(bounds.high):
            return Bounded(bounds.low, bounds.high, shape=shape, dtype=dtype, device=self.device)
        return Unbounded(shape=shape, dtype=dtype, device=self.device)

    def _tensor(self, array: jax.Array, shared: bool = False) -> torch.Tensor:
        """A tensor of the batch's shape; of its own memory unless it is shared."""
        tensor = to_torch(array)
        return self._batched(tensor.to(self.device) if shared else tensor.to(self.device, copy=True))

    def _batched(self, tensor: Any) -> torch.Tensor:
        """From one axis of environments to those of the batch."""
        return tensor.reshape((*self.batch_size, *tensor.shape[1:]))

    def _flat(self, tensor: torch.Tensor) -> torch.Tensor:
        """From the axes of the batch to one of environments."""
        return tensor.reshape((self.numel(), *tensor.shape[len(self.batch_size) :]))

    def _flags(self, mask: torch.Tensor) -> np.ndarray:
        """A mask of TorchRL's, of the batch's shape with or without a last axis of 1, along one axis."""
        return mask.reshape(self.numel()).cpu().numpy()


def _cleared(frequency: int | bool | None) -> int:
    """Steps between two clearings of the cache; 0 for never."""
    if frequency is None or frequency is False:
        return 0
    return 20 if frequency is True else check_count("cache_clear_frequency", frequency)  # 20 as in TorchRL


def _unbounded(leaf: jax.ShapeDtypeStruct) -> Bounds:
    return Bounds(-np.inf, np.inf, leaf.shape, np.dtype(leaf.dtype))
