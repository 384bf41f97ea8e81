// For tests of code that uses Slurm: its programs, answered from tables.
#pragma once

#include <string>
#include <vector>

#include "live/agent/command.h"

namespace orrery::agent {

// Answers squeue, sinfo and scontrol, and records the calls.
struct SlurmTables {
  std::string squeue = {};
  std::string sinfo = "n1;idle;none;\n";
  std::string config = {};    // output of scontrol show config
  std::string excluded = {};  // output of squeue for the nodes that jobs exclude
  std::string failing = {};   // the program that ends with exit code 1
  std::vector<Command> asked = {};

  CommandRunner runner() {
    return [this](const Command& c) -> Result<CommandResult> {
      asked.push_back(c);
      const std::string& program = c.words[0];
      if (program == failing) return CommandResult{.exit_code = 1, .err = "broken"};
      if (program == "sinfo") return CommandResult{.out = sinfo};
      if (program == "squeue") {
        const bool asks_avoided = c.words.back() == "%x" || c.words.back() == "%A;%x";
        return CommandResult{.out = asks_avoided ? excluded : squeue};
      }
      return CommandResult{.out = c.words[1] == "show" ? config : ""};
    };
  }
};

}  // namespace orrery::agent
