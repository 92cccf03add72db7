"""A Markdown extension: links from `docs/` to files of the repository lead to the site's own copies of them.

`docs/` links to `../examples/own_creature.py` and the like, as a repository's page of files wants it. On the site these
files are pages below `sources/`, which `tools/site.py` writes: they are read without a network.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor

ROOT = Path(__file__).parent.parent
FOLDER = "sources"
ABOVE = "../"


def page_of(path: str) -> str:
    """The page, relative to the site, that shows a file or folder of the repository; it has no anchors."""
    return f"{FOLDER}/{path.partition('#')[0]}.html"


class _SourceLinks(Treeprocessor):
    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            target = link.get("href", "")
            path = target.removeprefix(ABOVE)
            if target != path and (ROOT / path.partition("#")[0]).exists():
                # Stashed, as the site's builder knows no such page.
                link.set("href", self.md.htmlStash.store(page_of(path)))


class SourceLinksExtension(Extension):
    """Registers the change of links before the site's builder looks at them."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Adds the change of links to a converter."""
        md.treeprocessors.register(_SourceLinks(md), "source_links", 5)


def makeExtension(**settings: object) -> Extension:
    """What Markdown calls to get the extension."""
    return SourceLinksExtension(**settings)
