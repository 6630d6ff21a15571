# SPDX-License-Identifier: GPL-2.0
"""Sphinx configuration of "make docs", out of tree only.

tools/kdapl/docs/build-docs runs Sphinx. It sets KERNEL_SOURCE to a kernel tree, whose
extensions and scripts/kernel-doc are used from there. In a kernel tree the
pages are part of the kernel's documentation and this file is not copied.
"""

import os
import sys
from pathlib import Path

KERNEL = Path(os.environ["KERNEL_SOURCE"])
sys.path.insert(0, str(KERNEL / "Documentation/sphinx"))

project = "kDAPL"
copyright = "the authors of kDAPL"      # pylint: disable=redefined-builtin
# automarkup links function() and page.rst, as it does in the kernel's own pages
# kfigure has kernel-render, the only directive for diagrams that a kernel tree knows.
extensions = ["kerneldoc", "automarkup", "kfigure", "sphinx.ext.graphviz"]

kerneldoc_bin = str(KERNEL / "scripts/kernel-doc")
kerneldoc_srctree = str(Path(__file__).resolve().parents[1])

primary_domain = "c"
highlight_language = "none"
smartquotes = False
exclude_patterns = ["ABI"]
nitpicky = True
# A type of the kernel, whose own pages are not here
nitpick_ignore = [("c:identifier", "sockaddr"), ("c:identifier", "module"),
                  ("c:identifier", "scatterlist")]

root_doc = "infiniband/kdapl"
html_theme = "furo"
html_title = "kDAPL"
html_show_copyright = False
html_copy_source = False
graphviz_output_format = "svg"


def tag_of_typedef(app, env, node, contnode):
    """Link DAT_EP_ATTR to struct dat_ep_attr, which kernel-doc names by its tag."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "c" or not target.startswith("DAT_"):
        return None
    return env.get_domain("c").resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], target.lower(), node, contnode)


def setup(app):
    app.connect("missing-reference", tag_of_typedef)
