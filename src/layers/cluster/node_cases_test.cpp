// Nodes, slices and switches at their edges: the rest of a gang, closed nodes, the last of a kind.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/cluster/fair_use.h"
#include "layers/cluster/gang.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/preemption.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/queue_wait.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/rack_meters.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

SimTime in_s(std::int64_t s) { return SimTime::nanoseconds(s * 1'000'000'000); }

std::vector<int> nodes_of(const std::vector<NodeShare>& where) {
  std::vector<int> nodes;
  for (const NodeShare& s : where) nodes.push_back(s.node);
  return nodes;
}

void use_some(NodePool& pool, int node, int gpus) {
  std::vector<NodeShare> shares{{.node = node, .gpus = gpus}};
  pool.take(shares);
}

TEST(NodeCases, the_rest_of_a_gang_may_lie_on_the_first_node) {
  NodePool pool({8, 8, 8});
  use_some(pool, 0, 6);
  use_some(pool, 2, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 10}, nullptr, where));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 1, .gpus = 8}, {.node = 0, .gpus = 2}}));
  ASSERT_TRUE(pool.place({.gpus = 11}, nullptr, where));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 1, .gpus = 8}, {.node = 2, .gpus = 3}}));
  EXPECT_FALSE(pool.place({.gpus = 16}, nullptr, where)) << "no second whole node";
}

TEST(NodeCases, a_spread_gang_takes_the_emptiest_nodes) {
  NodePool pool({8, 8, 8, 8, 8}, PlacementRule::spread);
  use_some(pool, 0, 4);
  use_some(pool, 1, 3);
  use_some(pool, 3, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 16, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 4, 3, 1}));
  ASSERT_TRUE(pool.place({.gpus = 20, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 4, 3, 1, 0}));
  EXPECT_FALSE(pool.place({.gpus = 24, .per_node = 4}, nullptr, where));
  ASSERT_TRUE(pool.place({.gpus = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2}));
  NodePool packed({8, 8, 8, 8, 8});
  use_some(packed, 0, 4);
  use_some(packed, 1, 3);
  use_some(packed, 3, 1);
  ASSERT_TRUE(packed.place({.gpus = 12, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{0, 1, 3}));
}

// Leaves of two nodes, spines of two leaves. Node 0 is in use: two whole nodes lie below the next
// leaf, three below the next spine.
TEST(NodeCases, a_gang_in_a_tree_lies_below_the_lowest_switch) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 2, 2));
  use_some(pool, 0, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 16}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 3}));
  ASSERT_TRUE(pool.place({.gpus = 24}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{1, 2, 3}));
  ASSERT_TRUE(pool.place({.gpus = 32}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_FALSE(pool.place({.gpus = 64}, nullptr, where));
  const NodeMask odd{0b10101010};
  ASSERT_TRUE(pool.place({.gpus = 10, .per_node = 5}, &odd, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{1, 3}));
}

TEST(NodeCases, what_could_ever_fit) {
  const NodePool pool({8, 4, 8});
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 0}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = -1}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 20}, nullptr));  // two whole ones and the four
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 21}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 12, .per_node = 4}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 16, .per_node = 4}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 10, .per_node = 4}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 16, .per_node = 8}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 15, .per_node = 5}, nullptr));
  const NodePool plain({8});
  EXPECT_TRUE(plain.could_ever_fit({.gpus = 8}, nullptr));
  EXPECT_FALSE(plain.could_ever_fit({.gpus = 9}, nullptr));
  EXPECT_FALSE(plain.could_ever_fit({.gpus = 0}, nullptr));
  std::vector<NodeShare> where;
  EXPECT_FALSE(pool.place({.gpus = 0}, nullptr, where));
}

// Leaves of 5, 4 and 3 free nodes below one spine: eight are five and the three that fit exactly.
TEST(NodeCases, a_gang_fills_the_leaf_that_holds_the_rest_exactly) {
  TopologyScratch s;
  s.switches = {{.parent = -1},
                {.parent = 0, .free_nodes = 5},
                {.parent = 0, .free_nodes = 4},
                {.parent = 0, .free_nodes = 3}};
  ASSERT_TRUE(fit_topology(8, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{1, 5}, {3, 3}}));
  EXPECT_EQ(s.fit.subtree, 0);
  EXPECT_EQ(s.fit.levels, 1);
  EXPECT_EQ(s.fit.left_over, 4);
  ASSERT_TRUE(fit_topology(4, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{2, 4}}));
  EXPECT_EQ(s.fit.levels, 0);
  EXPECT_EQ(s.fit.left_over, 0);
  ASSERT_TRUE(fit_topology(12, s));
  EXPECT_FALSE(fit_topology(13, s)) << "a spine has no nodes of its own";
  EXPECT_FALSE(fit_topology(0, s));
}

