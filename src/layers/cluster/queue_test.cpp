#include "layers/cluster/queue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/cluster/backfill.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/preemption.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/start_gate.h"
#include "layers/cluster/wait_reason.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

SimTime clock_at(double s) { return SimTime::from(seconds(s)); }

// Runs jobs for given times, and keeps the records that the queue should keep: which job has which
// GPU, and how often each started, stopped and finished.
class Owner final : public QueuePort, public sim::EventHandler {
 public:
  struct Book {
    int gpus = 0;
    double length = 0;
    int starts = 0;
    int stops = 0;
    int finishes = 0;
    bool rejected = false;
    SimTime started;
    JobIndex index = kNoJob;
    sim::TimerId end;
    std::vector<NodeShare> held;
  };

  explicit Owner(sim::Kernel& kernel, NodePool pool, QueueOptions options)
      : kernel_(kernel), used_(static_cast<std::size_t>(pool.nodes()), 0) {
    queue_.emplace(kernel, std::move(pool), std::move(options), *this);
  }

  std::size_t add(double when, int gpus, double length, double limit = 0, double priority = 0,
                  int tier = 0, int group = 0, sim::EventRank rank = sim::EventRank::start) {
    books_.push_back({.gpus = gpus, .length = length});
    asks_.push_back({.ask = {.gpus = gpus},
                     .limit = clock_at(limit > 0 ? limit : length),
                     .tier = tier,
                     .priority = priority,
                     .group = group,
                     .tag = books_.size() - 1});
    kernel_.schedule(clock_at(when), rank, *this, 0, books_.size() - 1);
    return books_.size() - 1;
  }

  void job_started(JobIndex job, std::uint64_t tag, std::span<const NodeShare> where) override {
    Book& b = books_[tag];
    EXPECT_EQ(b.index, job);
    EXPECT_TRUE(b.held.empty());
    int sum = 0;
    for (const NodeShare& s : where) {
      sum += s.gpus;
      std::uint64_t& used = used_[static_cast<std::size_t>(s.node)];
      EXPECT_EQ(used & s.mask, 0u) << "a GPU is used twice";
      EXPECT_TRUE(queue_->pool().is_up(s.node));
      used |= s.mask;
    }
    EXPECT_EQ(sum, b.gpus) << "a gang starts whole";
    ++b.starts;
    b.started = kernel_.now();
    b.held.assign(where.begin(), where.end());
    order_.push_back(tag);
    b.end = kernel_.schedule(kernel_.now().after(seconds(b.length)), sim::EventRank::finish, *this,
                             1, tag);
  }
  void job_stopped(JobIndex, std::uint64_t tag, StopCause) override {
    Book& b = books_[tag];
    leave(b);
    ++b.stops;
    kernel_.cancel(b.end);
  }
  void on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) override {
    if (kind == 0) {
      const auto index = queue_->submit(asks_[data]);
      books_[data].rejected = !index;
      if (index) books_[data].index = *index;
    } else if (kind == 1) {
      leave(books_[data]);
      ++books_[data].finishes;
      queue_->finish(books_[data].index);
    } else if (kind == 2) {
      queue_->node_down(static_cast<int>(data));
    } else {
      queue_->node_up(static_cast<int>(data));
    }
  }
  void leave(Book& b) {
    for (const NodeShare& s : b.held) used_[static_cast<std::size_t>(s.node)] &= ~s.mask;
    gpu_seconds_ += b.gpus * (kernel_.now() - b.started).ns();
    b.held.clear();
  }

  Queue& queue() { return *queue_; }
  // To change a request before it is submitted.
  JobRequest& ask(std::size_t job) { return asks_[job]; }
  const std::vector<Book>& books() const { return books_; }
  const std::vector<std::size_t>& order() const { return order_; }
  std::int64_t gpu_ns() const { return gpu_seconds_; }

 private:
  sim::Kernel& kernel_;
  std::optional<Queue> queue_;
  std::vector<Book> books_;
  std::vector<JobRequest> asks_;
  std::vector<std::size_t> order_;
  std::vector<std::uint64_t> used_;
  std::int64_t gpu_seconds_ = 0;
};

