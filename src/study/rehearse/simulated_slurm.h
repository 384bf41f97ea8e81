// A small Slurm in simulated time, in as much detail as recovery can see: job states, the
// two-minute hold after a requeue, nodes that go down, come back, are drained, stop answering.
//
// What it copies was seen on Slurm 22.05: a job whose node goes down completes on its other nodes,
// then waits for a begin time 121 s ahead; a begin time set while it completes is lost; with
// ReturnToService=2 a node that still answers is back at once. Jobs take the lowest free nodes. Its
// controller saves its state every few seconds. One that dies comes back with what it saved: later
// orders are undone, a run that it does not know is killed when its nodes register, and a run that
// is gone is shown as running until its node has not answered for the timeout. A launch on nodes
// where a forgotten run is still being killed fails, and holds the job.
// It keeps every run of every job, so that a test can check whether two ever overlapped. It is a
// process on the kernel's clock; its scheduler never stops waking, so run the kernel with a limit.
//
// The faults that can be injected, and what a driver of failure/recovery.h must make of them.
// Survivable: every job runs again, and none twice at once.
//   fail_node        while the fleet has nodes left that the job may take
//   flap_node        the same; the failure is not seen, so all nodes of the run are suspect
//   break_node       its daemon lives: the job has to be moved
//   crash_job        followed by its node's failure within RecoveryPolicy::blame
//   silence_node     with a fence; the job moves after the node is surely off
//   lose_controller  looks and orders fail for a while, jobs keep running; recovery waits for it
//   kill_controller  the same, and the state goes back to the last save
//   hang_fence       a fence never ends, or fails: its node's jobs wait, and no others
//   lose_answers     an order is carried out and reported as failed; it may come again
//   the driver dies between any two calls and starts again from its journal
// Survivable without the job: the driver must say so and keep the rest working.
//   a job that breaks every node it lands on is held; a job that crashes alone stays failed;
//   more nodes out than out_share_max: jobs move, no node is drained; fewer nodes than a job wants.
// Not survivable, and therefore never to be risked: silence_node without a fence, for the job may
// still run there. A driver that starts it elsewhere is found in overlaps().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/failure/recovery_port.h"

namespace orrery::rehearse {

struct SimulatedOptions {
  int nodes = 8;
  Seconds hold = seconds(121);
  Seconds completing = seconds(0.3);  // on healthy nodes
  Seconds scheduling = seconds(0.5);  // between two passes of the scheduler
  Seconds starting = seconds(0.1);    // from allocation to a running job
  // time to kill a run that the controller forgot, once its nodes report it
  Seconds killing = seconds(2);
  Seconds fencing = seconds(1);   // from the order until the node is surely off
  Seconds save = seconds(5);      // between two saves of the controller's state
  Seconds timeout = seconds(60);  // from a node's last answer until it is marked down
  Seconds epoch = seconds(1'700'000'000);
};

class SimulatedSlurm final : public failure::RecoveryPort, public sim::EventHandler {
 public:
  SimulatedSlurm(sim::Kernel& kernel, const SimulatedOptions& options);
  ~SimulatedSlurm() override { kernel_.forget(*this); }
  SimulatedSlurm(const SimulatedSlurm&) = delete;
  SimulatedSlurm& operator=(const SimulatedSlurm&) = delete;

  std::string submit(int nodes);
  // Sets where its next run goes, instead of the lowest free nodes.
  void place(const std::string& job, std::vector<std::string> nodes);

  void fail_node(const std::string& node);     // the node and its work die
  void flap_node(const std::string& node);     // the node goes down and comes back at once
  void silence_node(const std::string& node);  // the node stops answering; its work continues
  void break_node(const std::string& node);    // a health check drains it as unfit
  void repair_node(const std::string& node);   // healthy, in service
  void return_node(const std::string& node);   // answers again; drained if it was
  void make_spare(const std::string& node);
  void crash_job(const std::string& job);    // exits in error
  void finish_job(const std::string& job);   // completes
  void requeue_job(const std::string& job);  // as a person would

  void lose_controller(Seconds span);  // looks and orders fail for `span`
  // comes back after `span` with the state of its last save
  void kill_controller(Seconds span);
  void hang_fence(const std::string& node);  // the node's next fence never ends
  void lose_answers(int orders);  // the next `orders` orders are carried out and reported as failed

  Result<failure::ClusterLook> look() override;
  Result<void> act(const failure::RecoveryAction& action) override;
  Seconds now() const override { return options_.epoch + kernel_.now().seconds(); }
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

  struct Run {
    Seconds start;
    Seconds end;  // 0: still running
    std::vector<std::string> nodes;
    int restarts = 0;
  };
  const std::vector<Run>& runs(const std::string& job) const { return jobs_.at(job).runs; }
  bool knows(const std::string& job) const { return jobs_.contains(job); }
  bool is_running(const std::string& job) const;
  std::vector<std::string> jobs() const;  // in the order in which they were submitted
  // Returns the runs that began while another run of the same job was alive, and nodes with two
  // jobs.
  const std::vector<std::string>& overlaps() const { return overlaps_; }

 private:
  enum Kind : std::uint32_t { kPass, kSettled, kFenced, kReturn, kRegister, kTimeout };
  struct Job {
    failure::JobView view;
    int number = 0;
    int wanted = 1;
    bool requeue_after = false;  // when completed, becomes pending; false: failed or ended
    failure::JobPhase after = failure::JobPhase::ended;
    sim::TimerId settled;  // when completing or starting ends
    std::set<std::string> avoids;
    std::vector<std::string> next_place;
    std::vector<Run> runs;
  };
  struct Node {
    failure::NodeView view;
    int number = 0;
    bool dead = false;  // does not answer and runs nothing
    bool fence_hangs = false;
    std::string zombie_job;  // a job that may still run on a node that stopped answering
    Seconds killing_until;   // until a run that the controller forgot is killed
  };

  struct Saved {
    std::map<std::string, Job> jobs;
    std::map<std::string, failure::NodeView> nodes;
  };

  bool controller_runs() const { return now() >= away_until_ || !is_killed_; }
  void save_state();
  void restore_state();
  void register_nodes();
  void declare_dead();
  bool run_lives(const Job& job) const;
  void schedule_pass();
  void start_job(Job& job, const std::vector<std::string>& nodes);
  void settle(Job& job);
  void settle_after(Job& job, Seconds span);
  void end_run(Job& job, bool requeue, failure::JobPhase after);
  void lose_jobs_on(const std::string& node);
  Result<void> carry_out(const failure::RecoveryAction& action);
  Result<void> carry_out(const failure::RecoveryAction& action, Job& job);
  std::vector<std::string> free_nodes(const Job& job) const;

  sim::Kernel& kernel_;
  SimulatedOptions options_;
  Seconds away_until_;
  Seconds controller_since_;
  bool is_killed_ = false;
  Seconds saved_at_;
  Saved saved_;
  int answers_to_lose_ = 0;
  std::map<std::string, Job> jobs_;
  std::map<std::string, Node> nodes_;
  std::vector<std::string> order_;  // the nodes by number
  std::vector<std::string> overlaps_;
};

}  // namespace orrery::rehearse
