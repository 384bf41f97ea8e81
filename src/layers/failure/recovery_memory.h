// What the recovery policy remembers, computed only from its events, so a journal of events is
// enough to restore it.
//
// The events are findings ("node n7 failed", "job 12 lost its run 3 on n7"), not commands. apply()
// is the only function that changes a memory, and it uses no clock and no cluster.
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
  job_started,  // job, restarts, nodes: a run was seen
  // Job, restarts of the run, nodes to blame (empty: cause unknown), seconds it ran.
  job_lost,
  job_back,         // job, restarts, seconds since the loss
  job_blamed,       // job: the job breaks the nodes, not the other way round
  job_gone,         // job: nothing more to do for it
  node_silent,      // node
  node_failed,      // node, weight as a failure
  node_back,        // node
  spare_called,     // node, for nodes[0]; empty nodes: it is now in service
  lemon_found,      // node
  drain_settled,    // node: seen drained
  tried,            // key, node, good: the driver carried out an action (good: accepted)
  alerted,          // key
  controller_seen,  // lasted: its start time, since 1970
  node_fenced,      // node: surely powered off
  fence_failed,     // node, key
  // Node, good if our drain was lost too: the controller forgot the node's failure.
  node_forgotten,
  drain_lifted,    // node: by an operator
  spare_returned,  // node: made a spare again by an operator
  job_undone,      // job, restarts of the lost run: the controller forgot what came after it
  job_held,        // job, good: the hold was seen; otherwise the controller forgot it
  node_shown       // node, good: the current controller shows our drain; otherwise the failure
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
  bool out = false;          // a failure is in progress and counted
  bool wants_drain = false;  // set until the drain is seen, even if the node came back before
  bool lemon = false;
  bool fenced = false;
  Seconds silent_since;  // 0: it answers
  Seconds drain_seen;    // 0: no drain of ours is in place
  Seconds forgotten;     // time since when a controller that forgot shows it well; 0: not so
  // The current controller has shown it out, so it no longer forgets that.
  bool out_shown = false;
  bool drain_shown = false;  // the same for our drain
  int failures = 0;          // number of failures; numbers the episodes
  FadingCount weight;
  std::string stood_in_for;  // for a spare that was called: the node it replaces
  std::string serves_for;    // for a spare seen in service: the node it replaces

  bool operator==(const NodeMemory&) const = default;
};

struct JobLoss {
  Seconds at;
  int restarts = 0;                // number of the lost run
  std::vector<std::string> nodes;  // nodes to blame; empty: cause unknown
  std::vector<std::string> ran_on;

  bool operator==(const JobLoss&) const = default;
};

struct PastLoss {
  std::string node;  // empty: cause unknown
  Seconds ran;

  bool operator==(const PastLoss&) const = default;
};

struct JobMemory {
  int restarts = -1;  // number of the last run seen; -1: none
  Seconds started;
  std::vector<std::string> nodes;
  std::optional<JobLoss> loss;      // set until it runs again
  std::optional<JobLoss> regained;  // the loss before its present run
  std::vector<PastLoss> losses;     // at most kLossesKept, the latest
  int losses_total = 0;
  bool blamed = false;
  bool held_seen = false;  // blamed, and the hold was seen to be in place

  bool operator==(const JobMemory&) const = default;
};

struct Attempt {
  int count = 0;
  Seconds last;
  bool good = false;

  bool operator==(const Attempt&) const = default;
};

struct RecoveryMemory {
  std::optional<Seconds> since;  // when observation began
  Seconds controller;            // start time of the last controller seen; 0: none
  std::map<std::string, NodeMemory> nodes;
  FadingCount all;  // failures of all nodes
  std::map<std::string, JobMemory> jobs;
  std::map<std::string, Attempt> attempts;  // keyed by action key
  std::set<std::string> alerted;

  bool operator==(const RecoveryMemory&) const = default;
};

inline constexpr std::size_t kLossesKept = 8;

// `memory` is the time over which a failure decays: LemonPrior::memory.
void apply(RecoveryMemory& remembered, const RecoveryEvent& event, Seconds memory);

}  // namespace orrery::failure