QueueOptions under(BackfillVariant v) { return {.backfill = v}; }

TEST(Queue, starts_in_order_and_backfills) {
  for (const bool easy : {false, true}) {
    sim::Kernel kernel;
    Owner owner(kernel, NodePool({4}), under(easy ? BackfillVariant::easy : BackfillVariant::fifo));
    owner.add(0, 3, 100);
    const auto wide = owner.add(1, 4, 10);
    const auto brief_one = owner.add(2, 1, 50);
    kernel.run();
    EXPECT_EQ(owner.books()[wide].started, clock_at(100));
    EXPECT_EQ(owner.books()[brief_one].started, easy ? clock_at(2) : clock_at(110));
  }
}

TEST(Queue, jobs_that_end_together_free_their_gpus_together) {
  sim::Kernel kernel;
  Owner owner(kernel, NodePool({2}), under(BackfillVariant::easy));
  owner.add(0, 1, 100);
  owner.add(0, 1, 100);
  const auto wide = owner.add(1, 2, 10);
  const auto narrow = owner.add(1, 1, 100);  // never sees the instant at which only half is free
  kernel.run();
  EXPECT_EQ(owner.books()[wide].started, clock_at(100));
  EXPECT_EQ(owner.books()[narrow].started, clock_at(110));
}

TEST(Queue, priority_goes_first_and_equals_keep_their_order) {
  sim::Kernel kernel;
  Owner owner(kernel, NodePool({1}), under(BackfillVariant::fifo));
  owner.add(0, 1, 10);
  const auto a = owner.add(1, 1, 10);
  const auto b = owner.add(2, 1, 10);
  const auto c = owner.add(3, 1, 10, 10, 5);
  kernel.run();
  EXPECT_EQ(owner.order(), (std::vector<std::size_t>{0, c, a, b}));
}

// A job submitted within an instant, even as its last event, is considered when the instant is
// decided.
TEST(Queue, decision_follows_all_events_of_its_instant) {
  sim::Kernel kernel;
  Owner owner(kernel, NodePool({4}), under(BackfillVariant::easy));
  const auto low = owner.add(5, 4, 10);
  const auto high = owner.add(5, 4, 10, 0, 1, 0, 0, sim::EventRank::control);
  kernel.run();
  EXPECT_EQ(owner.order(), (std::vector<std::size_t>{high, low}));
  EXPECT_EQ(owner.books()[high].started, clock_at(5));
  EXPECT_EQ(owner.books()[low].started, clock_at(15));
}

// Node 0 is closed from 100 to 150 s. A job that stays there is requeued and starts again when it
// opens, after its delay; a guest continues; a job whose limit would reach into the window waits
// for its end.
TEST(Queue, window_requeues_jobs_that_may_not_stay) {
  for (const bool is_guest : {false, true}) {
    sim::Kernel kernel;
    QueueOptions options = under(BackfillVariant::easy);
    options.requeue_delay = seconds(10);
    options.reservations.add(
        {.name = "works", .nodes = {0b01}, .start = clock_at(100), .length = clock_at(50)});
    Owner owner(kernel, NodePool({4, 4}), std::move(options));
    const auto stays = owner.add(0, 4, 1000);
    owner.ask(stays).stays = true;
    owner.ask(stays).guest_of = is_guest ? 1 : 0;
    const auto beside = owner.add(1, 4, 1000);
    owner.ask(beside).stays = true;
    kernel.run(clock_at(120));
    EXPECT_EQ(owner.books()[stays].stops, is_guest ? 0 : 1);
    EXPECT_EQ(owner.books()[beside].stops, 0);
    EXPECT_EQ(owner.queue().stopped_for_reservations(), is_guest ? 0U : 1U);
    kernel.run(clock_at(500));
    EXPECT_EQ(owner.books()[stays].started, clock_at(is_guest ? 0 : 150));
  }
}

