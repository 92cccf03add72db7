"""Systems for Brax: bodies without a joint are fused with what carries them, and nothing else of the model changes."""

import struct
import zlib

import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics import brax_start, load_system

_BEAST = """<mujoco model="beast">{head}
<default><default class="light"><geom density="50" friction=".3"/></default></default>
<worldbody>{world}<geom name="floor" type="plane" size="1 1 .1"/>
<body name="wall" pos="2 0 0" euler="0 0 30"><geom name="bricks" type="box" size=".1 1 1"/>
  <site name="nail" pos="0 0 1"/><body name="flap" pos="0 0 1"><joint name="latch" axis="0 1 0"/>
    <geom name="wood" type="box" size=".02 .2 .2"/></body></body>
<body name="torso" pos="0 0 1" euler="10 20 30"><freejoint/><geom name="trunk" type="box" size=".2 .1 .05"/>
  <body name="neck" pos=".1 .2 .3" euler="20 50 70" childclass="light">
    <geom name="throat" type="capsule" fromto="0 0 0 .1 .2 .3" size=".03"/>
    <site name="tag" pos=".1 0 0" euler="0 0 10"/>
    <camera name="eye" pos="0 .1 0" euler="30 0 0" {eye}/><light name="lamp" pos=".1 .1 .1" dir="1 1 0"/>
    <body name="head" quat=".5 .5 .5 .5"><inertial pos=".01 .02 .03" mass="3" diaginertia=".1 .15 .2" euler="10 20 0"/>
      <frame euler="0 0 90" pos=".1 0 0"><geom name="nose" type="box" size=".05 .1 .15" euler="5 6 7"/></frame>
      <body name="jaw" pos="0 0 .2" euler="0 30 0"><joint name="chew" axis="0 1 0"/>
        <geom name="teeth" type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body></body></body>
  <body name="leg" pos="0 0 -.1"><frame euler="0 0 90"><joint name="hip" axis="1 0 0"/></frame>
    <geom name="shin" type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/>
    <body name="foot" pos="0 0 -.3" {foot}><geom name="toes" type="box" size=".1 .05 .02"/></body></body></body>
</worldbody><actuator><motor joint="chew" ctrlrange="-1 1"/><motor joint="hip"/></actuator>{more}
<custom><numeric name="spring_mass_scale" data=".5"/></custom></mujoco>"""


def _xml(**changes):
    return _BEAST.format(**dict.fromkeys(("head", "world", "eye", "foot", "more"), "") | changes)


def _measures(model, qpos):
    """What the world sees of a model, by name, and its inertia; bodies are left out."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, 0.3
    mujoco.mj_forward(model, data)
    places = {
        "geom": (data.geom_xpos, data.geom_xmat, model.geom_size, model.geom_friction),
        "site": (data.site_xpos, data.site_xmat),
        "cam": (data.cam_xpos, data.cam_xmat),
        "light": (data.light_xpos, data.light_xdir),
    }
    found = {
        getattr(model, kind)(i).name: np.concatenate([x[i] for x in arrays])
        for kind, arrays in places.items()
        for i in range(len(arrays[0]))
    }
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    torso = model.body("torso").id
    tree = {"mass": model.body_subtreemass[torso], "center of mass": data.subtree_com[torso]}
    return found | tree | {"inertia": inertia, "Coriolis and gravity": data.qfrc_bias}


def _same(model, truth):
    for qpos in (truth.qpos0, _posed(truth)):
        ours, theirs = _measures(model, qpos), _measures(truth, qpos)
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-8, err_msg=name)


def _posed(model):
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, np.random.default_rng(0).normal(size=model.nv), 0.7)
    return qpos


@pytest.mark.parametrize(
    "changes", [{}, {"head": '<compiler settotalmass="50"/>'}, {"head": '<compiler inertiafromgeom="true"/>'}]
)
@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass' is deprecated")
def test_a_file_keeps_masses_and_places(tmp_path, changes):
    file = tmp_path / "beast.xml"
    file.write_text(_xml(**changes))
    system = load_system(file)
    model = system.mj_model
    assert system.link_names == ["flap", "torso", "jaw", "leg"] == [model.body(i).name for i in range(1, model.nbody)]
    assert system.num_links() == 4
    assert system.spring_mass_scale == 0.5
    _same(model, mujoco.MjModel.from_xml_path(str(file)))


def test_a_specification_is_fused_and_not_changed():
    spec = mujoco.MjSpec.from_string(_xml())
    model, truth = load_system(spec).mj_model, spec.compile()
    assert (model.nbody, truth.nbody) == (5, 9)
    _same(model, truth)


def test_what_something_refers_to_stays(tmp_path):
    """MJX simulates it; Brax's own engines refuse it."""
    mocap = '<body name="hand" mocap="true" pos="1 0 1"><geom name="palm" size=".1"/></body>'
    file = tmp_path / "beast.xml"
    for changes, body in (
        ({"world": mocap}, "hand"),
        ({"more": '<contact><exclude body1="foot" body2="jaw"/></contact>'}, "foot"),
        ({"foot": 'gravcomp="1"'}, "foot"),
    ):
        file.write_text(_xml(**changes))
        model = load_system(file, "mjx").mj_model
        loose = [model.body(i).name for i in range(1, model.nbody) if not model.body_jntnum[i]]
        assert loose == [body]
        assert model.nmocap == (body == "hand")
        _same(model, mujoco.MjModel.from_xml_path(str(file)))
        with pytest.raises(ConfigError, match=f"refuse bodies without a joint .body '{body}'"):
            load_system(file)


