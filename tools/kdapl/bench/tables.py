# SPDX-License-Identifier: GPL-2.0
"""The limits of count.py, and the tables that it prints."""

import json
from pathlib import Path

from points import BASE_LMRS, CALLS, DEVICES, POSTS, short_list

HERE = Path(__file__).resolve().parent
REFERENCE = HERE / "reference.json"
TOLERANCE = 1.03    # allowed growth relative to reference.json
TOUCHES = {"locked": "locked instructions", "ep": "lines of the EP", "slots": "of slots",
           "other": "of others"}


def further_segment(points, kind, same):
    """Average cost of an additional segment of a vector, up to the largest number counted.
    It starts at two segments, because one segment has a fast path of its own."""
    posts = {p.segments: p.figures["added"] for p in points
             if p.device == "null" and p.path == kind and p.same == same
             and not p.suppress and not p.trace and p.lmrs == BASE_LMRS and p.eps == 1}
    most = max(posts, default=2)
    if most == 2 or 2 not in posts:
        return None
    return round((posts[most] - posts[2]) / (most - 2), 1)


def growth(points, base, others):
    """The largest growth of a path of the null device with the number of objects."""
    known = {(p.path, p.kind): p.figures["added"] for p in points
             if p.device == "null" and base(p) and "added" in p.figures}
    more = [p.figures["added"] - known[p.path, p.kind] for p in points
            if p.device == "null" and others(p) and (p.path, p.kind) in known]
    return round(max(more), 1) if more else None


def is_plain(point, lmrs=True, eps=True):
    """Is this a path without variations, except perhaps the number of LMRs or EPs?"""
    return (point.segments == 1 and not point.suppress and not point.trace
            and (point.lmrs == BASE_LMRS or not lmrs)
            and (point.eps == 1 or not eps))


def figures(points):
    """Name -> figure, for all figures that are compared with a limit."""
    found = {}
    for p in points:
        if p.lmrs != BASE_LMRS or p.eps != 1:
            continue
        if p.path == "suppressed":
            found[p.name()] = p.figures["cqes_per_post"]
        elif p.path == "context":
            found |= {f"{p.name()}, {part}": p.figures[part] for part in ("each", "run")}
        elif p.path == "touch":
            found[f"lines of the EP, {p.device}, {p.call}"] = max(p.figures["ep"])
        elif p.path == "calls":
            if p.device == "null":
                # Not the softirqs, because another CQ may cause one
                found |= {f"{p.name()}, {call}": p.figures["dat"][call] for call in CALLS[:-1]}
                excess = message_excess(p, points)
                if excess is not None:
                    found[f"excess, null, {p.kind}, bursts of {p.burst}"] = excess
        else:
            found[p.name()] = p.figures["added"]
            base = [q.figures["dat"] for q in points if q.path == "fmr"
                    and (q.device, q.segments) == (p.device, p.segments)]
            if p.path == "fmr_sg" and base:
                found[f"{p.name()}, above fmr"] = max(0, p.figures["dat"] - base[0])
    for kind in POSTS:
        for same in (False, True):
            cost = further_segment(points, kind, same)
            if cost is not None:
                found[f"{kind}, null, further segment, "
                      f"{'same' if same else 'other'} LMR"] = cost
    for name, free in (("LMRs", {"lmrs": False}), ("EPs", {"eps": False})):
        cost = growth(points, is_plain, lambda p, free=free:
                      is_plain(p, **free) and not is_plain(p))
        if cost is not None:
            found[f"growth, null, with the number of {name}"] = cost
    return found


def limit_of(name, limits):
    """The limit for a figure, or None."""
    if name in limits:
        return limits[name]
    words = name.split(", ")
    # The limits are for requests without flags
    if "null" not in words or {"traced", "SUPPRESS"} & set(words):
        return None
    if "further segment" in words:
        return limits.get(", ".join(words[2:]))
    if "segments" in name:
        return None
    # A completion from an SRQ has a limit of its own, because it has to find its EP
    return limits.get(f"{words[0]}, {words[-1]}", limits.get(words[0]))


def check(points):
    """Print TAP: compare each figure with reference.json and with its limit."""
    reference = json.loads(REFERENCE.read_text("utf-8"))
    found = figures(points)
    print(f"1..{len(found)}")
    bad = 0
    for number, (name, figure) in enumerate(found.items(), 1):
        old = reference["added"].get(name)
        must = limit_of(name, reference["must"])
        details = [f"{figure:g} added"]
        good = True
        if old is None:
            details.append("not in reference.json")
        else:
            details.append(f"reference {old:g}, allowed {old * TOLERANCE:.5g}")
            good = figure <= old * TOLERANCE
        if must is not None:
            details.append(f"limit < {must}")
            good = good and figure < must
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}: "
              f"{', '.join(details)}")
    return bad


