"""Sphinx: the pages of this folder and the docstrings of the public names."""

project = "multiscalar"
copyright = "2026, the multiscalar authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "multiscalar"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing"]  # pages link to files of the repository, which are not part of the site
