// The hedger: which drives it suspects, what it counts, and the slow reads that it runs in the
// background.
#include "live/drives/hedger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace orrery::drives::hedger_tests {
namespace {

using namespace std::chrono_literals;

// The times of a suspect drive are not usual times: they count again only once it is forgiven.
TEST(HedgerTest, learns_the_usual_time_from_trusted_drives_only) {
  Hedger hedger({.slow_min = 10ms, .slow_factor = 2, .forgiven = 2});
  for (int i = 0; i < 20; ++i) hedger.note("good", 1ms);
  EXPECT_FALSE(hedger.suspects("good"));
  EXPECT_EQ(hedger.counts().suspects, 0);
  hedger.note("bad", 50ms);
  hedger.note("worse", 50ms);
  EXPECT_TRUE(hedger.suspects("bad") && hedger.suspects("worse"));
  EXPECT_EQ(hedger.counts().suspects, 2);
  for (int i = 0; i < 50; ++i) hedger.note("bad", 50ms);
  hedger.note("other", 10ms);
  EXPECT_TRUE(hedger.suspects("other")) << "1,024 us are still usual";
  hedger.note("bad", 1ms);
  EXPECT_TRUE(hedger.suspects("bad"));
  hedger.note("bad", 1ms);
  EXPECT_FALSE(hedger.suspects("bad"));
  EXPECT_EQ(hedger.counts().suspects, 2) << "the drives worse and other";
  hedger.count(true);
  hedger.count(false);
  hedger.count(true);
  EXPECT_EQ(hedger.counts().asked, 3u);
  EXPECT_EQ(hedger.counts().won, 2u);
}

TEST(HedgerTest, reads_in_the_background_from_suspect_drives_only) {
  Hedger hedger({.slow_min = 10ms, .slow_factor = 2, .forgiven = 2, .at_once_max = 1});
  const auto read = [] { return SlowRead::Result{std::string("bytes"), nullptr}; };
  EXPECT_FALSE(hedger.begin("d", read)) << "no reads of it are known";
  hedger.note("d", 1ms);
  EXPECT_FALSE(hedger.begin("d", read));
  hedger.note("d", 100ms);
  const auto begun = hedger.begin("d", read);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->delay, 2'000us);
  EXPECT_EQ(begun->read->wait().bytes.value(), "bytes");
  EXPECT_TRUE(begun->read->is_done());
  EXPECT_TRUE(begun->read->wait_for(0us));
}

TEST(HedgerTest, waits_for_the_p95_of_read_times) {
  Hedger hedger({.delay_min = 3ms});
  const auto at_once = [] { return SlowRead::Result{std::string("bytes")}; };
  hedger.note("d", 30s);
  const auto first = hedger.begin("d", at_once);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->delay, 3ms) << "nothing was seen";
  EXPECT_EQ(first->read->wait().bytes, "bytes");
  EXPECT_TRUE(first->read->is_done());
  for (int i = 0; i < 100; ++i) hedger.note("e", 5ms);
  const auto later = hedger.begin("d", at_once);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->delay, 8192us);
  EXPECT_TRUE(later->read->wait_for(10s));
}

TEST(HedgerTest, limits_background_reads) {
  Hedger hedger({.at_once_max = 2});
  for (int i = 0; i < 20; ++i) hedger.note("d", 100us);
  hedger.note("d", 1s);
  std::atomic<bool> hold = true;
  const auto waits = [&hold]() -> SlowRead::Result {
    while (hold) std::this_thread::sleep_for(1ms);
    return {std::string("done")};
  };
  EXPECT_FALSE(hedger.begin("other", waits)) << "it is not suspect";
  const auto one = hedger.begin("d", waits);
  const auto two = hedger.begin("d", waits);
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(hedger.begin("d", waits));
  EXPECT_FALSE(one->read->is_done());
  hold = false;
  EXPECT_EQ(one->read->wait().bytes, "done");
  EXPECT_EQ(two->read->wait().bytes, "done");
}

}  // namespace
}  // namespace orrery::drives::hedger_tests