TEST(NodeCases, a_closed_node_has_nothing_until_its_window_ends) {
  const NodePool pool({4, 4});
  FreeProfile profile;
  profile.reset(in_s(0), pool);
  profile.close_between(in_s(10), in_s(20), {0b01});
  std::vector<NodeShare> where;
  const NodeMask first{0b01};
  const auto found = [&](int gpus, int length) {
    return profile.find({.gpus = gpus}, in_s(length), &first, in_s(1000), where);
  };
  EXPECT_EQ(found(4, 10), in_s(0));
  EXPECT_EQ(found(3, 11), in_s(20));
  EXPECT_EQ(found(1, 11), in_s(20));
  EXPECT_EQ(profile.find({.gpus = 1}, in_s(11), nullptr, in_s(1000), where), in_s(0));
  EXPECT_EQ(where[0].node, 1);
  EXPECT_TRUE(profile.find({.gpus = 1}, in_s(11), &first, in_s(19), where).is_never());
  EXPECT_EQ(profile.find({.gpus = 1}, in_s(11), &first, in_s(20), where), in_s(20));
  profile.open_between(in_s(10), in_s(20), {0b01});
  EXPECT_EQ(found(4, 1000), in_s(0));
}

// A mask has whole words: bits beyond the nodes mean nothing.
TEST(NodeCases, a_mask_may_name_more_nodes_than_there_are) {
  FreeProfile profile;
  profile.reset(in_s(0), NodePool({4, 4}));
  profile.close_between(in_s(10), in_s(20), {~std::uint64_t{0}});
  profile.take_between(in_s(30), in_s(40), {});
  std::vector<NodeShare> where;
  EXPECT_EQ(profile.find({.gpus = 8}, in_s(15), nullptr, in_s(1000), where), in_s(20));
}

