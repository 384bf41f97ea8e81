#include "study/rehearse/rehearsal.h"

#include <algorithm>
#include <utility>

namespace orrery::rehearse {
namespace {

// Start of the clock: a midnight, so that printed times begin at 00:00:00.
constexpr Seconds kEpoch = seconds(1'700'006'400);
// Faults happen in this first share of the run, so that failed nodes have time to come back.
constexpr double kFaultShare = 0.9;

FaultKind kind_of(double draw, bool has_fence) {
  if (has_fence && draw >= 0.9) return FaultKind::silent;
  if (draw < 0.5) return FaultKind::dies;
  return draw < 0.7 ? FaultKind::flaps : FaultKind::unfit;
}

}  // namespace

std::string to_text(const InjectedFault& fault) {
  switch (fault.kind) {
    case FaultKind::dies:
      return "node " + fault.node + " dies";
    case FaultKind::flaps:
      return "node " + fault.node + " goes down and comes back at once";
    case FaultKind::unfit:
      return "a health check drains node " + fault.node + " as unfit";
    case FaultKind::silent:
      break;
  }
  return "node " + fault.node + " stops answering";
}

Rehearsal::Rehearsal(const RehearsalOptions& options)
    : options_(options),
      kernel_(options.seed),
      slurm_(kernel_, {.nodes = options.nodes, .epoch = kEpoch}),
      random_(kernel_.stream("twin/rehearsal")) {
  for (int i = 0; i < options.spares; ++i) {
    slurm_.make_spare("n" + std::to_string(options.nodes - i));
  }
  for (int i = 0; i < options.jobs; ++i) slurm_.submit(options.job_nodes);
  for (int i = 0; i < options.faults; ++i) {
    const Seconds at = options.length * (kFaultShare * random_.uniform());
    kernel_.schedule(sim::SimTime::from(at), sim::EventRank::start, *this, kFault);
  }
}

RehearsalResult Rehearsal::run(RehearsalDriver& driver) {
  driver_ = &driver;
  result_.is_complete = true;
  kernel_.schedule(kernel_.now(), sim::EventRank::settle, *this, kTick);
  kernel_.run(sim::SimTime::from(options_.length));
  collect();
  return std::move(result_);
}

void Rehearsal::on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kTick:
      return tick(kernel);
    case kFault:
      return inject(kernel);
    default:
      slurm_.repair_node("n" + std::to_string(data));
  }
}

void Rehearsal::tick(sim::Kernel& kernel) {
  if (const auto next = driver_->tick()) {
    kernel.schedule(kernel.now().after(*next), sim::EventRank::settle, *this, kTick);
  } else {
    result_.is_complete = false;
    kernel.stop();
  }
}

// Returns a working node; empty if there is none.
std::string Rehearsal::pick_node() {
  std::vector<std::string> well;
  const auto view = slurm_.look();
  for (const failure::NodeView& node : view->nodes) {
    if (!node.down && !node.silent && !node.drained) well.push_back(node.name);
  }
  return well.empty() ? std::string() : well[random_.below(well.size())];
}

void Rehearsal::inject(sim::Kernel& kernel) {
  const InjectedFault fault{.at = kernel.now().seconds(),
                            .kind = kind_of(random_.uniform(), options_.has_fence),
                            .node = pick_node()};
  if (fault.node.empty()) return;
  switch (fault.kind) {
    case FaultKind::dies:
      slurm_.fail_node(fault.node);
      break;
    case FaultKind::flaps:
      slurm_.flap_node(fault.node);
      break;
    case FaultKind::unfit:
      slurm_.break_node(fault.node);
      break;
    case FaultKind::silent:
      slurm_.silence_node(fault.node);
      break;
  }
  result_.faults.push_back(fault);
  driver_->on_fault(fault);
  const std::uint64_t number = std::stoull(fault.node.substr(1));
  kernel.schedule(kernel.now().after(options_.repair), sim::EventRank::start, *this, kRepair,
                  number);
}

void Rehearsal::collect() {
  for (const std::string& job : slurm_.jobs()) {
    const auto& runs = slurm_.runs(job);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      result_.outages.push_back(runs[i].start - runs[i - 1].end);
    }
    if (!slurm_.is_running(job)) result_.waiting.push_back(job);
  }
  std::ranges::sort(result_.outages);
  result_.overlaps = slurm_.overlaps();
}

}  // namespace orrery::rehearse
