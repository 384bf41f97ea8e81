// Runs another program and returns what it printed.
//
// No shell sees the words, so a job's name with quotes or semicolons in it is only a name. The
// child has an empty input and a process group of its own (Ctrl-C at the terminal reaches us and
// not it). If this process is killed, the kernel kills the child, so no command of a dead agent
// acts after its successor has looked at the cluster. Linux only.
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
      words;                      // the program, found on the PATH unless it has a slash; arguments
  Seconds timeout = seconds(30);  // after which the whole process group is killed
  std::size_t output_bytes_max = std::size_t{64} << 20;  // per stream; the rest is dropped
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours
  // Prefixes of our variables that the program does not get: they could change what it prints.
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

// Fails only if the program cannot be started. A program that fails is a result.
Result<CommandResult> run_command(const Command& command);

// A program that runs concurrently. The destructor kills its process group.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  // Returns the result once the program has ended or timed out, else nothing; never waits. Nothing
  // follows the result.
  virtual std::optional<CommandResult> poll() = 0;
};
Result<std::unique_ptr<RunningCommand>> start_command(const Command& command);
using CommandStarter =
    std::function<Result<std::unique_ptr<RunningCommand>>(const Command& command)>;

// Drivers take these as parameters, so that tests can answer instead of a program.
using CommandRunner = std::function<Result<CommandResult>(const Command&)>;

// Returns a run_command() that kills the program as soon as `stop` returns true; the result is then
// `timed_out`.
CommandRunner run_until(std::function<bool()> stop);

// "scontrol update jobid=7", for messages. Words with blanks or odd bytes are quoted, but not for a
// shell.
std::string to_text(const Command& command);

}  // namespace orrery::agent
