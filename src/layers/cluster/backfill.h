// Which waiting jobs start now. The variants are named, because "EASY" is not one algorithm.
//
//   shadow   earliest time at which the ends of running jobs make room for the first blocked job
//   surplus  GPUs free at that time beyond what that job needs
//   EASY     a later job may start now if it ends by the shadow time or fits in the surplus
// Jobs that end together free their GPUs together. In a pool with nodes the surplus is known per
// node: a job that outlasts the shadow time may start only on GPUs that are free both now and, with
// the first job placed, at the shadow time.
//
// On the same 10,000 jobs two programs that both claim EASY gave mean waits of 11,146 s and 30,306
// s. The first looks for the head's place only when its reservation comes due and passes an empty
// list of reserved nodes to its backfill, so any job that fits may start (AccaSim 2020,
// scheduler_class.py). That is `unguarded` here, which reproduces its 11,146 s to the hundredth.
// The second is `easy`, except that of the jobs that end together it counts only as many as it
// needs (docs/models/cluster.md).
//
// A limit is treated like nodes (start_gate.h): a job that lacks only a limit still gets a promised
// time. A job that no end of a running job can help, because it waits for a node in repair, gets no
// promise; the promise goes to the next job.
//
// A reservation bars a job from its nodes depending on the job's time limit (reservation.h). The
// end of a reservation is one of the times at which the head may get its place.
//
// A decision is a function of what waits, what runs, what is free, and a small memory (the promise
// that a sticky variant keeps). The simulation calls it (cluster/queue.h); a live scheduler could
// too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/cluster/reservation.h"

namespace orrery::cluster {

enum class BackfillVariant {
  fifo,         // nothing passes the head
  best_effort,  // each job is tried in order and starts if it fits; there are no promises
  easy,         // the shadow time is computed again at each event
  easy_sticky,  // the head's place is chosen once and kept until it starts or comes due
  // The head gets a time, but any job that fits may start before; tried again when due.
  unguarded,
  conservative,  // every waiting job has a promise that no later one may delay
  slurm,         // conservative, run every interval within bounds; between runs, like fifo
};
inline constexpr Word<BackfillVariant> kBackfillVariantWords[] = {
    {BackfillVariant::fifo, "fifo"},           {BackfillVariant::best_effort, "best-effort"},
    {BackfillVariant::easy, "easy"},           {BackfillVariant::easy_sticky, "easy-sticky"},
    {BackfillVariant::unguarded, "unguarded"}, {BackfillVariant::conservative, "conservative"},
    {BackfillVariant::slurm, "slurm"}};
constexpr WordTable<BackfillVariant> words_of(BackfillVariant) { return kBackfillVariantWords; }
const char* rules_of(BackfillVariant v);  // one sentence, for reports

struct RunningEnd {
  sim::SimTime end;  // started + limit; a job past its limit may end at any moment
  JobIndex job = 0;
};

struct QueueView {
  sim::SimTime now;
  std::span<const QueuedJob> jobs;      // indexed by JobIndex
  std::span<const JobIndex> waiting;    // in queue order
  std::span<const RunningEnd> running;  // sorted by end
  // Indexed by partition; empty: every job may use every node.
  std::span<const NodeMask> partitions{};
  const ReservationBook* reservations = nullptr;
  StartGate* gate = nullptr;
  // Number of events that promises could not foresee: a job ended early or was removed, a node was
  // lost or came back, the order changed.
  std::uint64_t surprises = 0;

  const QueuedJob& job(JobIndex i) const { return jobs[i]; }
  const NodeMask* mask_of(const QueuedJob& j) const { return mask_of(j, now); }
  // Returns the nodes that the job may use if it starts at `at`. Valid until the next call.
  const NodeMask* mask_of(const QueuedJob& j, sim::SimTime at) const {
    const NodeMask* own = partition_of(j);
    return reservations == nullptr ? own : reservations->open_to(j, own, at);
  }
  const NodeMask* partition_of(const QueuedJob& j) const {
    return partitions.empty() ? nullptr : &partitions[j.partition];
  }
};

// The jobs to start, in order, with their placements.
struct Starts {
  struct One {
    JobIndex job = 0;
    std::uint32_t first = 0;  // index of the first share in `shares`
    std::uint32_t count = 0;
  };
  std::vector<One> jobs;
  std::vector<NodeShare> shares;

