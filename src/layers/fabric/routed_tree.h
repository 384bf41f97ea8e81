// The share of a tree's rate that routing, losses and placement leave to a collective.
//
// A share c of a collective's messages crosses leaves. A leaf with P endpoints and U working
// uplinks sends c P messages, each over q queue pairs. A queue pair shares its link with B others:
//   ecmp      B ~ Poisson(c P q / U - 1/U) on the way up, and again on the way down
//   static    the same on the way up only: D-mod-K gives each destination a path down of its own
//   adaptive  the switches balance; an uplink carries 0.9 of its rate in useful traffic
//   rate      mean over messages of 1 / max(1, largest load on the path);  load = (1 + B) / q
// Messages that also cross the cores have two more such stages. The share left is that rate over
// the rate of adaptive routing at full bisection, because the fitted network parameters
// (collective_parameters.h) come from clusters with good routing: there the share is 1.
//   no ECN    nothing slows a sender but pauses: a link's flows all wait for its slowest (victims)
//   no PFC    a flow on an overloaded link loses packets and resends windows (go-back-N)
// c follows from the pattern and from where the job's hosts are: in the order of the leaves (`t`
// hosts from one member to the next, W hosts below a leaf: c = t / W for a ring), scattered over
// the machine (c = 1 - (W-1)/(H-1)), or in between.
// Reproduces data/validation/ecmp_collision_mc.csv to 4 % from 32 leaves on. Wrong if one slow
// member stops the rest, as in a single ring: the low bound is the rate of the slowest tenth of the
// messages. Wrong for dragonflies and tori, whose routing is not modelled.
#pragma once

#include <optional>
#include <vector>

#include "core/catalog/vocabulary.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

struct RoutedTreeSpec {
  catalog::RoutingKind routing = catalog::RoutingKind::adaptive;
  int queue_pairs = 1;
  double endpoints_per_leaf = 64;  // in one plane
  double uplinks = 64;             // working uplinks per leaf
  double links_per_core_link = 0;  // uplinks of leaves per link to a core; 0: two tiers
  double hosts = 1;                // on the network
  double hosts_per_leaf = 1;       // hosts whose NICs of one rail share a leaf; may be below 1
  double hosts_per_group = 0;      // three tiers: hosts below the same spines
  bool lossless = true;            // pauses or credits
  bool marks = true;               // ECN, or credits per flow
  bool scattered = false;          // the scheduler does not know the leaves
};

// Returns the tree of a topology with a share of its uplinks and of its core links up; nothing if
// the topology is no tree with at least two tiers.
struct LinksUp {
  double uplinks = 1;
  double core_links = 1;
};
std::optional<RoutedTreeSpec> tree_spec(const Topology& topology, LinksUp up = {});

// Mean of all messages; slowest tenth of them; as if every connection had two channels.
enum class ShareBound { mean, low, high };

// Where the members of a group are.
struct GroupPlace {
  double members = 2;
  double hosts_apart = 1;  // from one member to the next
  double job_hosts = 0;    // 0: unknown
  double scatter = 0;      // 0: in the order of the leaves; 1: anywhere
};

enum class CrossingPattern { ring, tree, all_pairs, shift };

class RoutedTree {
 public:
  explicit RoutedTree(const RoutedTreeSpec& spec);

  // Returns the share of the reference's rate that a group's collective keeps.
  double left(CrossingPattern pattern, const GroupPlace& place,
              ShareBound bound = ShareBound::mean) const;
  // Returns the share if `leaves` of all messages cross leaves, `cores` of all cross cores.
  double left_of(double leaves, double cores, ShareBound bound = ShareBound::mean) const;
  // Returns the shares of messages that cross leaves and cores.
  double crossing_leaves(CrossingPattern pattern, const GroupPlace& place) const;
  double crossing_cores(CrossingPattern pattern, const GroupPlace& place) const;
  // Returns true if no traffic is slowed: placement then makes no difference.
  bool is_even() const { return even_; }
  const RoutedTreeSpec& spec() const { return spec_; }

 private:
  struct Table {
    std::vector<double> share;  // by crossing of leaves, then of cores
  };
  const Table& table(ShareBound bound) const { return tables_[static_cast<std::size_t>(bound)]; }

  RoutedTreeSpec spec_;
  std::vector<Table> tables_;
  bool even_ = true;
};

// Returns the mean rate of messages, as a share of a NIC, if `leaves` of all messages cross leaves;
// what RoutedTree::left_of divides by the reference.
double routed_rate(const RoutedTreeSpec& spec, double leaves, double cores, ShareBound bound);

// Returns the place in the order of the leaves: 0 if the job's hosts are below as few leaves as
// possible, 1 if they are below as many as hosts drawn at random.
double scatter_of(double leaves_used, double job_hosts, double hosts_per_leaf, double hosts);

}  // namespace orrery::fabric