TEST(Queue, job_whose_limit_meets_a_window_waits_for_its_end) {
  sim::Kernel kernel;
  QueueOptions options = under(BackfillVariant::easy);
  options.reservations.add(
      {.name = "works", .nodes = {0b1}, .start = clock_at(100), .length = clock_at(50)});
  Owner owner(kernel, NodePool({4, 4}), std::move(options));
  const auto other = owner.add(0, 4, 1000);
  const auto longer = owner.add(1, 4, 20, 101);
  const auto shorter = owner.add(40, 2, 60);  // ends when the window opens
  kernel.run(clock_at(400));
  EXPECT_EQ(owner.books()[other].started, clock_at(0));
  EXPECT_EQ(owner.books()[other].held.front().node, 1);
  EXPECT_EQ(owner.books()[shorter].started, clock_at(40));
  EXPECT_EQ(owner.books()[longer].started, clock_at(150));
  EXPECT_EQ(owner.queue().stopped_for_reservations(), 0U);
}

TEST(Queue, changed_priorities_reorder_the_queue) {
  sim::Kernel kernel;
  Owner owner(kernel, NodePool({1}), under(BackfillVariant::fifo));
  owner.add(0, 1, 10);
  const auto a = owner.add(1, 1, 10);
  const auto b = owner.add(2, 1, 10);
  const auto c = owner.add(3, 1, 10);
  kernel.run(clock_at(5));
  owner.queue().set_priorities([&](JobIndex job) {
    return job == owner.books()[c].index ? 3.0 : job == owner.books()[b].index ? 2.0 : 1.0;
  });
  kernel.run();
  EXPECT_EQ(owner.order(), (std::vector<std::size_t>{0, c, b, a}));
}

TEST(Queue, lost_node_stops_and_requeues_the_whole_gang) {
  sim::Kernel kernel;
  QueueOptions options = under(BackfillVariant::fifo);
  options.requeue_delay = seconds(120);
  Owner owner(kernel, NodePool({8, 8, 8}), options);
  const auto gang = owner.add(0, 16, 1000);
  kernel.schedule(clock_at(50), sim::EventRank::control, owner, 2, 1);
  kernel.run();
  EXPECT_EQ(owner.books()[gang].stops, 1);
  EXPECT_EQ(owner.books()[gang].started, clock_at(170));
  EXPECT_EQ(owner.books()[gang].finishes, 1);
}

TEST(Queue, higher_tier_preempts_a_lower_one) {
  sim::Kernel kernel;
  QueueOptions options = under(BackfillVariant::easy);
  options.preemption = PreemptionRules{};
  options.requeue_delay = seconds(120);
  Owner owner(kernel, NodePool({8, 8}), options);
  const auto old = owner.add(0, 8, 1000);
  const auto young = owner.add(10, 8, 1000);
  const auto urgent = owner.add(50, 8, 100, 0, 0, 1);
  kernel.run();
  EXPECT_EQ(owner.books()[urgent].started, clock_at(50));
  EXPECT_EQ(owner.books()[old].stops, 0);
  EXPECT_EQ(owner.books()[young].stops, 1);  // it had done less work
  EXPECT_EQ(owner.books()[young].started, clock_at(170));
  EXPECT_EQ(owner.books()[young].finishes, 1);
}

// A used-up quota is no reason to wait if its users may be preempted. A job of another cohort is
// spared, because its end would not help.
TEST(Queue, higher_tier_takes_quota_from_a_lower_one) {
  sim::Kernel kernel;
  QuotaGate gate;
  gate.add_group(0, {.tenant = "both", .guaranteed = 8});
  gate.add_group(1, {.tenant = "other", .guaranteed = 8});
  QueueOptions options = under(BackfillVariant::easy);
  options.preemption = PreemptionRules{};
  options.gate = &gate;
  Owner owner(kernel, NodePool({8, 8, 8}), options);
  const auto low = owner.add(0, 8, 1000);
  const auto other = owner.add(1, 8, 1000, 0, 0, 0, 1);
  const auto urgent = owner.add(50, 8, 100, 0, 0, 1);
  kernel.run();
  EXPECT_EQ(owner.books()[urgent].started, clock_at(50));
  EXPECT_EQ(owner.books()[low].stops, 1);
  EXPECT_EQ(owner.books()[other].stops, 0);
}

