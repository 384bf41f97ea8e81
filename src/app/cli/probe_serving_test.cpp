#include <gmock/gmock.h>
#include <sys/stat.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/probe_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using ProbeServingVerb = VerbTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Feeds std::cin in place of the program at the other end of the pipe.
class InputGiven {
 public:
  explicit InputGiven(const std::string& text) : text_(text) { std::cin.rdbuf(text_.rdbuf()); }
  ~InputGiven() {
    std::cin.rdbuf(before_);
    std::cin.clear();
  }

 private:
  std::istringstream text_;
  std::streambuf* before_ = std::cin.rdbuf();
};

TEST_F(ProbeVerb, the_gpu_program_gives_the_exit_code) {
  const auto gpu = [](const std::string& program, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"probe", "gpu", "--program", program};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  };
  EXPECT_EQ(gpu("/bin/true").code, ExitCode::good);
  EXPECT_EQ(gpu("/bin/false").code, ExitCode::bad_input);
  folder.write("q.sh", "#!/bin/sh\ntest \"$#$1\" = 1--quick\n");
  ::chmod(folder.at("q.sh").c_str(), 0755);
  EXPECT_EQ(gpu(folder.at("q.sh")).code, ExitCode::bad_input);
  EXPECT_EQ(gpu(folder.at("q.sh"), {"--quick"}).code, ExitCode::good);
  const VerbAnswer none = gpu(folder.at("none"));
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("[probe.missing]"));
}

// 32 layers of 500 us each if the host is slower; otherwise 350 us as assumed.
TEST_F(ProbeVerb, iterations_and_totals_are_printed) {
  const std::vector<std::string> words = {
      "probe", "serving", "--clients", "2", "--requests", "3", "--prompt", "64", "--output", "4"};
  const VerbAnswer plain = spoken(words);
  EXPECT_EQ(plain.code, ExitCode::good);
  EXPECT_THAT(plain.out, StartsWith("iteration 0 0.011200 0:56:0 1:36:0\niteration 1 "));
  EXPECT_THAT(plain.out, HasSubstr("\nend iterations="));
  EXPECT_THAT(plain.out, HasSubstr(" requests=3 ttft_mean_ms="));
  std::vector<std::string> slow = words;
  slow.insert(slow.end(), {"--eager-layer", "500"});
  EXPECT_THAT(spoken(slow).out, StartsWith("iteration 0 0.016000 0:56:0 1:36:0\n"));
}

TEST_F(ProbeVerb, invalid_serving_options_are_refused) {
  const auto refused = [](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words = {"probe", "serving"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer a = spoken(words);
    EXPECT_EQ(a.code, ExitCode::bad_input) << said;
    EXPECT_THAT(a.err, AllOf(HasSubstr(said), HasSubstr("[usage.value]")));
  };
  refused({"--accelerator", "abacus"}, "--accelerator: ");
  refused({"--model", "abacus"}, "--model: ");
  refused({"--eager-layer", "-1"}, "--eager-layer: ");
  refused({"--eager-layer", "1000001"}, "--eager-layer: ");
  for (const char* option :
       {"--clients", "--requests", "--prompt", "--output", "--blocks", "--budget", "--sequences"}) {
    refused({option, "0"}, std::string(option) + ": ");
    refused({option, "1000001"}, std::string(option) + ": ");
  }
  // One request needs (100 + 60 + 15) / 16 = 10 blocks, and one more must be free.
  refused({"--prompt", "100", "--output", "60", "--blocks", "10"}, "--blocks: ");
  EXPECT_THAT(
      spoken({"probe", "serving", "--prompt", "100", "--output", "60", "--blocks", "11"}).err,
      Not(HasSubstr("[usage.value]")));
}

TEST_F(ProbeVerb, live_batches_take_the_time_given_by_the_pipe) {
  const std::vector<std::string> one = {"probe", "serving",    "--live", "--clients",
                                        "1",     "--requests", "1",      "--prompt",
                                        "64",    "--output",   "1"};
  {
    const InputGiven answers("took 0.25\n");
    const VerbAnswer a = spoken(one);
    EXPECT_EQ(a.code, ExitCode::good) << a.err;
    EXPECT_EQ(a.out,
              "run 0:56:0\nend iterations=1 requests=1 ttft_mean_ms=250.000 ttft_p99_ms=250.000 "
              "tpot_mean_ms=0.0000 e2e_mean_ms=250.00 output_tokens_per_s=4.0\n");
  }
  for (const char* wrong : {"", "took", "gave 0.25\n"}) {
    const InputGiven answers(wrong);
    const VerbAnswer a = spoken(one);
    EXPECT_EQ(a.code, ExitCode::bad_input) << wrong;
    EXPECT_THAT(a.err, HasSubstr("[probe.pipe]"));
  }
}

TEST_F(ProbeServingVerb, a_probe_must_fit_its_blocks) {
  expect_code({"probe", "serving", "--clients", "1000001"}, "usage.value");
  expect_code({"probe", "serving", "--requests", "0"}, "usage.value");
  expect_code({"probe", "serving", "--prompt", "100", "--output", "60", "--blocks", "10"},
              "usage.value");
  const VerbAnswer a = say({"probe", "serving", "--clients", "2", "--requests", "4", "--prompt",
                            "100", "--output", "20"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("requests=4 "));
}

}  // namespace
}  // namespace orrery::cli
