// Shared by `orrery agent recover` and `orrery agent rehearse`: the options of the policy, and the
// text in which a tick is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/arguments.h"
#include "app/cli/terminal.h"
#include "live/agent/drive.h"
#include "live/agent/recover.h"

namespace orrery::cli {

struct PolicyOptions {
  std::string interval = "500 ms";
  std::string silence = "10 s";
  double out_share_max = failure::RecoveryPolicy{}.out_share_max;
  std::optional<double> avoid_share_max;
  std::int64_t crash_loop = failure::RecoveryPolicy{}.crash_loop;
  std::int64_t losses_max = failure::RecoveryPolicy{}.losses_max;
};
void bind_interval(PolicyOptions& options, Arguments& arguments);
void bind(PolicyOptions& options, Arguments& arguments);  // all other options

struct PolicyRead {
  failure::RecoveryPolicy policy;  // without `fence`, which the two verbs set differently
  Seconds interval;
};
Result<PolicyRead> policy_of(const PolicyOptions& options);

Diagnostic agent_usage(std::string what, std::string fix);

// Waits in small pieces, so that Ctrl-C takes effect at once.
void rest(Seconds length, const Terminal& terminal);

// Runs an agent until it ends or Ctrl-C is pressed. Reports why a round failed and why the agent
// ended.
ExitCode drive_agent(agent::AgentDrive drive, Terminal& terminal);

std::string clock_text(Seconds at);  // "00:12:01.500"
void show(const agent::TickReport& report, Format format, Terminal& terminal);

}  // namespace orrery::cli
