// `orrery probe`: measures this machine. `gpu` runs the program that tools/probe/build makes on
// machines with CUDA; `storage` and `serving` have files of their own.
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "app/cli/verb.h"

extern char** environ;

namespace orrery::cli {

Verb probe_serving_verb();
Verb probe_storage_verb();

namespace {

struct ProbeOptions {
  std::optional<std::string> program;
  bool quick = false;
};

// Returns the probe beside this program, where the build puts it, or the one on the PATH.
std::string default_program() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = self.parent_path() / "gpu_probe";
  if (!ignored && std::filesystem::exists(beside, ignored)) return beside.string();
  const auto above = self.parent_path().parent_path() / "gpu_probe";
  if (std::filesystem::exists(above, ignored)) return above.string();
  return "gpu_probe";
}

ExitCode run_probe(const ProbeOptions& options, Terminal& terminal) {
  std::string program = options.program.value_or(default_program());
  std::string quick = "--quick";
  std::array<char*, 3> words = {program.data(), options.quick ? quick.data() : nullptr, nullptr};
  pid_t child = 0;
  terminal.out.flush();
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, words.data(), environ) != 0) {
    return refuse(terminal, {{.severity = Severity::error,
                              .code = "probe.missing",
                              .place = {.file = program, .line = 0, .column = 0},
                              .what = "the GPU probe is not built",
                              .why = "it needs CUDA's compiler and a GPU",
                              .fix = "run tools/probe/build on a machine with a GPU"}});
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ExitCode::good : ExitCode::bad_input;
}

Verb gpu_verb() {
  return {.name = "gpu",
          .summary = "Measure one GPU: matrix products, memory passes, attention, host link, power",
          .examples = {"orrery probe gpu > probe.csv"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ProbeOptions>();
            arguments.option("--program", options->program, "path of the probe's executable",
                             "FILE");
            arguments.flag("--quick", options->quick,
                           "measure only a few sizes: takes seconds, not minutes");
            return [options](Terminal& terminal) { return run_probe(*options, terminal); };
          }};
}

}  // namespace

Verb probe_verb() {
  return {.name = "probe",
          .summary = "Measure this machine; `orrery calibrate` reads the result",
          .examples = {"orrery probe gpu > probe.csv", "orrery probe storage /scratch --quick"},
          .prepare = {},
          .verbs = {gpu_verb(), probe_storage_verb(), probe_serving_verb()}};
}

}  // namespace orrery::cli
