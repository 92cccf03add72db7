"""Builds the documentation site, adds the sources that it links to, and checks that it is whole.

Usage: python -m tools.site [--out DIR] [--check-only]

Every link must lead to a file of the site, and to an anchor in it, and no page may load anything from elsewhere.
"""

import argparse
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.source_links import FOLDER, page_of

ROOT = Path(__file__).parent.parent
LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "link": "href",
    "use": "href",
}
"""The elements that make a browser load something, and the attribute that says what."""
NOT_LOADED = {"canonical", "prev", "next", "alternate"}
"""Kinds of `<link>` that are for reading only."""


class Page(HTMLParser):
    """What a page of the site links to and loads, and the anchors that it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element's anchor, link and load."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if (name := LOADED.get(tag)) in values and values.get("rel") not in NOT_LOADED:
            self.loaded.add(values[name])


def build(site: Path) -> None:
    """Runs MkDocs, strictly."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    subprocess.run(command, cwd=ROOT, check=True)


def add_sources(site: Path) -> None:
    """Writes a page for each file and folder of the repository that the site links to."""
    linked = {link for page in site.glob("*.html") for link in Page(page).links}
    waiting = [ROOT / re.sub(rf"^{FOLDER}/|\.html$", "", link) for link in linked if link.startswith(f"{FOLDER}/")]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(ROOT).as_posix()
        page = site / page_of(name)
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.suffix in (".py", ".toml", ".xml", ".md"))
            waiting += inside
            rows = (f'<li><a href="{path.name}/{p.name}.html">{p.name}</a></li>' for p in inside)
            body = f"<ul>{''.join(rows)}</ul>"
        else:
            body = _highlighted(path)
        page.write_text(_PAGE.format(title=html.escape(name), body=body, style=_style()))


def problems(site: Path) -> Iterator[str]:
    """Links of the built site that lead nowhere, and what it would load from elsewhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in sorted(page.links | page.loaded):
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loaded and url.scheme != "data":
                    yield f"{name}: loads {target}"
                continue
            if path.name == "404.html":  # its links begin at the root of a server
                continue
            there = (path.parent / unquote(url.path)).resolve() if url.path else path.resolve()
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file():
                yield f"{name}: there is no {target}"
            elif url.fragment and there.suffix == ".html" and unquote(url.fragment) not in pages[there].anchors:
                yield f"{name}: there is no anchor {target}"
    for path in sorted(site.rglob("*.css")):
        for target in re.findall(r"(?:url\(|@import\s+)[\"']?(https?:[^\"')]+)", path.read_text()):
            yield f"{path.relative_to(site)}: loads {target}"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>body {{ font: 14px/1.5 sans-serif; margin: 2rem; color-scheme: light dark; }} pre {{ overflow-x: auto; }}
{style}</style></head>
<body><h1>{title}</h1>{body}</body></html>
"""


def _highlighted(path: Path) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_for_filename

    return highlight(path.read_text(), get_lexer_for_filename(path.name), HtmlFormatter(cssclass="source"))


def _style() -> str:
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="default", cssclass="source").get_style_defs()
    dark = HtmlFormatter(style="github-dark", cssclass="source").get_style_defs()
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n.source {{ background: none !important }}"


def main() -> None:
    """Builds the site, and says what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the site's folder")
    parser.add_argument("--check-only", action="store_true", help="checks a site that is there")
    args = parser.parse_args()
    if not args.check_only:
        build(args.out)
        add_sources(args.out)
    if found := list(problems(args.out.resolve())):
        raise SystemExit("\n".join(found))
    num_pages = sum(1 for _ in args.out.rglob("*.html"))
    print(f"{args.out}: {num_pages} pages, in which every link leads somewhere and nothing is from elsewhere")


if __name__ == "__main__":
    main()
