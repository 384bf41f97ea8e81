// Who may pass a head that can be promised nothing, who lacks a limit behind one that can, and
// counts that only show with several GPUs, users without shares, and nodes beyond the first word.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/cluster/fragmentation.h"
#include "layers/cluster/priority.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/quota_gate.h"

namespace orrery::cluster {
namespace {

sim::SimTime pass_s(std::int64_t s) { return sim::SimTime::nanoseconds(s * 1'000'000'000); }

struct SeldomScene {
  explicit SeldomScene(NodePool nodes) : pool(std::move(nodes)) {}
  JobIndex run(int node, int gpus, int end) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = pass_s(end)};
    job.shares = {{.node = node, .gpus = gpus}};
    pool.take(job.shares);
    if (gate != nullptr) gate->started(job);
    running.push_back({.end = pass_s(end), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
    return running.back().job;
  }
  JobIndex wait(int gpus, int limit, int group = 0) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus}, .limit = pass_s(limit), .submitted = pass_s(job)});
    jobs.back().group = static_cast<std::uint16_t>(group);
    waiting.push_back(job);
    return job;
  }
  std::vector<JobIndex> decide(QueuePolicy& policy) {
    Starts starts;
    policy.decide(
        {.now = pass_s(0), .jobs = jobs, .waiting = waiting, .running = running, .gate = gate},
        pool, starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) who.push_back(one.job);
    return who;
  }
  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
  StartGate* gate = nullptr;
};

using Passing = std::vector<JobIndex>;

// Ten GPUs, of which three never come back and four at 100 s. The first wants eight, which nobody
// can promise; the second six, at 100 s with one to spare: two for 200 s would be in its way.
TEST(SeldomPasses, behind_one_that_is_promised_nothing_the_next_is_the_head) {
  for (const bool is_plain : {true, false}) {
    SeldomScene s{is_plain ? NodePool({10}) : NodePool({10, 0})};
    std::vector<NodeShare> gone{{.node = 0, .gpus = 3}};
    s.pool.take(gone);
    s.run(0, 4, 100);
    s.wait(8, 10);
    const JobIndex second = s.wait(6, 10);
    s.wait(2, 200);
    const JobIndex brief = s.wait(2, 100);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(s.decide(easy), Passing{brief}) << is_plain;
    EXPECT_EQ(easy.promise().job, second);
    EXPECT_EQ(easy.promise().at, pass_s(100));
    EXPECT_TRUE(easy.promised(1).is_never());
  }
}

// The head wants four whole GPUs at 100 s. Of the second's limit nothing is left: however short it
// is it does not start; the third's has room.
TEST(SeldomPasses, who_lacks_a_limit_does_not_pass_on_nodes_or_counts) {
  for (const bool is_plain : {true, false}) {
    QuotaGate gate;
    gate.add_group(0, {.tenant = "a", .guaranteed = 100});
    const int full = gate.add_group(1, {.tenant = "b", .guaranteed = 1});
    SeldomScene s{is_plain ? NodePool({4}) : NodePool({4, 0})};
    s.gate = &gate;
    s.run(0, 2, 100);
    s.wait(4, 10);
    s.wait(2, 50, full);
    const JobIndex third = s.wait(2, 50);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(s.decide(easy), Passing{third}) << is_plain;
  }
}

// The head would fit and lacks a limit; the one behind it is too large to start whatever is
// promised, so that nothing is.
TEST(SeldomPasses, nothing_is_promised_where_nobody_behind_could_start) {
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 5});
  SeldomScene s{NodePool({8})};
  s.gate = &gate;
  s.run(0, 4, 100);
  s.wait(2, 10);
  s.wait(5, 10);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), Passing{});
  EXPECT_EQ(easy.promise().job, kNoJob);
}

TEST(SeldomPasses, a_window_closes_nodes_of_the_second_word) {
  FreeProfile profile;
  profile.reset(pass_s(0), NodePool(std::vector<int>(70, 4)));
  NodeMask last{0, 0b111111};  // nodes 64 to 69
  std::vector<NodeShare> where;
  const auto earliest = [&] {
    return profile.find({.gpus = 4}, pass_s(30), &last, pass_s(1000), where);
  };
  EXPECT_EQ(earliest(), pass_s(0));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 64, .gpus = 4}}));
  profile.close_between(pass_s(10), pass_s(20), {0, 0b011111});
  EXPECT_EQ(earliest(), pass_s(0));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 69, .gpus = 4}}));
  profile.close_between(pass_s(15), pass_s(25), {0, 0b100000});
  EXPECT_EQ(earliest(), pass_s(20));
  EXPECT_EQ(where[0].node, 64);
  EXPECT_EQ(profile.find({.gpus = 256}, pass_s(30), nullptr, pass_s(1000), where), pass_s(0));
}

