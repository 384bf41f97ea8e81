// What the recovery policy remembers: the fold of its events, so that a journal of events is enough
// to be again where one was.
//
// The events are findings ("node n7 failed", "job 12 lost its run 3 on n7"), not orders. apply() is
// the only thing that changes a memory, and it never looks at a clock or a cluster.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layers/failure/lemon.h"

namespace orrery::failure {

enum class RecoveryEventKind {
  watch_began,
  job_started,      // job, restarts, nodes: a run was seen
  job_lost,         // job, restarts of the run, nodes to blame (none: cause unseen), seconds it ran
  job_back,         // job, restarts, seconds since the loss
  job_blamed,       // job: it is the job that breaks nodes, not they
  job_gone,         // job: nothing left to do for it
  node_silent,      // node
  node_failed,      // node, weight as a failure
  node_back,        // node
  spare_called,     // node, for nodes[0]; for none: it is in service
  lemon_found,      // node
  drain_settled,    // node: seen drained
  tried,            // key, node, good: the driver carried out an action
  alerted,          // key
  controller_seen,  // lasted: when it was started, since 1970
  node_fenced,      // node: surely off
  fence_failed,     // node, key
  node_forgotten,   // node, good where a drain of ours went too: the controller lost its failure
  drain_lifted,     // node: by a person
  spare_returned,   // node: set aside again by a person
  job_undone,       // job, restarts of the lost run: the controller forgot what came after it
  job_held,         // job, good: seen held; else forgotten
  node_shown        // node, good: its drain, else its failure, by the controller that is now
};
const char* to_text(RecoveryEventKind kind);
std::optional<RecoveryEventKind> event_kind_from(std::string_view text);

struct RecoveryEvent {
  RecoveryEventKind kind = RecoveryEventKind::watch_began;
  Seconds at;
  std::string node;
  std::string job;
  std::string key;
  int restarts = 0;
  std::vector<std::string> nodes;
  double weight = 0;
  Seconds lasted;
  bool good = false;

  bool operator==(const RecoveryEvent&) const = default;
};

struct NodeMemory {
  bool out = false;          // a failure is under way and counted
  bool wants_drain = false;  // until it is seen drained, even where it came back meanwhile
  bool lemon = false;
  bool fenced = false;
  Seconds silent_since;      // 0: answers
  Seconds drain_seen;        // 0: no drain of ours stands
  Seconds forgotten;         // out, and shown well by a controller that lost that; 0: no
  bool out_shown = false;    // by the controller that is now: it does not forget that any more
  bool drain_shown = false;  // likewise
  int failures = 0;          // numbers the episodes
  FadingCount weight;
  std::string stood_in_for;  // a spare that was called: the node it replaces
  std::string serves_for;    // a spare seen in service, for that node

  bool operator==(const NodeMemory&) const = default;
};

struct JobLoss {
  Seconds at;
  int restarts = 0;                // of the run that was lost
  std::vector<std::string> nodes;  // to blame; empty: unseen
  std::vector<std::string> ran_on;

  bool operator==(const JobLoss&) const = default;
};

struct PastLoss {
  std::string node;  // empty: unseen
  Seconds ran;

  bool operator==(const PastLoss&) const = default;
};

struct JobMemory {
  int restarts = -1;  // of the last run seen; -1: none
  Seconds started;
  std::vector<std::string> nodes;
  std::optional<JobLoss> loss;      // until it runs again
  std::optional<JobLoss> regained;  // the loss before its present run
  std::vector<PastLoss> losses;     // the latest kLossesKept
  int losses_total = 0;
  bool blamed = false;
  bool held_seen = false;  // blamed, and the hold was seen

  bool operator==(const JobMemory&) const = default;
};

struct Attempt {
  int count = 0;
  Seconds last;
  bool good = false;

  bool operator==(const Attempt&) const = default;
};

struct RecoveryMemory {
  std::optional<Seconds> since;  // when watching began
  Seconds controller;            // start time of the last one seen; 0: none
  std::map<std::string, NodeMemory> nodes;
  FadingCount all;  // failures of all nodes
  std::map<std::string, JobMemory> jobs;
  std::map<std::string, Attempt> attempts;  // by action key
  std::set<std::string> alerted;

  bool operator==(const RecoveryMemory&) const = default;
};

inline constexpr std::size_t kLossesKept = 8;

// `memory` is the span over which a failure fades: LemonPrior::memory.
void apply(RecoveryMemory& remembered, const RecoveryEvent& event, Seconds memory);

}  // namespace orrery::failure
