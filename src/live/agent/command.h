// Runs another program and returns what it printed.
//
// No shell sees the words, so quotes or semicolons in a job's name have no effect. The child has an
// empty input and its own process group (Ctrl-C at the terminal reaches the agent but not the
// child). If this process is killed, the kernel kills the child, so no command of a dead agent acts
// after its successor has read the state of the cluster. Linux only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::agent {

struct Command {
  std::vector<std::string>
      words;  // the program, found in PATH unless it contains a slash, and its arguments
  Seconds timeout = seconds(30);  // after this time the whole process group is killed
  std::size_t output_bytes_max = std::size_t{64} << 20;  // per stream; the rest is dropped
  std::vector<std::pair<std::string, std::string>> environment = {};  // variables added to the
                                                                      // environment of this process
  // Prefixes of environment variables that the program does not get, because they could change what
  // it prints.
  std::vector<std::string> environment_without = {};
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal if a signal ended it, as in a shell
  bool timed_out = false;
  bool output_cut = false;
  std::string out;
  std::string err;

  bool good() const { return exit_code == 0 && !timed_out && !output_cut; }
};

// Fails only if the program cannot be started. A program that ends with an error is a result.
Result<CommandResult> run_command(const Command& command);

// A program that runs concurrently. The destructor kills its process group.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  // Returns the result once the program has ended or timed out, otherwise nullopt. Never waits. Do
  // not call it again after it returned a result.
  virtual std::optional<CommandResult> poll() = 0;
};
Result<std::unique_ptr<RunningCommand>> start_command(const Command& command);
using CommandStarter =
    std::function<Result<std::unique_ptr<RunningCommand>>(const Command& command)>;

// Drivers take these functions as parameters, so that tests can answer instead of a program.
using CommandRunner = std::function<Result<CommandResult>(const Command&)>;

// Returns a run_command() that kills the program as soon as `stop` returns true; the result is then
// `timed_out`.
CommandRunner run_until(std::function<bool()> stop);

// Returns the command for messages, such as "scontrol update jobid=7". Words with blanks or unusual
// bytes are quoted, but not for a shell.
std::string to_text(const Command& command);

}  // namespace orrery::agent
