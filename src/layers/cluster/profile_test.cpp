// What is free when, on two nodes and in a pool that only counts; all times computed by hand.
#include "layers/cluster/profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/rack_meters.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

sim::SimTime tick(double s) { return sim::SimTime::from(seconds(s)); }

struct Found {
  double at = -1;  // -1: none
  std::vector<int> nodes;
  auto operator<=>(const Found&) const = default;
};

Found find_in(FreeProfile& p, const GpuAsk& ask, double length, double latest = 1e6,
              const NodeMask* allowed = nullptr) {
  std::vector<NodeShare> where;
  const sim::SimTime at = p.find(ask, tick(length), allowed, tick(latest), where);
  Found f;
  if (!at.is_never()) f.at = at.seconds().base();
  for (const NodeShare& s : where) f.nodes.push_back(s.node);
  std::ranges::sort(f.nodes);
  return f;
}

// Eight GPUs of which five are taken: two come back at 10 s, three at 20 s; four are taken from 15
// to 18 s.
TEST(Profile, profile_of_counts) {
  NodePool pool({8});
  std::vector<NodeShare> taken{{.node = 0, .gpus = 5}};
  pool.take(taken);
  FreeProfile p;
  p.reset(tick(0), pool);
  p.give_from(tick(10), std::vector<NodeShare>{{.node = 0, .gpus = 2}});
  p.give_from(tick(20), std::vector<NodeShare>{{.node = 0, .gpus = 3}});
  p.take_between(tick(15), tick(18), std::vector<NodeShare>{{.node = 0, .gpus = 4}});
  EXPECT_EQ(p.steps(), 5u);
  EXPECT_EQ(find_in(p, {.gpus = 3}, 15), (Found{0, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 3}, 15.1), (Found{18, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 5}, 5), (Found{10, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 5}, 5.1), (Found{18, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 1}, 1e5), (Found{0, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 6}, 1), (Found{20, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1), (Found{20, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 9}, 1), Found{});
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1, 20), (Found{20, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1, 19.9), Found{}) << "not so late";
  EXPECT_EQ(find_in(p, {.gpus = 4}, 0), (Found{10, {0}})) << "even for no time it needs them";
  const std::vector<NodeShare> four{{.node = 0, .gpus = 4}};
  EXPECT_FALSE(p.holds(tick(9), tick(1), four));
  EXPECT_TRUE(p.holds(tick(10), tick(5), four));
  EXPECT_FALSE(p.holds(tick(10), tick(5.1), four));
  EXPECT_FALSE(p.holds(tick(17.9), tick(5), four));
  EXPECT_TRUE(p.holds(tick(18), tick(500), four));
  p.give_between(tick(15), tick(18), four);
  EXPECT_EQ(find_in(p, {.gpus = 5}, 5.1), (Found{10, {0}})) << "given back";
  p.take_between(tick(30), tick(30), four);
  p.take_between(tick(31), tick(30), four);
  EXPECT_EQ(p.steps(), 5u) << "no time, no step";
}

TEST(Profile, profile_forgets_the_past) {
  FreeProfile p;
  p.reset(tick(0), NodePool({8}));
  const std::vector<NodeShare> six{{.node = 0, .gpus = 6}};
  p.take_between(tick(0), tick(10), six);
  p.take_between(tick(20), tick(30), six);
  p.advance(tick(9));
  EXPECT_EQ(p.start(), tick(9));
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1), (Found{10, {0}}));
  p.advance(tick(10));
  EXPECT_EQ(p.steps(), 3u);
  EXPECT_EQ(find_in(p, {.gpus = 8}, 10), (Found{10, {0}}));
  p.take_between(tick(5), tick(12), six);  // only what is left
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1), (Found{12, {0}}));
  p.advance(tick(100));
  EXPECT_EQ(p.steps(), 1u);
}

// Two nodes of eight; six of the first come back at 10 s. A request must stay on one node.
TEST(Profile, profile_of_nodes) {
  NodePool pool({8, 8});
  std::vector<NodeShare> taken{{.node = 0, .gpus = 6}, {.node = 1, .gpus = 4}};
  pool.take(taken);
  FreeProfile p;
  p.reset(tick(0), pool);
  p.give_from(tick(10), std::vector<NodeShare>{{.node = 0, .gpus = 6}});
  p.take_between(tick(15), tick(18), std::vector<NodeShare>{{.node = 0, .gpus = 5}});
  EXPECT_EQ(find_in(p, {.gpus = 4}, 100), (Found{0, {1}}));
  EXPECT_EQ(find_in(p, {.gpus = 5}, 5), (Found{10, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 5}, 6), (Found{18, {0}})) << "six is too long for the gap";
  EXPECT_EQ(find_in(p, {.gpus = 8, .per_node = 4}, 5), (Found{10, {0, 1}}));
  EXPECT_EQ(find_in(p, {.gpus = 16, .per_node = 8}, 1), Found{});
  const NodeMask only_first(1, 1);
  EXPECT_EQ(find_in(p, {.gpus = 4}, 5, 1e6, &only_first), (Found{10, {0}}));
  // The second node is closed from 2 s to 12 s: what would overlap with that starts elsewhere.
  const NodeMask second(1, 2);
  p.close_between(tick(2), tick(12), second);
  EXPECT_EQ(find_in(p, {.gpus = 4}, 2), (Found{0, {1}}));
  EXPECT_EQ(find_in(p, {.gpus = 4}, 2.1), (Found{10, {0}}));
  EXPECT_EQ(find_in(p, {.gpus = 4}, 2.1, 9), Found{});
  p.open_between(tick(2), tick(12), second);
  EXPECT_EQ(find_in(p, {.gpus = 4}, 2.1), (Found{0, {1}}));
}

