// Where a verb meets the world: its streams, the files it may read, and Ctrl-C.
//
// stdout carries the answer and nothing else; stderr carries the talk (progress, notes, warnings),
// so `orrery plan x.yaml --format json > verdict.json` is always a whole JSON file. Tests hand in
// string streams and a map of files instead.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "output/report/document.h"

namespace orrery::cli {

// 0 and 1 are both answers; a script that only wants to know "did it run" tests for >= 2.
enum class ExitCode : int {
  good = 0,
  fails_rule = 1,  // the design was reviewed and breaks a rule or misses a goal
  bad_input = 2,   // usage, an unreadable file, a design with errors
  nothing_feasible = 4,
  internal = 70,  // EX_SOFTWARE of <sysexits.h>: a fault of ours
  interrupted = 130,
};

// A design is kilobytes and a job trace megabytes. Beyond this the parsers behind us take minutes.
inline constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_tty = false;
  bool err_is_tty = false;
  report::TextStyle style = {};  // of documents on `out`
  // The whole text of a file ("-" is standard input), or why there is none.
  std::function<Result<std::string>(const std::string& path)> read_file;
  // True once the person pressed Ctrl-C, or the process was asked to end: long work stops and gives
  // the best so far.
  std::function<bool()> interrupted = [] { return false; };
};

// Reads to the end or to kFileBytesMax, whichever comes first, so an endless pipe ends too. Refuses
// directories and text that is not UTF-8.
Result<std::string> read_text_file(const std::string& path);

// The terminal of this process. Takes over SIGINT, SIGTERM, SIGHUP and SIGPIPE: the first one sets
// interrupted(), the second ends the process as usual. After the last three a process that goes on
// for 20 s is ended.
Terminal process_terminal();

}  // namespace orrery::cli
