// The answer of a verb in a test.
#pragma once


#include <fcntl.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/terminal.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {

struct VerbAnswer {
  ExitCode code;
  std::string out;
  std::string err;
};

inline VerbAnswer ask(const std::vector<Verb>& verbs, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  const ExitCode code = run_command_line(verbs, words, terminal);
  return {code, out.str(), err.str()};
}

inline VerbAnswer ask_search(const std::vector<std::string>& words, bool interrupted = false) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out,
                    .err = err,
                    .read_file = [](const std::string& path) -> Result<std::string> {
                      if (path == "rows.csv") {
                        return "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,"
                               "framework,certainty,tokens_per_s_per_gpu\n"
                               "a,h100-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,"
                               "9000\n";
                      }
                      return fail({.code = "file", .what = "no " + path});
                    },
                    .interrupted = [interrupted] { return interrupted; }};
  const ExitCode code = run_command_line(all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

}  // namespace orrery::cli
