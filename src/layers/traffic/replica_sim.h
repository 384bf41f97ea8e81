// One replica in simulated time: a policy, the time of its iterations, and a record of every
// request.
//
// Time goes from iteration to iteration. advance(until) runs every iteration that starts before
// `until`; a request that is submitted at t is seen by the first iteration that starts at or after
// t, as an engine polls its queue between steps. An iteration that has started is never cut.
// The same few lines drive one replica or a fleet of them; the clocks of replicas are independent
// between two arrivals.
//
// Merging: where the policy says that n equal decode iterations follow, only their times are added,
// one by one in the same order, so that merged and unmerged runs agree to the last digit; the run
// still stops at the first iteration that starts at or after `until`.
// In debug builds the blocks are checked after every iteration.
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
  int id = 0;  // the submitter's
  int prompt = 0;
  int output = 0;
  int cached = 0;   // tokens of the prompt that the cache had
  int fetched = 0;  // that a tier of it had
  int preemptions = 0;
  int place = 0;              // replica of a fleet that ended it
  std::uint64_t session = 0;  // whose it is, in a fleet
  double arrived = 0;
  double scheduled = 0;  // first iteration that computes a token of it begins
  double first = 0;      // its first token is there
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
  double requests_integral = 0;  // seconds times requests in the replica, for Little's law
  double blocks_integral = 0;    // seconds times blocks held
};

// Requests that come to a busy engine wait together until they are worth a step of their own, at
// most so many iterations after the first of them was seen (TensorRT-LLM: batch_wait_timeout_iters
// with its share of the tokens, and timeout_iters of balanced attention ranks).
struct Gathering {
  int iterations = 0;                                       // 0: nobody waits
  double tokens = std::numeric_limits<double>::infinity();  // that are enough
  int prompts = std::numeric_limits<int>::max();            // that are enough
};

// The policy of a replica's engine with its limits and blocks.
engines::EnginePolicy policy_of(const serving::Replica& replica);

class ReplicaSim {
 public:
  struct Options {
    bool merge = true;
    // A busy engine looks at its queue every so many iterations (SGLang's scheduler-recv-interval):
    // what came between joins in one go.
    int receive_every = 1;
    Gathering gathering = {};
  };
  ReplicaSim(const engines::EnginePolicy& policy, serving::StepClock& clock,
             const Options& options);
  ReplicaSim(const engines::EnginePolicy& policy, serving::StepClock& clock)
      : ReplicaSim(policy, clock, Options{}) {}

  // `at` never goes back.
  void submit(int id, const engines::RequestSpec& spec, double at);
  void advance(double until);
  // Until a request finishes, or nothing is left that starts before `until`.
  void advance_to_finish(double until = kForever);
  // When the next iteration starts: infinity where there is nothing to do.
  double next_start() const;
  double now() const { return now_; }
  std::size_t outstanding() const { return scheduler_->unfinished() + arriving_.size() - head_; }
  double outstanding_tokens() const { return outstanding_tokens_; }
  const engines::Scheduler& scheduler() const { return *scheduler_; }
  const ReplicaCounts& counts() const { return counts_; }
  // Requests that finished since the last take, in order of their end.
  std::vector<RequestRecord> take_finished();
  // All that is in the replica is lost (it died): the ids, in the order they were submitted.
  std::vector<int> drop_all();
  // Requests that can never run (they exceed the cache): they are finished without a token.
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
  std::vector<Live> live_;  // by the scheduler's id
  std::vector<Arrival> arriving_;
  std::size_t head_ = 0;
  std::vector<RequestRecord> finished_;
  std::vector<int> refused_;
  ReplicaCounts counts_;
  double now_ = 0;          // end of the last iteration, or of waiting
  int since_received_ = 0;  // iterations
  int gathered_ = 0;        // iterations that the first of those who came has waited
  bool stuck_ = false;
  double outstanding_tokens_ = 0;
};

}  // namespace orrery::traffic