@pytest.mark.parametrize("mode", ["track", "trackcom"])
def test_a_camera_that_follows_a_fused_body_is_refused(tmp_path, mode):
    (tmp_path / "beast.xml").write_text(_xml(eye=f'mode="{mode}"'))
    with pytest.raises(ConfigError, match=r"the camera 'eye' follows body 'neck', .* put it into body 'torso'"):
        load_system(tmp_path / "beast.xml", "mjx")


def _png():
    chunks = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(4))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


_TEXTURE = '<asset><texture name="fur" type="2d" file="fur.png"/></asset>'


@pytest.mark.parametrize(
    "head",
    [
        f'<compiler texturedir="parts"/>{_TEXTURE}',
        f'<compiler meshdir="meshes" texturedir="parts"/>{_TEXTURE}',
        f'<compiler assetdir="parts"/>{_TEXTURE}',
        '<include file="parts/looks.xml"/>',
    ],
    ids=["texturedir", "meshdir and texturedir", "assetdir", "include"],
)
def test_textures_are_found_where_mujoco_finds_them(tmp_path, head):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "fur.png").write_bytes(_png())
    (tmp_path / "parts" / "looks.xml").write_text(f"<mujoco>{_TEXTURE}</mujoco>")
    file = tmp_path / "beast.xml"
    file.write_text(_xml(head=head))
    assert load_system(file).mj_model.ntex == 1
    (tmp_path / "parts" / "fur.png").unlink()
    with pytest.raises(ConfigError, match=r"there is no file .*fur\.png"):
        load_system(file)


def test_a_model_is_not_written_to():
    model = mujoco.MjModel.from_xml_string(_xml())
    ranges = ("jnt_range", "actuator_ctrlrange", "actuator_forcerange")
    before = [getattr(model, name).copy() for name in ranges]
    system = load_system(model, "mjx")
    for name, values in zip(ranges, before, strict=True):
        np.testing.assert_array_equal(getattr(model, name), values)
    assert system.mj_model.nbody == model.nbody  # compiled, nothing can be fused


def test_brax_starts_at_its_own_numbers_unless_there_is_a_keyframe():
    joint = '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody>{}</mujoco>'
    own, key = '<custom><numeric name="init_qpos" data="0.5"/></custom>', '<keyframe><key qpos="0.25"/></keyframe>'
    for more, start in (("", 0.0), (own, 0.5), (key, 0.25), (own + key, 0.25)):
        assert brax_start(mujoco.MjModel.from_xml_string(joint.format(more))) == start