// A single limit, of which five are left.
class FiveLeft final : public StartGate {
 public:
  bool admits(const QueuedJob&) const override { return true; }
  void started(const QueuedJob&) override {}
  void ended(const QueuedJob&) override {}
  std::size_t limits() const override { return 1; }
  void add_left(std::vector<double>& left) const override { left.push_back(5); }
  LimitUses uses_of(const QueuedJob&) const override { return {}; }
};

TEST(Profile, limits_are_counted_beside_nodes) {
  const FiveLeft gate;
  const auto of = [](double amount) {
    LimitUses uses;
    uses.add({.limit = 0, .amount = amount});
    return uses;
  };
  for (const bool plain : {true, false}) {
    FreeProfile p;
    p.reset(tick(0), plain ? NodePool({8}) : NodePool({8, 8}), &gate);
    const std::vector<NodeShare> one{{.node = 0, .gpus = 1}};
    p.take_between(tick(0), tick(10), one, of(3));
    p.take_between(tick(20), tick(30), one, of(1));
    const auto at = [&](double amount, double length) {
      std::vector<NodeShare> where;
      const sim::SimTime t =
          p.find({.gpus = 2}, tick(length), nullptr, tick(1e6), where, of(amount));
      return t.is_never() ? -1 : t.seconds().base();
    };
    EXPECT_EQ(at(2, 100), 0) << plain;
    EXPECT_EQ(at(3, 10), 10) << plain;
    EXPECT_EQ(at(5, 10), 10) << plain;
    EXPECT_EQ(at(5, 10.1), 30) << plain;
    EXPECT_EQ(at(3, 0), 10) << "even for no time: " << plain;
    EXPECT_EQ(at(6, 1), -1) << plain;
    EXPECT_TRUE(p.holds(tick(10), tick(10), one, of(5)));
    EXPECT_FALSE(p.holds(tick(10), tick(10.1), one, of(5)));
  }
}

TEST(Profile, down_node_has_no_free_gpus) {
  NodePool pool({8, 8});
  pool.set_up(0, false);
  FreeProfile p;
  p.reset(tick(0), pool);
  EXPECT_EQ(find_in(p, {.gpus = 8}, 1), (Found{0, {1}}));
  EXPECT_EQ(find_in(p, {.gpus = 16, .per_node = 8}, 1), Found{});
}

TEST(Profile, closed_node_is_empty_until_its_window_ends) {
  const NodePool pool({4, 4});
  FreeProfile profile;
  profile.reset(at_s(0), pool);
  profile.close_between(at_s(10), at_s(20), {0b01});
  std::vector<NodeShare> where;
  const NodeMask first{0b01};
  const auto found = [&](int gpus, int length) {
    return profile.find({.gpus = gpus}, at_s(length), &first, at_s(1000), where);
  };
  EXPECT_EQ(found(4, 10), at_s(0));
  EXPECT_EQ(found(3, 11), at_s(20));
  EXPECT_EQ(found(1, 11), at_s(20));
  EXPECT_EQ(profile.find({.gpus = 1}, at_s(11), nullptr, at_s(1000), where), at_s(0));
  EXPECT_EQ(where[0].node, 1);
  EXPECT_TRUE(profile.find({.gpus = 1}, at_s(11), &first, at_s(19), where).is_never());
  EXPECT_EQ(profile.find({.gpus = 1}, at_s(11), &first, at_s(20), where), at_s(20));
  profile.open_between(at_s(10), at_s(20), {0b01});
  EXPECT_EQ(found(4, 1000), at_s(0));
}

// A mask has whole words: bits beyond the nodes mean nothing.
TEST(Profile, mask_may_name_more_nodes_than_exist) {
  FreeProfile profile;
  profile.reset(at_s(0), NodePool({4, 4}));
  profile.close_between(at_s(10), at_s(20), {~std::uint64_t{0}});
  profile.take_between(at_s(30), at_s(40), {});
  std::vector<NodeShare> where;
  EXPECT_EQ(profile.find({.gpus = 8}, at_s(15), nullptr, at_s(1000), where), at_s(20));
}

TEST(Profile, window_closes_nodes_beyond_64) {
  FreeProfile profile;
  profile.reset(at_s(0), NodePool(std::vector<int>(70, 4)));
  NodeMask last{0, 0b111111};  // nodes 64 to 69
  std::vector<NodeShare> where;
  const auto earliest = [&] {
    return profile.find({.gpus = 4}, at_s(30), &last, at_s(1000), where);
  };
  EXPECT_EQ(earliest(), at_s(0));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 64, .gpus = 4}}));
  profile.close_between(at_s(10), at_s(20), {0, 0b011111});
  EXPECT_EQ(earliest(), at_s(0));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 69, .gpus = 4}}));
  profile.close_between(at_s(15), at_s(25), {0, 0b100000});
  EXPECT_EQ(earliest(), at_s(20));
  EXPECT_EQ(where[0].node, 64);
  EXPECT_EQ(profile.find({.gpus = 256}, at_s(30), nullptr, at_s(1000), where), at_s(0));
}

}  // namespace
}  // namespace orrery::cluster
