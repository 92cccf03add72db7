"""PixelBrax (McInroe and Garcin 2025)."""

from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.color import ColorOffset

add("pixelbrax/color", "one offset on the image's colors, resampled in every frame", [ColorOffset(0.3, 0.3)])
add("pixelbrax/video", "a video blended over the whole image", lambda s: [s.video(sky=0.5, floor=0.5, rest=0.5)])
