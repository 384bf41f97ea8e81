#include "layers/traffic/fleet.h"

#include <algorithm>
#include <limits>

namespace orrery::traffic {
Fleet::Fleet(const FleetOptions& options, const engines::EnginePolicy& policy,
             serving::StepClock& clock)
    : options_(options),
      policy_(policy),
      clock_(clock),
      lives_(options.seed, "serving/lives"),
      policy_of_size_(options.scaler, options.replicas) {
  for (int i = 0; i < options_.replicas; ++i) add_place(0, 0);
  if (options_.lose_one_at > 0 && !places_.empty()) {
    places_.front().dies = std::min(places_.front().dies, options_.lose_one_at);
  }
  next_scale_ = options_.scaler.target > 0 ? options_.scaler.period : kForever;
}

void Fleet::add_place(double at, double ready) {
  places_.push_back(
      {.sim = std::make_unique<ReplicaSim>(policy_, clock_),
       .number = static_cast<int>(places_.size()),
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
    const Timed& asked = asked_[static_cast<std::size_t>(r.id)];
    r.arrived = asked.at;
    r.session = asked.spec.session;
    r.place = place.number;
    run_.cached_tokens += r.cached;
    run_.fetched_tokens += r.fetched;
    run_.prompt_tokens += r.prompt;
    run_.records.push_back(r);
    askers_->answered(r);
  }
}

void Fleet::refuse(int id) {
  ++run_.refused;
  askers_->refused(id);
}

bool Fleet::is_idle() const {
  return std::ranges::all_of(
      places_, [](const Place& p) { return p.gone || p.sim->next_start() == kForever; });
}

// Its requests start again on other replicas; the clients keep waiting.
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
  for (const int id : lost) send(id, asked_[static_cast<std::size_t>(id)].spec, at);
}

void Fleet::scale(double at) {
  double outstanding = 0;
  int standing = 0;
  for (const Place& p : places_) {
    if (p.gone || p.draining) continue;
    outstanding += static_cast<double>(p.sim->outstanding());
    ++standing;
  }
  const int wanted = policy_of_size_.look(at, outstanding);
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

// Rendezvous hashing: the replica with the highest draw for this name. If a replica leaves, only
// its own names move.
int Fleet::home_of(std::uint64_t name, const std::vector<int>& up) const {
  int home = up.front();
  std::uint64_t highest = 0;
  for (const int place : up) {
    const std::uint64_t both = name * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(place);
    const std::uint64_t draw = RandomStream(both, "serving/home").next();
    if (draw >= highest) highest = draw, home = place;
  }
  return home;
}

int Fleet::choose(const engines::RequestSpec& spec, double at) {
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
  switch (options_.router) {
    case Router::round_robin:
      return up[turn_++ % up.size()];
    case Router::session:
      return home_of(spec.session != 0 ? spec.session : spec.shared, up);
    case Router::prefix: {
      const std::uint64_t prefix = spec.talks ? spec.content : spec.shared;
      if (prefix == 0) return best;
      const int home = home_of(prefix, up);
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

void Fleet::send(int id, const engines::RequestSpec& spec, double at) {
  const int chosen = choose(spec, at);
  if (chosen < 0) {
    // No replica serves: the request waits for the first that will be ready.
    Place* soonest = nullptr;
    for (Place& p : places_) {
      if (!p.gone && !p.draining && (soonest == nullptr || p.ready < soonest->ready)) soonest = &p;
    }
    if (soonest == nullptr) {
      refuse(id);
      return;
    }
    soonest->sim->submit(id, spec, std::max(at, soonest->ready));
    return;
  }
  ReplicaSim& sim = *places_[static_cast<std::size_t>(chosen)].sim;
  if (options_.most_outstanding > 0 &&
      static_cast<double>(sim.outstanding()) >= options_.most_outstanding) {
    refuse(id);
    return;
  }
  const std::size_t before = sim.refused().size();
  sim.submit(id, spec, at);
  if (sim.refused().size() > before) refuse(id);
}

namespace {

// Requests that are all known from the start.
class AskersInOrder final : public Askers {
 public:
  explicit AskersInOrder(const std::vector<Timed>& all) : all_(all) {}
  double next() const override { return at_ < all_.size() ? all_[at_].at : kForever; }
  Timed take() override { return all_[at_++]; }

 private:
  const std::vector<Timed>& all_;
  std::size_t at_ = 0;
};

}  // namespace

FleetRun Fleet::run(const std::vector<Timed>& arrivals) {
  asked_.reserve(arrivals.size());
  AskersInOrder askers(arrivals);
  return run(askers);
}

// Replicas are simulated ahead only as far as no answer can cause a new request.
FleetRun Fleet::run(Askers& askers) {
  askers_ = &askers;
  double now = 0;
  double last = 0;
  while (true) {
    if (options_.stop && options_.stop()) return std::move(run_);
    const double next = askers.next();
    const double patience = askers.patience();
    const double sure = patience == kForever || is_idle() ? kForever : now + patience;
    if (next == kForever && sure == kForever) break;
    now = std::min(next, sure);
    advance(now);
    // Answers in the meantime may have caused requests that come before the next known one.
    if (now < next || askers.next() < next) continue;
    last = now;
    const auto id = static_cast<int>(asked_.size());
    asked_.push_back(askers.take());
    send(id, asked_.back().spec, now);
  }
  options_.mtbf = 0;  // the drain after the last arrival is not part of the load
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

}  // namespace orrery::traffic
