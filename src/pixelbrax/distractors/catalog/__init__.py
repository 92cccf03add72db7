"""The presets, one file a family: those of the literature by the originals' code, and new ones.

docs/distractors.md has a table of what differs from the originals on purpose.
"""

# In the order in which they are listed.
from pixelbrax.distractors.catalog import pixelbrax as pixelbrax  # isort: skip
from pixelbrax.distractors.catalog import dcs as dcs  # isort: skip
from pixelbrax.distractors.catalog import dmcgb as dmcgb  # isort: skip
from pixelbrax.distractors.catalog import dmcvb as dmcvb  # isort: skip
from pixelbrax.distractors.catalog import dmcr as dmcr  # isort: skip
from pixelbrax.distractors.catalog import vigen as vigen  # isort: skip
from pixelbrax.distractors.catalog import kage as kage  # isort: skip
from pixelbrax.distractors.catalog import filters as filters  # isort: skip
from pixelbrax.distractors.catalog import new as new  # isort: skip
from pixelbrax.distractors.catalog import severity as severity  # isort: skip
from pixelbrax.distractors.catalog import gen_v1 as gen_v1  # isort: skip
