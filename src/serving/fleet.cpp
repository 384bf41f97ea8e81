#include "serving/fleet.h"

#include <algorithm>
#include <limits>

namespace orrery::serving {
Fleet::Fleet(const FleetOptions& options, const EnginePolicy& policy, StepClock& clock)
    : options_(options), policy_(policy), clock_(clock), lives_(options.seed, "serving/lives") {
  for (int i = 0; i < options_.replicas; ++i) add_place(0, 0);
  if (options_.lose_one_at > 0 && !places_.empty()) {
    places_.front().dies = std::min(places_.front().dies, options_.lose_one_at);
  }
  next_scale_ = options_.scaler.target > 0 ? options_.scaler.period : kForever;
}

void Fleet::add_place(double at, double ready) {
  places_.push_back(
      {.sim = std::make_unique<ReplicaSim>(policy_, clock_),
       .ready = ready,
       .began = at,
       .dies = options_.mtbf > 0 ? ready + lives_.exponential(options_.mtbf) : kForever});
  const auto standing = std::ranges::count(places_, false, &Place::gone);
  run_.most_replicas = std::max(run_.most_replicas, static_cast<int>(standing));
}

double Fleet::load_of(const Place& place) const {
  if (options_.router == Router::least_tokens) return place.sim->outstanding_tokens();
  return static_cast<double>(place.sim->outstanding());
}

void Fleet::collect(Place& place) {
  for (RequestRecord r : place.sim->take_finished()) {
    r.arrived = (*arrivals_)[static_cast<std::size_t>(r.id)].at;
    r.place = static_cast<int>(&place - places_.data());
    run_.cached_tokens += r.cached;
    run_.prompt_tokens += r.prompt;
    run_.records.push_back(r);
  }
}

// What it held begins anew elsewhere; the clients wait on.
void Fleet::fail_one(Place& place) {
  place.sim->advance(place.dies);
  collect(place);
  const double at = place.dies;
  ++run_.failures;
  place.ready = at + options_.cold.total();
  place.dies = options_.mtbf > 0 ? place.ready + lives_.exponential(options_.mtbf) : kForever;
  const std::vector<int> lost = place.sim->drop_all();
  place.sim = std::make_unique<ReplicaSim>(policy_, clock_);
  run_.restarted_requests += static_cast<double>(lost.size());
  for (const int id : lost) send(id, (*arrivals_)[static_cast<std::size_t>(id)].spec, at);
}

void Fleet::scale(double at) {
  const Autoscaler& s = options_.scaler;
  double outstanding = 0;
  int standing = 0;
  for (const Place& p : places_) {
    if (p.gone || p.draining) continue;
    outstanding += static_cast<double>(p.sim->outstanding());
    ++standing;
  }
  seen_.emplace_back(at, outstanding);
  double known = 0;
  for (const auto& [when, value] : seen_) {
    if (when <= at - s.lag) known = value;
  }
  const int wanted = std::clamp(static_cast<int>(known / s.target + 0.999999), s.least, s.most);
  for (int i = standing; i < wanted; ++i) add_place(at, at + options_.cold.total());
  for (std::size_t i = places_.size(); i-- > 0 && standing > wanted;) {
    Place& p = places_[i];
    if (p.gone || p.draining) continue;
    p.draining = true;
    --standing;
  }
  for (Place& p : places_) {
    if (!p.draining || p.gone || p.sim->outstanding() > 0) continue;
    p.gone = true;
    run_.replica_seconds += at - p.began;
  }
}

void Fleet::advance(double until) {
  while (true) {
    double next = std::min(until, next_scale_);
    Place* dying = nullptr;
    for (Place& p : places_) {
      if (!p.gone && p.dies < next) next = p.dies, dying = &p;
    }
    for (Place& p : places_) {
      if (p.gone || p.sim->next_start() >= next) continue;
      p.sim->advance(next);
      collect(p);
    }
    if (dying != nullptr) {
      fail_one(*dying);
    } else if (next == next_scale_ && next < until) {
      scale(next);
      next_scale_ += options_.scaler.period;
    } else {
      return;
    }
  }
}

int Fleet::choose(const RequestSpec& spec, double at) {
  int best = -1;
  std::vector<int> up;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& p = places_[i];
    if (p.gone || p.draining || p.ready > at) continue;
    up.push_back(static_cast<int>(i));
    if (best < 0 || load_of(p) < load_of(places_[static_cast<std::size_t>(best)])) {
      best = static_cast<int>(i);
    }
  }
  if (up.empty()) return -1;
  const int home = up[spec.shared % up.size()];
  switch (options_.router) {
    case Router::round_robin:
      return up[turn_++ % up.size()];
    case Router::session:
      return home;
    case Router::prefix: {
      const double over = load_of(places_[static_cast<std::size_t>(home)]) -
                          load_of(places_[static_cast<std::size_t>(best)]);
      return over > options_.spill ? best : home;
    }
    case Router::least_requests:
    case Router::least_tokens:
      break;
  }
  return best;
}

void Fleet::send(int id, const RequestSpec& spec, double at) {
  const int chosen = choose(spec, at);
  if (chosen < 0) {
    // Nobody serves: it waits for the first that comes back.
    Place* soonest = nullptr;
    for (Place& p : places_) {
      if (!p.gone && !p.draining && (soonest == nullptr || p.ready < soonest->ready)) soonest = &p;
    }
    if (soonest == nullptr) {
      ++run_.refused;
      return;
    }
    soonest->sim->submit(id, spec, std::max(at, soonest->ready));
    return;
  }
  ReplicaSim& sim = *places_[static_cast<std::size_t>(chosen)].sim;
  if (options_.most_outstanding > 0 &&
      static_cast<double>(sim.outstanding()) >= options_.most_outstanding) {
    ++run_.refused;
    return;
  }
  const std::size_t before = sim.refused().size();
  sim.submit(id, spec, at);
  if (sim.refused().size() > before) ++run_.refused;
}

FleetRun Fleet::run(const std::vector<Timed>& arrivals) {
  arrivals_ = &arrivals;
  double last = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    last = arrivals[i].at;
    advance(last);
    send(static_cast<int>(i), arrivals[i].spec, last);
  }
  options_.mtbf = 0;  // the drain after the last arrival is no part of the load
  next_scale_ = kForever;
  for (Place& p : places_) p.dies = kForever;
  advance(kForever);
  double end = last;
  for (const RequestRecord& r : run_.records) end = std::max(end, r.last);
  for (const Place& p : places_) {
    if (!p.gone) run_.replica_seconds += end - p.began;
  }
  run_.served = static_cast<double>(run_.records.size());
  std::ranges::sort(run_.records, {}, &RequestRecord::id);
  run_.latency = summarise(run_.records);
  return std::move(run_);
}

}  // namespace orrery::serving
