"""A page in the browser that shows a live environment.

`Session` simulates and renders, and knows nothing of HTTP; `ViewServer` carries its updates and messages; the page in
`page/` shows them.
"""

from pixelbrax.viewer.listing import catalog
from pixelbrax.viewer.messages import Message, parse_message
from pixelbrax.viewer.orbit import Orbit
from pixelbrax.viewer.programs import Programs, ViewConfig, Workshop
from pixelbrax.viewer.run_policy import RunPolicy, load_run
from pixelbrax.viewer.server import ViewServer
from pixelbrax.viewer.session import Session, Update
from pixelbrax.viewer.simulation import Simulation

__all__ = [
    "Message",
    "Orbit",
    "Programs",
    "RunPolicy",
    "Session",
    "Simulation",
    "Update",
    "ViewConfig",
    "ViewServer",
    "Workshop",
    "catalog",
    "load_run",
    "parse_message",
]
