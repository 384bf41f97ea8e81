#!/usr/bin/python3
"""draw.py TREE OUT [ROOM ...]: lists every place in the rooms' sources where a small fault can be planted.

A fault replaces one expression by another of the same type: a constant that is slightly off, a comparison with or without
its boundary, a dropped term, factor or check, the other branch, an omitted call. The sources are parsed by clang
(libclang), so that the ends of an expression are known.

Skipped: default member initialisers, because every figure that matters has a golden file, and the text of messages
(Diagnostics, formats and concatenated strings with prose). A test of either would restate the source.

OUT gets one line of JSON per fault: file, first byte, byte after the last, how it is switched, old text, new text. How it is
switched: "plain" in code that runs, "constexpr" in a function that may run in the compiler, "const@BYTE" in a constant that
is declared there, "drop" for a statement that is omitted.
"""
import concurrent.futures
import hashlib
import json
import pathlib
import re
import sys
from itertools import repeat

import clang.cindex as ci
from clang.cindex import CursorKind as K

BATCH = 10
LONGEST = 400
COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# Two words in a row: a sentence, not a key, path or format. The output of emit/ is product behaviour in any case.
PROSE = re.compile(r"[a-z]{2,},? [a-z]{2,}")
EMITS = "/output/emit/"
MESSAGE_FIELDS = {"what", "why", "fix", "summary", "note", "label", "help", "because"}
MESSAGE_WRITTEN = re.compile(r"[\w.>\[\]-]*(?:\.|->)(?:" + "|".join(sorted(MESSAGE_FIELDS)) + r")\s*\+?=[^=]")
NO_DESCENT = {K.FIELD_DECL, K.ENUM_DECL, K.STATIC_ASSERT, K.USING_DECLARATION, K.TYPE_ALIAS_DECL, K.TEMPLATE_TYPE_PARAMETER,
              K.TEMPLATE_NON_TYPE_PARAMETER, K.TEMPLATE_TEMPLATE_PARAMETER, K.ANNOTATE_ATTR, K.CONCEPT_DECL}
ARITHMETIC = {ci.TypeKind.DOUBLE, ci.TypeKind.FLOAT, ci.TypeKind.INT, ci.TypeKind.UINT, ci.TypeKind.LONG,
              ci.TypeKind.ULONG, ci.TypeKind.LONGLONG, ci.TypeKind.ULONGLONG}


def folder_of(tree, name):
    """Returns the room's folder: src/WING/NAME."""
    return next(p for p in (tree / "src").glob(f"*/{name}") if p.is_dir())


class Room:
    """Returns the faults of one room: one translation unit with all its files is walked once."""

    def __init__(self, tree, name):
        self.tree, self.name, self.faults = tree, name, []
        self.texts = {}
        self.folder = folder_of(tree, name)
        sources = [p for p in self.folder.glob("*.cpp") if p.name != "main.cpp" and not p.name.endswith("_test.cpp")]
        self.sources = sorted(sources)

    def ours(self, cursor):
        file = cursor.location.file
        if file is None:
            return None
        path = pathlib.Path(file.name)
        if path.parent != self.folder or not path.exists():
            return None
        if path.name.endswith("_test.cpp") or "fixture" in path.name or path.name.startswith("test_"):
            return None
        return path

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = path.read_bytes()
        return self.texts[path]

    def add(self, path, start, end, new, switch):
        old = self.text(path)[start:end].decode()
        # An expression with a comment cannot be put on one line, and a very long one is not a small fault.
        if start >= end or len(old) > LONGEST or "//" in old or "#" in old:
            return
        self.faults.append((path, start, end, switch, old, new))


def spelled(path, cursor):
    e = cursor.extent
    if e.start.file is None or e.end.file is None or e.start.file.name != str(path) or e.end.file.name != str(path):
        return None
    return e.start.offset, e.end.offset


def span_text(room, path, span):
    return room.text(path)[span[0]:span[1]].decode()


def operator_of(room, path, left, right):
    between = room.text(path)[left[1]:right[0]].decode().strip().lstrip(")").rstrip("(").strip()
    return between


