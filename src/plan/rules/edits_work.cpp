// Edits of workloads and of the machines that they run on.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/probability.h"
#include "core/base/text.h"
#include "model/figures/assumptions.h"
#include "model/jobs/batch_split.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/stages.h"
#include "plan/rules/edits.h"

namespace orrery::rules {
namespace {

using figures::assumptions::kQueueLoad;
// Most instances of one profile on one accelerator.
constexpr int kMostSlices = 7;

int whole(double v) {
  return static_cast<int>(std::ceil(std::min(v - 1e-9, static_cast<double>(kMostNodes))));
}

// Returns the number of replicas of the whole service that leaves at least `here` in this zone.
int replicas_for(const review::ServeView& v, double here) {
  if (here <= 1) return 1;  // one replica, however small the zone's share
  const int replicas = whole((here - 0.5) / v.share);
  return v.replicas_here(replicas) < here ? replicas + 1 : replicas;
}

// Returns true if the zone gives its own number of replicas.
bool has_own(const review::ServeView& v) {
  return !v.serve->zones.empty() && v.serve->zones[v.zone].replicas;
}

// Returns true if every zone of the service has the replicas that its peak needs, and devices for
// them.
bool serves_all(const review::Review& r, const design::Serve& serve, int replicas) {
  return std::ranges::all_of(r.serves, [&](const review::ServeView& v) {
    if (v.serve != &serve || !v.feasible() || has_own(v)) return true;
    const double here = v.replicas_here(replicas);
    return here >= v.replicas_needed && v.accelerators_for(here) <= v.devices_there;
  });
}

// Returns the number of replicas nearest to the given one that serves the peak on the available
// devices.
std::optional<int> replicas_that_serve(const review::Review& r, const review::ServeView& v) {
  int least = 1;
  for (const review::ServeView& zone : r.serves) {
    if (zone.serve == v.serve && zone.feasible() && !has_own(zone)) {
      least = std::max(least, replicas_for(zone, zone.replicas_needed));
    }
  }
  const int given = *design::most_replicas(*v.serve);
  if (given < least) return serves_all(r, *v.serve, least) ? std::optional(least) : std::nullopt;
  for (int replicas = given; replicas >= std::max(least, given - 10'000); --replicas) {
    if (serves_all(r, *v.serve, replicas)) return replicas;
  }
  return std::nullopt;
}

int nodes_for(const review::ServeView& v, double replicas) {
  return whole(v.accelerators_for(replicas) / machine::units_per_node(*v.fleet));
}

// Adds the nodes that this many replicas of a zone need.
Edit edit_machines(const review::Review& r, const review::ServeView& v, double replicas) {
  const int nodes = nodes_for(v, replicas);
  if (!v.serve->zones.empty()) return {v.fleet->path + ".count", std::to_string(nodes)};
  return edit_nodes(r, *v.workload, *v.fleet, nodes);
}

// Returns a number of nodes with which the batch ends in time; nothing if more nodes do not help.
std::optional<int> nodes_in_time(const review::BatchView& b) {
  const double tasks = b.tasks;
  const Seconds task = b.compute * (b.at_once / tasks);
  if (b.at_once >= tasks || task > *b.bound || b.read > *b.bound) return std::nullopt;
  const double slots_per_node = b.at_once / std::max(1, b.fleet->fleet->count);
  return static_cast<int>(std::ceil(tasks * (task / *b.bound) / slots_per_node * (1 + 1e-9)));
}

std::string slices_text(std::span<const cluster::MigDemand> demand) {
  std::string text;
  for (const cluster::MigDemand& d : demand) {
    if (d.count > 0)
      text += fmt::format("{}{}: {}", text.empty() ? "{ " : ", ", d.profile, d.count);
  }
  return text.empty() ? text : text + " }";
}

}  // namespace

int nodes_asked(const review::Review& r, const machine::Fleet& fleet) {
  double nodes = 0;
  for (const machine::Booking& b : r.book_of(fleet).bookings) {
    if (b.given) {
      nodes += std::max(b.nodes, b.needed);
    } else if (std::holds_alternative<design::Jobs>(b.workload->task)) {
      nodes += b.nodes;
    } else if (std::holds_alternative<design::Serve>(b.workload->task)) {
      nodes += b.needed;
    }
  }
  return whole(nodes);
}

std::optional<Edit> edit_step(const review::TrainView& t) {
  if (t.train->layout) return Edit{t.path + ".layout", "auto"};
  if (t.fleet == nullptr || t.model == nullptr || t.fleet->accelerators == 0) return std::nullopt;
  const int available = accelerators_for(t);
  if (!counts_to_try(t, available).empty()) return std::nullopt;
  const auto batch = nearest_batch(t, available);
  return batch ? std::optional(Edit{t.path + ".batch", std::to_string(*batch)}) : std::nullopt;
}

std::optional<Edit> edit_batch(const review::TrainView& t) {
  const auto batch = nearest_batch(t, t.fleet->accelerators);
  if (!batch || *batch == t.train->batch) return std::nullopt;
  return Edit{t.path + ".batch", std::to_string(*batch)};
}

std::optional<Edit> edit_split(const review::Review& r, const review::ServeView& v) {
  if (v.fleet == nullptr || v.model == nullptr) {
    return std::nullopt;
  }
  serving::ServingPrecision precision = v.query.precision;
  const auto split = jobs::narrowest_split(r.models(), v, precision);
  if (split && v.serve->tp && *v.serve->tp < *split) {
    return Edit{v.path + ".tp", std::to_string(*split)};
  }
  if (split || !v.fleet->device()->peak(catalog::Dtype::fp8)) return std::nullopt;
  precision.products = catalog::Dtype::fp8;
  precision.experts = catalog::Dtype::fp8;
  if (!jobs::narrowest_split(r.models(), v, precision)) return std::nullopt;
  return Edit{v.path + ".precision", "fp8"};
}

Edit edit_service(const review::Review& r, const review::ServeView& v) {
  if (has_own(v)) {
    const double fit = v.replicas_on(v.devices_there);
    if (fit < v.replicas_needed) return edit_machines(r, v, v.replicas_needed);
    return {review::replicas_path(v),
            std::to_string(whole(std::clamp(v.replicas, v.replicas_needed, fit)))};
  }
  const bool given = design::most_replicas(*v.serve).has_value();
  const auto replicas = given ? replicas_that_serve(r, v) : std::nullopt;
  if (replicas) return {review::replicas_path(v), std::to_string(*replicas)};
  // Either this zone's fleet is too small for its replicas, or another zone's is.
  const double needed = v.accelerators_for(v.replicas_needed);
  if (given && needed <= v.devices_there) {
    return {review::replicas_path(v), std::to_string(replicas_for(v, v.replicas_needed))};
  }
  return edit_machines(r, v, v.replicas_needed);
}

bool is_dark_too_long(const review::ServeView& v) {
  const auto& wanted = v.workload->terms.availability;
  return wanted && v.dark_missed > 0 && v.dark_missed >= 1 - *wanted;
}

std::optional<Edit> edit_failover(const review::Review& r, const review::ServeView& v) {
  if (!v.failover->first) return std::nullopt;
  const auto is_host = [&](const review::ServeView& other) {
    return other.workload == v.workload && other.zone == *v.failover->first;
  };
  const review::ServeView& host = *std::ranges::find_if(r.serves, is_host);
  if (!host.feasible()) return std::nullopt;
  PerSecond all = host.peak + v.failover->refused;
  for (const review::FailoverTo& to : v.failover->to) {
    if (to.zone == host.zone) all += to.rate;
  }
  const double needed = host.replicas_for(all);
  // The machines come first, then the replicas.
  if (host.accelerators_for(needed) > host.devices_there) return edit_machines(r, host, needed);
  if (host.serve->autoscale) {
    return Edit{review::replicas_path(host), std::to_string(replicas_for(host, needed))};
  }
  return Edit{fmt::format("{}.zones[{}].replicas", host.path, host.zone),
              std::to_string(whole(needed))};
}

std::optional<Edit> edit_availability(const review::Review& r, const review::ServeView& v) {
  int replicas = 1;
  for (const review::ServeView& zone : r.serves) {
    if (zone.serve != v.serve || !zone.feasible()) continue;
    if (is_dark_too_long(zone)) return edit_ride(site_of(r, *zone.fleet));
    const double wanted = *v.workload->terms.availability + zone.dark_missed;
    const auto here = review::replicas_for_availability(zone, wanted, *r.machine);
    if (!here) return std::nullopt;
    // The machines come first, then the replicas.
    if (zone.accelerators_for(*here) > zone.devices_there) return edit_machines(r, zone, *here);
    if (has_own(zone)) {
      if (*here > zone.replicas) return Edit{review::replicas_path(zone), std::to_string(*here)};
      continue;
    }
    replicas = std::max(replicas, replicas_for(zone, *here));
  }
  // Replicas are divided by traffic: if one zone gets more, so do the others.
  for (const review::ServeView& zone : r.serves) {
    if (zone.serve != v.serve || !zone.feasible()) continue;
    const double here = zone.replicas_here(replicas);
    if (zone.accelerators_for(here) > zone.devices_there) return edit_machines(r, zone, here);
  }
  return Edit{review::replicas_path(v), std::to_string(replicas)};
}

std::optional<Edit> edit_deadline(const review::Review& r, const review::TrainView& t,
                                  Seconds bound) {
  const auto& asked = t.workload->terms.nodes;
  const int now = asked.value_or(t.fleet->fleet->count);
  const int others = whole(r.book_of(*t.fleet).held_beside(*t.workload));
  // Assumes the same efficiency on more nodes, with a margin for what more nodes lose.
  for (const double spare : {1.0, 1.1, 1.25, 1.5}) {
    const double wanted = now * (t.run_time / bound) * spare;
    if (wanted > kMostNodes) return std::nullopt;
    const int nodes = whole(wanted);
    const bool own = asked && nodes + others <= t.fleet->fleet->count;
    if (asked && !own) return std::nullopt;
    if (!own && !site_carries(r, *t.fleet, nodes - now)) return std::nullopt;
    design::Design changed = r.design();
    if (own) {
      changed.workloads[t.workload->index.value()].terms.nodes = nodes;
    } else {
      changed.fleet[t.fleet->index.value()].count = nodes;
    }
    const review::Review after = review::run_stages(std::move(changed), r.models());
    if (after.trains.size() != r.trains.size()) return std::nullopt;
    const auto then =
        std::ranges::find(after.trains, t.workload->index,
                          [](const review::TrainView& v) { return v.workload->index; });
    if (!then->feasible() || then->run_time > bound) continue;
    return own ? Edit{t.path + ".nodes", std::to_string(nodes)}
               : Edit{t.fleet->path + ".count", std::to_string(nodes)};
  }
  return std::nullopt;
}

std::optional<Edit> edit_window(const review::Review& r, const review::BatchView& b) {
  const auto nodes = nodes_in_time(b);
  if (nodes && site_carries(r, *b.fleet, *nodes - b.fleet->fleet->count)) {
    return Edit{b.fleet->path + ".count", std::to_string(*nodes)};
  }
  return std::nullopt;
}

Edit edit_sizes(const review::Review& r, const review::JobsView& j) {
  const int per_host = std::max(1, j.fleet->accelerators_per_host);
  const int hosts = (j.largest + per_host - 1) / per_host;
  const int nodes = j.workload->terms.nodes
                        ? hosts
                        : whole(static_cast<double>(hosts) / j.fleet->hosts_per_node());
  Edit grown = edit_nodes(r, *j.workload, *j.fleet, nodes);
  if (grown.path.ends_with(".nodes") || !j.jobs->weights.empty()) return grown;
  const int there =
      per_host * std::min(j.fleet->hosts, j.workload->terms.nodes.value_or(j.fleet->hosts));
  std::vector<std::string> kept;
  for (const int size : j.jobs->sizes) {
    if (size <= there) kept.push_back(std::to_string(size));
  }
  return kept.empty() ? grown : Edit{j.path + ".sizes", list_text(kept)};
}

Edit edit_load(const review::Review& r, const review::JobsView& j) {
  const double growth = j.queue.load / kQueueLoad;
  const int count = j.fleet->fleet->count;
  const int now = std::min(count, j.workload->terms.nodes.value_or(count));
  const int nodes = whole(now * growth);
  Edit grown = edit_nodes(r, *j.workload, *j.fleet, nodes);
  if (grown.path.ends_with(".nodes")) return grown;
  if (!j.workload->terms.nodes && site_carries(r, *j.fleet, nodes - count)) return grown;
  return {j.path + ".rate", significant((*j.jobs->rate / growth).base() * 3600, 2) + " /h"};
}

Edit edit_slices(const review::Review& r, const review::MigView& m) {
  std::vector<cluster::MigDemand> demand;
  for (const design::MigSlices& s : m.fleet->fleet->mig) {
    const auto& unknown = m.packing.unplaced;
    if (std::ranges::find(unknown, s.profile) != unknown.end()) continue;
    demand.push_back({s.profile, std::min(s.count, kMostSlices)});
  }
  const auto profiles = cluster::profiles_of(r.catalog().mig_profiles, m.fleet->accelerator()->id);
  // Drops one instance at a time of the most common profile, until all fit together.
  while (!demand.empty() && pack_mig(demand, profiles).gpus.size() > 1) {
    --std::ranges::max_element(demand, {}, &cluster::MigDemand::count)->count;
  }
  return {m.fleet->path + ".mig", slices_text(demand)};
}

Edit edit_spares(const review::TrainView& t) {
  const double mean = t.failure.mean_in_repair;
  int few = t.failure.spares;
  // Twelve standard deviations above the mean, a Poisson distribution has no tail left.
  int enough = few + whole(mean + 12 * std::sqrt(mean) + 12);
  while (few + 1 < enough) {
    const int middle = few + (enough - few) / 2;
    (poisson_above(middle, mean) > kShortfallAllowed ? few : enough) = middle;
  }
  const int nodes =
      whole(static_cast<double>(enough - t.failure.spares) / t.fleet->hosts_per_node());
  return {t.fleet->path + ".spares", std::to_string(t.fleet->fleet->spares + nodes)};
}

}  // namespace orrery::rules
