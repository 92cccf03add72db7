"""The ids of the built-in tasks in Gymnasium's registry. Importing this loads neither Gymnasium nor JAX."""

# By hand, because reading them off the tasks would load MuJoCo with `import pixelbrax`; a test compares the two.
TASKS = {
    "Ant": "ant",
    "Fetch": "fetch",
    "Grasp": "grasp",
    "HalfCheetah": "halfcheetah",
    "Hopper": "hopper",
    "Humanoid": "humanoid",
    "HumanoidStandup": "humanoidstandup",
    "InvertedDoublePendulum": "inverted_double_pendulum",
    "InvertedPendulum": "inverted_pendulum",
    "Pusher": "pusher",
    "Reacher": "reacher",
    "Swimmer": "swimmer",
    "Walker2d": "walker2d",
    "Eel": "creatures/eel",
    "Grazer": "creatures/grazer",
    "Strider": "creatures/strider",
    "AcrobotSwingup": "dmc/acrobot_swingup",
    "AcrobotSwingupSparse": "dmc/acrobot_swingup_sparse",
    "BallInCup": "dmc/ball_in_cup",
    "CartpoleBalance": "dmc/cartpole_balance",
    "CartpoleBalanceSparse": "dmc/cartpole_balance_sparse",
    "CartpoleSwingup": "dmc/cartpole_swingup",
    "CartpoleSwingupSparse": "dmc/cartpole_swingup_sparse",
    "CheetahRun": "dmc/cheetah_run",
    "FingerSpin": "dmc/finger_spin",
    "FingerTurnEasy": "dmc/finger_turn_easy",
    "FingerTurnHard": "dmc/finger_turn_hard",
    "FishSwim": "dmc/fish_swim",
    "HopperHop": "dmc/hopper_hop",
    "HopperStand": "dmc/hopper_stand",
    "HumanoidRun": "dmc/humanoid_run",
    "HumanoidStand": "dmc/humanoid_stand",
    "HumanoidWalk": "dmc/humanoid_walk",
    "PendulumSwingup": "dmc/pendulum_swingup",
    "PointMass": "dmc/point_mass",
    "ReacherEasy": "dmc/reacher_easy",
    "ReacherHard": "dmc/reacher_hard",
    "SwimmerSwimmer6": "dmc/swimmer_swimmer6",
    "WalkerRun": "dmc/walker_run",
    "WalkerStand": "dmc/walker_stand",
    "WalkerWalk": "dmc/walker_walk",
}
_MODULE = "pixelbrax.adapters.gymnasium"


def register_gymnasium() -> None:
    """Adds `PixelBrax/<Task>-v0` to Gymnasium's registry, if Gymnasium is installed: for `make` and `make_vec`.

    `PixelBrax/Env-v0` takes any other environment as `env=...`: a plugin's task, a model, a `PixelEnv`.
    """
    try:
        import gymnasium
    except ImportError:  # not installed, or not in working order, which its own users will see
        return
    for name, task in ({"Env": None} | TASKS).items():
        env_id = f"PixelBrax/{name}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point=f"{_MODULE}:PixelBraxEnv",
                vector_entry_point=f"{_MODULE}:PixelBraxVectorEnv",
                kwargs={} if task is None else {"env": task},
            )