// A job at its own user's limit preempts no other; the next job does.
TEST(Queue, skipped_job_delays_no_other) {
  struct OwnLimit final : StartGate {
    bool admits(const QueuedJob& job) const override { return job.user != 7; }
    bool passes_over(const QueuedJob& job) const override { return job.user == 7; }
    void started(const QueuedJob&) override {}
    void ended(const QueuedJob&) override {}
    std::size_t limits() const override { return 0; }
    void add_left(std::vector<double>&) const override {}
    LimitUses uses_of(const QueuedJob&) const override { return {}; }
  } gate;
  sim::Kernel kernel;
  QueueOptions options = under(BackfillVariant::easy);
  options.preemption = PreemptionRules{};
  options.gate = &gate;
  Owner owner(kernel, NodePool({8, 8}), options);
  const auto low = owner.add(0, 8, 1000);
  const auto other = owner.add(0, 8, 1000);
  const auto barred = owner.add(50, 8, 100, 0, 0, 2);
  owner.ask(barred).user = 7;
  const auto urgent = owner.add(50, 8, 100, 0, 0, 1);
  kernel.run(clock_at(60));
  EXPECT_EQ(owner.books()[barred].starts, 0);
  EXPECT_EQ(owner.books()[urgent].started, clock_at(50));
  EXPECT_EQ(owner.books()[low].stops + owner.books()[other].stops, 1);
}

// A job that continues without a lost node keeps the rest and its quota; then it gets more.
TEST(Queue, job_may_shrink_and_grow) {
  class Elastic final : public QueuePort {
   public:
    void job_started(JobIndex, std::uint64_t, std::span<const NodeShare> where) override {
      held.assign(where.begin(), where.end());
    }
    void job_stopped(JobIndex, std::uint64_t, StopCause) override { is_stopped = true; }
    std::vector<NodeShare> job_lost_node(JobIndex, std::uint64_t, int node) override {
      std::erase_if(held, [node](const NodeShare& s) { return s.node == node; });
      return held;
    }
    std::vector<NodeShare> held;
    bool is_stopped = false;
  };
  sim::Kernel kernel;
  QuotaGate gate;
  gate.add_group(0, {.tenant = "run", .guaranteed = 24});
  Elastic owner;
  QueueOptions options = under(BackfillVariant::easy);
  options.gate = &gate;
  Queue queue(kernel, NodePool({8, 8, 8, 8}), options, owner);
  const auto job = queue.submit({.ask = {.gpus = 24, .per_node = 8}, .limit = clock_at(1000)});
  kernel.run(clock_at(1));
  queue.node_down(1);
  EXPECT_FALSE(owner.is_stopped);
  EXPECT_EQ(queue.job(*job).ask.gpus, 16);
  EXPECT_EQ(queue.pool().free_gpus(), 8);  // the fourth node's; the lost one counts for nothing
  std::vector<NodeShare> where;
  EXPECT_FALSE(queue.extend(*job, {.gpus = 16, .per_node = 8}, where));  // beyond its quota
  EXPECT_TRUE(queue.extend(*job, {.gpus = 8, .per_node = 8}, where));
  EXPECT_EQ(where.front().node, 3);
  EXPECT_EQ(queue.pool().free_gpus(), 0);
  queue.node_up(1);
  EXPECT_FALSE(queue.extend(*job, {.gpus = 8, .per_node = 8}, where));
  queue.finish(*job);
  EXPECT_EQ(queue.pool().free_gpus(), 32);
  EXPECT_TRUE(gate.admits({.ask = {.gpus = 24}}));
}

// Nodes are free but the quota is used up: the answer says so, and until when.
TEST(Queue, exhausted_quota_is_reported) {
  sim::Kernel kernel;
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 8});
  QueueOptions options = under(BackfillVariant::easy);
  options.gate = &gate;
  Owner owner(kernel, NodePool({8, 8}), options);
  owner.add(0, 6, 100);
  const auto wide = owner.add(1, 8, 10);
  const auto late = owner.add(1, 2, 5000);
  kernel.run(clock_at(2));
  const auto why = [&](std::size_t i) { return owner.queue().why(owner.books()[i].index); };
  EXPECT_EQ(why(wide).reason, WaitReason::limits);
  EXPECT_EQ(why(wide).earliest, clock_at(100));
  EXPECT_EQ(why(late).reason, WaitReason::promise);
  EXPECT_EQ(why(late).limit_to_pass, clock_at(98));
}

