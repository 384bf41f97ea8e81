// A probe that is stopped in the middle of a step, and what a step writes while it goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>

#include "live/agent/checkpoint_burst.h"
#include "live/agent/io_ring.h"
#include "live/agent/probe_folder.h"
#include "live/agent/probe_storage.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

// The person is asked at every sixteenth request, and no request follows his word.
TEST(ProbeSteps, requests_end_at_a_persons_word) {
  const TestFolder folder;
  folder.write("blocks", std::string(64 * 512, 'x'));
  const OpenFile file(::open(folder.at("blocks").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(file);
  std::string why;
  std::vector<IoEngine> engines = {IoEngine::threads};
  if (io_uring_works(why)) engines.push_back(IoEngine::io_uring);
  for (const IoEngine engine : engines) {
    int asked = 0;
    IoPlan plan{.file = file.get(), .block_bytes = 512, .depth = 1, .span_bytes = 64 * 512};
    plan.bytes_max = 64 * 512;
    plan.seconds_max = 30;
    plan.stop = [&] { return ++asked == 2; };
    const IoRun cut = run_io(plan, engine);
    EXPECT_EQ(cut.operations, 32U) << to_text(engine);
    EXPECT_EQ(cut.bytes, 32U * 512) << to_text(engine);
    EXPECT_EQ(cut.fault, "");
    plan.stop = [] { return false; };
    EXPECT_EQ(run_io(plan, engine).operations, 64U) << to_text(engine);
    plan.seconds_max = 0;
    EXPECT_EQ(run_io(plan, engine).operations, 1U) << "its time is over after the first";
  }
}

// A block beyond the end of the file comes short, which is told with its place.
TEST(ProbeSteps, a_short_read_is_told) {
  const TestFolder folder;
  folder.write("blocks", std::string(700, 'x'));
  const OpenFile file(::open(folder.at("blocks").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  IoPlan plan{.file = file.get(), .block_bytes = 512, .depth = 1, .span_bytes = 1024};
  plan.bytes_max = 1024;
  EXPECT_EQ(run_io(plan, IoEngine::threads).fault, "a read at byte 512 gave 188 of 512 bytes");
  plan.write = true;
  EXPECT_EQ(run_io(plan, IoEngine::threads).fault, "a write at byte 0: Bad file descriptor");
}

// Each page of a checkpoint has a number of its own, so that no store takes two for one.
TEST(ProbeSteps, no_two_pages_of_a_burst_are_equal) {
  const TestFolder folder;
  std::vector<std::string> seen;
  const BurstTimes times = run_burst({.folder = folder.path(),
                                      .writers = 1,
                                      .bytes = 4 * 4096,
                                      .write_bytes = 2 * 4096,
                                      .seed = 3,
                                      .stop = [&] {
                                        std::ifstream part(folder.at("rank-0.part"));
                                        seen.emplace_back(std::istreambuf_iterator<char>(part),
                                                          std::istreambuf_iterator<char>());
                                        return false;
                                      }});
  EXPECT_EQ(times.fault, "");
  EXPECT_EQ(times.bytes, 4U * 4096);
  // Before the first piece and before the second.
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], "");
  ASSERT_EQ(seen[1].size(), 2U * 4096);
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, seen[1].data(), 8);
  std::memcpy(&second, seen[1].data() + 4096, 8);
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(second, 2U);
  EXPECT_NE(seen[1].substr(8, 4088), seen[1].substr(4104));
}

class DecodeStopped : public testing::Test {
 protected:
  Result<ProbeReport> measured(std::function<bool()> stop, ProbeProgress progress = {}) const {
    FolderProbe probe{.path = folder.path(), .parts = {ProbePart::decode}};
    probe.seconds = 0.05;
    probe.repeats = 1;
    probe.stop = std::move(stop);
    if (progress) probe.progress = std::move(progress);
    return probe_folder(probe);
  }
  TestFolder folder;
};

TEST_F(DecodeStopped, before_a_core_was_measured_nothing_is_told) {
  bool begun = false;
  const auto report =
      measured([&] { return begun; }, [&](std::string_view, double) { begun = true; });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->figures.empty());
}

TEST_F(DecodeStopped, before_all_cores_were_measured_theirs_is_not_told) {
  Clock::time_point end = Clock::time_point::max();
  const auto report = measured(
      [&] { return Clock::now() > end; },
      [&](std::string_view, double) { end = Clock::now() + std::chrono::milliseconds(75); });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_EQ(report->figure("decode_all"), nullptr);
}

}  // namespace
}  // namespace orrery::agent
