"""A model with two legs into which tests put one mistake each."""

_BEAST = """<mujoco model="beast">{before}
<worldbody>{light}<geom name="floor" type="plane" size="0 0 .1" {floor}/>
<body name="torso" pos="0 0 {z}"><freejoint name="root"/>
<geom name="trunk" type="capsule" fromto="-.3 0 0 .3 0 0" size=".08" {geom}/>
<body name="front" pos=".3 0 0"><joint name="hip" axis="0 1 0" {joint}/>
<geom name="leg" type="capsule" fromto="0 0 0 .1 0 -.35" size=".05" {geom}/>{inner}</body>
<body name="back" pos="-.3 0 0"><joint name="knee" axis="0 1 0" {joint}/>
<geom type="capsule" fromto="0 0 0 -.1 0 -.35" size=".05" {geom}/></body></body>{more}</worldbody>
<actuator>{actuators}</actuator>{after}</mujoco>"""
_GOOD = {
    "before": "",
    "light": '<light directional="true" dir=".2 .3 -1"/>',
    "floor": "",
    "z": ".45",
    "geom": "",
    "joint": 'range="-60 60" damping=".5"',
    "inner": "",
    "more": "",
    "actuators": '<motor name="a" joint="hip" ctrlrange="-1 1" gear="8"/>',
    "after": "",
}


def beast(**mistake: str) -> str:
    """Its XML, with some of the parts of `_GOOD` replaced."""
    return _BEAST.format(**_GOOD | mistake)
