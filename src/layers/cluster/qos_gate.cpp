#include "layers/cluster/qos_gate.h"

namespace orrery::cluster {
namespace {

double left_of(const std::optional<int>& most, int used) {
  return most ? static_cast<double>(*most) - used : std::numeric_limits<double>::infinity();
}

bool is_within(const std::optional<int>& most, int used) { return !most || used <= *most; }

}  // namespace

int QosGate::add(const QosLimits& limits) {
  all_.push_back({.limits = limits});
  return static_cast<int>(all_.size());
}

std::uint32_t QosGate::seat_of(int qos, std::uint64_t user) {
  const auto next = static_cast<std::uint32_t>(seats_.size());
  const auto [seat, is_new] = seat_of_user_.emplace(std::pair(qos, user), next);
  if (is_new) seats_.push_back({.qos = qos});
  return seat->second;
}

bool QosGate::could_admit(int qos, int gpus) const {
  if (qos == 0) return true;
  const QosLimits& l = all_[static_cast<std::size_t>(qos) - 1].limits;
  return is_within(l.nodes, nodes_of(gpus)) && is_within(l.nodes_per_user, nodes_of(gpus));
}

void QosGate::count(const QueuedJob& job, int sign) {
  sign > 0 ? behind_.started(job) : behind_.ended(job);
  if (job.qos == 0) return;
  const int nodes = sign * nodes_of(job.ask.gpus);
  all_[job.qos - 1].nodes += nodes;
  seats_[job.qos_seat].nodes += nodes;
  seats_[job.qos_seat].jobs += sign;
}

bool QosGate::admits_user(const QueuedJob& job) const {
  const QosLimits& l = all_[job.qos - 1].limits;
  const Seat& seat = seats_[job.qos_seat];
  return is_within(l.nodes_per_user, seat.nodes + nodes_of(job.ask.gpus)) &&
         is_within(l.jobs_per_user, seat.jobs + 1);
}

bool QosGate::admits(const QueuedJob& job) const {
  if (!behind_.admits(job)) return false;
  if (job.qos == 0) return true;
  const Kind& kind = all_[job.qos - 1];
  return is_within(kind.limits.nodes, kind.nodes + nodes_of(job.ask.gpus)) && admits_user(job);
}

bool QosGate::passes_over(const QueuedJob& job) const {
  return (job.qos != 0 && !admits_user(job)) || behind_.passes_over(job);
}

void QosGate::add_left(std::vector<double>& left) const {
  behind_.add_left(left);
  for (const Kind& k : all_) left.push_back(left_of(k.limits.nodes, k.nodes));
  for (const Seat& s : seats_) {
    const QosLimits& l = all_[static_cast<std::size_t>(s.qos) - 1].limits;
    left.push_back(left_of(l.nodes_per_user, s.nodes));
    left.push_back(left_of(l.jobs_per_user, s.jobs));
  }
}

LimitUses QosGate::uses_of(const QueuedJob& job) const {
  LimitUses uses = behind_.uses_of(job);
  if (job.qos == 0) return uses;
  const auto first = static_cast<std::uint32_t>(behind_.limits());
  const auto of_users = first + static_cast<std::uint32_t>(all_.size());
  const double nodes = nodes_of(job.ask.gpus);
  uses.add({.limit = first + job.qos - 1, .amount = nodes});
  uses.add({.limit = of_users + 2 * job.qos_seat, .amount = nodes});
  uses.add({.limit = of_users + 2 * job.qos_seat + 1, .amount = 1});
  return uses;
}

}  // namespace orrery::cluster
