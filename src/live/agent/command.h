// Runs another program by its words and gives back what it said.
//
// No shell ever sees the words, so a job's name with quotes or semicolons in it is only a name. The
// child reads nothing (its input is empty), has a process group of its own (Ctrl-C at the terminal
// reaches us and not it), and ends with us: when this process is killed, the kernel kills the
// child, so that no command of a dead agent acts after its successor has looked at the world. Linux
// only.
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
  Seconds timeout = seconds(30);  // then the whole process group is killed
  std::size_t output_bytes_max = std::size_t{64} << 20;  // of each stream; the rest is dropped
  std::vector<std::pair<std::string, std::string>> environment = {};  // set on top of ours
  // Variables of ours that begin so are not handed on: a tool's own could change what it prints.
  std::vector<std::string> environment_without = {};
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal where one ended it, as a shell counts
  bool timed_out = false;
  bool output_cut = false;
  std::string out;
  std::string err;

  bool good() const { return exit_code == 0 && !timed_out && !output_cut; }
};

// An error only where the program could not be started; a program that fails is a result.
Result<CommandResult> run_command(const Command& command);

// A program that was started and runs beside us. Ends (SIGKILL to its group) with the object.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  // Its result once it has ended or its time is over, else none; returns at once. Nothing comes
  // after the result.
  virtual std::optional<CommandResult> poll() = 0;
};
Result<std::unique_ptr<RunningCommand>> start_command(const Command& command);
using CommandStarter =
    std::function<Result<std::unique_ptr<RunningCommand>>(const Command& command)>;

// What a driver is handed, so that tests can answer in a program's place.
using CommandRunner = std::function<Result<CommandResult>(const Command&)>;

// run_command that is given up as soon as `stop` says so: the program is killed, the result timed
// out.
CommandRunner run_until(std::function<bool()> stop);

// "scontrol update jobid=7": for messages. Words with blanks or odd bytes are quoted; not for
// shells.
std::string to_text(const Command& command);

}  // namespace orrery::agent
