// Limits of qualities of service, checked before quotas when a job starts: how many nodes all jobs
// of a QOS hold (Slurm's GrpTRES), and how many nodes and jobs one user has in it (MaxTRESPerUser,
// MaxJobsPerUser).
//
// A job that only exceeds its user's limit is skipped and delays no other job, as in Slurm; a job
// that exceeds its QOS's limit keeps its place in the queue (start_gate.h). A job on part of a node
// counts as one node, so two on the same node count as two.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

struct QosLimits {
  std::optional<int> nodes;
  std::optional<int> nodes_per_user;
  std::optional<int> jobs_per_user;
};

class QosGate final : public StartGate {
 public:
  // `behind`, the next gate to ask, must outlive this one.
  QosGate(StartGate& behind, int slots_per_node) : behind_(behind), slots_(slots_per_node) {}

  // Adds a QOS and returns its number, starting at 1.
  int add(const QosLimits& limits);
  // Returns the number of a user's seat in a QOS.
  std::uint32_t seat_of(int qos, std::uint64_t user);
  // Returns true if a job of `gpus` GPUs could start with no other job in the QOS.
  bool could_admit(int qos, int gpus) const;

  bool admits(const QueuedJob& job) const override;
  void started(const QueuedJob& job) override { count(job, 1); }
  void ended(const QueuedJob& job) override { count(job, -1); }
  bool passes_over(const QueuedJob& job) const override;
  std::size_t limits() const override { return behind_.limits() + all_.size() + 2 * seats_.size(); }
  void add_left(std::vector<double>& left) const override;
  LimitUses uses_of(const QueuedJob& job) const override;

 private:
  struct Seat {
    int qos = 0;
    int nodes = 0;
    int jobs = 0;
  };
  struct Kind {
    QosLimits limits;
    int nodes = 0;  // nodes in use
  };

  int nodes_of(int gpus) const { return (gpus + slots_ - 1) / slots_; }
  void count(const QueuedJob& job, int sign);
  bool admits_user(const QueuedJob& job) const;

  StartGate& behind_;
  int slots_;
  std::vector<Kind> all_;  // indexed by QOS number - 1
  std::vector<Seat> seats_;
  std::map<std::pair<int, std::uint64_t>, std::uint32_t> seat_of_user_;
};

}  // namespace orrery::cluster
