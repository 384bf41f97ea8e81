// A page of the documentation as a test reads it: its commands with the output it shows, its files
// and its links.
//
// A block of code is fenced or indented by four spaces. In a block with `$ ` prompts, a prompt line
// is a command and the lines below it are its output. In any other block each line that starts with
// `orrery` or `./orrery` is a command whose output is not shown, and plain shell lines around it
// (mkdir, cp, ...) are run too. A `...` in shown output stands for any number of lines. HTML
// comments before a block steer the test:
//
//   <!-- not run: REASON -->    the commands of the next block are not run
//   <!-- run by: FILE -->       the commands of the whole page are run by another test
//   <!-- file: NAME -->         the next block is written to NAME, for later commands of the page
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct DocCommand {
  std::size_t line = 0;     // of the command, from 0
  std::string text;         // as typed, without the prompt
  bool shows_output = false;
  std::size_t output_begin = 0, output_end = 0;  // lines of the page
  std::string indent;
  std::string not_run;  // the reason; empty if the command is run
};

struct DocFile {
  std::string name, text;
};

// What a page does, in order: a file is written, or a command is run.
struct DocStep {
  bool is_file = false;
  std::size_t index = 0;  // in `files` or `commands`
};

struct DocPage {
  std::string path;  // from the root
  std::vector<std::string> lines;
  std::vector<DocCommand> commands;
  std::vector<DocFile> files;
  std::vector<DocStep> steps;
  std::string run_by;  // the test that runs this page; empty if docs_test does
};

DocPage parse_page(std::string path, std::string_view text);

// Returns the lines of the output that a page shows below a command, without their indent.
std::vector<std::string> shown_output(const DocPage& page, const DocCommand& command);

// Returns true if `now` is what is shown, where a line `...` matches any number of lines.
bool matches(const std::vector<std::string>& shown, const std::vector<std::string>& now);

// Returns what the page should show: `now` with the cuts of `shown`. The lines between two cuts are
// found by their first line, as many as before.
std::vector<std::string> refreshed(const std::vector<std::string>& shown,
                                   const std::vector<std::string>& now);

std::vector<std::string> lines_of(std::string_view text);

// Returns the exit code that a command announces with `# exits with N`; 0 if it announces none.
int announced_exit(std::string_view command);

// Returns the anchors that GitHub gives the headings of a page.
std::vector<std::string> anchors_of(const DocPage& page);

}  // namespace orrery
