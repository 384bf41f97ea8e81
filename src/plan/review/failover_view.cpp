#include "plan/review/failover_view.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "layers/facility/ride_through.h"
#include "layers/traffic/failover.h"
#include "model/machine/site_load.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/site_view.h"

namespace orrery::review {
namespace {

using traffic::Region;
using traffic::RegionNow;

constexpr double kRoomForAll = 1e300;

// The zones of one service.
class Zones {
 public:
  Zones(std::span<ServeView> views, const machine::Machine& m) : views_(views), m_(m) {
    const Seconds farthest = jobs::farthest_failover(*views.front().serve);
    for (const ServeView& v : views) {
      Region region{.farthest = farthest.base()};
      for (const jobs::FailoverWay& way : v.ways) {
        region.ways.push_back({.to = way.zone, .round_trip = way.away().base()});
      }
      regions_.push_back(std::move(region));
    }
  }

  void lose(std::size_t lost) {
    ServeView& v = views_[lost];
    if (!v.feasible() || v.serve->zones[lost].failover.empty()) return;
    for (const traffic::RegionMove& m : routed(lost, 0, kRoomForAll).moves) {
      PerSecond& asked = views_[m.to].guests_asked;
      asked = max(asked, PerSecond(m.rate));
    }
    const traffic::RegionRouting now = routed(lost, 0, 0);
    FailoverView view{.refused = PerSecond(now.refused[lost])};
    if (!v.ways.empty()) view.first = v.ways.front().zone;
    for (const traffic::RegionMove& m : now.moves) {
      if (m.from == lost) view.to.push_back(moved(lost, m));
    }
    const double left = replicas_when_short(v) * v.capacity_per_replica.base();
    const double over = v.peak.base() - left;
    view.spilled = over > 0 ? routed(lost, left, 0).away(lost) / over : 1;
    v.failover = std::move(view);
  }

 private:
  // Routes with `left` of one zone; the others have their replicas' room, or room for all.
  traffic::RegionRouting routed(std::size_t lost, double left, double room) const {
    std::vector<RegionNow> now;
    for (const ServeView& v : views_) {
      const double carries = v.feasible() ? v.replicas * v.capacity_per_replica.base() : 0;
      now.push_back({.load = v.feasible() ? v.peak.base() : 0,
                     .capacity = carries > 0 ? std::max(carries, room) : 0});
    }
    now[lost].capacity = left;
    std::vector<bool> given_up(views_.size());
    given_up[lost] = left <= 0;
    return route(regions_, now, given_up);
  }

  FailoverTo moved(std::size_t from, const traffic::RegionMove& move) const {
    const ServeView& there = views_[move.to];
    const auto way = std::ranges::find(views_[from].ways, move.to, &jobs::FailoverWay::zone);
    const PerSecond all = there.peak + PerSecond(move.rate);
    const ServeView full = with_guests(there, PerSecond(move.rate), m_);
    return {.zone = move.to,
            .way = *way,
            .rate = PerSecond(move.rate),
            .replicas_needed = there.replicas_for(all),
            .replicas = there.replicas,
            .load = all / (there.capacity_per_replica * there.replicas),
            .ttft_p99 = full.ttft_p99 + way->away(),
            .latency_p99 = full.latency_p99 + way->away(),
            .line = jobs::request_bytes(*there.serve, there.request) * PerSecond(move.rate)};
  }

  std::span<ServeView> views_;
  const machine::Machine& m_;
  std::vector<Region> regions_;
};

// Shares of time without power.
struct Darkness {
  double all = 0;
  double unseen = 0;
};
Darkness darkness_of(const ServeView& v, const std::vector<SiteView>& sites, Seconds after) {
  if (v.fleet->site == nullptr || v.fleet->rented()) return {};
  const SiteView& here = sites[v.fleet->site_index.value()];
  const design::Site& site = *here.site;
  if (!site.outage_mtbf) return {};
  const facility::BackupPower backup{site.battery, site.generator};
  const double outages = years(1) / *site.outage_mtbf;
  const Seconds mean = site.outage.value_or(machine::kOutageLength);
  const double load = load_share(here);
  return {dark_a_year(backup, outages, mean, load) / years(1),
          dark_a_year(backup, outages, mean, load, after) / years(1)};
}

// Calls `visit` with the views of each service: one, or one per zone.
template <class Visit>
void each_service(std::span<ServeView> views, Visit visit) {
  while (!views.empty()) {
    const std::size_t zones = std::max<std::size_t>(1, views.front().serve->zones.size());
    visit(views.first(zones));
    views = views.subspan(zones);
  }
}

// Returns the share of time in which the zones that take this zone's users have enough replicas for
// both; `service` are the views of all its zones.
double others_up(std::span<const ServeView> service, const ServeView& v, const machine::Machine& m,
                 const std::vector<SiteView>& sites) {
  PerSecond moved;
  for (const FailoverTo& to : v.failover->to) moved += to.rate;
  double up = 0;
  for (const FailoverTo& to : v.failover->to) {
    ServeView host = service[to.zone];
    host.replicas_needed =
        (host.peak + to.rate) / (host.capacity_per_replica * figures::assumptions::kReplicaLoad);
    const double dark = darkness_of(host, sites, Seconds(0)).all;
    up += to.rate / moved * availability_with(host, host.replicas, m) * (1 - dark);
  }
  return up;
}

}  // namespace

double FailoverView::served(PerSecond peak) const {
  return peak > PerSecond(0) ? 1 - refused / peak : 1;
}

double FailoverView::load() const {
  double most = 0;
  for (const FailoverTo& t : to) most = std::max(most, t.load);
  return most;
}

Seconds FailoverView::ttft_p99() const {
  Seconds most;
  for (const FailoverTo& t : to) most = max(most, t.ttft_p99);
  return most;
}

Seconds FailoverView::latency_p99() const {
  Seconds most;
  for (const FailoverTo& t : to) most = max(most, t.latency_p99);
  return most;
}

void view_failovers(std::vector<ServeView>& views, const machine::Machine& m) {
  each_service(views, [&m](std::span<ServeView> service) {
    if (service.front().serve->zones.empty()) return;
    Zones zones(service, m);
    for (std::size_t z = 0; z < service.size(); ++z) zones.lose(z);
  });
}

namespace {

void settle(std::span<ServeView> service, const machine::Machine& m,
            const std::vector<SiteView>& sites) {
  for (ServeView& v : service) {
    if (!v.feasible() || v.replicas_up <= 0) continue;  // too few for the peak in any case
    const Seconds after =
        v.serve->zones.empty()
            ? Seconds(0)
            : v.serve->zones[v.zone].failover_after.value_or(design::kFailoverAfter);
    const Darkness dark = darkness_of(v, sites, after);
    traffic::RegionLosses losses{.dark = dark.all, .unseen = dark.unseen, .few = 1 - v.replicas_up};
    v.dark = dark.all;
    v.availability_alone = region_availability(losses);
    if (v.failover && !v.failover->to.empty()) {
      losses.carried = v.failover->served(v.peak);
      losses.spilled = v.failover->spilled;
      losses.others = others_up(service, v, m, sites);
    }
    v.availability = region_availability(losses);
    losses.few = 0;
    v.dark_missed = dark.all > 0 ? 1 - region_availability(losses) : 0;
  }
}

}  // namespace

void settle_availability(std::vector<ServeView>& views, const machine::Machine& m,
                         const std::vector<SiteView>& sites) {
  each_service(views, [&](std::span<ServeView> service) { settle(service, m, sites); });
}

}  // namespace orrery::review
