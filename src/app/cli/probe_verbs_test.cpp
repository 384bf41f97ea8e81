// `orrery probe`: options at their bounds, labels that say what was measured, and the programs
// that it starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

class ProbeVerb : public testing::Test {
 protected:
  VerbAnswer storage(const std::vector<std::string>& more, const Circumstances& given = {}) const {
    std::vector<std::string> words = {"probe", "storage", folder.path()};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  // A small file, measured in a moment.
  std::vector<std::string> small(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"--size", "64 KiB", "--seconds", "0.05", "--buffered"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_value_fault(const std::vector<std::string>& more, const std::string& said) const {
    const VerbAnswer a = storage(more);
    EXPECT_EQ(a.code, ExitCode::bad_input) << more.back();
    EXPECT_THAT(a.err, AllOf(HasSubstr("[usage.value]"), HasSubstr(said))) << more.back();
  }
  // Good, if nothing else is said to be wrong than the part that is asked for.
  void expect_good_value(std::vector<std::string> more) const {
    more.insert(more.end(), {"--only", "nosuch"});
    const VerbAnswer a = storage(more);
    EXPECT_THAT(a.err, HasSubstr("\"nosuch\" is no part of the probe")) << more.front();
    EXPECT_EQ(std::ranges::count(a.err, '['), 1) << a.err;
  }

  agent::TestFolder folder;
};

TEST_F(ProbeVerb, sizes_are_whole_sectors_within_their_bounds) {
  expect_good_value({"--block", "4096 B"});
  expect_good_value({"--block", "64 MiB"});
  expect_value_fault({"--block", "4095 B"}, "--block: error: \"4095 B\" is no size for this");
  expect_value_fault({"--block", "6000 B"}, "write a multiple of 4.1 kB from 4.1 kB to 67.1 MB");
  expect_value_fault({"--block", "0 B"}, "no size for this");
  expect_value_fault({"--block", "67112960 B"}, "no size for this");  // one sector more
  expect_value_fault({"--block", "large"}, "no size for this");
  expect_good_value({"--random-block", "12 KiB"});
  expect_value_fault({"--random-block", "65 MiB"}, "--random-block: error");
  // A file holds at least one block of either kind.
  expect_good_value({"--size", "1 MiB"});
  expect_value_fault({"--size", "1044480 B"}, "--size: error");
  expect_good_value({"--size", "8 KiB", "--block", "8 KiB"});
  expect_value_fault({"--size", "8 KiB", "--block", "4 KiB", "--random-block", "12 KiB"},
                     "--size: error");
}

TEST_F(ProbeVerb, counts_and_seconds_keep_to_their_bounds) {
  const std::pair<const char*, int> most[] = {
      {"--depth", 1024}, {"--random-depth", 4096}, {"--streams", 256}, {"--repeats", 1000}};
  for (const auto& [option, n] : most) {
    expect_good_value({option, "1"});
    expect_good_value({option, std::to_string(n)});
    expect_value_fault({option, "0"}, "0 is out of range");
    expect_value_fault({option, std::to_string(n + 1)}, "write 1 to " + std::to_string(n));
  }
  expect_good_value({"--seconds", "0.05"});
  expect_good_value({"--seconds", "600"});
  expect_value_fault({"--seconds", "0.049"}, "write 0.05 to 600 seconds");
  expect_value_fault({"--seconds", "601"}, "--seconds: error: out of range");
  const VerbAnswer two = storage({"--depth", "0", "--streams", "0"});
  EXPECT_EQ(std::ranges::count(two.err, '['), 2) << "all of it is told at once";
  EXPECT_THAT(storage({"--only", "nosuch"}).err,
              HasSubstr("write one of sequential random metadata samples decode checkpoint"));
}

TEST_F(ProbeVerb, a_report_says_what_was_measured_how) {
  const VerbAnswer a =
      storage(small({"--block", "8 KiB", "--depth", "3", "--repeats", "2", "--only", "sequential",
                     "--engine", "threads", "--seed", "7", "--format", "json"}));
  ASSERT_EQ(a.code, ExitCode::good) << a.err;
  const Json report = Json::parse(a.out);
  EXPECT_EQ(report["target"], folder.path());
  EXPECT_EQ(report["target_kind"], "folder");
  EXPECT_EQ(report["conditions"]["engine"], "threads");
  EXPECT_EQ(report["conditions"]["seed"], "7");
  EXPECT_EQ(report["conditions"]["file"], "64 KiB");
  EXPECT_EQ(report["conditions"]["caching"], "page cache");
  EXPECT_EQ(report["figures"][0]["label"], "sequential read, 8 KiB blocks, 3 in flight");
  EXPECT_EQ(report["figures"][0]["repeats"], 2);
  for (const Json& f : report["figures"]) {
    EXPECT_THAT(f["id"].get<std::string>(), StartsWith("sequential_")) << "that part alone";
  }
  EXPECT_EQ(report["interrupted"], false);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left";
}

TEST_F(ProbeVerb, random_blocks_and_threads_are_those_asked_for) {
  const VerbAnswer random =
      storage(small({"--block", "4 KiB", "--random-block", "12 KiB", "--random-depth", "5",
                     "--repeats", "1", "--only", "random", "--format", "csv"}));
  EXPECT_THAT(random.out, AllOf(StartsWith("id,unit,value,low,high,repeats,label\nrandom_read,"),
                                HasSubstr("\"random read, 12 KiB blocks, 5 in flight\"")));
  const VerbAnswer saved = storage(small(
      {"--block", "4 KiB", "--streams", "2", "--repeats", "1", "--only", "checkpoint", "--quick"}));
  EXPECT_THAT(saved.out, HasSubstr("checkpoint of 32 KiB, 2 writers")) << "half of the file";
}

TEST_F(ProbeVerb, five_repeats_are_usual_and_three_are_quick) {
  folder.write("file", std::string(65'536, 'x'));
  const auto repeats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"probe", "storage",    folder.at("file"), "--seconds",
                                      "0.05",  "--only",     "random",          "--format",
                                      "json",  "--buffered", "--block",         "4 KiB"};
    words.insert(words.end(), more.begin(), more.end());
    const Json report = Json::parse(spoken(words).out, nullptr, false);
    return report.is_object() ? report["figures"][0]["repeats"].get<int>() : 0;
  };
  EXPECT_EQ(repeats({}), 5);
  EXPECT_EQ(repeats({"--quick"}), 3);
}

TEST_F(ProbeVerb, progress_shows_on_a_terminal_alone) {
  const std::vector<std::string> words =
      small({"--block", "4 KiB", "--repeats", "2", "--only", "sequential"});
  EXPECT_EQ(storage(words).err, "");
  const VerbAnswer a = storage(words, {.err_is_tty = true});
  EXPECT_THAT(a.err, StartsWith("\r\033[K  0 % writing the file\r\033[K  0 % sequential\r"))
      << "nothing is known of the time at first";
  EXPECT_THAT(a.err, HasSubstr("\r\033[K 50 % sequential, about "));
  EXPECT_THAT(a.err, testing::EndsWith("left\r\033[K")) << "the line is gone before the report";
}

TEST_F(ProbeVerb, an_interrupted_probe_says_so) {
  const VerbAnswer a =
      storage(small({"--block", "4 KiB", "--repeats", "1"}), {.interrupted = [] { return true; }});
  EXPECT_EQ(a.code, ExitCode::interrupted);
}

constexpr const char* kProbedDesign = R"(
orrery: 1
name: small
site: { region: usa }
fleet: [{ name: train, node: dgx-h100, count: 1 }]
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: RATE, write: RATE, capacity: 100 TB }
)";

