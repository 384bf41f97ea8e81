// Active flows in groups that can be solved alone: no flow shares a link with one of another group.
//
// The smallest such groups are the components of the graph whose nodes are flows and whose edges
// are shared links. A group here holds one component or several, and is divided into its components
// only when that pays:
//  - Flows that begin at one instant and meet no other are one group; most end at one instant too.
//    It is divided at the first event that concerns a part of it.
//  - Flows that meet groups make one of them and of themselves. All of it is solved now, but for
//    parts of groups that were not divided yet; where these are more than the flows that came, what
//    comes out is divided at once, else like the others.
//  - Where flows leave, a component may fall apart; a group is divided again when a quarter of
//    its flows have left since the last time. Until then it may be larger than need be.
// Dividing walks the group's flows once: union-find over their links. So an event costs the solve
// of what it touched and, spread over the departures, a constant share more.
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
  sim::SimTime advanced_to;  // FlowState::remaining is as of this instant
  sim::SimTime began;        // the earliest start of its flows
  sim::TimerId next_finish;
  std::uint32_t left = 0;     // flows that went since it was last divided
  bool is_component = false;  // was one when it was last divided
  bool is_fresh = false;      // made at this instant, to be divided later
  bool has_grown = true;      // since it was last solved
  bool is_touched = false;    // to be solved at the end of this instant
  bool has_cancelled = false;
  bool is_met = false;
};

// A group that is gone has a number that names none.
struct FlowGroupId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  bool operator==(const FlowGroupId&) const = default;
};

class FlowGroups {
 public:
  FlowGroups() { slots_.emplace_back().generation = 1; }  // slot 0 is nobody's

  void add_link() { labels_.emplace_back(), sets_.emplace_back(); }  // in the solver's order

  bool is_living(FlowGroupId id) const { return slots_[id.slot].generation == id.generation; }
  FlowGroup& operator[](FlowGroupId id) { return slots_[id.slot].group; }
  // The group whose flows take this link; after they have left it, it may be named still.
  FlowGroupId of_link(std::uint32_t link) const { return labels_[link]; }
  std::vector<FlowGroupId> all() const;

  // Begins a group of these flows, now active, and gives it; `met` are the groups that share a link
  // with them, each once, as yet untouched.
  FlowGroupId begin(FlowTable& table, std::vector<std::uint32_t> flows,
                    std::vector<FlowGroupId>& met);
  // Joins the groups met to the one begun. All but the largest end, and that one is given; those
  // that came are the last in its list.
  FlowGroupId join(const FlowTable& table, FlowGroupId begun, const std::vector<FlowGroupId>& met);
  // Its components, in the order of their first flows; the group itself where it is one.
  std::vector<FlowGroupId> divide(const FlowTable& table, FlowGroupId id);
  void remove(FlowGroupId id);

  // Flows walked by the calls above.
  std::uint64_t visits() const { return visits_; }

 private:
  struct Slot {
    FlowGroup group;
    std::uint32_t generation = 0;
  };
  // A link's place in the union-find of one division.
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
  std::vector<FlowGroupId> labels_;  // by link
  std::vector<LinkSet> sets_;        // by link
  std::uint32_t division_ = 0;
  std::uint64_t visits_ = 0;
};

}  // namespace orrery::fabric
