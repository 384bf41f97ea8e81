// What a verb said when a test asked it.
#pragma once

#include <string>

#include "app/cli/terminal.h"

namespace orrery::cli {

struct VerbAnswer {
  ExitCode code;
  std::string out;
  std::string err;
};

}  // namespace orrery::cli
