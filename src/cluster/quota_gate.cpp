#include "cluster/quota_gate.h"

namespace orrery::cluster {

int QuotaGate::add_group(std::size_t cohort, const QuotaState& group) {
  if (cohorts_.size() <= cohort) cohorts_.resize(cohort + 1);
  cohorts_[cohort].push_back(group);
  seats_.push_back({.cohort = cohort, .member = cohorts_[cohort].size() - 1});
  return static_cast<int>(seats_.size()) - 1;
}

bool QuotaGate::admits(const QueuedJob& job) const {
  const Seat& seat = seats_[job.qos];
  const QuotaVerdict verdict = check_quota(cohorts_[seat.cohort], seat.member, job.ask.gpus);
  return verdict == QuotaVerdict::within || verdict == QuotaVerdict::borrows;
}

bool QuotaGate::could_admit(int group, int gpus) const {
  const Seat& seat = seats_[static_cast<std::size_t>(group)];
  std::vector<QuotaState> empty = cohorts_[seat.cohort];
  for (QuotaState& q : empty) q.used = 0;
  const QuotaVerdict verdict = check_quota(empty, seat.member, gpus);
  return verdict == QuotaVerdict::within || verdict == QuotaVerdict::borrows;
}

}  // namespace orrery::cluster
