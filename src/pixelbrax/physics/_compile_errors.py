"""MuJoCo's reasons for not compiling a model, as one line with the place, the name and the remedy."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco

from pixelbrax.errors import nearest

_ELEMENTS = (
    *("mujoco", "compiler", "option", "visual", "statistic", "default", "custom", "asset", "worldbody", "contact"),
    *("equality", "tendon", "actuator", "sensor", "keyframe", "extension", "size", "include", "body", "joint"),
    *("freejoint", "geom", "site", "camera", "light", "inertial", "frame", "replicate", "attach", "mesh", "texture"),
    *("material", "hfield", "motor", "position", "velocity", "general", "muscle", "damper", "cylinder", "key"),
    *("global", "headlight", "map", "quality", "scale", "rgba", "numeric", "text", "flag", "pair", "exclude", "weld"),
    *("connect", "fixed", "spatial"),
)
_ATTRIBUTES = (
    *("name", "class", "childclass", "type", "pos", "quat", "euler", "axisangle", "xyaxes", "zaxis", "size", "fromto"),
    *("mass", "density", "friction", "contype", "conaffinity", "condim", "margin", "solref", "solimp", "rgba", "group"),
    *("material", "mesh", "file", "axis", "range", "limited", "damping", "stiffness", "armature", "ref", "springref"),
    *("frictionloss", "joint", "tendon", "site", "gear", "ctrlrange", "ctrllimited", "forcerange", "forcelimited"),
    *("kp", "kv", "diaginertia", "fullinertia", "mode", "target", "fovy", "dir", "directional", "diffuse", "ambient"),
    *("specular", "active", "timestep", "gravity", "integrator", "iterations", "solver", "angle", "autolimits"),
    *("meshdir", "texturedir", "assetdir", "texture", "texrepeat", "builtin", "rgb1", "rgb2", "width", "height"),
    *("scale", "qpos", "qvel", "ctrl", "body", "body1", "body2", "geom1", "geom2", "coef", "mocap", "gravcomp"),
)
"""Names that a misspelt one may have meant."""
_SIZES = "sphere: radius; capsule and cylinder: radius and half length (with fromto: radius); box and ellipsoid: three"
_RANGE = 'give range="low high", in degrees unless <compiler angle="radian"/> is set, or limited="false"'
_LISTS = {"material": "materials", "mesh": "meshes", "texture": "textures", "body": "bodies", "joint": "joints"}
_LISTS |= {"geom": "geoms", "site": "sites", "tendon": "tendons", "hfield": "hfields", "sensor": "sensors"}
_LISTS |= {"actuator": "actuators", "camera": "cameras"}
_REFERRERS = {"wrap": "a spatial <tendon>", "collision": "a <pair>", "bodypair": "an <exclude>"}
"""What MuJoCo calls otherwise than MJCF does."""

Spec = mujoco.MjSpec | None
_RULES: list[tuple[str, str]] = [
    ("empty file", "the file is empty: an MJCF file begins with <mujoco>"),
    (
        r"Unrecognized XML model type: '(.*)'",
        "its outermost element is <{0}>: an MJCF file begins with <mujoco>, a URDF file with <robot>",
    ),
    (r"bad format in attribute '(.*)'", "{0} holds something that is not a number"),
    (r"attribute '(.*)' has too much data", "{0} has more numbers than it takes"),
    (r"attribute '(.*)' does not have enough data", "{0} has fewer numbers than it needs"),
    (r"required attribute missing: '(.*)'", "{0} is missing: give it a value"),
    (r"invalid keyword: '(.*)'", "{0!r} is not a word that this attribute takes: see MuJoCo's XML reference"),
    (
        "mass and inertia of moving bodies must be larger",
        "the body moves, and has no mass or no inertia: give it a <geom> of density above 0, or "
        '<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/> with numbers above 0',
    ),
    (
        "inertia must satisfy A",
        'no real body has this inertia: leave <inertial> out, or set <compiler balanceinertia="true"/>',
    ),
    ("mass, inertia or density are negative", "its mass or density is negative: give a number above 0"),
    ("missing transmission target", 'the actuator drives nothing: give it joint="..."'),
    (
        r"Lengthrange computation did not converge in actuator (\d+)",
        "a muscle needs the shortest and the longest that it can be, which MuJoCo cannot find for actuator {0} (the "
        'first is 0): limit its joint, range="low high", or give the actuator lengthrange="low high"',
    ),
    ("invalid control range", 'ctrlrange is missing or reversed: give the lower number first, ctrlrange="-1 1"'),
    ("invalid force range", 'forcerange is missing or reversed: give the lower number first, forcerange="-1 1"'),
    (
        r"range\[0\] should be smaller than range\[1\]",
        f"the joint is limited, and its range is missing, empty or reversed: {_RANGE}",
    ),
    (
        "inheritrange used but target '(.*)' has no range",
        "inheritrange takes the range of joint {0!r}, which has none: give it one, or the actuator a ctrlrange",
    ),
    ("axis too small", 'axis has length 0: give a direction, axis="0 1 0"'),
    (r"size \d must be positive", f"size is missing or not positive; it is, in meters, of a {_SIZES} half lengths"),
    ("fromto points too close", "the two ends in fromto are the same point: give two different ones, or a sphere"),
    ("mesh geom .* must have valid meshid", 'a geom of type "mesh" needs mesh="NAME" of a <mesh> in <asset>'),
    (r"mesh volume is too small", 'the mesh has no volume: set inertia="shell" on its <mesh>, or check its scale'),
    (r"repeated name '(.*)' in (\w+)", "two elements of kind {1} have the name {0!r}: rename one"),
    (
        "free joint can only be used on top level",
        "a free joint stands only in a body directly in <worldbody>: move the body there, or use other joints",
    ),
    (
        "more than 6 dofs",
        "its joints have more than 6 degrees of freedom: a body with a <freejoint/> takes no other joint; put "
        "that into a body inside it",
    ),
    ("World body cannot have joints", "the world does not move: put the joint into a <body>"),
    ("plane only allowed in static bodies", "a plane cannot move: put it directly into <worldbody>, or use a flat box"),
    (
        r"keyframe.*invalid (\w+) size, expected (?:length )?(\d+)",
        "the keyframe's {0} must have {1} numbers (a free joint has 7 in qpos, a ball joint 4, others 1)",
    ),
    (r"unknown default class name '(.*)'", "there is no <default class={0!r}>: define it, or leave class out"),
    ("unknown default childclass", "there is no <default> with the name in childclass: define it, or leave it out"),
    ("fovy too large", "fovy is in degrees, and must be above 0 and below 180: 45 is usual"),
    ("zero quaternion", "quat is 0 0 0 0, which is no rotation: leave it out, or give 1 0 0 0"),
    (r"unsupported content type", "the file is no PNG, and MuJoCo reads no other picture: convert it"),
    (r"no decoder found for mesh file '(.*)'", "{0!r} is no mesh that MuJoCo reads: convert it to .obj or .stl"),
    ("mocap body .* is not a fixed child", "a mocap body stands directly in <worldbody>, and has no joint"),
    (r"plugin (\S+) not found", "PixelBrax loads no plugins of MuJoCo: take {0} out"),
]


def compile_error(name: str, error: Exception, path: Path | None, spec: Spec) -> str:
    """MuJoCo's error as one line: where, what, and what to do.

    Args:
      name: of the file or the specification.
      error: what MuJoCo raised.
      path: of the file, if it is one.
      spec: the parsed model, if it could be parsed: names that a misspelt one may have meant come from it.
    """
    text = re.sub(r"^((XML )?Error: )+", "", str(error).strip())
    place, what = _place(text, name, path), re.split(r"\n|\bElement (?:name )?'", text)[0].strip()
    for rule in (_syntax, _missing_file, _misspelt, _unknown_name):
        if found := rule(text, path, spec):
            return f"{place}: {found}" if rule is not _syntax else f"{name}{found}"
    for pattern, remedy in _RULES:
        if match := re.search(pattern, text):
            return f"{place}: {remedy.format(*match.groups())}"
    return f"{place}: {what}"


def _place(text: str, name: str, path: Path | None) -> str:
    """The file, the line, and the element by its kind or its name."""
    line, kind, called = (
        re.search(pattern, text)
        for pattern in (r"[Ll]ine (?:number=)?(\d+)", r"Element '(\w+)'", r"Element name '([^']+)'")
    )
    if kind is None and called is None:
        kind = re.search(r" (?:in|for) (geom|joint|actuator|camera|site|mesh|light)\b", text)
    parts = [name]
    if line and int(line[1]) > 0:
        parts.append(f"line {line[1]}")
    elif line and path is not None and len(_with_includes(path)) > 1:  # MuJoCo does not count their lines
        parts.append("in a file that it includes")
    if kind and not called:
        parts.append(f"<{kind[1]}>" if f"Element '{kind[1]}'" in text else kind[1])
    elif called:
        parts.append(repr(called[1]))
    return ", ".join(parts)


def _syntax(text: str, path: Path | None, spec: Spec) -> str:
    """Of text that is no XML, in the file or in one that it includes; Python's parser knows the column."""
    if not (found := re.match(r"(Include error: ')?XML parse error.*?XML_ERROR_(\w+)", text, re.DOTALL)):
        return ""
    del spec
    what, included = found[2].lower().replace("_", " "), ", in a file that it includes" if found[1] else ""
    line = re.search(r"Line number=(\d+)", text)
    place = f", line {line[1]}" if line else ""
    for file in [] if path is None else _with_includes(path):
        try:
            ElementTree.parse(file)
        except ElementTree.ParseError as e:
            what, _, _ = str(e).partition(":")
            place = f", line {e.position[0]}, column {e.position[1] + 1}"
            included = f", in its include {file}" if file != path else ""
            break
        except (OSError, ValueError, LookupError):  # it cannot be read, or not in the encoding that it declares
            pass
    return (
        f"{included}{place}: not well-formed XML ({what}): look there and just before for a tag that is not closed "
        "(<geom .../>, </body>), or a missing quote"
    )


