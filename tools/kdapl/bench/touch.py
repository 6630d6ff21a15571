# SPDX-License-Identifier: GPL-2.0
"""What calls and completions touch, according to the list that touch.c writes in the emulator."""

import collections
import subprocess

POINT, CALL, DONE, END = range(1, 5)    # enum bench_mark
LINE = 64
STACK = 4096    # more than a call uses


class Part:
    """A call or a done callback: its locked instructions and accesses to memory."""

    def __init__(self, mark):
        self.mark, self.locks, self.accesses = mark, [], []

    def add(self, words):
        if words[1] == "lock":
            self.locks.append(int(words[0], 16))
        else:
            self.accesses.append((int(words[0], 16), int(words[1], 16), int(words[2]), words[3]))

    def digest(self, bench):
        """The number of locked instructions and the addresses of bytes, without those of the
        benchmark itself and of the stack. The first write pushes a return address to the stack."""
        stack = next(address for _, address, _, how in self.accesses if how == "w")
        touched = {a for pc, address, size, _ in self.accesses if pc not in bench
                   for a in range(address, address + size) if abs(a - stack) > STACK}
        return sum(pc not in bench for pc in self.locks), touched


def read_points(path):
    """The parts of each measurement, in order."""
    points, part = [], None
    with open(path, encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words[0] != "mark":
                part.add(words)
            elif int(words[1]) == POINT:
                points.append([])
            elif int(words[1]) == END:
                points[-1].append(part)
            else:
                part = Part(int(words[1]))
    return points


def whole(parts, bench):
    """A dequeue continues the callback that has pushed its event."""
    pushed, calls = collections.deque(), []
    for part in parts:
        locks, touched = part.digest(bench)
        if part.mark == DONE:
            pushed.append((locks, touched))
        elif pushed:
            before = pushed.popleft()
            calls.append((locks + before[0], touched | before[1]))
        else:
            calls.append((locks, touched))
    return calls or list(pushed)


def figures(parts, bench, raw):
    """The least and the largest number of each kind: some slots have more lines than others, and
    the first dequeue of a batch appends the whole batch to the queue."""
    ep = range(raw["ep"], raw["ep"] + raw["ep_size"])
    slots = range(raw["slots"], raw["slots"] + raw["slots_size"])
    calls = whole(parts, bench)

    def lines(condition):
        numbers = [len({a // LINE for a in touched if condition(a)}) for _, touched in calls]
        return [min(numbers), max(numbers)]
    locks = [count for count, _ in calls]
    return {"locked": [min(locks), max(locks)], "ep": lines(lambda a: a in ep),
            "slots": lines(lambda a: a in slots),
            "other": lines(lambda a: a not in ep and a not in slots),
            "ep_bytes": spans({a - ep.start for _, touched in calls for a in touched if a in ep})}


def spans(offsets):
    """The offsets as ranges, to compare them with the output of pahole -C kdapl_ep."""
    found = []
    for offset in sorted(offsets):
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    return [f"{first:#x}-{last:#x}" for first, last in found]


def compile_plugin(source, box):
    """Compile touch.c; QEMU writes the list to the folder of the guest. Returns its options."""
    plugin = box / "touch.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", plugin, source],
                   check=True)
    return [f"-plugin {plugin},out={box / 'touched'}"]


def text_of(module, start):
    """The addresses of a module's functions."""
    sizes = subprocess.run(["size", "-A", module], check=True, capture_output=True,
                           text=True).stdout
    size = next(int(line.split()[1]) for line in sizes.splitlines() if line.startswith(".text "))
    return range(start, start + size)


def fill(points, box):
    """Set the figures of the points, which the list contains in this order."""
    bench = text_of(box / "kdapl_bench.ko", int((box / "text").read_text("ascii"), 16))
    for point, parts in zip(points, read_points(box / "touched"), strict=True):
        point.figures = figures(parts, bench, point.figures)