TEST(NodeCases, gangs_that_hold_and_wait) {
  const HeldGang two[] = {{"a", 8, 4}, {"b", 9, 2}};
  const HoldOutcome stuck = resolve_holds(two, 3);  // a lacks 4, b lacks 7
  EXPECT_TRUE(stuck.deadlock);
  EXPECT_EQ(stuck.nodes_idle, 9) << "4 and 2 held, 3 free";
  EXPECT_TRUE(stuck.finish_order.empty());
  const HoldOutcome half = resolve_holds(std::span(two, 2), 4);
  EXPECT_EQ(half.finish_order, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(half.nodes_idle, 0);
  EXPECT_EQ(gangs_started_atomically(two, 17), 2);
  EXPECT_EQ(gangs_started_atomically(two, 16), 1);
  EXPECT_EQ(gangs_started_atomically(two, 7), 0);
  const std::vector<int> free{8, 3, 5, 8};
  const GangAnswer answer = place_gang({.nodes = 3, .gpus_per_node = 6}, free, 8);
  EXPECT_EQ(answer.verdict, GangVerdict::fragmented);  // 18 wanted, 24 free
  EXPECT_EQ(answer.nodes_free, 2);
  EXPECT_EQ(answer.nodes_short, 1);
  EXPECT_EQ(place_gang({.nodes = 4, .gpus_per_node = 6}, free, 8).verdict, GangVerdict::fragmented);
  EXPECT_EQ(place_gang({.nodes = 4, .gpus_per_node = 7}, free, 8).verdict, GangVerdict::waits);
  EXPECT_EQ(place_gang({.nodes = 2, .gpus_per_node = 8}, free, 8).nodes_short, 0);
  EXPECT_EQ(place_gang({.nodes = 5, .gpus_per_node = 1}, free, 8).verdict, GangVerdict::never);
  EXPECT_EQ(place_gang({.nodes = 1, .gpus_per_node = 9}, free, 8).verdict, GangVerdict::never);
}

// Slices as an H100 has them: of `media` there may be one alone.
std::vector<catalog::MigProfile> slices() {
  return {{.profile = "1g",
           .compute_slices = 1,
           .memory_slices = 1,
           .starts = {0, 1, 2, 3, 4, 5, 6},
           .max_instances = 7},
          {.profile = "media",
           .compute_slices = 1,
           .memory_slices = 1,
           .starts = {0, 1, 2, 3, 4, 5, 6},
           .max_instances = 1},
          {.profile = "3g",
           .compute_slices = 3,
           .memory_slices = 4,
           .starts = {0, 4},
           .max_instances = 2}};
}

TEST(NodeCases, a_gpu_allows_so_many_of_a_profile) {
  const auto profiles = slices();
  const MigLayout one{{.profile = 1, .start = 0}};
  EXPECT_FALSE(can_add(one, {.profile = 1, .start = 2}, profiles));
  EXPECT_TRUE(can_add(one, {.profile = 0, .start = 2}, profiles));
  EXPECT_FALSE(can_add(one, {.profile = 0, .start = 0}, profiles)) << "taken";
  EXPECT_FALSE(can_add(one, {.profile = 0, .start = 7}, profiles)) << "no start";
  EXPECT_FALSE(can_add(one, {.profile = 2, .start = 0}, profiles));
  EXPECT_TRUE(can_add(one, {.profile = 2, .start = 4}, profiles));
  const MigLayout two{{.profile = 2, .start = 0}, {.profile = 2, .start = 4}};
  EXPECT_FALSE(can_add(two, {.profile = 0, .start = 6}, profiles)) << "no memory";
  EXPECT_TRUE(can_add({two[0]}, two[1], profiles));
}

TEST(NodeCases, a_packing_says_what_it_used_and_stranded) {
  EXPECT_EQ(MigPacking{}.compute_stranded_share(), 0);
  const MigDemand demand[] = {{"3g", 3}, {"media", 2}, {"9g", 1}};
  const MigPacking p = pack_mig(demand, slices());
  // Two of 3g fill the memory of one GPU; the third lies with one of media, and the other of media
  // opens a third GPU. 3 x 3 + 2 = 11 of compute, 3 x 4 + 2 = 14 of memory.
  ASSERT_EQ(p.gpus.size(), 3u);
  EXPECT_EQ(p.gpus_at_least, 2);
  EXPECT_EQ(p.unplaced, std::vector<std::string>{"9g"});
  EXPECT_EQ(p.compute_used, 11);
  EXPECT_EQ(p.memory_used, 14);
  // The first leaves one of compute. On the second media lies where another 3g would begin, and a
  // second of media is not allowed: 3 and 3. The third still holds a 3g.
  EXPECT_EQ(p.compute_stranded, 4);
  EXPECT_EQ(p.memory_stranded, 3);
  EXPECT_DOUBLE_EQ(p.compute_stranded_share(), 4.0 / 21);
}

// Of 4g one fits a GPU; what is smaller goes to the first that has room.
TEST(NodeCases, a_smaller_slice_fills_the_first_gpu) {
  auto profiles = slices();
  profiles.push_back({.profile = "4g",
                      .compute_slices = 4,
                      .memory_slices = 4,
                      .starts = {0},
                      .max_instances = 1});
  const MigDemand demand[] = {{"4g", 2}, {"1g", 1}};
  const MigPacking p = pack_mig(demand, profiles);
  ASSERT_EQ(p.gpus.size(), 2u);
  EXPECT_EQ(p.gpus[0].size(), 2u);
  EXPECT_EQ(p.gpus[1].size(), 1u);
}

// Five of 1g on one GPU: the fifth leaves no 3g, so two slices are stranded. A sixth goes there,
// though a fresh GPU would still hold a 3g beside it.
TEST(NodeCases, a_slice_goes_where_it_strands_least_more) {
  MigPool pool(slices(), {2});
  EXPECT_EQ(pool.open(), 0u);
  for (int i = 0; i < 4; ++i) {
    const auto place = pool.place(0);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->instance.start, i);
    EXPECT_EQ(pool.compute_stranded(), 0);
  }
  EXPECT_EQ(pool.place(0)->instance.start, 4);
  EXPECT_EQ(pool.compute_stranded(), 2);
  EXPECT_EQ(pool.compute_used(), 5);
  EXPECT_EQ(pool.open(), 1u);
  EXPECT_EQ(pool.devices(), 2);
  const auto sixth = pool.place(0);
  ASSERT_TRUE(sixth);
  EXPECT_EQ(sixth->device, 0u);
  EXPECT_EQ(pool.compute_stranded(), 1);
  pool.leave(*sixth);
  EXPECT_EQ(pool.compute_stranded(), 2);
  EXPECT_EQ(pool.compute_used(), 5);
  EXPECT_TRUE(pool.is_empty(1));
  pool.close(0);
  EXPECT_EQ(pool.compute_used(), 0);
  EXPECT_EQ(pool.compute_stranded(), 0);
  EXPECT_EQ(pool.devices(), 1);
}

