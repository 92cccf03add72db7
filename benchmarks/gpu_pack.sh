#!/usr/bin/env bash
# Packs wheels into few small files for a bare GPU machine to which little can be carried at once.
#
# Usage: gpu_pack.sh WHEELS OUT
#
# WHEELS is a folder of wheels for that machine's Python. OUT gets site.tar.xz, all of them unpacked; and of Warp, whose
# library alone is 300 MB, warp.a and warp.b, which with it stay below 64 MiB a call; without what compiles for CPUs, and
# without examples. Playground, and the two packages that it imports, are for the tasks dmc/*: without them train-sac ends
# at once. The last two names below are for the peers in peers.py; packing Warp takes minutes:
#
#   bash ../shared/gpu/wheels.sh WHEELS dacite tomli-w imageio-ffmpeg playground==0.2.0 lxml tqdm \
#     mujoco-warp==3.17.0 warp-lang==1.18.0
#
# PixelBrax is packed too, for the sake of its version, which it looks up: put src first, as below. What it depends on
# and is not packed is printed: the machine itself must have that.
#
# There, each part carried by a call of its own to a folder that stays, such as /tmp/parts:
#
#   mkdir -p /tmp/site && tar xJf .whl/site.tar.xz -C /tmp/site && export PYTHONPATH=src:/tmp/site
#   cat /tmp/parts/warp.a /tmp/parts/warp.b | tar xJ -C /tmp/site
#
# Leave no other folder with the name of a package, such as /tmp/warp, beside a script: Python would import that.
set -euo pipefail
wheels=${1:?the folder of wheels}
out=${2:?the folder to write to}
mkdir -p "$out"
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT

python3 -m pip wheel --quiet --no-deps --wheel-dir "$site" "$(dirname "$0")/.."
for wheel in "$wheels"/*.whl "$site"/*.whl; do
  python3 -m zipfile -e "$wheel" "$site"
done
rm "$site"/*.whl
python3 - "$site" << 'END'
import re
import sys
from importlib import metadata

def name(text):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", text)[0]).lower()

packages = {name(package.name): package for package in metadata.distributions(path=[sys.argv[1]])}
needed = [name(text) for text in packages["pixelbrax"].requires if "extra ==" not in text]
print("the machine itself must have:", *sorted(set(needed) - set(packages)))
END
if [ -d "$site/warp" ]; then
  rm -rf "$site"/warp/bin/warp-clang.so "$site"/warp/examples "$site"/warp/tests
  tar cf - -C "$site" warp | xz -9 -T2 | split -b 56M -a 1 - "$out/warp."
  rm -rf "$site/warp"
fi
rm -rf "$site"/imageio_ffmpeg/binaries  # a run there writes no videos
tar cf - -C "$site" . | xz -6 -T2 > "$out/site.tar.xz"
ls -sh "$out"