def over_limit(points):
    """The names of the figures that are not below their limit."""
    limits = json.loads(REFERENCE.read_text("utf-8"))["must"]
    found = {name: (figure, limit_of(name, limits)) for name, figure in figures(points).items()}
    return [name for name, (figure, must) in found.items()
            if must is not None and figure >= must]


def write_reference(res, points):
    reference = json.loads(REFERENCE.read_text("utf-8"))
    for key in ("kernel", "commit", "cpu", "mitigations", "compiler"):
        reference[key] = res[key]
    short = {p.name() for p in short_list()}
    reference["added"] = {
        name: figure for name, figure in figures(points).items()
        if name in short or "further segment" in name or name.rpartition(", ")[0] in short}
    REFERENCE.write_text(json.dumps(reference, indent=1) + "\n", "utf-8")


def rows(points):
    """Rows of the table: the name, then verbs, dat, added for each device."""
    lines = {}
    for p in points:
        if p.path in ("calls", "context", "touch"):
            continue
        name = p.name().replace(f"{p.path}, {p.device}", p.path)
        cells = lines.setdefault(name, {})
        if "added" in p.figures:
            cells[p.device] = [f"{p.figures[k]:g}" for k in ("verbs", "dat", "added")]
        else:
            cells[p.device] = ["", "", f"{p.figures['cqes_per_post']:g}"]
    out = []
    for name, cells in lines.items():
        row = [name]
        for device in DEVICES:
            row += cells.get(device, ["", "", ""])
        out.append(row)
    return out


def grid(head, body, left=1):
    """A simple table of reStructuredText; @left: the number of columns aligned to the left."""
    width = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    rule = "  ".join("=" * w for w in width)

    def text(row):
        return "  ".join(cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in
                         enumerate(zip(row, width))).rstrip()
    return "\n".join([rule, text(head), rule, *map(text, body), rule]) if body else ""


def paths_table(points):
    head = ["path"] + [f"{d} {w}" for d in DEVICES for w in ("verbs", "dat", "added")]
    return grid(head, rows(points))


def calls_table(points):
    """The calls that a thousand messages cause."""
    head = ["calls for 1,000"] + [f"{side} {call}" for call in CALLS for side in ("verbs", "dat")]
    return grid(head, [[f"{p.kind}, bursts of {p.burst}"] +
                       [str(p.figures[side][call]) for call in CALLS for side in ("verbs", "dat")]
                       for p in points if p.path == "calls" and p.device == "null"])


def message_added(point):
    """What kDAPL adds to a message, from the post to the end of everything that it causes."""
    return round(point.figures["dat"]["instructions"] - point.figures["verbs"]["instructions"], 1)


def message_rows(point, points):
    """The sum of the rows of a message, or None if one was not measured."""
    kinds = ("send", "recv") if point.kind == "send" else (point.kind,)
    known = {(p.path, p.kind): p.figures["added"] for p in points
             if p.device == point.device and "added" in p.figures and is_plain(p)}
    parts = [known.get(key) for kind in kinds for key in ((kind, kind), ("complete_upcall", kind))]
    return None if None in parts else sum(parts)


def message_excess(point, points):
    parts = message_rows(point, points)
    return None if parts is None else round(message_added(point) - parts, 1)


def message_table(points):
    """The instructions of a whole message, compared with the rows of its parts."""
    def cells(p):
        numbers = [p.figures["verbs"]["instructions"], p.figures["dat"]["instructions"],
                   message_added(p), message_rows(p, points), message_excess(p, points)]
        return ["" if number is None else f"{number:g}" for number in numbers]
    return grid(["whole message", "verbs", "dat", "added", "sum of its rows", "excess"],
                [[f"{p.kind}, {p.device}, bursts of {p.burst}", *cells(p)]
                 for p in points if p.path == "calls"])


def touch_table(points):
    """Locked instructions and cache lines, from the least to the most."""
    return grid(["touched", *TOUCHES.values()],
                [[p.call, *("-".join(map(str, sorted(set(p.figures[key])))) for key in TOUCHES)]
                 for p in points if p.path == "touch"])


def budget(points):
    """The figures that have a limit."""
    limits = json.loads(REFERENCE.read_text("utf-8"))["must"]
    body = []
    for name, figure in figures(points).items():
        must = limit_of(name, limits)
        if must is not None:
            body.append([name, f"{figure:g}", f"< {must}", "yes" if figure < must else "NO"])
    return grid(["budget", "added", "must", "met"], body, left=4)


def tables(points, limited):
    """All tables; only the reference kernel has limits."""
    found = [budget(points) if limited else "", paths_table(points), touch_table(points),
             message_table(points), calls_table(points)]
    return "\n\n".join(filter(None, found))
