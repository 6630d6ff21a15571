# SPDX-License-Identifier: GPL-2.0
"""The table of make check-kernels: a row for each kernel, a column for each stage.

Used by check/run.py, after its jobs have ended.
"""

import re

SKIP = re.compile(r"^ok \d+ - (.*?) # SKIP (.*)$", re.M)


def cell(state, result):
    """Text for a job: its state, and its result if it has run."""
    if result is None:
        return "not run"
    if result.failed:
        return f"{result.failed} failed"
    if result.skipped and not result.passed:
        return "skipped"
    return f"{result.passed} passed" if state == "done" else state


def reasons(text):
    """Reasons of the results in a job's TAP that are skipped as a whole."""
    return [reason for _, reason in SKIP.findall(text)]


def lines(kernels, stages, cells, releases):
    """Yields the lines of the table. cells: (kernel, stage) -> text; none: the stage does not
    exist for this kernel. releases: kernel -> version."""
    first = max(map(len, ["kernel", *kernels]))
    second = max(map(len, ["release", *releases.values()]))
    widths = [max([len(stage), *(len(cells.get((kernel, stage), "-")) for kernel in kernels)])
              for stage in stages]

    def row(name, release, texts):
        texts = [text.ljust(width) for text, width in zip(texts, widths)]
        return "  ".join([name.ljust(first), release.ljust(second), *texts]).rstrip()

    yield row("kernel", "release", stages)
    for kernel in kernels:
        yield row(kernel, releases.get(kernel, "?"),
                  [cells.get((kernel, stage), "-") for stage in stages])