def _with_includes(path: Path) -> list[Path]:
    """A file and all that it includes, each after the one that includes it; the main file's folder has them all."""
    files = [path]
    for file in files:  # grows as it goes
        text = file.read_text(errors="replace") if file.is_file() else ""
        for name in re.findall(r"<include\b[^>]*\bfile\s*=\s*[\"']([^\"']+)", text):
            for found in (path.parent / name, file.parent / name):
                if found.is_file() and found not in files:
                    files.append(found)
    return files


def _missing_file(text: str, path: Path | None, spec: Spec) -> str:
    if not (found := re.search(r"Error opening file '(.*?)'", text)):
        return ""
    del spec
    file = (path.parent if path is not None else Path()).absolute() / found[1]  # with meshdir or texturedir before it
    if "Element 'include'" in text:
        remedy = "relative to the MJCF file that includes it"
    else:
        remedy = (
            'or set the folder with <compiler meshdir="..." texturedir="..."/> (of meshes and height fields; of '
            "textures), relative to the MJCF file"
        )
    return f'there is no file {file.name!r} in {file.parent}: correct file="...", {remedy}'


def _misspelt(text: str, path: Path | None, spec: Spec) -> str:
    del path, spec
    if found := re.search(r"unrecognized element\s+Element '(.*?)'", text):
        return f"MJCF has no element <{found[1]}> here: {_meant(found[1], _ELEMENTS)}"
    if found := re.search(r"unrecognized attribute: '(.*?)'\s+Element '(.*?)'", text):
        return f"<{found[2]}> takes no attribute {found[1]!r}: {_meant(found[1], _ATTRIBUTES)}"
    return ""