def binary(room, path, cursor, switch):
    children = list(cursor.get_children())
    if cursor.kind == K.CALL_EXPR:
        if not cursor.spelling.startswith("operator") or len(children) != 3:
            return
        children = [children[0], children[2]]
    if len(children) != 2:
        return
    whole, left, right = (spelled(path, c) for c in (cursor, *children))
    if not whole or not left or not right or left[1] > right[0]:
        return
    op = operator_of(room, path, left, right)
    l, r = span_text(room, path, left), span_text(room, path, right)
    if "\n" in op or not l or not r:
        return
    e = span_text(room, path, whole)
    put = lambda new: room.add(path, *whole, new, switch)
    if op in COMPARE:
        put(e[:left[1] - whole[0]] + f" {COMPARE[op]} " + e[right[0] - whole[0]:])
    elif op in ("&&", "||"):
        put(f"static_cast<bool>({l})")
        put(f"static_cast<bool>({r})")
    elif op in ("+", "-"):
        if children[0].type.get_canonical() == cursor.type.get_canonical() or cursor.kind == K.BINARY_OPERATOR:
            put(l)
            if children[0].type.get_canonical().kind in ARITHMETIC:
                put(e[:left[1] - whole[0]] + (" - " if op == "+" else " + ") + e[right[0] - whole[0]:])
    elif op in ("*", "/") and cursor.type.get_canonical().kind in ARITHMETIC:
        if children[0].type.get_canonical().kind in ARITHMETIC:
            put(l)
        if op == "*" and children[1].type.get_canonical().kind in ARITHMETIC:
            put(r)


def literal(room, path, cursor, switch):
    span = spelled(path, cursor)
    if not span:
        return
    text = span_text(room, path, span)
    if cursor.kind == K.FLOATING_LITERAL:
        if text.lower().rstrip("f").strip("0.") == "":
            room.add(path, *span, "0.05", switch)
        else:
            room.add(path, *span, f"({text} * 1.06)", switch)
    elif text.isdigit() or text.replace("'", "").isdigit():
        value = int(text.replace("'", ""))
        # Nearly every function has a 0 or a 1 somewhere; faults in each of them are not interesting.
        if value <= 1 and int(hashlib.sha256(f"{path}{span}".encode()).hexdigest(), 16) % 3:
            return
        room.add(path, *span, f"{value + max(1, value // 15)}", switch)


def condition(room, path, cursor, switch):
    children = list(cursor.get_children())
    if not children or not children[0].kind.is_expression():
        return
    span = spelled(path, children[0])
    start = spelled(path, cursor)
    if not span or not start or b"constexpr" in room.text(path)[start[0]:span[0]]:
        return
    if cursor.kind == K.IF_STMT:
        if b";" not in room.text(path)[start[0]:span[0]]:
            room.add(path, *span, "false", switch)
    elif cursor.kind == K.CONDITIONAL_OPERATOR and len(children) == 3:
        room.add(path, *span, "true", switch)
        room.add(path, *span, "false", switch)


def bounds_call(room, path, cursor, switch):
    children = list(cursor.get_children())
    if cursor.spelling not in ("min", "max") or len(children) != 3:
        return
    whole, first, second = spelled(path, cursor), spelled(path, children[1]), spelled(path, children[2])
    if whole and first and second:
        other = "std::max" if cursor.spelling == "min" else "std::min"
        e = span_text(room, path, whole)
        head = span_text(room, path, spelled(path, children[0]) or whole)
        room.add(path, *whole, span_text(room, path, first), switch)
        if e.startswith(head) and head.startswith("std::"):
            room.add(path, *whole, other + e[len("std::max"):], switch)


def statement(room, path, cursor, switch):
    """Omits an assignment or a call that is a separate statement."""
    for child in cursor.get_children():
        kinds = (K.CALL_EXPR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.BINARY_OPERATOR, K.UNARY_OPERATOR)
        inner = child
        while inner.kind == K.UNEXPOSED_EXPR and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        if inner.kind not in kinds:
            continue
        span = spelled(path, child)
        if span and room.text(path)[span[1]:span[1] + 1] == b";":
            text = span_text(room, path, span)
            if not text.startswith("co_") and ".reserve(" not in text and not is_message(room, path, inner):
                room.add(path, *span, "", "drop")


