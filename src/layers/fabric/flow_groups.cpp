#include "layers/fabric/flow_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery::fabric {

FlowGroupId FlowGroups::add() {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return {slot, slots_[slot].generation};
}

void FlowGroups::remove(FlowGroupId id) {
  Slot& slot = slots_[id.slot];
  slot.group = {};
  ++slot.generation;
  free_slots_.push_back(id.slot);
}

std::vector<FlowGroupId> FlowGroups::all() const {
  std::vector<FlowGroupId> out;
  for (std::uint32_t s = 1; s < slots_.size(); ++s) {
    if (!slots_[s].group.flows.empty()) out.push_back({s, slots_[s].generation});
  }
  return out;
}

void FlowGroups::label(const FlowTable& table, std::span<const std::uint32_t> flows,
                       FlowGroupId id) {
  for (const std::uint32_t f : flows) {
    for (const std::uint32_t l : table.path(f)) labels_[l] = id;
  }
}

FlowGroupId FlowGroups::begin(FlowTable& table, std::vector<std::uint32_t> flows,
                              std::vector<FlowGroupId>& met) {
  const FlowGroupId id = add();
  visits_ += flows.size();
  for (const std::uint32_t f : flows) {
    table.flows[f].active = FlowState::kActive;
    for (const std::uint32_t l : table.path(f)) {
      const FlowGroupId other = labels_[l];
      if (other == id) continue;
      labels_[l] = id;
      if (is_living(other) && !std::exchange((*this)[other].is_met, true)) {
        met.push_back(other);
      }
    }
  }
  for (const FlowGroupId other : met) (*this)[other].is_met = false;
  FlowGroup& group = (*this)[id];
  group.is_component = flows.size() == 1;
  group.is_fresh = true;
  group.flows = std::move(flows);
  return id;
}

// Merges everything except the list of flows, which the caller has copied.
void FlowGroups::absorb(const FlowTable& table, FlowGroupId host, FlowGroupId id) {
  FlowGroup& group = (*this)[host];
  const FlowGroup& other = (*this)[id];
  group.began = std::min(group.began, other.began);
  group.left += other.left;
  group.is_component = group.is_component && other.is_component;
  group.has_cancelled = group.has_cancelled || other.has_cancelled;
  visits_ += other.flows.size();
  label(table, other.flows, host);
  remove(id);
}

FlowGroupId FlowGroups::join(const FlowTable& table, FlowGroupId begun,
                             const std::vector<FlowGroupId>& met) {
  if (met.empty()) return begun;
  const std::size_t came = (*this)[begun].flows.size();
  std::size_t undivided = 0;
  FlowGroupId host = begun;  // the largest; its links keep their labels
  for (const FlowGroupId id : met) {
    const FlowGroup& group = (*this)[id];
    if (!group.is_component) undivided += group.flows.size();
    if (group.flows.size() > (*this)[host].flows.size()) host = id;
  }
  std::vector<std::uint32_t> flows;
  if (host != begun) flows = std::move((*this)[host].flows);
  for (const FlowGroupId id : met) {
    if (id == host) continue;
    flows.insert(flows.end(), (*this)[id].flows.begin(), (*this)[id].flows.end());
    absorb(table, host, id);
  }
  std::vector<std::uint32_t>& last = (*this)[begun].flows;
  if (host == begun) {
    last.insert(last.begin(), flows.begin(), flows.end());
    flows = std::move(last);
  } else {
    flows.insert(flows.end(), last.begin(), last.end());
    absorb(table, host, begun);
  }
  FlowGroup& group = (*this)[host];
  group.flows = std::move(flows);
  group.is_fresh = undivided <= came;
  group.has_grown = true;
  return host;
}

std::uint32_t FlowGroups::root_of(std::uint32_t link) {
  while (sets_[link].parent != link) {
    sets_[link].parent = sets_[sets_[link].parent].parent;
    link = sets_[link].parent;
  }
  return link;
}

// Joins the links of each flow's path; returns the number of sets that remain, counting a flow
// without a link as one.
std::size_t FlowGroups::unite(const FlowTable& table, std::span<const std::uint32_t> flows) {
  ++division_;
  visits_ += flows.size();
  std::size_t sets = 0;
  for (const std::uint32_t f : flows) {
    const auto path = table.path(f);
    if (path.empty()) ++sets;
    std::uint32_t root = 0;
    for (std::size_t hop = 0; hop < path.size(); ++hop) {
      const std::uint32_t l = path[hop];
      if (sets_[l].stamp != division_) {
        sets_[l] = {.parent = l, .stamp = division_};
        ++sets;
      }
      if (hop > 0 && sets_[l].parent == root) continue;
      const std::uint32_t other = root_of(l);
      if (hop == 0) {
        root = other;
      } else if (other != root) {
        sets_[other].parent = root;
        --sets;
      }
    }
  }
  return sets;
}

std::vector<FlowGroupId> FlowGroups::divide(const FlowTable& table, FlowGroupId id) {
  FlowGroup& group = (*this)[id];
  group.left = 0;
  group.is_component = true;
  if (unite(table, group.flows) <= 1) return {id};
  const FlowGroup whole = std::move(group);
  remove(id);
  visits_ += whole.flows.size();
  std::vector<FlowGroupId> parts;
  std::map<std::uint32_t, FlowGroupId> part_of_root;
  const auto add_part = [&] {
    const FlowGroupId part = add();
    (*this)[part] = {.advanced_to = whole.advanced_to, .began = whole.began, .is_component = true};
    parts.push_back(part);
    return part;
  };
  for (const std::uint32_t f : whole.flows) {
    const auto path = table.path(f);
    FlowGroupId part;
    if (path.empty()) {
      part = add_part();
    } else {
      const auto [at, is_new] = part_of_root.try_emplace(root_of(path.front()));
      if (is_new) at->second = add_part();
      part = at->second;
    }
    (*this)[part].flows.push_back(f);
    for (const std::uint32_t l : path) labels_[l] = part;
  }
  return parts;
}

}  // namespace orrery::fabric
