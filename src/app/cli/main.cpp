#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "app/cli/verb.h"

int main(int argc, char** argv) {
  try {
    orrery::cli::Terminal terminal = orrery::cli::process_terminal();
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return static_cast<int>(
        orrery::cli::run_command_line(orrery::cli::all_verbs(), words, terminal));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery: internal error: %s; please report it with the command line\n",
                 error.what());
  } catch (...) {
    std::fputs("orrery: internal error; please report it with the command line\n", stderr);
  }
  return static_cast<int>(orrery::cli::ExitCode::internal);
}