  void clear() { jobs.clear(), shares.clear(); }
  // Takes the place from the pool, which assigns the GPUs.
  void add(JobIndex job, std::span<const NodeShare> where, NodePool& pool);
  std::span<const NodeShare> of(const One& one) const {
    return std::span(shares).subspan(one.first, one.count);
  }
};

// What was promised to the first blocked job.
struct Promise {
  JobIndex job = kNoJob;
  // Identifies the job together with its index, because an index may be reused.
  sim::SimTime submitted;
  sim::SimTime at;
  std::vector<NodeShare> shares;

  bool is_for(const QueueView& view, JobIndex j) const {
    return job == j && submitted == view.job(j).submitted;
  }
};

// Slurm's bf_interval, bf_window, bf_resolution and bf_max_job_test, with its defaults.
struct PeriodicBounds {
  sim::SimTime interval = sim::SimTime::nanoseconds(30'000'000'000);
  sim::SimTime window = sim::SimTime::nanoseconds(86'400'000'000'000);
  sim::SimTime resolution = sim::SimTime::nanoseconds(60'000'000'000);
  int max_job_test = 500;
};

// A queueing policy and its small memory.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  // Starts the jobs that may start at view.now and takes their places from the pool.
  virtual void decide(const QueueView& view, NodePool& pool, Starts& starts) = 0;
  // Returns when to decide again even if nothing happens; never() if events suffice.
  virtual sim::SimTime wake() const = 0;
  // Returns the time promised to a waiting job; never() if there is none.
  virtual sim::SimTime promised(JobIndex job) const = 0;
};

// Implements fifo, best_effort, easy, easy_sticky and unguarded; promise_pass.h has the others.
class QueuePass final : public QueuePolicy {
 public:
  explicit QueuePass(BackfillVariant variant) : variant_(variant) {}

  void decide(const QueueView& view, NodePool& pool, Starts& starts) override;
  const Promise& promise() const { return promise_; }
  sim::SimTime promised(JobIndex job) const override {
    return job == promise_.job ? promise_.at : sim::SimTime::never();
  }
  sim::SimTime wake() const override {
    const bool is_due = variant_ == BackfillVariant::unguarded && promise_.job != kNoJob;
    return is_due ? promise_.at : sim::SimTime::never();
  }

 private:
  void commit(JobIndex job, const QueueView& view, NodePool& pool, Starts& starts);
  bool start(JobIndex job, const QueueView& view, NodePool& pool, Starts& starts);
  std::size_t start_in_order(std::size_t from, const QueueView& view, NodePool& pool,
                             Starts& starts);
  void gather_ends(const QueueView& view, const Starts& starts);
  int promise_counted(JobIndex head, const QueueView& view, const NodePool& pool, bool keep);
  void promise_nodes(JobIndex head, const QueueView& view, const NodePool& pool,
                     const Starts& starts, bool keep);
  void pass_counted(std::size_t from, int surplus, const QueueView& view, NodePool& pool,
                    Starts& starts);
  void pass_nodes(std::size_t from, const QueueView& view, NodePool& pool, Starts& starts);
  void pass_unguarded(const QueueView& view, NodePool& pool, Starts& starts);
  void start_fifo(const QueueView& view, NodePool& pool, Starts& starts);
  bool pass_head(std::size_t head, const QueueView& view, NodePool& pool, Starts& starts);

  BackfillVariant variant_;
  Promise promise_;
  std::vector<NodeShare> where_;
  std::vector<RunningEnd> ends_;  // ends of running and just started jobs, in order of time
  NodePool later_;                // the pool at the shadow time, with the head placed
  NodePool both_;                 // free both now and at the shadow time
  LimitRoom later_room_;          // the gate's limits at the shadow time, with the head admitted
};

}  // namespace orrery::cluster
