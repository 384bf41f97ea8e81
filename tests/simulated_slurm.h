// A small Slurm in simulated time, as far as recovery can tell the difference: job states, the
// two-minute hold after a requeue, nodes that go down, come back, are drained, fall silent.
//
// What it copies was seen on Slurm 22.05: a job whose node goes down completes on its other nodes,
// then waits for a begin time 121 s ahead; a begin time set while it completes is lost; with
// ReturnToService=2 a node that still answers is back at once. Jobs take the lowest free nodes.
// It keeps every run of every job, so that a test can ask whether two ever overlapped.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/recover.h"

namespace orrery::testing_slurm {

struct SimulatedOptions {
  int nodes = 8;
  Seconds hold = seconds(121);
  Seconds completing = seconds(0.3);  // on healthy nodes
  Seconds scheduling = seconds(0.5);  // between two passes of the scheduler
  Seconds starting = seconds(0.1);    // from allocation to a running job
  Seconds epoch = seconds(1'700'000'000);
};

class SimulatedSlurm {
 public:
  explicit SimulatedSlurm(const SimulatedOptions& options);

  std::string submit(int nodes);
  // Where its next run goes, instead of the lowest free nodes.
  void place(const std::string& job, std::vector<std::string> nodes);

  void fail_node(const std::string& node);     // dies; its work with it
  void flap_node(const std::string& node);     // goes down and is back at once
  void silence_node(const std::string& node);  // stops answering; its work runs on
  void break_node(const std::string& node);    // a health check drains it as unfit
  void repair_node(const std::string& node);   // healthy, in service
  void return_node(const std::string& node);   // answers again; drained if it was
  void make_spare(const std::string& node);
  void crash_job(const std::string& job);    // exits in error
  void finish_job(const std::string& job);   // completes
  void requeue_job(const std::string& job);  // by a person

  void advance(Seconds span);
  Seconds now() const { return now_; }

  ClusterLook look() const;
  Result<void> act(const RecoveryAction& action);
  RecoverPort port();

  struct Run {
    Seconds start;
    Seconds end;  // 0: runs still
    std::vector<std::string> nodes;
  };
  const std::vector<Run>& runs(const std::string& job) const { return jobs_.at(job).runs; }
  bool knows(const std::string& job) const { return jobs_.contains(job); }
  bool is_running(const std::string& job) const;
  // A run that began while another of the same job was alive somewhere, or on a node of two jobs.
  const std::vector<std::string>& overlaps() const { return overlaps_; }

 private:
  struct Job {
    JobView view;
    int wanted = 1;
    bool requeue_after = false;  // completing: pending next, else failed or ended
    JobPhase after = JobPhase::ended;
    Seconds until;  // completing or starting
    std::set<std::string> avoids;
    std::vector<std::string> next_place;
    std::vector<Run> runs;
  };
  struct Node {
    NodeView view;
    bool dead = false;       // does not answer and runs nothing
    std::string zombie_job;  // silent: a job that may still run there
  };

  void step();
  void schedule();
  void end_run(Job& job, bool requeue, JobPhase after);
  void lose_jobs_on(const std::string& node);
  std::vector<std::string> free_nodes(const Job& job) const;

  SimulatedOptions options_;
  Seconds now_;
  Seconds next_pass_;
  int last_id_ = 0;
  std::map<std::string, Job> jobs_;
  std::map<std::string, Node> nodes_;
  std::vector<std::string> order_;  // of the nodes, by number
  std::vector<std::string> overlaps_;
};

}  // namespace orrery::testing_slurm
