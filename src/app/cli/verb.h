// A verb of the command line: its name, its summary, its options and the function that runs it.
//
// Each verb is one file: src/app/cli/<name>.cpp defines `Verb <name>_verb();` and verbs.cpp lists
// it. A verb binds its options to a struct of its own, shared with the function that runs it:
//
//   Verb greet_verb() {
//     return {.name = "greet", .summary = "Say hello", .examples = {"orrery greet Ada"},
//             .prepare = [](Arguments& arguments) -> Run {
//               auto options = std::make_shared<GreetOptions>();
//               arguments.positional("NAME", options->name, "who");
//               return [options](Terminal& terminal) { return greet(*options, terminal); };
//             }};
//   }
//
// A verb with subverbs (`calc checkpoint`) fills `verbs` instead of `prepare`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/terminal.h"

namespace orrery::cli {

using Run = std::function<ExitCode(Terminal&)>;

struct Verb {
  std::string name;
  std::string summary;                // one line, no full stop
  std::vector<std::string> examples;  // whole command lines, shown by --help
  std::function<Run(Arguments&)> prepare;
  std::vector<Verb> verbs = {};
};

// Returns every verb, in the order in which people use them (verbs.cpp).
std::vector<Verb> all_verbs();

// Parses `words` (without the program's name), runs the verb that they name and returns its exit
// code. Handles usage errors and --help; throws nothing.
ExitCode run_command_line(const std::vector<Verb>& verbs, const std::vector<std::string>& words,
                          Terminal& terminal);

// Prints the diagnostics on stderr and returns bad_input: the usual end of a verb whose input is at
// fault.
ExitCode refuse(Terminal& terminal, const Diagnostics& diagnostics);

// A verb or an option as the completion scripts and the manual pages need it.
struct VerbShape {
  std::vector<std::string> path;  // {"calc", "checkpoint"}; empty for the program itself
  std::string summary;
  std::vector<std::string> verbs;
  struct Option {
    std::string name;  // "--format"
    std::string help;
    std::vector<std::string> choices;  // empty: any value
    bool takes_value = true;
  };
  std::vector<Option> options;
  std::vector<std::string> choices;  // choices of the first positional, if they are fixed
  struct Word {
    std::string name;  // "DESIGN"
    std::string help;
    bool is_required = true;
  };
  std::vector<Word> words;  // positional arguments, in order
  std::vector<std::string> examples;
};
std::vector<VerbShape> shapes_of(const std::vector<Verb>& verbs);

}  // namespace orrery::cli
