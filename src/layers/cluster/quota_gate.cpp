#include "layers/cluster/quota_gate.h"

namespace orrery::cluster {

int QuotaGate::add_group(std::size_t cohort, const QuotaState& group) {
  if (cohorts_.size() <= cohort) cohorts_.resize(cohort + 1);
  cohorts_[cohort].push_back(group);
  seats_.push_back({.cohort = cohort, .member = cohorts_[cohort].size() - 1});
  return static_cast<int>(seats_.size()) - 1;
}

bool QuotaGate::admits(const QueuedJob& job) const {
  const Seat& seat = seats_[job.group];
  const QuotaVerdict verdict = check_quota(cohorts_[seat.cohort], seat.member, job.ask.gpus);
  return verdict == QuotaVerdict::within || verdict == QuotaVerdict::borrows;
}

void QuotaGate::add_left(std::vector<double>& left) const {
  for (const std::vector<QuotaState>& cohort : cohorts_) {
    double of_cohort = 0;
    for (const QuotaState& q : cohort) of_cohort += q.guaranteed - q.used;
    left.push_back(of_cohort);
  }
  for (const Seat& seat : seats_) {
    const QuotaState& q = cohorts_[seat.cohort][seat.member];
    left.push_back(static_cast<double>(q.guaranteed) + q.may_borrow - q.used);
  }
}

LimitUses QuotaGate::uses_of(const QueuedJob& job) const {
  const auto amount = static_cast<double>(job.ask.gpus);
  LimitUses uses;
  uses.add({.limit = static_cast<std::uint32_t>(seats_[job.group].cohort), .amount = amount});
  uses.add({.limit = static_cast<std::uint32_t>(cohorts_.size() + job.group), .amount = amount});
  return uses;
}

bool QuotaGate::could_admit(int group, int gpus) const {
  const Seat& seat = seats_[static_cast<std::size_t>(group)];
  std::vector<QuotaState> empty = cohorts_[seat.cohort];
  for (QuotaState& q : empty) q.used = 0;
  const QuotaVerdict verdict = check_quota(empty, seat.member, gpus);
  return verdict == QuotaVerdict::within || verdict == QuotaVerdict::borrows;
}

}  // namespace orrery::cluster