def _meant(name: str, known: Sequence[str]) -> str:
    """A suggestion, if one is near; a list of all would be too long to help."""
    if name not in known and (suggestion := nearest(name, known)).startswith("did you mean"):
        return suggestion
    return "MuJoCo's XML reference lists what may stand there"


def _unknown_name(text: str, path: Path | None, spec: Spec) -> str:
    """Of a name that some element refers to, and no element has."""
    del path
    patterns: list[tuple[str, Callable[[re.Match[str]], tuple[str, str, str]]]] = [
        (
            r"transmission target '(.*?)' (?:for actuator id =|not found in actuator) (\d+)",
            lambda m: (*_driven(spec, int(m[2])), m[1]),
        ),
        (
            r"\b(\w+) '(.*?)' not found (?:in|for) (?:the )?(\w+)",
            lambda m: (m[1], f"{_referrer(m[3])} refers to it", m[2]),
        ),
        (
            r"unknown element '(.*?)' in equality.*?\bid (\d+)",
            lambda m: (_tied(spec, int(m[2])), "an <equality> refers to it", m[1]),
        ),
        (
            r"unrecognized name '(.*?)' of (?:sensorized )?object.*?\bid (\d+)",
            lambda m: (_sensed(spec, int(m[2]), m[1]), "a <sensor> refers to it", m[1]),
        ),
    ]
    for pattern, read in patterns:
        if match := re.search(pattern, text, re.DOTALL):
            kind, why, missing = read(match)
            return f"there is no {kind} {missing!r}, and {why}{_known(spec, kind, missing)}"
    if match := re.search("unknown target body in (camera|light)", text):
        return f"the {match[1]}'s target is no body of the model{_known(spec, 'body', '')}"
    return ""


