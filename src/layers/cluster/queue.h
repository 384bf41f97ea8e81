// The queue of a fleet in simulated time: jobs come, wait, start on named GPUs, end, are put back.
//
// It holds the nodes and drives cluster/'s policies: once at the end of every instant at which
// something changed (EventRank::settle), so that jobs that end together free their GPUs together.
// Whoever submits a job is told at once when it can never start, and through its port when it
// starts and where, and when it loses its place. The queue does not know how long a job runs: its
// owner calls finish(). A job's index is its name until it has finished or was cancelled; then the
// index may be used again. Nothing is allocated in the steady state: jobs, their places and the
// lists keep their memory.
//
// What the port may do inside a call: submit, finish, cancel, anything; decisions that follow are
// made at the end of the same instant.
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

// What the queue tells the owner of a job. `tag` is the owner's own.
class QueuePort {
 public:
  // It runs from now on, on these GPUs; the span lives only during the call.
  virtual void job_started(JobIndex job, std::uint64_t tag, std::span<const NodeShare> where) = 0;
  // Its GPUs are gone at this instant. It is back in the queue, behind its requeue delay; an owner
  // that does not want that calls cancel().
  virtual void job_stopped(JobIndex job, std::uint64_t tag, StopCause cause) = 0;
  // A node of it is gone. What it goes on with, of what it holds; nothing: it stops.
  virtual std::vector<NodeShare> job_lost_node(JobIndex, std::uint64_t /*tag*/, int /*node*/) {
    return {};
  }

 protected:
  ~QueuePort() = default;
};

struct JobRequest {
  GpuAsk ask;
  sim::SimTime limit;   // the owner's estimate of the run time, at the most
  int tier = 0;         // higher goes before all lower ones, and may preempt them
  double priority = 0;  // within a tier; equals in the order they came
  int partition = 0;
  int group = 0;  // of quotas
  int qos = 0;    // 0: none
  std::uint32_t qos_seat = 0;
  std::uint32_t user = 0;
  bool stays = false;          // it has no limit that counts: a reservation that begins stops it
  std::uint64_t guest_of = 0;  // a bit for each reservation that it may use
  std::uint64_t tag = 0;
};

struct QueueOptions {
  BackfillVariant backfill = BackfillVariant::easy;
  PeriodicBounds periodic{};           // of the slurm variant
  std::vector<NodeMask> partitions{};  // none: one that has every node
  ReservationBook reservations{};
  std::optional<PreemptionRules> preemption{};  // none: nobody is preempted
  StartGate* gate = nullptr;                    // outlives the queue; none: all may start
  Seconds requeue_delay;  // until a job that lost its place may start again (Slurm: about 120 s)
};

class Queue final : public sim::EventHandler {
 public:
  Queue(sim::Kernel& kernel, NodePool pool, QueueOptions options, QueuePort& port);
  ~Queue() { kernel_.forget(*this); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // None where the job can never start on this fleet.
  std::optional<JobIndex> submit(const JobRequest& request);
  void finish(JobIndex job);  // a running job gives back its GPUs and is gone
  void cancel(JobIndex job);  // the same, wherever it stands
  // A running job goes back into the queue.
  void put_back(JobIndex job, StopCause cause);
  // Running jobs with GPUs there, by their expected ends.
  void jobs_on(int node, std::vector<JobIndex>& jobs) const;
  // A running job gets more GPUs beside those it has; false where none are free or admitted. Those
  // that wait are not asked. `where` says which they are.
  bool extend(JobIndex job, const GpuAsk& more, std::vector<NodeShare>& where);
  // Jobs on the node lose all their GPUs, on other nodes too, and are requeued; those that can go
  // on with fewer keep what they say.
  void node_down(int node);
  void node_up(int node);
  // Something that the gate looks at has changed.
  void look_again() { decide_later(); }
  // Of all that wait at once.
  void set_priorities(const std::function<double(JobIndex)>& priority);

  const NodePool& pool() const { return pool_; }
  const QueuedJob& job(JobIndex job) const { return jobs_[job]; }
  bool is_running(JobIndex job) const;
  std::size_t waiting() const { return waiting_.size() - first_; }
  std::span<const JobIndex> waiting_jobs() const { return std::span(waiting_).subspan(first_); }
  std::uint64_t tag(JobIndex job) const { return tags_[job]; }
  std::size_t running() const { return running_count_; }
  // Jobs that a reservation stopped.
  std::uint64_t stopped_for_reservations() const { return stopped_for_reservations_; }
  std::span<const RunningEnd> running_jobs() const { return running_; }
  // Why a waiting job waits, and what would start it.
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
  std::vector<sim::TimerId> timers_;  // of delayed jobs
  std::vector<JobIndex> unused_;
  std::vector<JobIndex> waiting_;  // from first_ on, by priority
  std::size_t first_ = 0;
  std::vector<RunningEnd> running_;  // by end
  std::size_t running_count_ = 0;
  Starts starts_;
  std::vector<NodeShare> where_;
  bool is_deciding_later_ = false;
  sim::TimerId alarm_;
  sim::SimTime alarm_at_ = sim::SimTime::never();
};

}  // namespace orrery::cluster