TEST_F(ProbeVerb, a_design_is_compared_with_what_was_measured) {
  const auto against = [&](const std::string& rate, const std::vector<std::string>& more) {
    std::string text = kProbedDesign;
    for (std::size_t at = text.find("RATE"); at != text.npos; at = text.find("RATE")) {
      text.replace(at, 4, rate);
    }
    folder.write("d/d.yaml", text);
    std::vector<std::string> words = small({"--block", "4 KiB", "--repeats", "2", "--only",
                                            "sequential", "--design", folder.at("d/d.yaml")});
    words.insert(words.end(), more.begin(), more.end());
    return storage(words);
  };
  const VerbAnswer slow = against("900 TB/s", {"--tier", "hot"});
  EXPECT_EQ(slow.code, ExitCode::fails_rule) << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("hot"));
  EXPECT_EQ(against("1 kB/s", {"--tier", "hot"}).code, ExitCode::good);
  EXPECT_EQ(against("1 kB/s", {"--tier", "lukewarm"}).code, ExitCode::bad_input);
  EXPECT_THAT(against("1 kB/s", {"--tier", "hot", "--format", "json"}).out, HasSubstr("\"hot\""));
  EXPECT_EQ(storage({"--design", folder.at("none.yaml")}).code, ExitCode::bad_input);
}

