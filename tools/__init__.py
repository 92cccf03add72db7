"""Tools of the documentation: the site's links to sources, its check, and the notebooks."""
