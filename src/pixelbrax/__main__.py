"""`python -m pixelbrax`."""

import sys

from pixelbrax.cli import main

sys.exit(main())
