#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is everything in include/dat documented? Prints what is not.

  tools/kdapl/check/header_docs.py [HEADER...]

Every type, enumerator, member and macro needs kernel-doc, in one of these forms:

- a comment of its own, directly before it; that of an enum, struct or union with a
  typedef begins with the name of the typedef and describes each enumerator or member;
- for a macro, an item "* %NAME - text" in the comment of another declaration, such as
  the type of a mask;
- for a pointer type, which kernel-doc cannot parse, ".. c:type::" in a DOC: section.

Each of these comments states the source: "Source:". kernel-doc itself reports
descriptions of names that do not exist, except items of lists, which are reported here.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
TOKEN = re.compile(r"""
    (?P<doc>^/\*\*\n.*?\*/)
  | (?P<comment>/\*.*?\*/)
  | (?P<macro>^\#define\s+(?P<name>\w+)(?:\\\n|.)*?$)
  | (?P<body>^(?:typedef\s+)?(?P<kind>enum|struct|union)\s+(?P<tag>\w+)\s*
     \{(?P<inside>.*?)^\}\s*(?P<alias>\w*);)
  | (?P<typedef>^typedef\s[^;{]*;)
    """, re.S | re.M | re.X)
ITEM = re.compile(r"^ \* \* %(\w+) - \S", re.M)
SECTION = re.compile(r"^/\*\*\n \* DOC: .*?\*/\n", re.S | re.M)
DRAWN = re.compile(r"^ \* \.\. c:type:: .*\W(\w+)\n \*\n \*    \S", re.M)


def names_of(kind, inside):
    """Enumerators of an enum, members of a struct or union."""
    inside = re.sub(r"/\*.*?\*/", "", inside, flags=re.S)
    parts = inside.split(",") if kind == "enum" else re.split("[;,]", inside)
    first = r"\s*(\w+)" if kind == "enum" else r".*?(\w+)\s*(?:\[[^\]]*\]\s*)*$"
    return [re.match(first, part, re.S)[1] for part in parts if part.strip()]


def describes(doc, what, alias=""):
    """Does the first line of the comment name @what, and say something?"""
    prefix = re.escape(f"{alias}: ") if alias else ""
    return re.match(rf"/\*\*\n \* {what} - {prefix}\S", doc)


def declared(token):
    """What a declaration is called, and the pattern of that in its comment."""
    if token["macro"]:
        return token["name"], rf"(?:define )?{token['name']}(?:\(\))?"
    if token["body"]:
        return token["tag"], f"{token['kind']} {token['tag']}"
    name = re.search(r"\(\*(\w+)\)\(|(\w+);$", token["typedef"])
    name = name[1] or name[2]
    return name, f"typedef {name}"


def complaints(text):
    """Line number and complaint, for one header."""
    listed = set(ITEM.findall(text))
    drawn = set(DRAWN.findall("".join(SECTION.findall(text))))
    macros, doc = set(), ""
    for token in TOKEN.finditer(text):
        line = text.count("\n", 0, token.start()) + 1
        if token["comment"]:
            continue
        if token["doc"]:
            doc = token["doc"]
            if " * DOC: " in doc and doc.count("c:type::") > doc.count("Source:"):
                yield line, "the section states too few sources"
            continue
        name, what = declared(token)
        own, doc = doc, ""
        macros.add(name)
        if name.endswith("_H_") or name in (drawn if token["typedef"] else listed):
            continue
        if not describes(own, what, token["body"] and token["alias"]):
            yield line, f"{name} has no kernel-doc"
            continue
        if "Source:" not in own:
            yield line, f"{name}: the comment states no source"
        if token["body"]:
            for part in names_of(token["kind"], token["inside"]):
                if not re.search(rf"^ \* @{part}:\s+\S", own, re.M):
                    yield line, f"{name}: {part} is not described"
    for name in sorted(listed - macros):
        yield 1, f"{name} is listed and not defined"


def main():
    headers = [Path(name) for name in sys.argv[1:]] or sorted((TOP / "include/dat").glob("*.h"))
    found = 0
    for path in headers:
        for line, complaint in complaints(path.read_text("utf-8")):
            print(f"{path.relative_to(TOP) if path.is_relative_to(TOP) else path}:"
                  f"{line}: {complaint}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