TEST_F(ProbeVerb, a_bucket_needs_a_name_keys_a_region_and_an_endpoint) {
  const Variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  const Variable secret("AWS_SECRET_ACCESS_KEY", "s");
  const auto bucket = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"probe", "storage", "s3://bucket/run"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words).err;
  };
  EXPECT_THAT(spoken({"probe", "storage", "s3://b"}).err, HasSubstr("[s3.place]"));
  EXPECT_THAT(bucket({}), HasSubstr("[s3.credentials]"));
  const Variable key("AWS_ACCESS_KEY_ID", "k");
  EXPECT_THAT(bucket({"--endpoint", "ftp://x"}), HasSubstr("[s3.endpoint]"));
  const std::string at = "http://127.0.0.1:1";
  EXPECT_THAT(bucket({"--endpoint", at, "--region", "Mars_1"}),
              HasSubstr("--region: error: no name of a region"));
  EXPECT_THAT(bucket({"--endpoint", at, "--streams", "257"}), HasSubstr("257 is out of range"));
  EXPECT_THAT(bucket({"--endpoint", at, "--size", "65535 B"}), HasSubstr("--size: error"));
  EXPECT_THAT(bucket({"--endpoint", at, "--size", "5.1 GB"}), HasSubstr("--size: error"));
  const Variable region("AWS_REGION", "MARS");
  EXPECT_THAT(bucket({"--endpoint", at}), HasSubstr("no name of a region"));
}

TEST_F(ProbeVerb, the_gpu_program_is_started_and_its_end_is_the_answer) {
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

// 32 layers of 500 us each where the host is the slower one; else 350 us as assumed.
TEST_F(ProbeVerb, serving_prints_each_iteration_and_the_end) {
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

TEST_F(ProbeVerb, serving_refuses_what_does_not_fit_or_is_not_known) {
  const auto refused = [](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words = {"probe", "serving"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer a = spoken(words);
    EXPECT_EQ(a.code, ExitCode::bad_input) << said;
    EXPECT_THAT(a.err, AllOf(HasSubstr(said), HasSubstr("[usage.value]")));
  };
  refused({"--accelerator", "abacus"}, "no accelerator abacus");
  refused({"--model", "abacus"}, "no model abacus");
  refused({"--eager-layer", "-1"}, "from 0 to 1000000 microseconds");
  refused({"--eager-layer", "1000001"}, "from 0 to 1000000 microseconds");
  for (const char* option :
       {"--clients", "--requests", "--prompt", "--output", "--blocks", "--budget", "--sequences"}) {
    refused({option, "0"}, std::string(option) + ": error: it must be a whole number from 1 to");
    refused({option, "1000001"}, std::string(option) + ": error: it must be");
  }
  // (100 + 60 + 15) / 16 = 10 blocks of one request: one more must be there.
  refused({"--prompt", "100", "--output", "60", "--blocks", "10"}, "one request does not fit");
  EXPECT_THAT(
      spoken({"probe", "serving", "--prompt", "100", "--output", "60", "--blocks", "11"}).err,
      Not(HasSubstr("[usage.value]")));
}

// The reader of std::cin stands in for the program behind the pipe.
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

TEST_F(ProbeVerb, live_batches_take_as_long_as_the_pipe_says) {
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

}  // namespace
}  // namespace orrery::cli
