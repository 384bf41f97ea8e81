"""Plants faults behind a switch, builds the tests once with all of them, and runs the tests with one at a time switched on.

An expression E with the fault F becomes (orrery_planted(N) ? (F) : (E)); the environment variable ORRERY_PLANTED says
which N is on. With ORRERY_HITS=FILE a program writes at its end which places it executed, so that for each fault only the
tests that execute it are run.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import time

SWITCH = r'''#pragma once
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
inline unsigned char orrery_hits[1 << 16];
inline const int orrery_on = [] {
  const char* text = std::getenv("ORRERY_PLANTED");
  return text ? std::atoi(text) : 0;
}();
struct OrreryHits {
  ~OrreryHits() {
    const char* path = std::getenv("ORRERY_HITS");
    if (!path) return;
    std::FILE* out = std::fopen((std::string(path) + "." + std::to_string(getpid())).c_str(), "w");
    if (!out) return;
    for (int i = 0; i < (1 << 16); ++i)
      if (orrery_hits[i]) std::fprintf(out, "%d\n", i);
    std::fclose(out);
  }
};
inline OrreryHits orrery_said;
inline bool orrery_planted(int number) {
  orrery_hits[number] = 1;
  return orrery_on == number;
}
constexpr bool orrery_planted_here(int number) {
  if consteval {
    return false;
  } else {
    return orrery_planted(number);
  }
}
'''


class Fault:
    def __init__(self, number, file, start, end, switch, old, new):
        self.number, self.file, self.start, self.end = number, file, start, end
        self.switch, self.old, self.new = switch, old, new
        self.line = 0

    def room(self):
        return self.file.split("/")[2]

    def __str__(self):
        new = self.new if self.switch != "drop" else "(left out)"
        return f"{self.file}:{self.line}: {self.old} ==> {new}"


# Suites that compare with files below tests/golden.
SNAPSHOTS = ("TemplateGoldens.", "rules/EveryRule.")


def planted_text(text, faults):
    """Returns the bytes of a file with its faults behind their switches. If one is inside another's expression, it is
    planted in the unchanged branch of the other."""
    for at in sorted({int(f.switch[6:]) for f in faults if f.switch.startswith("const@")}):
        # A constant that depends on a switch is known only when the program starts. Keeps the number of bytes.
        found = text.index(b"constexpr", at)
        text = text[:found] + b"const    " + text[found + len(b"constexpr"):]
    ordered = sorted(faults, key=lambda f: (f.start, -f.end, f.number))
    return with_faults(text, 0, len(text), ordered)


def with_faults(text, start, end, faults):
    out, at = b"", start
    while faults:
        outer, rest = faults[0], faults[1:]
        inside = [f for f in rest if f.start < outer.end]
        assert all(f.end <= outer.end for f in inside), f"{outer}: another fault crosses its end"
        old = with_faults(text, outer.start, outer.end, inside).decode()
        out += text[at:outer.start] + switched(outer, old).encode()
        at, faults = outer.end, rest[len(inside):]
    return out + text[at:end]


def switched(fault, old):
    if fault.switch == "drop":
        return f"(orrery_planted({fault.number}) ? void() : void({old}))"
    name = "orrery_planted_here" if fault.switch == "constexpr" else "orrery_planted"
    # The new text is on one line, so that line N seen by the compiler is line N of the file.
    new = fault.new.replace("\n", " ")
    return f"({name}({fault.number}) ? ({new}) : ({old}))"


def plant(tree, made, faults):
    """Copies `tree` to `made` with the faults; unchanged files keep their time."""
    by_file = {}
    for f in faults:
        by_file.setdefault(f.file, []).append(f)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=tree, check=True, text=True,
                            capture_output=True).stdout.splitlines()
    # From the console only the lists that tests read.
    names = [n for n in listed if (tree / n).exists() and re.match(r"(?!web/)|web/tests/.*\.txt", n)]
    write_if_new(made / "planted.h", SWITCH.encode())
    for name in names:
        text = (tree / name).read_bytes()
        if name in by_file:
            text = f'#include "{made}/planted.h"\n#line 1\n'.encode() + planted_text(text, by_file[name])
        write_if_new(made / name, text, (tree / name).stat().st_mode)
    wanted = set(names) | {"planted.h"}
    for path in [p for p in made.rglob("*") if p.is_file() and "/.git/" not in str(p)]:
        if str(path.relative_to(made)) not in wanted:
            path.unlink()


def write_if_new(path, text, mode=0o644):
    if path.exists() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    path.chmod(mode)


def configure(made, build):
    flags = "-O1 -g0 -Wno-error -w -ferror-limit=0 -Wno-c++11-narrowing"
    subprocess.run(["cmake", "-S", made, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DORRERY_WEB=OFF",
                    "-DORRERY_LIVE_TESTS=OFF", "-DORRERY_PCH=ON", "-DORRERY_UNITY=ON", "-DORRERY_SANITIZE=",
                    "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld",
                    "-DCMAKE_CXX_FLAGS_DEBUG=",
                    f"-DCMAKE_CXX_FLAGS={flags}"], check=True, stdout=subprocess.DEVNULL)


def compile_tests(build, jobs):
    """Builds. Returns the source lines that the compiler complained about; empty if the build succeeded."""
    run = subprocess.run(["ninja", "-C", build, "-j", str(jobs), "-k", "0"], text=True, capture_output=True)
    (pathlib.Path(build) / "ninja.log").write_text(run.stdout)
    if run.returncode == 0:
        return []
    return re.findall(r"^(\S+?):(\d+):\d+: (?:error|note)", run.stdout, re.M) or [("?", "0")]


def build_sound(tree, made, build, faults, jobs, say=print):
    """Plants and builds, and drops faults that do not compile until the build succeeds. Returns the remaining faults."""
    while True:
        plant(tree, made, faults)
        configure(made, build)
        named = compile_tests(build, jobs)
        if not named:
            return faults
        lines = {(str(pathlib.Path(p)), int(n)) for p, n in named}
        bad = [f for f in faults
               if any((str(made / f.file), f.line + n) in lines for n in range(f.old.count("\n") + 1))]
        if not bad:
            raise SystemExit(f"the planted sources do not build; see {build}/ninja.log")
        for fault in bad:
            say(f"does not compile and is dropped: {fault}")
        gone = {f.number for f in bad}
        faults = [f for f in faults if f.number not in gone]


def set_lines(tree, faults):
    texts = {}
    for f in faults:
        text = texts.setdefault(f.file, (tree / f.file).read_bytes())
        f.line = text[:f.start].count(b"\n") + 1


def programs(build):
    """Returns every test program by its name, except those that compare snapshots or only read the sources. Suites with
    snapshots among other tests are left out by cases_of."""
    found = {}
    for folder in ("src", "tests"):
        for path in sorted((pathlib.Path(build) / folder).glob("*_test")):
            if path.name not in ("golden_test", "tidy_test"):
                found[path.name] = path
    return found


def cases_of(program):
    said = subprocess.run([program, "--gtest_list_tests"], text=True, capture_output=True, check=True).stdout
    suite, names = "", []
    for line in said.split("\n"):
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return [n for n in names if "DISABLED_" not in n and not n.startswith(SNAPSHOTS)]


class Reach:
    """Returns which cases of which program execute which fault, and how long each takes; a file keeps this between runs."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.programs = json.loads(self.file.read_text()) if self.file.exists() else {}

    def look(self, build, jobs, only=None, say=print):
        todo = []
        for name, path in programs(build).items():
            stamp = path.stat().st_mtime_ns
            if (only and name not in only) or self.programs.get(name, {}).get("stamp") == stamp:
                continue
            self.programs[name] = {"stamp": stamp, "cases": {}}
            todo += [(name, path, case) for case in cases_of(path)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for (name, _, case), (seconds, hits, code) in zip(todo, pool.map(lambda t: reach_of(*t), todo)):
                if code != 0:
                    say(f"{name} {case} fails by itself ({code})")
                    continue
                self.programs[name]["cases"][case] = [round(seconds, 3), hits]
        self.file.write_text(json.dumps(self.programs))

    def askers(self, number):
        """Returns {program: [(seconds, case)]} for the cases that execute a fault, quickest first."""
        found = {}
        for name, program in self.programs.items():
            cases = sorted((s, c) for c, (s, hits) in program["cases"].items() if number in hits)
            if cases:
                found[name] = cases
        return found

    def ready(self):
        for program in self.programs.values():
            for case in program["cases"].values():
                case[1] = set(case[1])
        return self


def reach_of(name, path, case):
    stem = path.parent / f"hits-{name}-{abs(hash(case))}"
    began = time.monotonic()
    try:
        code = subprocess.run([path, f"--gtest_filter={case}", "--gtest_brief=1"], timeout=300,
                              env={**os.environ, "ORRERY_HITS": str(stem)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired:
        code = 124
    seconds = time.monotonic() - began
    hits = set()
    for part in path.parent.glob(stem.name + ".*"):
        hits |= {int(n) for n in part.read_text().split()}
        part.unlink()
    return seconds, sorted(hits), code


def ask(build, reach, fault, budget_s):
    """Returns the result for a fault: the program that found it, 'NOT REACHED', 'NOT FOUND' or 'HUNG'. Runs all tests of
    its own room, and those of other programs for budget_s in total, the quick ones first."""
    askers = reach.askers(fault.number)
    if not askers:
        return "NOT REACHED"
    own = fault.room() + "_test"
    order = sorted(askers, key=lambda n: (n != own, sum(s for s, _ in askers[n])))
    known, hung, left_s = programs(build), False, budget_s
    for name in order:
        cases, total = [], 0.0
        for seconds, case in askers[name]:
            if name != own and total + seconds > left_s:
                break
            cases.append(case)
            total += seconds
        if not cases:
            continue
        left_s -= total if name != own else 0
        answer = fails(known[name], cases, fault.number, 4 * total + 15)
        if answer == "yes":
            return f"found by {name}"
        hung = hung or answer == "hung"
    return "HUNG" if hung else "NOT FOUND"


def fails(program, cases, number, limit_s):
    listed = ":".join(cases)
    if len(listed) > 100_000:
        listed = "*"
    # A fault may start a program that does not end, so the whole process group is ended.
    run = subprocess.Popen([program, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={listed}"],
                           env={**os.environ, "ORRERY_PLANTED": str(number)}, start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return "yes" if run.wait(limit_s) else "no"
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        run.wait()
        return "hung"