def _referrer(kind: str) -> str:
    """An element that refers to another, with its article."""
    return _REFERRERS.get(kind, f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}")


def _tied(spec: Spec, number: int) -> str:
    """The kind of thing that an equality constraint, by its number, holds."""
    constraints: list[Any] = list(spec.equalities) if spec is not None else []
    if number >= len(constraints):
        return "body"
    of_others = {mujoco.mjtEq.mjEQ_JOINT: "joint", mujoco.mjtEq.mjEQ_TENDON: "tendon"}
    return of_others.get(constraints[number].type, _kind(constraints[number].objtype))


def _sensed(spec: Spec, number: int, missing: str) -> str:
    """The kind of thing of the given name that a sensor, by its number, measures, or measures from."""
    sensors: list[Any] = list(spec.sensors) if spec is not None else []
    if number >= len(sensors):
        return "joint"
    sensor = sensors[number]
    return _kind(sensor.objtype if sensor.objname == missing else sensor.reftype)


def _kind(which: Any) -> str:
    """MuJoCo's type of an object, as MJCF calls it."""
    return mujoco.mjtObj(which).name.removeprefix("mjOBJ_").lower().removeprefix("x")  # xbody: a body, by its origin


def _driven(spec: Spec, number: int) -> tuple[str, str]:
    """The kind of thing that an actuator should drive, and which actuator."""
    actuators: list[Any] = list(spec.actuators) if spec is not None else []
    kind = "joint"
    if number < len(actuators):
        transmission = mujoco.mjtTrn(actuators[number].trntype).name.removeprefix("mjTRN_").lower()
        kind = transmission if transmission in _LISTS else "joint"
    named = repr(actuators[number].name) if number < len(actuators) and actuators[number].name else number
    return kind, f"actuator {named} drives it"


def _known(spec: Spec, kind: str, missing: str) -> str:
    """What the message suggests instead: the nearest names, or all."""
    things = getattr(spec, _LISTS.get(kind, ""), None) if spec is not None else None
    names = [thing.name for thing in things or () if thing.name and thing.name != "world"]
    if names:
        return f": {nearest(missing, names)}"
    return f": the model has no {kind} with a name" if things is not None else ": correct the name"
