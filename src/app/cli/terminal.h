// Connects a verb to its environment: its streams, the files that it may read, and Ctrl-C.
//
// stdout carries only the answer. stderr carries progress, notes and warnings, so `orrery plan
// x.yaml --format json > verdict.json` is always a whole JSON file. Tests use string streams and a
// map of files instead.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "output/report/document.h"

namespace orrery::cli {

// 0 and 1 are both answers. A script that only needs to know whether the verb ran tests for >= 2.
enum class ExitCode : int {
  good = 0,
  fails_rule = 1,  // the design breaks a rule, or misses a goal or a budget
  bad_input = 2,   // usage error, unreadable file, or a design with errors
  nothing_feasible = 4,
  internal = 70,  // EX_SOFTWARE of <sysexits.h>: a fault of Orrery
  interrupted = 130,
};

// Largest file to read. A design has kilobytes and a job trace megabytes; with more, the parsers
// take minutes.
inline constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_tty = false;
  bool err_is_tty = false;
  report::TextStyle style = {};  // style of documents on `out`
  // Reads the whole text of a file ("-" is standard input), or returns why that failed.
  std::function<Result<std::string>(const std::string& path)> read_file;
  // Returns true after Ctrl-C was pressed or the process was asked to end. Long work then stops and
  // gives the best result so far.
  std::function<bool()> interrupted = [] { return false; };
};

// Reads a file to its end, or to kFileBytesMax so that an endless pipe ends too. Refuses
// directories and text that is not UTF-8.
Result<std::string> read_text_file(const std::string& path);

// Returns the terminal of this process. Handles SIGINT, SIGTERM, SIGHUP and SIGPIPE: the first
// signal sets interrupted(), the second ends the process as usual. 20 s after any of the last three
// the process is ended.
Terminal process_terminal();

}  // namespace orrery::cli