TEST(Queue, reason_of_waiting_is_reported) {
  sim::Kernel kernel;
  Owner owner(kernel, NodePool({4, 4}), under(BackfillVariant::easy));
  owner.add(0, 3, 100);
  owner.add(0, 3, 200);
  const auto wide = owner.add(1, 8, 10);
  const auto pair = owner.add(1, 2, 10);
  const auto narrow = owner.add(1, 1, 5000);
  const auto huge = owner.add(1, 9, 10);
  kernel.run(clock_at(2));
  const auto why = [&](std::size_t i) { return owner.queue().why(owner.books()[i].index); };
  EXPECT_EQ(why(wide).reason, WaitReason::resources);
  EXPECT_EQ(why(wide).gpus_short, 6);
  EXPECT_EQ(why(wide).earliest, clock_at(200));
  EXPECT_EQ(why(pair).reason, WaitReason::fragmented);
  EXPECT_EQ(why(pair).earliest, clock_at(100));
  EXPECT_EQ(why(narrow).reason, WaitReason::promise);
  EXPECT_EQ(why(narrow).limit_to_pass, clock_at(198));
  EXPECT_TRUE(owner.books()[huge].rejected);
  EXPECT_NE(to_text(why(narrow), clock_at(2)).find("3.3 min"), std::string::npos)
      << to_text(why(narrow), clock_at(2));
}

// Random jobs and faults under every variant and rule: no GPU is used twice, gangs are whole
// (checked in Owner), no job is lost or finished twice, GPU-seconds are conserved.
TEST(Queue, ledger_stays_sound_under_faults) {
  for (const auto& row : words_of(BackfillVariant{}).rows()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(std::string(row.word) + " seed " + std::to_string(seed));
      RandomStream random(seed, "test/queue");
      const auto rule = static_cast<PlacementRule>(seed % 3);
      QueueOptions options = under(row.value);
      options.requeue_delay = seconds(static_cast<double>(seed % 2) * 30);
      if (seed > 3) options.preemption = PreemptionRules{};
      QuotaGate gate;
      gate.add_group(0, {.tenant = "", .guaranteed = 72, .may_borrow = 72});
      if (seed > 2) options.gate = &gate;
      sim::Kernel kernel(seed);
      Owner owner(kernel, NodePool(std::vector<int>(9, 8), rule, even_tree(9, 3, 2)), options);
      double now = 0;
      for (int i = 0; i < 120; ++i) {
        now += random.exponential(20);
        const int gpus = 1 + static_cast<int>(random.below(random.below(5) == 0 ? 72 : 8));
        const double length = 1 + std::floor(random.exponential(200));
        const int tier = random.below(10) == 0 ? 1 : 0;
        owner.add(std::floor(now), gpus, length, length * (1 + std::floor(random.uniform() * 3)), 0,
                  tier);
      }
      for (int i = 0; i < 25; ++i) {
        const double when = std::floor(random.uniform() * now);
        const auto node = random.below(9);
        kernel.schedule(clock_at(when), sim::EventRank::control, owner, 2, node);
        kernel.schedule(clock_at(when + 300), sim::EventRank::control, owner, 3, node);
      }
      kernel.run();
      EXPECT_EQ(owner.queue().waiting(), 0u);
      EXPECT_EQ(owner.queue().running(), 0u);
      EXPECT_EQ(owner.queue().pool().free_gpus(), 72);
      std::int64_t asked = 0;
      for (const auto& b : owner.books()) {
        if (b.rejected) continue;
        EXPECT_EQ(b.finishes, 1);
        EXPECT_EQ(b.starts, b.stops + 1);
        asked += b.gpus * static_cast<std::int64_t>(b.length) * 1'000'000'000;
      }
      // The excess over the requested GPU-seconds is the work of stopped jobs.
      EXPECT_GE(owner.gpu_ns(), asked);
    }
  }
}

}  // namespace
}  // namespace orrery::cluster
