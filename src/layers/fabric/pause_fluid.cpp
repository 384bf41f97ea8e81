#include "layers/fabric/pause_fluid.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"

namespace orrery::fabric {
namespace {

constexpr double kNearlyAll = 1 - 1e-12;  // share of all packets marked
// A sender never falls below this share of its line rate, because NICs have a minimum rate.
constexpr double kLeastRate = 1e-3;

}  // namespace

double EcnMarking::probability(double queue) const {
  if (queue <= kmin.base()) return 0;
  if (queue > kmax.base()) return 1;
  return pmax * (queue - kmin.base()) / (kmax - kmin).base();
}

PauseFluid::PauseFluid(std::vector<double> capacities, const PauseOptions& options)
    : options_(options), dt_(options.step.base()), links_(capacities.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l].take = capacities[l] * dt_;
  const auto slots = static_cast<std::size_t>(std::max(1, options.way_back));
  marks_.assign(slots, std::vector<double>(links_.size(), 0));
  any_mark_.assign(slots, false);
}

std::size_t PauseFluid::add_flow(std::span<const LinkId> path) {
  Flow f{.first = cells_.size(), .cells = path.size() - 1, .nic = path.front()};
  f.line = f.rate = f.target = at(path.front()).take / dt_;
  for (std::size_t h = 1; h < path.size(); ++h) {
    cells_.push_back({.in = path[h - 1], .out = path[h]});
    at(path[h - 1]).is_ingress = true;
  }
  flows_.push_back(f);
  return flows_.size() - 1;
}

void PauseFluid::stick(LinkId link) {
  at(link).stuck = true;
  at(link).paused = true;
}

double PauseFluid::queue(LinkId link) const {
  return std::max(0.0, at(link).waiting - at(link).take);
}

double PauseFluid::inside() const {
  double sum = 0;
  for (const Cell& c : cells_) sum += c.held;
  return sum;
}

void PauseFluid::run(Seconds span) {
  const auto until = steps_ + static_cast<std::uint64_t>(std::llround(span.base() / dt_));
  while (steps_ < until) step();
  add_up();
}

void PauseFluid::step() {
  add_up();
  drop_beyond_headroom();
  mark();
  settle_pauses();
  send();
  if (options_.marking) control();
  ++steps_;
}

void PauseFluid::add_up() {
  for (Link& l : links_) l.waiting = l.brought = l.wanted = 0;
  for (const Cell& c : cells_) {
    at(c.out).waiting += c.held;
    at(c.in).brought += c.held;
  }
}

void PauseFluid::drop_beyond_headroom() {
  const double limit = (options_.xoff + options_.headroom).base();
  const double Link::* held = options_.pauses ? &Link::brought : &Link::waiting;
  const auto is_over = [&](const Link& l) { return l.*held - l.take > limit; };
  if (std::ranges::none_of(links_, is_over)) return;
  for (Cell& c : cells_) {
    const Link& port = at(options_.pauses ? c.in : c.out);
    if (!is_over(port)) continue;
    const double kept = c.held * (limit + port.take) / (port.*held);
    dropped_ += c.held - kept;
    c.held = kept;
  }
  add_up();
}

void PauseFluid::mark() {
  const std::size_t slot = steps_ % marks_.size();
  bool any = false;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const double waits = std::max(0.0, links_[l].waiting - links_[l].take);
    highest_queue_ = std::max(highest_queue_, waits);
    if (!options_.marking) continue;
    const double p = waits > 0 ? options_.marking->probability(waits) : 0;
    any = any || p > 0;
    marks_[slot][l] = p;
  }
  any_mark_[slot] = any;
}

// A pause takes effect one step after its cause. Then computes what each link takes.
void PauseFluid::settle_pauses() {
  const double xoff = options_.xoff.base();
  for (Link& l : links_) {
    l.paused = !l.shut && (l.stuck || l.pausing);
    const double behind = l.brought - l.take;
    if (options_.pauses && l.is_ingress && !l.pausing && behind > xoff) {
      l.pausing = true;
      ++pauses_;
    } else if (l.pausing && behind < xoff * options_.xon) {
      l.pausing = false;
    }
    l.stopped_s = l.paused && l.waiting > 0 ? l.stopped_s + dt_ : 0;
    if (options_.watchdog && l.stopped_s >= options_.watchdog->base()) {
      l.shut = true;
      l.paused = false;
    }
    l.share = l.shut ? 1 : l.paused || l.waiting <= 0 ? 0 : std::min(1.0, l.take / l.waiting);
  }
  for (const Flow& f : flows_) at(f.nic).wanted += f.rate * dt_;
}