def is_message(room, path, cursor):
    """Returns whether an expression is only text for people."""
    kind = cursor.kind
    if kind == K.CALL_EXPR:
        made = cursor.type.get_canonical().spelling
        if "Diagnostic" in made and cursor.spelling not in ("", "operator="):
            return not made.startswith("std::expected")
    children = list(cursor.get_children())
    if kind == K.UNEXPOSED_EXPR and len(children) == 2 and children[0].kind == K.MEMBER_REF:
        return children[0].spelling in MESSAGE_FIELDS
    if kind not in (K.CALL_EXPR, K.CONDITIONAL_OPERATOR) or EMITS in str(path):
        return False
    span = spelled(path, cursor)
    if kind == K.CALL_EXPR and cursor.spelling not in ("format", "operator+", "operator+="):
        return cursor.spelling == "operator=" and bool(span and MESSAGE_WRITTEN.match(span_text(room, path, span)))
    literals = re.findall(r'"(?:[^"\\\\]|\\\\.)*"', span_text(room, path, span)) if span else []
    return any(PROSE.search(text) for text in literals)


def look(room, path, cursor, switch):
    kind = cursor.kind
    if kind in (K.BINARY_OPERATOR, K.CALL_EXPR):
        binary(room, path, cursor, switch)
    if kind == K.CALL_EXPR:
        bounds_call(room, path, cursor, switch)
    if kind in (K.FLOATING_LITERAL, K.INTEGER_LITERAL):
        literal(room, path, cursor, switch)
    if kind in (K.IF_STMT, K.CONDITIONAL_OPERATOR):
        condition(room, path, cursor, switch)
    if kind == K.COMPOUND_STMT:
        statement(room, path, cursor, switch)
    if kind == K.UNARY_OPERATOR:
        span = spelled(path, cursor)
        # If != is derived from ==, clang reports it as a `!` before the `=`.
        if span and room.text(path)[span[0]:span[0] + 1] == b"!" and \
                room.text(path)[span[0] + 1:span[0] + 2] != b"=":
            room.add(path, *span, f"static_cast<bool>({span_text(room, path, span)[1:]})", switch)
    if kind == K.CXX_BOOL_LITERAL_EXPR:
        span = spelled(path, cursor)
        if span:
            room.add(path, *span, "false" if span_text(room, path, span) == "true" else "true", switch)


def walk(room, path, cursor, switch):
    kind = cursor.kind
    if kind in NO_DESCENT or (kind.is_expression() and is_message(room, path, cursor)):
        return
    if kind == K.VAR_DECL:
        span = spelled(path, cursor)
        if not span:
            return
        head = span_text(room, path, span).split("=")[0].split("{")[0]
        if "constexpr" in head:
            if "static" in head:
                return
            switch = f"const@{span[0]}"
    if kind in (K.FUNCTION_DECL, K.CXX_METHOD, K.FUNCTION_TEMPLATE, K.CONSTRUCTOR):
        span = spelled(path, cursor)
        if span and b"constexpr" in room.text(path)[span[0]:span[1]].split(b"(")[0]:
            switch = "constexpr"
    look(room, path, cursor, switch)
    children = list(cursor.get_children())
    if kind == K.CASE_STMT:
        children = children[1:]
    for child in children:
        walk(room, path, child, switch)


def faults_of(tree, name, arguments):
    """Walks the room's files ten at a time, similar to how they are compiled (cmake/Room.cmake)."""
    room = Room(tree, name)
    unity = room.folder / "draw_unity.cpp"
    # The only header that the build generates.
    made = (str(tree / "src/app/cli/build_info.h"), (tree / "src/app/cli/build_info.h.in").read_text())
    for first in range(0, len(room.sources), BATCH):
        text = "".join(f'#include "{p}"\n' for p in room.sources[first:first + BATCH])
        unit = ci.Index.create().parse(str(unity), args=arguments, unsaved_files=[(str(unity), text), made])
        for e in [d for d in unit.diagnostics if d.severity >= 3][:5]:
            print(f"{name}: {e}", file=sys.stderr)
        for cursor in unit.cursor.get_children():
            path = room.ours(cursor)
            if path:
                walk(room, path, cursor, "plain")
    return sorted(set(room.faults))


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    rooms = sys.argv[3:] or sorted(p.name for p in (tree / "src").glob("*/*") if p.is_dir())
    includes = [f"-I{tree}/src", f"-I{tree}", "-I/usr/include/postgresql"]
    arguments = ["-x", "c++", "-std=c++23", "-Wno-everything", *includes]
    with open(sys.argv[2], "w") as out, concurrent.futures.ProcessPoolExecutor() as pool:
        for name, faults in zip(rooms, pool.map(faults_of, repeat(tree), rooms, repeat(arguments))):
            print(f"{name}: {len(faults)} places", file=sys.stderr)
            for path, start, end, switch, old, new in faults:
                out.write(json.dumps([str(path.relative_to(tree)), start, end, switch, old, new]) + "\n")


main()
