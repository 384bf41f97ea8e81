#include "layers/cluster/rack_meters.h"

#include <algorithm>

namespace orrery::cluster {

RackMeters::RackMeters(int hosts, int hosts_per_rack, int slots_per_host)
    : hosts_per_rack_(std::max(1, hosts_per_rack)) {
  for (int first = 0; first < hosts; first += hosts_per_rack_) {
    Rack rack;
    rack.draw.hosts = std::min(hosts_per_rack_, hosts - first);
    rack.slots = rack.draw.hosts * slots_per_host;
    racks_.push_back(rack);
  }
}

void RackMeters::settle(Held& h, sim::SimTime now) {
  h.drawn += h.draw * (now - h.settled).seconds();
  h.settled = now;
}

void RackMeters::pay(const Held& h, std::vector<Rack>& racks) {
  for (const Place& p : h.whole) {
    RackDraw& d = racks[static_cast<std::size_t>(p.rack)].draw;
    d.energy += h.drawn * p.slots;
    d.highest = max(d.highest, h.highest_seen * p.slots);
  }
  for (const Place& p : h.shared) {
    racks[static_cast<std::size_t>(p.rack)].draw.energy += h.drawn * p.slots;
  }
}

// The hosts of a placement mostly come in rising order.
void RackMeters::find_places(Held& h, std::span<const NodeShare> where) {
  std::vector<Place> all;
  bool is_sorted = true;
  for (const NodeShare& share : where) {
    const int rack = share.node / hosts_per_rack_;
    if (!all.empty() && all.back().rack == rack) {
      all.back().slots += share.gpus;
      continue;
    }
    is_sorted = is_sorted && (all.empty() || all.back().rack < rack);
    all.push_back({.rack = rack, .slots = share.gpus});
  }
  if (!is_sorted) std::ranges::stable_sort(all, {}, &Place::rack);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Place place = all[i];
    while (i + 1 < all.size() && all[i + 1].rack == place.rack) place.slots += all[++i].slots;
    const bool is_whole = place.slots == racks_[static_cast<std::size_t>(place.rack)].slots;
    (is_whole ? h.whole : h.shared).push_back(place);
  }
}

void RackMeters::placed(JobIndex job, std::span<const NodeShare> where, sim::SimTime now) {
  if (job >= held_.size()) held_.resize(job + 1);
  const Held& before = held_[job];
  const bool was_here = !before.whole.empty() || !before.shared.empty();
  const Watts draw = was_here ? before.draw : Watts();
  const Watts highest = was_here ? before.highest : Watts();
  left(job, now);
  find_places(held_[job], where);
  draws(job, draw, highest, now);
}

void RackMeters::draws(JobIndex job, Watts mean, Watts highest, sim::SimTime now) {
  Held& h = held_[job];
  settle(h, now);
  h.draw = mean;
  h.highest_seen = max(h.highest_seen, highest);
  if (highest == h.highest) return;
  for (const Place& p : h.shared) {
    Rack& rack = racks_[static_cast<std::size_t>(p.rack)];
    rack.now += (highest - h.highest) * p.slots;
    rack.draw.highest = max(rack.draw.highest, rack.now);
  }
  h.highest = highest;
}

void RackMeters::left(JobIndex job, sim::SimTime now) {
  if (job >= held_.size()) return;
  draws(job, Watts(), Watts(), now);
  Held& h = held_[job];
  pay(h, racks_);
  h.whole.clear();
  h.shared.clear();
  h.highest_seen = {};
  h.drawn = {};
}

std::vector<RackDraw> RackMeters::until(sim::SimTime end) const {
  std::vector<Rack> racks = racks_;
  for (Held h : held_) {
    settle(h, end);
    pay(h, racks);
  }
  std::vector<RackDraw> draws;
  for (const Rack& r : racks) draws.push_back(r.draw);
  return draws;
}

}  // namespace orrery::cluster
