// Every answer, worked out by hand, at t = 1000 s.
#include "layers/cluster/wait_reason.h"

#include <gtest/gtest.h>

#include "layers/cluster/backfill.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/reservation.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

SimTime moment_of(double s) { return SimTime::from(seconds(s)); }

// Lets no job of user 7 start, because of a limit of that user alone or of everyone.
struct UserGate final : StartGate {
  bool admits(const QueuedJob& job) const override { return job.user != 7; }
  bool passes_over(const QueuedJob& job) const override { return is_own && job.user == 7; }
  void started(const QueuedJob&) override {}
  void ended(const QueuedJob&) override {}
  std::size_t limits() const override { return 0; }
  void add_left(std::vector<double>&) const override {}
  LimitUses uses_of(const QueuedJob&) const override { return {}; }
  bool is_own = true;
};

struct WaitScene {
  explicit WaitScene(NodePool nodes) : pool(std::move(nodes)) {}

  void run(int gpus, double end_s) {
    QueuedJob job{.ask = {.gpus = gpus}};
    EXPECT_TRUE(pool.place(job.ask, nullptr, job.shares));
    pool.take(job.shares);
    running.push_back({.end = moment_of(end_s), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
  }
  JobIndex wait(int gpus, double limit_s) {
    waiting.push_back(static_cast<JobIndex>(jobs.size()));
    jobs.push_back({.ask = {.gpus = gpus}, .limit = moment_of(limit_s)});
    return waiting.back();
  }
  WaitAnswer why(JobIndex job, BackfillVariant variant = BackfillVariant::easy) {
    return explain_wait(variant,
                        {.now = moment_of(1000),
                         .jobs = jobs,
                         .waiting = waiting,
                         .running = running,
                         .reservations = book.is_empty() ? nullptr : &book,
                         .gate = gate},
                        pool, job);
  }
  std::string text_of(JobIndex job, BackfillVariant variant = BackfillVariant::easy) {
    return to_text(why(job, variant), moment_of(1000));
  }

  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
  ReservationBook book;
  StartGate* gate = nullptr;
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// It should have ended 100 s ago: its GPUs come back at any moment, not in the past.
TEST(WaitReason, overrunning_job_is_expected_to_end_now) {
  WaitScene s{NodePool({4, 4})};
  s.run(4, 900);
  s.run(4, 1300);
  const JobIndex one = s.wait(4, 10);
  const JobIndex both = s.wait(8, 10);
  EXPECT_EQ(s.why(one).reason, WaitReason::resources);
  EXPECT_EQ(s.why(one).gpus_short, 4);
  EXPECT_EQ(s.why(one).earliest, moment_of(1000));
  EXPECT_EQ(s.why(both).earliest, moment_of(1300));
  EXPECT_EQ(s.why(both).jobs_ahead, 1);
  EXPECT_EQ(s.why(both).behind, one);
  EXPECT_TRUE(says(s.text_of(both), "8") && says(s.text_of(both), "5 min")) << s.text_of(both);
}

// The policy decides what may overtake the head: nothing, whatever fits, or what ends in time.
TEST(WaitReason, backfill_policy_decides_who_waits) {
  WaitScene s{NodePool({4, 4})};
  s.run(4, 1240);
  const JobIndex wide = s.wait(8, 10);
  const JobIndex narrow = s.wait(1, 5000);
  EXPECT_EQ(s.why(wide).gpus_short, 4);
  EXPECT_EQ(s.why(narrow, BackfillVariant::fifo).reason, WaitReason::priority);
  EXPECT_EQ(s.why(narrow, BackfillVariant::best_effort).reason, WaitReason::starts);
  const WaitAnswer easy = s.why(narrow);
  EXPECT_EQ(easy.reason, WaitReason::promise);
  EXPECT_EQ(easy.behind, wide);
  EXPECT_EQ(easy.limit_to_pass, moment_of(240));
  EXPECT_EQ(easy.earliest, moment_of(1000));
  EXPECT_EQ(easy.gpus_short, 0);
  EXPECT_TRUE(says(s.text_of(narrow), "4 min")) << s.text_of(narrow);
}

TEST(WaitReason, first_job_that_fits_starts) {
  WaitScene s{NodePool({4, 4})};
  const JobIndex first = s.wait(4, 10);
  const JobIndex second = s.wait(4, 10);
  EXPECT_EQ(s.why(first).reason, WaitReason::starts);
  EXPECT_EQ(s.why(second).reason, WaitReason::starts);  // no job before it is blocked
  EXPECT_EQ(s.why(second).jobs_ahead, 1);
  EXPECT_EQ(s.why(second).behind, kNoJob);
}

TEST(WaitReason, oversized_and_fragmented_requests_are_distinguished) {
  WaitScene s{NodePool({4, 4})};
  s.run(2, 1100);
  s.running.clear();  // used by something else, whose end is unknown
  const JobIndex huge = s.wait(9, 10);
  const JobIndex gang = s.wait(4, 10);
  s.jobs[gang].ask = {.gpus = 4, .per_node = 2};
  const JobIndex whole = s.wait(6, 10);
  s.jobs[whole].ask = {.gpus = 6, .per_node = 3};
  EXPECT_EQ(s.why(huge).reason, WaitReason::too_large);
  EXPECT_TRUE(s.why(huge).earliest.is_never());
  EXPECT_NE(s.why(gang).reason, WaitReason::fragmented);
  EXPECT_EQ(s.why(whole).reason, WaitReason::fragmented);
  EXPECT_TRUE(s.why(whole).earliest.is_never());
}

// Node 0 is busy until 1500; node 1 is reserved from 1050 to 1150.
TEST(WaitReason, reservation_is_named_with_its_end) {
  WaitScene s{NodePool({4, 4})};
  s.book.add(
      {.name = "nightly", .nodes = {0b10}, .start = moment_of(1050), .length = moment_of(100)});
  s.run(4, 1500);
  const JobIndex longer = s.wait(4, 60);
  EXPECT_EQ(s.why(longer).reason, WaitReason::reserved);
  EXPECT_EQ(s.why(longer).reservation, "nightly");
  EXPECT_EQ(s.why(longer).reserved_until, moment_of(1150));
  EXPECT_TRUE(says(s.text_of(longer), "nightly")) << s.text_of(longer);
  EXPECT_TRUE(says(s.text_of(longer), "ends in 2.5 min")) << s.text_of(longer);
  s.jobs[longer].limit = moment_of(50);
  EXPECT_EQ(s.why(longer).reason, WaitReason::starts);
  const JobIndex both = s.wait(8, 60);
  EXPECT_EQ(s.why(both).reason, WaitReason::resources);  // it would not fit without it either
}

TEST(WaitReason, user_limit_holds_back_only_that_user) {
  UserGate gate;
  WaitScene s{NodePool({4})};
  s.gate = &gate;
  const JobIndex barred = s.wait(2, 10);
  s.jobs[barred].user = 7;
  const JobIndex other = s.wait(2, 10);
  EXPECT_EQ(s.why(barred).reason, WaitReason::limits);
  EXPECT_EQ(s.why(other).behind, kNoJob);
  EXPECT_EQ(s.why(other, BackfillVariant::fifo).reason, WaitReason::starts);
  gate.is_own = false;
  EXPECT_EQ(s.why(other).behind, barred);
  EXPECT_EQ(s.why(other, BackfillVariant::fifo).reason, WaitReason::priority);
}

}  // namespace
}  // namespace orrery::cluster