void PauseFluid::send() {
  for (Flow& f : flows_) {
    const Link& nic = at(f.nic);
    const double entering = nic.paused ? 0 : f.rate * dt_ * std::min(1.0, nic.take / nic.wanted);
    sent_ += entering;
    move(f, entering);
  }
  for (Cell& c : cells_) {
    c.held += c.coming;
    c.coming = 0;
  }
}

void PauseFluid::move(Flow& flow, double entering) {
  double comes = entering;
  for (std::size_t i = flow.first; i < flow.first + flow.cells; ++i) {
    Cell& c = cells_[i];
    const Link& out = at(c.out);
    const double goes = c.held * out.share;
    c.held -= goes;
    c.coming += comes;
    if (out.shut) dropped_ += goes;
    comes = out.shut ? 0 : goes;
  }
  flow.arrives = comes > 0;
  flow.delivered += comes;
}

void PauseFluid::control() {
  // The oldest slot is overwritten next.
  const std::size_t slot = (steps_ + 1) % marks_.size();
  const std::vector<double>& marks = marks_[slot];
  for (Flow& f : flows_) {
    double clear = 1;
    if (any_mark_[slot] && f.arrives) {
      for (std::size_t i = f.first; i < f.first + f.cells; ++i) {
        clear *= 1 - marks[static_cast<std::size_t>(cells_[i].out)];
      }
    }
    if (clear == 1 && f.rate >= f.line) {
      f.alpha -= f.alpha * options_.control.gain * dt_ / options_.control.alpha_gap.base();
      continue;
    }
    steer(f, std::min(kNearlyAll, 1 - clear));
  }
}

void PauseFluid::steer(Flow& f, double p) const {
  const RateControl& c = options_.control;
  const double packets = f.rate / c.packet.base();  // per second
  const double a = -math::log1p(-p);
  const auto hit = [&](Seconds t) { return -math::expm1(-a * packets * t.base()); };
  // Stages of increase per packet, counted by bytes and by time.
  const auto stages = [&](double span) { return p > 0 ? p / math::expm1(a * span) : 1 / span; };
  const double by_bytes = c.counter / c.packet;
  const double by_time = c.timer.base() * packets;
  const double cut = hit(c.cut_gap) / c.cut_gap.base();
  const double gap = f.target - f.rate;
  const double bytes_stage = stages(by_bytes);
  const double time_stage = stages(by_time);
  const double more = c.increase * f.line * packets *
                      (math::exp(-a * c.fast_stages * by_bytes) * bytes_stage +
                       math::exp(-a * c.fast_stages * by_time) * time_stage);
  const double rate_change =
      -f.rate * f.alpha / 2 * cut + gap / 2 * packets * (bytes_stage + time_stage);
  const double target_change = -gap * cut + more;
  f.alpha += dt_ * c.gain / c.alpha_gap.base() * (hit(c.alpha_gap) - f.alpha);
  f.rate = std::clamp(f.rate + dt_ * rate_change, f.line * kLeastRate, f.line);
  f.target = std::clamp(f.target + dt_ * target_change, f.line * kLeastRate, f.line);
}

MarkedQueue marked_queue(const EcnMarking& marking, const RateControl& control, int flows,
                         BytesPerSecond link) {
  const double packets = link / control.packet / PerSecond(1);  // per second
  const double n = flows;
  const double stages =
      1 / (control.counter / control.packet) + n / (control.timer.base() * packets);
  const double cube = control.increase * packets * n * n /
                      (control.alpha_gap.base() * packets * packets) * stages * stages;
  MarkedQueue m{.probability = math::pow(cube, 1.0 / 3)};
  m.is_marked_enough = m.probability <= marking.pmax;
  m.queue = m.is_marked_enough
                ? marking.kmin + (marking.kmax - marking.kmin) * (m.probability / marking.pmax)
                : marking.kmax;
  return m;
}

}  // namespace orrery::fabric
