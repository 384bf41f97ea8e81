// What holds where nobody says otherwise: the defaults of jobs, pods, queues and pools.
#include <gtest/gtest.h>

#include <vector>

#include "layers/cluster/backfill.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gang.h"
#include "layers/cluster/mig.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/preemption.h"
#include "layers/cluster/priority.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/queue_wait.h"
#include "layers/cluster/quota.h"
#include "layers/cluster/rack_meters.h"
#include "layers/cluster/reservation.h"
#include "layers/cluster/start_gate.h"
#include "layers/cluster/topology_fit.h"
#include "layers/cluster/wait_reason.h"

namespace orrery::cluster {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, of_backfill) {
  const RunningEnd running_end{};
  EXPECT_EQ(plain(running_end.job), (Plain{0}));
  const QueueView queue_view{};
  EXPECT_EQ(plain(queue_view.surprises), (Plain{0}));
  EXPECT_EQ(queue_view.reservations, nullptr);
  EXPECT_EQ(queue_view.gate, nullptr);
  const Starts::One one{};
  EXPECT_EQ(plain(one.job, one.first, one.count), (Plain{0, 0, 0}));
  const Promise promise{};
  EXPECT_EQ(promise.job, kNoJob);
  const PeriodicBounds periodic_bounds{};
  EXPECT_EQ(plain(periodic_bounds.max_job_test), (Plain{500}));
  EXPECT_EQ(periodic_bounds.interval, sim::SimTime::nanoseconds(30'000'000'000));
  EXPECT_EQ(periodic_bounds.window, sim::SimTime::nanoseconds(86'400'000'000'000));
  EXPECT_EQ(periodic_bounds.resolution, sim::SimTime::nanoseconds(60'000'000'000));
}

TEST(Unsaid, of_fragmentation) {
  const PodAsk pod_ask{};
  EXPECT_EQ(
      plain(pod_ask.cpu_milli, pod_ask.memory_mib, pod_ask.gpus, pod_ask.gpu_milli, pod_ask.models),
      (Plain{0, 0, 0, 0, 0}));
  const PodNode pod_node{};
  EXPECT_EQ(plain(pod_node.cpu_left, pod_node.memory_left, pod_node.gpus, pod_node.model),
            (Plain{0, 0, 0, 0}));
  const PodPlace pod_place{};
  EXPECT_EQ(plain(pod_place.node, pod_place.gpus), (Plain{-1, 0}));
}

TEST(Unsaid, of_gang) {
  const GangRequest gang_request{};
  EXPECT_EQ(plain(gang_request.nodes, gang_request.gpus_per_node), (Plain{1, 8}));
  const GangAnswer gang_answer{};
  EXPECT_EQ(plain(gang_answer.nodes_free, gang_answer.nodes_short), (Plain{0, 0}));
  EXPECT_EQ(gang_answer.verdict, GangVerdict::fits);
  const HeldGang held_gang{};
  EXPECT_EQ(plain(held_gang.needs, held_gang.holds), (Plain{0, 0}));
  const HoldOutcome hold_outcome{};
  EXPECT_EQ(plain(hold_outcome.deadlock, hold_outcome.nodes_idle), (Plain{0, 0}));
}

TEST(Unsaid, of_mig) {
  const MigInstance mig_instance{};
  EXPECT_EQ(plain(mig_instance.profile, mig_instance.start), (Plain{0, 0}));
  const MigDemand mig_demand{};
  EXPECT_EQ(plain(mig_demand.count), (Plain{0}));
  const MigPacking mig_packing{};
  EXPECT_EQ(plain(mig_packing.gpus_at_least, mig_packing.compute_used, mig_packing.memory_used,
                  mig_packing.compute_stranded, mig_packing.memory_stranded),
            (Plain{0, 0, 0, 0, 0}));
  const MigHoles mig_holes{};
  EXPECT_EQ(plain(mig_holes.compute_free, mig_holes.memory_free, mig_holes.usable),
            (Plain{0, 0, 0}));
}

TEST(Unsaid, of_mig_pool) {
  const MigPlace mig_place{};
  EXPECT_EQ(plain(mig_place.device), (Plain{0}));
}

TEST(Unsaid, of_node_pool) {
  const GpuAsk gpu_ask{};
  EXPECT_EQ(plain(gpu_ask.gpus, gpu_ask.per_node), (Plain{1, 0}));
  const NodeShare node_share{};
  EXPECT_EQ(plain(node_share.node, node_share.gpus, node_share.mask), (Plain{0, 0, 0}));
}

TEST(Unsaid, of_preemption) {
  const PreemptionRules preemption_rules{};
  EXPECT_EQ(plain(preemption_rules.saves_first), (Plain{0}));
  EXPECT_EQ(preemption_rules.order, VictimOrder::cheapest);
}

TEST(Unsaid, of_priority) {
  const FairUser fair_user{};
  EXPECT_EQ(plain(fair_user.shares, fair_user.account_shares, fair_user.use), (Plain{1, 1, 0}));
}

TEST(Unsaid, of_queue) {
  const JobRequest job_request{};
  EXPECT_EQ(plain(job_request.tier, job_request.priority, job_request.partition, job_request.group,
                  job_request.qos, job_request.qos_seat, job_request.user, job_request.stays,
                  job_request.guest_of, job_request.tag),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const QueueOptions queue_options{};
  EXPECT_EQ(queue_options.backfill, BackfillVariant::easy);
  EXPECT_EQ(queue_options.gate, nullptr);
}

TEST(Unsaid, of_queue_wait) {
  const QueueProblem queue_problem{};
  EXPECT_EQ(plain(queue_problem.servers, queue_problem.arrival_variation,
                  queue_problem.service_variation),
            (Plain{1, 1, 1}));
  const QueueWait queue_wait{};
  EXPECT_EQ(
      plain(queue_wait.load, queue_wait.stable, queue_wait.wait_chance, queue_wait.mean_queue),
      (Plain{0, 0, 0, 0}));
}

TEST(Unsaid, of_quota) {
  const QuotaState quota_state{};
  EXPECT_EQ(plain(quota_state.guaranteed, quota_state.may_borrow, quota_state.used),
            (Plain{0, 0, 0}));
}

TEST(Unsaid, of_rack_meters) {
  const RackDraw rack_draw{};
  EXPECT_EQ(plain(rack_draw.hosts), (Plain{0}));
}

TEST(Unsaid, of_reservation) {
  const Reservation::Window window{};
  EXPECT_EQ(window.begin, sim::SimTime::never());
  EXPECT_EQ(window.end, sim::SimTime::never());
}

TEST(Unsaid, of_start_gate) {
  const QueuedJob queued_job{};
  EXPECT_EQ(plain(queued_job.priority, queued_job.partition, queued_job.group, queued_job.qos,
                  queued_job.qos_seat, queued_job.user, queued_job.tier, queued_job.stays,
                  queued_job.guest_of),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const LimitUse limit_use{};
  EXPECT_EQ(plain(limit_use.limit, limit_use.amount), (Plain{0, 0}));
}

TEST(Unsaid, of_topology_fit) {
  const TopologySwitch topology_switch{};
  EXPECT_EQ(plain(topology_switch.parent, topology_switch.free_nodes), (Plain{-1, 0}));
  const LeafShare leaf_share{};
  EXPECT_EQ(plain(leaf_share.leaf, leaf_share.nodes), (Plain{0, 0}));
  const TopologyFit topology_fit{};
  EXPECT_EQ(plain(topology_fit.subtree, topology_fit.levels, topology_fit.left_over),
            (Plain{0, 0, 0}));
  const TopologyScratch::Subtree subtree{};
  EXPECT_EQ(plain(subtree.free, subtree.height), (Plain{0, 0}));
}

TEST(Unsaid, of_wait_reason) {
  const WaitAnswer wait_answer{};
  EXPECT_EQ(plain(wait_answer.jobs_ahead, wait_answer.gpus_short), (Plain{0, 0}));
  EXPECT_EQ(wait_answer.reason, WaitReason::starts);
  EXPECT_EQ(wait_answer.behind, kNoJob);
}

}  // namespace
}  // namespace orrery::cluster
