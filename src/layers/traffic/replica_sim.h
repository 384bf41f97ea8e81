// One replica in simulated time: a policy, the time of its iterations, and a record of every
// request.
//
// Time advances from iteration to iteration. advance(until) runs every iteration that starts before
// `until`. A request submitted at t is seen by the first iteration that starts at or after t, as an
// engine polls its queue between steps. An iteration that has started is never interrupted. The
// same code drives one replica or a fleet of them; between two arrivals the clocks of replicas are
// independent.
//
// Merging: if the policy says that n equal decode iterations follow, only their times are added,
// one by one in the same order, so merged and unmerged runs agree to the last digit. The run still
// stops at the first iteration that starts at or after `until`. In debug builds the blocks are
// checked after every iteration.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "layers/engines/scheduler.h"
#include "layers/serving/executor.h"

namespace orrery::traffic {

inline constexpr double kForever = std::numeric_limits<double>::infinity();

struct RequestRecord {
  int id = 0;  // given by the submitter
  int prompt = 0;
  int output = 0;
  int cached = 0;   // prompt tokens found in the cache
  int fetched = 0;  // prompt tokens fetched from a KV tier
  int preemptions = 0;
  int place = 0;              // replica of the fleet that finished it
  std::uint64_t session = 0;  // the conversation it belongs to, in a fleet
  double arrived = 0;
  double scheduled = 0;  // start of the first iteration that computes a token of it
  double first = 0;      // time of its first token
  double last = 0;

  double ttft() const { return first - arrived; }
  double e2e() const { return last - arrived; }
  double tpot() const { return output > 1 ? (last - first) / (output - 1) : 0; }
};

struct ReplicaCounts {
  double iterations = 0;
  double busy = 0;  // seconds in iterations
  double prompt_tokens = 0;
  double output_tokens = 0;
  double preemptions = 0;
  double adapter_loads = 0;
  double requests_integral = 0;  // requests present, integrated over seconds, for Little's law
  double blocks_integral = 0;    // blocks held, integrated over seconds
};

// Requests that arrive at a busy engine are gathered until they are worth a step of their own, for
// at most `iterations` iterations after the first was seen (TensorRT-LLM: batch_wait_timeout_iters
// with its share of the tokens, and timeout_iters of balanced attention ranks).
struct Gathering {
  int iterations = 0;                                       // 0: requests do not wait
  double tokens = std::numeric_limits<double>::infinity();  // enough tokens to stop waiting
  int prompts = std::numeric_limits<int>::max();            // enough prompts to stop waiting
};

// Returns the policy of a replica's engine with its limits and blocks.
engines::EnginePolicy policy_of(const serving::Replica& replica);

class ReplicaSim {
 public:
  struct Options {
    bool merge = true;
    // A busy engine checks its queue once per this many iterations (SGLang's
    // scheduler-recv-interval); requests that arrived in between join together.
    int receive_every = 1;
    Gathering gathering = {};
  };
  ReplicaSim(const engines::EnginePolicy& policy, serving::StepClock& clock,
             const Options& options);
  ReplicaSim(const engines::EnginePolicy& policy, serving::StepClock& clock)
      : ReplicaSim(policy, clock, Options{}) {}

  // `at` must not decrease between calls.
  void submit(int id, const engines::RequestSpec& spec, double at);
  void advance(double until);
  // Runs until a request finishes, or no iteration is left that starts before `until`.
  void advance_to_finish(double until = kForever);
  // Returns when the next iteration starts; infinity if there is nothing to do.
  double next_start() const;
  double now() const { return now_; }
  std::size_t outstanding() const { return scheduler_->unfinished() + arriving_.size() - head_; }
  double outstanding_tokens() const { return outstanding_tokens_; }
  const engines::Scheduler& scheduler() const { return *scheduler_; }
  const ReplicaCounts& counts() const { return counts_; }
  // Returns the requests that finished since the last call, in the order of their end.
  std::vector<RequestRecord> take_finished();
  // Drops everything in the replica (it failed) and returns the ids in the order submitted.
  std::vector<int> drop_all();
  // Requests that can never run because they exceed the cache; they end without a token.
  const std::vector<int>& refused() const { return refused_; }

 private:
  struct Live {
    RequestRecord record;
    bool started = false;
  };
  struct Arrival {
    int id;
    engines::RequestSpec spec;
    double at;
  };
  bool is_check_due() const;
  bool is_gathering();
  void admit_arrived();
  void iterate(double until);
  void note_batch(const engines::Batch& batch, double start, double end, double end_of_first);
  void note_finished(double end);
  void account(double seconds);

  std::unique_ptr<engines::Scheduler> scheduler_;
  serving::StepExecutor executor_;
  Options options_;
  std::vector<Live> live_;  // indexed by the scheduler's id
  std::vector<Arrival> arriving_;
  std::size_t head_ = 0;
  std::vector<RequestRecord> finished_;
  std::vector<int> refused_;
  ReplicaCounts counts_;
  double now_ = 0;          // end of the last iteration or of waiting
  int since_received_ = 0;  // iterations since the queue was checked
  int gathered_ = 0;        // iterations that the first gathered request has waited
  bool stuck_ = false;
  double outstanding_tokens_ = 0;
};

}  // namespace orrery::traffic