// 16 GPUs; of a limit of 6 the three that run (1, 2 and 3 GPUs, dearer in that order) use all. A
// job of 4 needs 4 of it: without the second alone 1 + 3 are freed, and the first cannot be spared
// as well.
TEST(NodeCases, sparing_one_victim_counts_when_the_next_is_looked_at) {
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 6});
  NodePool pool({16});
  std::vector<QueuedJob> jobs;
  std::vector<RunningEnd> running;
  for (const int gpus : {1, 2, 3}) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = in_s(10'000), .started = in_s(1000 - 100 * gpus)};
    ASSERT_TRUE(pool.place(job.ask, nullptr, job.shares));
    pool.take(job.shares);
    gate.started(job);
    running.push_back({.end = in_s(20'000), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
  }
  jobs.push_back({.ask = {.gpus = 4}});
  jobs.back().tier = 1;
  const std::vector<JobIndex> waiting{3};
  const QueueView view{
      .now = in_s(1000), .jobs = jobs, .waiting = waiting, .running = running, .gate = &gate};
  PreemptionRules rules{.requeue = seconds(120), .reload = seconds(30)};
  const auto plan = choose_victims(3, view, pool, rules);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, (std::vector<JobIndex>{0, 2}));
  // 1 x (100 + 150) + 3 x (300 + 150).
  EXPECT_DOUBLE_EQ(plan->lost.base(), 250 + 1350);
  rules.minimum_runtime = seconds(100);  // the first has run so long, to the second
  EXPECT_EQ(choose_victims(3, view, pool, rules)->victims, (std::vector<JobIndex>{0, 2}));
  rules.minimum_runtime = seconds(101);  // the others free 5 of the limit, which is enough
  EXPECT_EQ(choose_victims(3, view, pool, rules)->victims, (std::vector<JobIndex>{1, 2}));
  rules.minimum_runtime = seconds(201);
  EXPECT_FALSE(choose_victims(3, view, pool, rules));
}

TEST(NodeCases, what_preempting_costs) {
  const QueuedJob job{.ask = {.gpus = 6}, .started = in_s(100)};
  const auto cost = [&](const PreemptionRules& r) {
    return preemption_cost(job, in_s(1850), r).base();
  };
  EXPECT_DOUBLE_EQ(cost({}), 6 * 1750);
  EXPECT_DOUBLE_EQ(cost({.checkpoint = seconds(600)}), 6 * 550);  // 1750 - 2 x 600
  EXPECT_DOUBLE_EQ(cost({.checkpoint = seconds(600),
                         .saves_first = true,
                         .save = seconds(40),
                         .requeue = seconds(7),
                         .reload = seconds(3)}),
                   6 * 50);
}

// Half is left after a week: 100 GPU-seconds of then are as much as 50 of now.
TEST(NodeCases, use_halves_in_a_week) {
  FairUse use(catalog::FairShareBy::classic);
  const std::size_t early = use.add_user({.account = "a", .user = "u"});
  const std::size_t late = use.add_user({.account = "b", .user = "v"});
  EXPECT_EQ(use.factor(early), 1);
  use.add_use(early, 100);
  use.settle(in_s(7 * 86'400));
  use.add_use(late, 50);
  use.settle(in_s(7 * 86'400));
  // Each has used half and owns half: 2^-1.
  EXPECT_DOUBLE_EQ(use.factor(early), 0.5);
  EXPECT_DOUBLE_EQ(use.factor(late), 0.5);
}

TEST(NodeCases, who_owns_nothing_has_no_share_even_unused) {
  EXPECT_EQ(classic_fair_share(0, 0), 0);
  EXPECT_EQ(classic_fair_share(0.3, 0), 0);
  EXPECT_EQ(classic_fair_share(0, 0.2), 1);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.6, 0.2, 1.5), 0.25);
}

// At a load of one and above the queue has no end.
TEST(NodeCases, a_queue_that_cannot_keep_up_grows_for_ever) {
  const QueueWait w =
      estimate_wait({.servers = 4, .arrivals = PerSecond(0.02), .service = seconds(200)});
  EXPECT_DOUBLE_EQ(w.load, 1);
  EXPECT_FALSE(w.stable);
  EXPECT_EQ(w.wait_chance, 1);
  EXPECT_TRUE(std::isinf(w.mean_wait.base()));
  EXPECT_TRUE(std::isinf(w.mean_wait_of_waiting.base()));
  EXPECT_TRUE(std::isinf(w.mean_queue));
}

// M/G/1: rho 0.6, S 300 s, W = rho S / (1 - rho) x (1 + cs^2) / 2 = 450 x (1.44 + 6.25) / 2.
TEST(NodeCases, the_mean_wait_of_one_server) {
  const QueueWait w = estimate_wait({.servers = 1,
                                     .arrivals = PerSecond(0.002),
                                     .service = seconds(300),
                                     .arrival_variation = 1.2,
                                     .service_variation = 2.5});
  EXPECT_TRUE(w.stable);
  EXPECT_NEAR(w.wait_chance, 0.6, 1e-12);
  EXPECT_NEAR(w.mean_wait_of_waiting.base(), 750 * 3.845, 1e-9);
  EXPECT_NEAR(w.mean_wait.base(), 450 * 3.845, 1e-9);
  EXPECT_NEAR(w.mean_queue, 0.002 * 450 * 3.845, 1e-12);
}

TEST(NodeCases, the_last_rack_holds_what_is_left) {
  RackMeters meters(5, 2, 8);
  meters.placed(0, std::vector<NodeShare>{{.node = 4, .gpus = 8}}, in_s(0));
  meters.draws(0, Watts(100), Watts(150), in_s(10));
  const auto racks = meters.until(in_s(30));
  ASSERT_EQ(racks.size(), 3u);
  EXPECT_EQ(racks[0].hosts, 2);
  EXPECT_EQ(racks[2].hosts, 1);
  EXPECT_DOUBLE_EQ(racks[2].energy.base(), 8 * 100 * 20);
  EXPECT_DOUBLE_EQ(racks[2].highest.base(), 8 * 150);
  EXPECT_EQ(racks[1].energy.base(), 0);
}

// A group may use its guarantee and what it may borrow of the cohort's, to the last GPU.
TEST(NodeCases, a_quota_to_the_last_gpu) {
  QuotaGate gate;
  const int a = gate.add_group(0, {.tenant = "a", .guaranteed = 10, .may_borrow = 3});
  const int b = gate.add_group(0, {.tenant = "b", .guaranteed = 5});
  const int c = gate.add_group(1, {.tenant = "c", .guaranteed = 4});
  EXPECT_TRUE(gate.could_admit(a, 13));
  EXPECT_FALSE(gate.could_admit(a, 14));
  EXPECT_TRUE(gate.could_admit(b, 5));
  EXPECT_FALSE(gate.could_admit(b, 6));
  EXPECT_EQ(gate.limits(), 5u);
  QueuedJob job{.ask = {.gpus = 3}};
  job.group = static_cast<std::uint16_t>(b);
  gate.started(job);
  std::vector<double> left;
  gate.add_left(left);
  EXPECT_EQ(left, (std::vector<double>{12, 4, 13, 2, 4}));
  EXPECT_TRUE(gate.could_admit(b, 5)) << "with nobody else there";
  QueuedJob wide{.ask = {.gpus = 12}};
  wide.group = static_cast<std::uint16_t>(a);
  EXPECT_TRUE(gate.admits(wide));
  wide.ask.gpus = 13;
  EXPECT_FALSE(gate.admits(wide)) << "b has 3 of the 15";
  gate.ended(job);
  EXPECT_TRUE(gate.admits(wide));
  EXPECT_EQ(c, 2);
  const int none = gate.add_group(2, {.tenant = "none"});
  EXPECT_FALSE(gate.could_admit(none, 1));
}

}  // namespace
}  // namespace orrery::cluster
