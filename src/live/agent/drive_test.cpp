#include "live/agent/drive.h"

#include <gtest/gtest.h>

#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

class Drive : public testing::Test {
 protected:
  // Runs rounds that fail with these codes ("" for a good one); then the agent is asked to stop.
  Result<AgentEnd> run(const std::vector<std::string>& codes, bool once = false) {
    std::size_t next = 0;
    return drive({.round = [&]() -> Result<RoundOutcome> {
                    const std::string code = codes[next++];
                    if (!code.empty()) return fail({.code = code, .what = "away"});
                    return RoundOutcome{.end = {}, .wait = seconds(7)};
                  },
                  .interval = milliseconds(500),
                  .ends_on_fault = once,
                  .memory_lines = [] { return std::vector<std::string>{}; },
                  .journal_was_cut = {},
                  .tell = [this](const std::string& text) { told.push_back(text); },
                  .stopped = [&] { return next == codes.size(); },
                  .rest = [this](Seconds wait) { waits.push_back(wait); }});
  }

  std::vector<std::string> told;
  std::vector<Seconds> waits;
};

TEST_F(Drive, lasting_fault_is_reported_once_and_retried_after_a_second) {
  const auto end = run({"slurm.away", "slurm.away", "", "slurm.away"});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, AgentEnd::stopped);
  EXPECT_EQ(told.size(), 2u) << "the system was available in between";
  EXPECT_EQ(waits, (std::vector<Seconds>{seconds(1), seconds(1), seconds(7), seconds(1)}));
}

TEST_F(Drive, journal_that_fails_ends_the_agent) {
  const auto end = run({"", "journal.unusable", ""});
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().front().code, "journal.unusable");
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(Drive, single_round_does_not_try_again) {
  const auto end = run({"slurm.away", ""}, true);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().front().code, "slurm.away");
}

TEST_F(Drive, large_journal_is_cut_to_the_memory_before_the_agent_ends) {
  const TestFolder folder;
  const JournalForm form{
      .header = "head", .older = {}, .check = [](std::string_view) -> Result<void> { return {}; }};
  auto journal = Journal::open(folder.at("j"), form);
  ASSERT_TRUE(journal.has_value());
  bool cut = false;
  const auto end = drive({.round = [&]() -> Result<RoundOutcome> {
                            if (auto put = journal->append({std::string(100, 'x')}); !put) {
                              return std::unexpected(put.error());
                            }
                            return RoundOutcome{.end = AgentEnd::needs_a_person, .wait = {}};
                          },
                          .interval = seconds(1),
                          .journal = &*journal,
                          .journal_bytes_max = 50,
                          .memory_lines = [] { return std::vector<std::string>{"kept"}; },
                          .journal_was_cut = [&] { cut = true; },
                          .tell = [](const std::string&) {},
                          .stopped = [] { return false; },
                          .rest = [](Seconds) {}});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, AgentEnd::needs_a_person);
  EXPECT_TRUE(cut);
  EXPECT_EQ(*Journal::read(folder.at("j"), form), "head\nkept\n");
}

}  // namespace
}  // namespace orrery::agent
