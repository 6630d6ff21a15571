# SPDX-License-Identifier: GPL-2.0
"""The measurements of count.py: the requests to the module, and its answers."""

DEVICES = {"null": "null0", "rxe": "rxe0"}
POSTS = ("send", "write", "read", "recv", "srq_recv", "send_inv")
REGISTERS = ("fmr", "fmr_sg")
PATHS = (*POSTS, *REGISTERS, "complete_upcall", "complete_dequeue")
REQUESTS = POSTS[:3]
CONTEXTS = {"process": 0x10000, "poll": 0x20000}    # KDAT_EVD_*_FLAG
SEGMENTS = (1, 2, 4, 8, 16)
LMRS = (1, 64, 4096, 65536)
EPS = (1, 64, 1024)
BASE_LMRS = 16      # the largest number of segments
BURSTS = (1, 16, 64, 128)
CALLS = ("posts", "polls", "arms", "softirqs")


class Point:
    """One measurement: a command line for the module, and an object in the JSON."""

    def __init__(self, device, what, kind="send", **how):
        self.device, self.what, self.kind = device, what, kind
        self.segments = how.get("segments", 1)
        self.same = how.get("same", False)
        self.suppress = how.get("suppress", False)
        self.trace = how.get("trace", False)
        self.lmrs = how.get("lmrs", BASE_LMRS)
        self.eps = how.get("eps", 1)
        self.burst = how.get("burst", 1)
        self.context = how.get("context")
        self.touch = how.get("touch", False)
        self.figures = {}

    @property
    def path(self):
        if self.touch:
            return "touch"
        return {"post": self.kind, "upcall": "complete_upcall",
                "dequeue": "complete_dequeue"}.get(self.what, self.what)

    @property
    def call(self):
        """What is touched: the name of a row of that table."""
        return self.kind if self.what == "post" else f"complete_{self.what} of {self.kind}"

    @property
    def fixture(self):
        """Sort key: points with the same fixture follow each other, so that the module
        creates it once."""
        return (list(DEVICES).index(self.device),
                self.lmrs != BASE_LMRS or self.eps != 1, self.lmrs, self.eps,
                self.context or "")

    def line(self):
        flags = (self.same, self.suppress, self.trace)
        return " ".join(map(str, [
            DEVICES[self.device], self.what, self.kind, self.segments,
            *map(int, flags), self.lmrs, self.eps, self.burst,
            CONTEXTS.get(self.context, 0), int(self.touch)]))

    def name(self):
        """Name in the table and in reference.json."""
        words = [self.path, self.device]
        if self.touch:
            return ", ".join([*words, self.call])
        if self.path.startswith("complete") or self.path == "calls":
            words.append(self.kind)
        if self.path == "calls":
            words.append(f"bursts of {self.burst}")
        if self.context:
            words.append(self.context)
        if self.what == "post":
            what = "page" if self.kind in REGISTERS else "segment"
            words.append(f"{self.segments} {what}" + "s" * (self.segments > 1))
        same = "one entry" if self.kind in REGISTERS else "same LMR"
        for word, shown in ((same, self.same),
                            ("SUPPRESS", self.suppress),
                            ("traced", self.trace),
                            (f"among {self.lmrs} LMRs" if self.lmrs > 1 else
                             "one LMR", self.lmrs != BASE_LMRS),
                            (f"among {self.eps} EPs", self.eps != 1)):
            if shown:
                words.append(word)
        return ", ".join(words)

    def take(self, text):
        """Read the result of the module; costs of completions are per completion."""
        raw = {key: int(value) for key, value in
               (word.split("=") for word in text.split())}
        if self.touch:
            self.figures = raw      # touch.py replaces them
        elif "batch" in raw:
            verbs = raw["verbs_batch"] / raw["batch"]
            dat = raw["dat_batch"] / raw["batch"] + raw["dequeue"]
            self.figures = {"verbs": round(verbs, 1), "dat": round(dat, 1),
                            "added": round(dat - verbs, 1), "batch": raw["batch"],
                            "dat_mean": round(dat - raw["dequeue"] + raw["mean"], 1)}
        elif "dat_each" in raw:
            self.figures = raw | {part: raw[f"dat_{part}"] - raw[f"verbs_{part}"]
                                  for part in ("each", "run")}
        elif "messages" in raw:
            self.figures = {side: {call: round(raw[f"{side}_{call}"] * 1000 / raw["messages"])
                                   for call in CALLS} for side in ("verbs", "dat")}
            for side in ("verbs", "dat"):
                self.figures[side]["instructions"] = round(raw[f"{side}_burst"] / self.burst, 1)
        elif "cqes" in raw:
            self.figures = {"posts": raw["posts"], "cqes": raw["cqes"],
                            "cqes_per_post": raw["cqes"] / raw["posts"]}
        else:
            self.figures = {"verbs": raw["verbs"], "dat": raw["dat"],
                            "added": raw["dat"] - raw["verbs"]}
            if "mean" in raw:
                self.figures["dat_mean"] = raw["mean"]

    def json(self):
        return {"path": self.path, "device": self.device,
                "segments": self.segments, **self.figures, "of": self.kind,
                "same_lmr": self.same, "suppress": self.suppress,
                "trace": self.trace, "lmrs": self.lmrs, "eps": self.eps}


