// Active flows in groups that can be solved separately: flows of different groups share no link.
//
// The smallest such groups are the components of the graph whose nodes are flows and whose edges
// are shared links. A group here holds one or more components, and is divided into its components
// only when that pays:
//  - Flows that begin at one instant and share no link with others form one group; most end at one
//    instant too. It is divided at the first event that concerns a part of it.
//  - Flows that share links with existing groups are merged with them, and the whole is solved
//    now, except for parts of groups that were not divided yet. If those parts have more flows
//    than have just arrived, the merged group is divided at once, otherwise later.
//  - When flows leave, a component may fall apart. A group is divided again when a quarter of its
//    flows have left since the last time; until then it may be larger than necessary.
// Dividing visits the group's flows once: union-find over their links. So an event costs the solve
// of the flows it affects and, averaged over the departures, a constant share more.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/fabric/flow_solver.h"

namespace orrery::fabric {

struct FlowGroup {
  std::vector<std::uint32_t> flows;
  sim::SimTime advanced_to;  // FlowState::remaining is valid at this instant
  sim::SimTime began;        // earliest start of its flows
  sim::TimerId next_finish;
  std::uint32_t left = 0;     // flows that left since it was last divided
  bool is_component = false;  // was a single component when last divided
  bool is_fresh = false;      // created at this instant, to be divided later
  bool has_grown = true;      // gained flows since it was last solved
  bool is_touched = false;    // must be solved at the end of this instant
  bool has_cancelled = false;
  bool is_met = false;
};

// Identifies a group; the number of a removed group refers to none.
struct FlowGroupId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  bool operator==(const FlowGroupId&) const = default;
};

class FlowGroups {
 public:
  FlowGroups() { slots_.emplace_back().generation = 1; }  // slot 0 is never used

  // In the solver's order of links.
  void add_link() { labels_.emplace_back(), sets_.emplace_back(); }

  bool is_living(FlowGroupId id) const { return slots_[id.slot].generation == id.generation; }
  FlowGroup& operator[](FlowGroupId id) { return slots_[id.slot].group; }
  // Returns the group whose flows use this link; after they have left, it may be stale.
  FlowGroupId of_link(std::uint32_t link) const { return labels_[link]; }
  std::vector<FlowGroupId> all() const;

  // Creates a group of these flows, which are now active, and returns it. `met` receives the groups
  // that share a link with them, each once, not yet merged.
  FlowGroupId begin(FlowTable& table, std::vector<std::uint32_t> flows,
                    std::vector<FlowGroupId>& met);
  // Merges the groups in `met` with the new one. Only the largest survives and is returned; the
  // flows that arrived are last in its list.
  FlowGroupId join(const FlowTable& table, FlowGroupId begun, const std::vector<FlowGroupId>& met);
  // Returns its components, in the order of their first flows; the group itself if it is a single
  // one.
  std::vector<FlowGroupId> divide(const FlowTable& table, FlowGroupId id);
  void remove(FlowGroupId id);

  // Number of flows visited by the calls above.
  std::uint64_t visits() const { return visits_; }

 private:
  struct Slot {
    FlowGroup group;
    std::uint32_t generation = 0;
  };
  // A link's entry in the union-find of one division.
  struct LinkSet {
    std::uint32_t parent = 0;
    std::uint32_t stamp = 0;
  };

  FlowGroupId add();
  void label(const FlowTable& table, std::span<const std::uint32_t> flows, FlowGroupId id);
  void absorb(const FlowTable& table, FlowGroupId host, FlowGroupId id);
  std::uint32_t root_of(std::uint32_t link);
  std::size_t unite(const FlowTable& table, std::span<const std::uint32_t> flows);

  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<FlowGroupId> labels_;  // indexed by link
  std::vector<LinkSet> sets_;        // indexed by link
  std::uint32_t division_ = 0;
  std::uint64_t visits_ = 0;
};

}  // namespace orrery::fabric