// Two whole GPUs of three leave 1000 of 8000, beside a core in each of 128: 1/8 + 0/128. Of two
// with 1500 of cores, nothing of the GPUs and 1500 / 128,000. The second is the tighter.
TEST(SeldomPasses, best_fit_counts_all_gpus_that_a_pod_takes) {
  PodNode three{.cpu_left = 1000, .memory_left = 10, .gpus = 3};
  PodNode two{.cpu_left = 1000 + 100'000, .memory_left = 10, .gpus = 2};
  for (int g = 0; g < 3; ++g) three.gpu_left[static_cast<std::size_t>(g)] = 1000;
  for (int g = 0; g < 2; ++g) two.gpu_left[static_cast<std::size_t>(g)] = 1000;
  const std::vector<PodAsk> pods{{.cpu_milli = 1000, .gpus = 2, .gpu_milli = 1000}};
  // 0 / 128,000 + 1000 / 8000 = 0.125 against 100,000 / 128,000 = 0.78.
  PodPlacer first({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(first.place(pods[0])->node, 0);
  // A share of one node's GPUs and cores against another's: 1000 / 8000 is 16,000 of cores.
  two.cpu_left = 1000 + 15'999;
  PodPlacer second({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(second.place(pods[0])->node, 1);
  two.cpu_left = 1000 + 16'001;
  PodPlacer third({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(third.place(pods[0])->node, 0);
}

// Two accounts of equal shares. The first account's user owns nothing of it.
TEST(SeldomPasses, a_user_without_shares_of_its_account_owns_nothing) {
  const std::vector<FairUser> users{{.account = "a", .shares = 0, .account_shares = 1, .use = 10},
                                    {.account = "b", .shares = 1, .account_shares = 1, .use = 10}};
  const std::vector<double> factors = classic_factors(users);
  ASSERT_EQ(factors.size(), 2U);
  EXPECT_EQ(factors[0], 0);
  EXPECT_DOUBLE_EQ(factors[1], 0.5) << "half is used, half is owned: 2^-1";
}

// A gate in front of quotas has their limits, one of each QOS and two of each of its users.
TEST(SeldomPasses, limits_of_qos_come_behind_those_of_quotas) {
  QuotaGate quotas;
  quotas.add_group(0, {.tenant = "a", .guaranteed = 100});
  const std::size_t behind = quotas.limits();
  QosGate gate(quotas, 8);
  EXPECT_EQ(gate.limits(), behind);
  const int first = gate.add({.nodes = 10, .nodes_per_user = 4, .jobs_per_user = 3});
  const int second = gate.add({});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  EXPECT_EQ(gate.limits(), behind + 2);
  const std::uint32_t ann = gate.seat_of(first, 7);
  const std::uint32_t bob = gate.seat_of(first, 8);
  EXPECT_EQ(gate.seat_of(first, 7), ann);
  EXPECT_EQ(gate.limits(), behind + 2 + 4);
  QueuedJob job{.ask = {.gpus = 9}};  // two nodes of eight
  job.qos = static_cast<std::uint16_t>(first);
  job.qos_seat = bob;
  gate.started(job);
  std::vector<double> left;
  gate.add_left(left);
  ASSERT_EQ(left.size(), gate.limits());
  EXPECT_EQ(left[behind], 8) << "of the QOS";
  EXPECT_TRUE(left[behind + 1] > 1e6) << "the second has no limit";
  EXPECT_EQ(left[behind + 2], 4) << "of Ann";
  EXPECT_EQ(left[behind + 3], 3);
  EXPECT_EQ(left[behind + 4], 2) << "of Bob";
  EXPECT_EQ(left[behind + 5], 2);
  std::vector<std::pair<std::uint32_t, double>> uses;
  for (const LimitUse& u : gate.uses_of(job)) uses.emplace_back(u.limit, u.amount);
  const auto at = static_cast<std::uint32_t>(behind);
  ASSERT_GE(uses.size(), 3U);
  const std::vector<std::pair<std::uint32_t, double>> own(uses.end() - 3, uses.end());
  EXPECT_EQ(own, (std::vector<std::pair<std::uint32_t, double>>{
                     {at, 2.0}, {at + 4, 2.0}, {at + 5, 1.0}}));
  EXPECT_FALSE(gate.passes_over(job));
  job.ask.gpus = 17;  // three nodes: two are left of Bob's
  EXPECT_TRUE(gate.passes_over(job));
  EXPECT_FALSE(gate.admits(job));
  job.qos_seat = ann;
  EXPECT_TRUE(gate.admits(job));
  job.qos = 0;
  gate.started(job);
  left.clear();
  gate.add_left(left);
  EXPECT_EQ(left[behind], 8) << "without a QOS it counts for none";
  EXPECT_EQ(left[behind + 2], 4);
  EXPECT_EQ(left[behind + 3], 3);
  EXPECT_TRUE(gate.admits(job));
  EXPECT_FALSE(gate.passes_over(job));
  EXPECT_TRUE(gate.could_admit(0, 1'000'000)) << "no QOS, no limit";
  EXPECT_TRUE(gate.could_admit(first, 32));
  EXPECT_FALSE(gate.could_admit(first, 33));
  EXPECT_TRUE(gate.could_admit(second, 33));
}

// At 100 s the head's time has come and its GPUs have not: those behind it are tried all the same.
TEST(SeldomPasses, behind_an_unguarded_head_that_is_due_all_are_tried) {
  SeldomScene s{NodePool({10})};
  s.run(0, 6, 100);
  const JobIndex head = s.wait(8, 10);
  QueuePass pass(BackfillVariant::unguarded);
  EXPECT_EQ(s.decide(pass), Passing{});
  EXPECT_EQ(pass.promised(head), pass_s(100));
  s.wait(3, 50);
  s.wait(1, 50);
  Starts starts;
  pass.decide({.now = pass_s(100), .jobs = s.jobs, .waiting = s.waiting, .running = s.running},
              s.pool, starts);
  ASSERT_EQ(starts.jobs.size(), 2U);
  EXPECT_EQ(starts.jobs[0].job, 2U);
  EXPECT_EQ(starts.jobs[1].job, 3U);
  EXPECT_EQ(s.pool.free_gpus(), 0);
}

TEST(SeldomPasses, a_reservation_has_nodes_of_every_word) {
  const Reservation r{.name = "w", .nodes = {0b100, 0b1010}};  // 2, 65 and 67
  for (const int node : {2, 65, 67}) EXPECT_TRUE(r.has(node)) << node;
  for (const int node : {0, 1, 3, 64, 66, 68, 127}) EXPECT_FALSE(r.has(node)) << node;
}

// Of two that end together the first is named; of two that do not, the one that ends last.
TEST(SeldomPasses, the_barrier_is_the_reservation_that_ends_last) {
  const auto until = [](int first_length, int second_length) {
    ReservationBook book;
    book.add({.name = "a", .nodes = {1}, .start = pass_s(0), .length = pass_s(first_length)});
    book.add({.name = "b", .nodes = {1}, .start = pass_s(0), .length = pass_s(second_length)});
    const QueuedJob job{.limit = pass_s(10)};
    sim::SimTime end;
    const int barrier = book.barrier_of(job, pass_s(5), end);
    return std::pair(barrier, end.ns() / 1'000'000'000);
  };
  EXPECT_EQ(until(100, 100), std::pair(0, std::int64_t{100}));
  EXPECT_EQ(until(100, 101), std::pair(1, std::int64_t{101}));
  EXPECT_EQ(until(101, 100), std::pair(0, std::int64_t{101}));
}

TEST(SeldomPasses, a_tree_may_be_one_switch) {
  TopologyScratch s;
  s.switches = {{.parent = -1, .free_nodes = 5}};
  ASSERT_TRUE(fit_topology(2, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{0, 2}}));
  EXPECT_EQ(s.fit.left_over, 3);
  EXPECT_EQ(s.fit.levels, 0);
  EXPECT_FALSE(fit_topology(6, s));
}

// Where no account has shares nobody owns anything, used or not.
TEST(SeldomPasses, accounts_without_shares_own_nothing) {
  const std::vector<FairUser> users{{.account = "a", .shares = 1, .account_shares = 0, .use = 3},
                                    {.account = "b", .shares = 1, .account_shares = 0}};
  EXPECT_EQ(classic_factors(users), (std::vector<double>{0, 0}));
  std::vector<FairUser> quarters = users;
  for (FairUser& u : quarters) u.account_shares = 0.25;
  quarters[1].use = 1;  // a quarter of all, of one who owns half: 2^-0.5
  const std::vector<double> factors = classic_factors(quarters);
  EXPECT_NEAR(factors[0], std::exp2(-1.5), 1e-12);
  EXPECT_NEAR(factors[1], std::exp2(-0.5), 1e-12);
}

}  // namespace
}  // namespace orrery::cluster
