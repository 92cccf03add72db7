"""Images of clips, as cameras and programs write them."""

import numpy as np
from PIL import Image

from pixelbrax.distractors.videos.folder import read_clip


def test_images_of_16_bits_keep_their_shades(tmp_path):
    (tmp_path / "a").mkdir()
    Image.fromarray(np.full((8, 8), 100 << 8, np.uint16)).save(tmp_path / "a" / "0.png")
    assert (read_clip(tmp_path / "a", 8, 8) == 100).all()


def test_photos_are_upright(tmp_path):
    (tmp_path / "a").mkdir()
    image = Image.new("RGB", (16, 8))
    image.paste((255, 255, 255), (0, 0, 8, 8))  # white on the left
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned clockwise: the left side is up
    image.save(tmp_path / "a" / "0.png", exif=exif)
    frame = read_clip(tmp_path / "a", 16, 8)[0]
    assert (frame[:, :8] == 255).all()
    assert (frame[:, 8:] == 0).all()
