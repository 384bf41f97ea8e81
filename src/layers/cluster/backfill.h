// Which waiting jobs start now: named variants, since "EASY" is not one algorithm.
//
//   shadow   earliest time at which running jobs that end leave the first blocked job its place
//   surplus  what is free then beyond its need
//   EASY     a later job may start now if it ends by the shadow, or needs no more than the surplus
// Jobs that end together free their GPUs together. With nodes the surplus is known node by node: a
// long job may start only on GPUs that are free now and, once the first job has its own, at the
// shadow.
//
// On the same 10,000 jobs two programs that both say EASY gave mean waits of 11,146 s and 30,306 s.
// The first looks for the head's place only when its reservation falls due, and hands the list of
// reserved nodes to its backfill empty, so that whatever fits passes (AccaSim 2020,
// scheduler_class.py): `unguarded` here, which gives its 11,146 s to the hundredth. The second is
// `easy`, but counts of the jobs that end together only those it needs (docs/models/cluster.md).
//
// A limit counts as nodes do (start_gate.h): who lacks only that is promised a time all the same. A
// job that no end of those that run can help, since it waits for a node in repair, is promised
// nothing, and the promise is the next one's.
//
// A reservation bars nodes from a job by its limit (reservation.h); its end counts among the times
// at which the head may have its place.
//
// A decision is a function of what is waiting, what runs and what is free, and of a small memory
// (the promise that a sticky variant keeps). A simulation drives it (cluster/queue.h); so may a live
// scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/cluster/reservation.h"

namespace orrery::cluster {

enum class BackfillVariant {
  fifo,          // nothing passes the head
  best_effort,   // each is tried in order and whatever fits starts; nobody is promised anything
  easy,          // shadow computed anew at each event
  easy_sticky,   // the head's place chosen once and kept until it starts or falls due
  unguarded,     // a time is promised, but whatever fits passes; the head is tried when it is due
  conservative,  // every waiting job has a promise that no later one may delay
  slurm,         // conservative, looked at every interval, within bounds; between, as fifo
};
inline constexpr Word<BackfillVariant> kBackfillVariantWords[] = {
    {BackfillVariant::fifo, "fifo"},           {BackfillVariant::best_effort, "best-effort"},
    {BackfillVariant::easy, "easy"},           {BackfillVariant::easy_sticky, "easy-sticky"},
    {BackfillVariant::unguarded, "unguarded"}, {BackfillVariant::conservative, "conservative"},
    {BackfillVariant::slurm, "slurm"}};
constexpr WordTable<BackfillVariant> words_of(BackfillVariant) { return kBackfillVariantWords; }
const char* rules_of(BackfillVariant v);  // in one sentence, for reports

struct RunningEnd {
  sim::SimTime end;  // started + limit; a job that passes it is expected to end at any moment
  JobIndex job = 0;
};

struct QueueView {
  sim::SimTime now;
  std::span<const QueuedJob> jobs;         // by index
  std::span<const JobIndex> waiting;       // first come first
  std::span<const RunningEnd> running;     // by end
  std::span<const NodeMask> partitions{};  // by partition; none: every job may use every node
  const ReservationBook* reservations = nullptr;
  StartGate* gate = nullptr;
  // How often something came otherwise than a promise could foresee: a job ended early or was
  // taken away, a node was lost or came back, the order changed.
  std::uint64_t surprises = 0;

  const QueuedJob& job(JobIndex i) const { return jobs[i]; }
  const NodeMask* mask_of(const QueuedJob& j) const { return mask_of(j, now); }
  // Nodes that it may have if it starts then. Good until the next call.
  const NodeMask* mask_of(const QueuedJob& j, sim::SimTime at) const {
    const NodeMask* own = partition_of(j);
    return reservations == nullptr ? own : reservations->open_to(j, own, at);
  }
  const NodeMask* partition_of(const QueuedJob& j) const {
    return partitions.empty() ? nullptr : &partitions[j.partition];
  }
};

// Jobs to start, in order, with where they lie.
struct Starts {
  struct One {
    JobIndex job = 0;
    std::uint32_t first = 0;  // of `shares`
    std::uint32_t count = 0;
  };
  std::vector<One> jobs;
  std::vector<NodeShare> shares;

  void clear() { jobs.clear(), shares.clear(); }
  // Takes the place from the pool, which says which GPUs it is.
  void add(JobIndex job, std::span<const NodeShare> where, NodePool& pool);
  std::span<const NodeShare> of(const One& one) const {
    return std::span(shares).subspan(one.first, one.count);
  }
};

// What the first blocked job was promised.
struct Promise {
  JobIndex job = kNoJob;
  sim::SimTime submitted;  // with the index it names the job: an index may be used again
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

// A policy of the queue, with the small memory it needs.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  // Starts what may start at view.now, and takes its place from the pool.
  virtual void decide(const QueueView& view, NodePool& pool, Starts& starts) = 0;
  // When to decide again although nothing has happened; never() where events suffice.
  virtual sim::SimTime wake() const = 0;
  // What a waiting job was promised; never() where nothing was.
  virtual sim::SimTime promised(JobIndex job) const = 0;
};

// fifo, best_effort, easy, easy_sticky and unguarded; the others are promise_pass.h's.
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
  std::vector<RunningEnd> ends_;  // running and just started, by end
  NodePool later_;                // at the shadow, the head in its place
  NodePool both_;                 // free now and then
  LimitRoom later_room_;          // of the gate's limits at the shadow, the head in its place
};

}  // namespace orrery::cluster