def touch_list():
    """Posts and completions whose accesses to memory the emulator lists."""
    points = [Point("null", "post", kind, touch=True) for kind in POSTS]
    return points + [Point("null", what, kind, touch=True) for what in ("upcall", "dequeue")
                     for kind in ("send", "recv", "srq_recv")]


def register_list():
    """Registrations on the queue of an EP."""
    points = [Point("null", "post", kind, segments=n) for kind in REGISTERS for n in (1, 16)]
    return points + [Point("null", "post", "fmr_sg", segments=16, same=True)]


def short_list():
    """For make check: each path once, on the null device."""
    points = [Point("null", "post", kind) for kind in POSTS]
    points += [Point("null", "post", kind, segments=n, same=same)
               for kind in ("send", "recv") for n in (2, 16) for same in (False, True)]
    points += [Point("null", "post", kind, suppress=True, segments=n)
               for kind in REQUESTS for n in (1, 4)]
    points += register_list()
    points += [Point("null", "context", "write", context=context) for context in CONTEXTS]
    points += [Point("null", what, kind) for what in ("upcall", "dequeue")
               for kind in ("send", "recv", "srq_recv")]
    points += [Point("null", "suppressed"), Point("null", "memory")]
    points += [Point("null", "calls", burst=n) for n in BURSTS[:3]]
    return points


def full_list():
    points = []
    for device in DEVICES:
        # rxe executes the invalidation, so a key would last for one send
        for kind in (k for k in POSTS if device == "null" or k != "send_inv"):
            for segments in SEGMENTS:
                points += [Point(device, "post", kind, segments=segments,
                                 same=same)
                           for same in (False, True)[:1 + (segments > 1)]]
            points += [Point(device, "post", kind, trace=True)]
            points += [Point(device, "post", kind, lmrs=n) for n in LMRS]
            points += [Point(device, "post", kind, eps=n) for n in EPS[1:]]
            for what in ("upcall", "dequeue"):
                points += [Point(device, what, kind)]
                points += [Point(device, what, kind, trace=True)]
                points += [Point(device, what, kind, eps=EPS[-1])]
        points += [Point(device, "post", kind, segments=n, suppress=True)
                   for kind in REQUESTS for n in (1, 4)]
    points += register_list()
    points += [Point("null", "context", "write", context=context) for context in CONTEXTS]
    points += [Point("null", "suppressed", kind) for kind in REQUESTS]
    points += [Point("null", "memory")]
    points += [Point("null", "calls", kind, burst=n) for kind in ("send", "write")
               for n in BURSTS]
    points += [Point("rxe", "calls", burst=n) for n in BURSTS[:3]]
    return points
