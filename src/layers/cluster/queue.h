// The queue of a fleet in simulated time: jobs arrive, wait, start on named GPUs, end, and are
// requeued.
//
// It owns the nodes and calls the policies of cluster/ once at the end of every instant at which
// something changed (EventRank::settle), so that jobs that end together free their GPUs together.
// submit() says at once if a job can never start. The job's port is called when the job starts,
// with its place, and when it loses its place. The queue does not know how long a job runs: its
// owner calls finish(). A job's index identifies it until it has finished or was cancelled; then
// the index may be reused. In the steady state nothing is allocated: jobs, their places and the
// lists keep their memory.
//
// A port may call submit, finish, cancel or anything else during its call; the decisions that
// follow are made at the end of the same instant.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/cluster/preemption.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/wait_reason.h"

namespace orrery::cluster {

// Why a running job lost its GPUs.
enum class StopCause { preempted, node_lost, failed, reserved };
inline constexpr Word<StopCause> kStopCauseWords[] = {{StopCause::preempted, "preempted"},
                                                      {StopCause::node_lost, "node-lost"},
                                                      {StopCause::failed, "failed"},
                                                      {StopCause::reserved, "reserved"}};
constexpr WordTable<StopCause> words_of(StopCause) { return kStopCauseWords; }

// Notifies the owner of a job. `tag` is the owner's own.
class QueuePort {
 public:
  // The job runs from now on, on these GPUs. The span is valid only during the call.
  virtual void job_started(JobIndex job, std::uint64_t tag, std::span<const NodeShare> where) = 0;
  // The job lost its GPUs at this instant. It is back in the queue, after its requeue delay; an
  // owner that does not want that calls cancel().
  virtual void job_stopped(JobIndex job, std::uint64_t tag, StopCause cause) = 0;
  // The job lost a node. Returns the shares, of those it holds, with which it continues; empty to
  // stop.
  virtual std::vector<NodeShare> job_lost_node(JobIndex, std::uint64_t /*tag*/, int /*node*/) {
    return {};
  }

 protected:
  ~QueuePort() = default;
};

struct JobRequest {
  GpuAsk ask;
  sim::SimTime limit;   // the owner's estimate of the maximum run time
  int tier = 0;         // higher tiers come before all lower ones, and may preempt them
  double priority = 0;  // within a tier; ties in order of arrival
  int partition = 0;
  int group = 0;  // quota group
  int qos = 0;    // 0: none
  std::uint32_t qos_seat = 0;
  std::uint32_t user = 0;
  bool stays = false;          // no time limit counts: a reservation that begins stops it
  std::uint64_t guest_of = 0;  // one bit per reservation that it may use
  std::uint64_t tag = 0;
};

struct QueueOptions {
  BackfillVariant backfill = BackfillVariant::easy;
  PeriodicBounds periodic{};           // parameters of the slurm variant
  std::vector<NodeMask> partitions{};  // empty: one partition with all nodes
  ReservationBook reservations{};
  std::optional<PreemptionRules> preemption{};  // nullopt: no preemption
  StartGate* gate = nullptr;                    // must outlive the queue; null: all may start
  // Time before a job that lost its place may start again (Slurm: about 120 s).
  Seconds requeue_delay;
};

class Queue final : public sim::EventHandler {
 public:
  Queue(sim::Kernel& kernel, NodePool pool, QueueOptions options, QueuePort& port);
  ~Queue() { kernel_.forget(*this); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Submits a job; returns nullopt if it can never start on this fleet.
  std::optional<JobIndex> submit(const JobRequest& request);
  void finish(JobIndex job);  // ends a running job and frees its GPUs
  void cancel(JobIndex job);  // removes a job in any state and frees its GPUs
  // Puts a running job back into the queue.
  void put_back(JobIndex job, StopCause cause);
  // Lists the running jobs with GPUs on the node, by expected end.
  void jobs_on(int node, std::vector<JobIndex>& jobs) const;
  // Gives a running job more GPUs in addition to those it has, and fills in `where`. Returns false
  // if none are free or admitted. Waiting jobs are not considered first.
  bool extend(JobIndex job, const GpuAsk& more, std::vector<NodeShare>& where);
  // Takes a node down. Jobs on it lose all their GPUs, also those on other nodes, and are requeued,
  // except jobs whose port says which shares they continue with.
  void node_down(int node);
  void node_up(int node);
  // Decides again, because something that the gate depends on has changed.
  void look_again() { decide_later(); }
  // Sets the priorities of all waiting jobs at once.
  void set_priorities(const std::function<double(JobIndex)>& priority);

  const NodePool& pool() const { return pool_; }
  const QueuedJob& job(JobIndex job) const { return jobs_[job]; }
  bool is_running(JobIndex job) const;
  std::size_t waiting() const { return waiting_.size() - first_; }
  std::span<const JobIndex> waiting_jobs() const { return std::span(waiting_).subspan(first_); }
  std::uint64_t tag(JobIndex job) const { return tags_[job]; }
  std::size_t running() const { return running_count_; }
  // Number of jobs stopped because a reservation began.
  std::uint64_t stopped_for_reservations() const { return stopped_for_reservations_; }
  std::span<const RunningEnd> running_jobs() const { return running_; }
  // Returns why a waiting job waits, and what would start it.
  WaitAnswer why(JobIndex job) const;

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum class State : std::uint8_t { none, waiting, delayed, running };
  enum Kind : std::uint32_t { kDecide, kEligible, kAlarm, kWindow };

  void decide();
  void decide_later();
  void set_alarm();
  void await_window();
  void clear_reserved();
  void preempt_for_waiting();
  bool comes_before(JobIndex a, JobIndex b) const;
  void apply(const Starts& starts);
  void drop_started(const Starts& starts);
  void enqueue(JobIndex job);
  void remove_waiting(JobIndex job);
  void release(JobIndex job);
  void stop(JobIndex job, StopCause cause);
  void keep_only(JobIndex job, std::vector<NodeShare> kept);
  void forget(JobIndex job);
  QueueView view() const;

  sim::Kernel& kernel_;
  NodePool pool_;
  QueueOptions options_;
  QueuePort& port_;
  std::unique_ptr<QueuePolicy> policy_;
  std::uint64_t surprises_ = 0;
  std::uint64_t stopped_for_reservations_ = 0;
  std::vector<QueuedJob> jobs_;
  std::vector<State> states_;
  std::vector<std::uint64_t> tags_;
  std::vector<sim::TimerId> timers_;  // one per delayed job
  std::vector<JobIndex> unused_;
  std::vector<JobIndex> waiting_;  // valid from first_ on, by priority
  std::size_t first_ = 0;
  std::vector<RunningEnd> running_;  // sorted by expected end
  std::size_t running_count_ = 0;
  Starts starts_;
  std::vector<NodeShare> where_;
  bool is_deciding_later_ = false;
  sim::TimerId alarm_;
  sim::SimTime alarm_at_ = sim::SimTime::never();
};

}  // namespace orrery::cluster
