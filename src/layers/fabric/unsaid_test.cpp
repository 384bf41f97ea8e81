// What holds where nobody says otherwise: the defaults of graphs, flows, pauses and collectives.
#include <gtest/gtest.h>

#include <vector>

#include "layers/fabric/bill.h"
#include "layers/fabric/collective_model.h"
#include "layers/fabric/collective_parameters.h"
#include "layers/fabric/ecmp.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/flow_groups.h"
#include "layers/fabric/flow_solver.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/nccl_log.h"
#include "layers/fabric/nccl_tuner.h"
#include "layers/fabric/pause_fluid.h"
#include "layers/fabric/router.h"
#include "layers/fabric/storm_study.h"
#include "layers/fabric/topology.h"
#include "layers/fabric/traffic.h"
#include "layers/fabric/what_if.h"

namespace orrery::fabric {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, of_bill) {
  const BillParts bill_parts{};
  EXPECT_EQ(plain(bill_parts.nics_per_node_module, bill_parts.copper_node_links,
                  bill_parts.all_copper, bill_parts.co_packaged, bill_parts.nics_in_node),
            (Plain{2, 0, 0, 0, 1}));
  EXPECT_EQ(bill_parts.leaf, nullptr);
  EXPECT_EQ(bill_parts.spine, nullptr);
  EXPECT_EQ(bill_parts.core, nullptr);
  EXPECT_EQ(bill_parts.nic, nullptr);
  EXPECT_EQ(bill_parts.switch_module, nullptr);
  EXPECT_EQ(bill_parts.node_module, nullptr);
}

TEST(Unsaid, of_collective_model) {
  const ScaleUpCurve scale_up_curve{};
  EXPECT_EQ(plain(scale_up_curve.ring_share, scale_up_curve.nvls_share, scale_up_curve.pair_share,
                  scale_up_curve.nvls_ranks, scale_up_curve.ramp),
            (Plain{0.812, 0.602, 0.75, 5, 1.2}));
  EXPECT_EQ(scale_up_curve.launch, microseconds(15));
  EXPECT_EQ(scale_up_curve.fill, microseconds(70));
  const NetworkCurve network_curve{};
  EXPECT_EQ(plain(network_curve.share, network_curve.pair_share, network_curve.ramp,
                  network_curve.has_tree),
            (Plain{0.95, 0.75, 1.8, 1}));
  EXPECT_EQ(network_curve.latency, microseconds(12));
  EXPECT_EQ(network_curve.fill, microseconds(60));
  const ProtocolStep protocol_step{};
  EXPECT_EQ(plain(protocol_step.extra), (Plain{0.55}));
  EXPECT_EQ(protocol_step.at, kib(64));
  const LinkHierarchy link_hierarchy{};
  EXPECT_EQ(
      plain(link_hierarchy.domain, link_hierarchy.nics_per_rank, link_hierarchy.oversubscription,
            link_hierarchy.network_free, link_hierarchy.sharp, link_hierarchy.in_graph),
      (Plain{8, 1, 1, 1, 0, 0}));
  EXPECT_EQ(link_hierarchy.graph_saving, microseconds(6));
  const CollectiveTime collective_time{};
  EXPECT_EQ(collective_time.algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(collective_time.limit, LimitingLink::launch);
  const SharedWire shared_wire{};
  EXPECT_EQ(plain(shared_wire.contenders), (Plain{1}));
  const LossShape loss_shape{};
  EXPECT_EQ(plain(loss_shape.nics_per_node, loss_shape.leaf_uplinks, loss_shape.spines,
                  loss_shape.planes, loss_shape.adaptive),
            (Plain{8, 32, 16, 1, 1}));
}

TEST(Unsaid, of_collective_parameters) {
  const CollectiveParameters::ScaleUp scale_up{};
  EXPECT_EQ(plain(scale_up.fitted), (Plain{0}));
  const CollectiveParameters::Network network{};
  EXPECT_EQ(plain(network.fitted), (Plain{0}));
  const CollectiveParameters::Interval interval{};
  EXPECT_EQ(plain(interval.network, interval.low, interval.high), (Plain{0, 0, 0}));
  const CollectiveParameters collective_parameters{};
  EXPECT_EQ(plain(collective_parameters.rccl_tree), (Plain{0}));
}

TEST(Unsaid, of_ecmp) {
  const EcmpStudy ecmp_study{};
  EXPECT_EQ(plain(ecmp_study.leaves, ecmp_study.hosts_per_leaf, ecmp_study.spines,
                  ecmp_study.queue_pairs, ecmp_study.trials, ecmp_study.seed),
            (Plain{32, 32, 32, 1, 4, 1}));
  EXPECT_EQ(ecmp_study.routing, catalog::RoutingKind::ecmp);
  const EcmpSpread ecmp_spread{};
  EXPECT_EQ(plain(ecmp_spread.worst_load, ecmp_spread.mean_rate, ecmp_spread.least_rate,
                  ecmp_spread.worst_load_deviation, ecmp_spread.mean_rate_deviation),
            (Plain{0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_flow_engine) {
  const FlowRequest flow_request{};
  EXPECT_EQ(plain(flow_request.bytes, flow_request.latency, flow_request.weight,
                  flow_request.priority, flow_request.tag),
            (Plain{0, 0, 1, 0, 0}));
  EXPECT_EQ(flow_request.cap, kUncapped);
  EXPECT_EQ(flow_request.observer, nullptr);
  const FlowOptions flow_options{};
  EXPECT_EQ(plain(flow_options.tolerance, flow_options.whole), (Plain{0, 0}));
}

TEST(Unsaid, of_flow_groups) {
  const FlowGroup flow_group{};
  EXPECT_EQ(
      plain(flow_group.left, flow_group.is_component, flow_group.is_fresh, flow_group.has_grown,
            flow_group.is_touched, flow_group.has_cancelled, flow_group.is_met),
      (Plain{0, 0, 0, 1, 0, 0, 0}));
  const FlowGroupId flow_group_id{};
  EXPECT_EQ(plain(flow_group_id.slot, flow_group_id.generation), (Plain{0, 0}));
}

TEST(Unsaid, of_flow_solver) {
  const FlowState flow_state{};
  EXPECT_EQ(plain(flow_state.remaining, flow_state.rate, flow_state.path_begin, flow_state.hops,
                  flow_state.priority),
            (Plain{0, 0, 0, 0, 0}));
  EXPECT_EQ(flow_state.active, FlowState::kAtRest);
  const FlowTable flow_table{};
  EXPECT_EQ(plain(flow_table.has_priorities), (Plain{0}));
}

TEST(Unsaid, of_graph) {
  const GraphLink graph_link{};
  EXPECT_EQ(plain(graph_link.from, graph_link.to, graph_link.capacity, graph_link.latency),
            (Plain{0, 0, 0, 0}));
  const TreeLayout::Group group{};
  EXPECT_EQ(plain(group.first_leaf, group.leaves, group.first_spine, group.spines,
                  group.spine_uplinks, group.first_uplink),
            (Plain{0, 0, 0, 0, 0, 0}));
  const TreeLayout tree_layout{};
  EXPECT_EQ(plain(tree_layout.uplinks, tree_layout.cores, tree_layout.first_node_link,
                  tree_layout.first_leaf_link, tree_layout.first_spine_link),
            (Plain{0, 0, 0, 0, 0}));
  const FabricGraph fabric_graph{};
  EXPECT_EQ(plain(fabric_graph.endpoints, fabric_graph.planes, fabric_graph.rails,
                  fabric_graph.first_scaleup_link),
            (Plain{0, 1, 1, -1}));
  const GraphOptions graph_options{};
  EXPECT_EQ(graph_options.scaleup_latency, nanoseconds(500));
  const TreeShape tree_shape{};
  EXPECT_EQ(plain(tree_shape.hosts_per_leaf, tree_shape.leaves_per_group, tree_shape.groups,
                  tree_shape.leaf_uplinks, tree_shape.spines_per_group, tree_shape.spine_uplinks,
                  tree_shape.cores),
            (Plain{32, 32, 1, 32, 32, 0, 0}));
  EXPECT_EQ(tree_shape.rate, gbytes_per_s(50));
  EXPECT_EQ(tree_shape.latency, microseconds(1));
}

TEST(Unsaid, of_hazards) {
  const IncastSpec incast_spec{};
  EXPECT_EQ(plain(incast_spec.senders), (Plain{8}));
  EXPECT_EQ(incast_spec.sender_rate, gbits_per_s(400));
  EXPECT_EQ(incast_spec.port_rate, gbits_per_s(400));
  EXPECT_EQ(incast_spec.round_trip, microseconds(8));
  const IncastBound incast_bound{};
  EXPECT_EQ(plain(incast_bound.cuts, incast_bound.pauses, incast_bound.overflows),
            (Plain{0, 0, 0}));
  const HeadroomSpec headroom_spec{};
  EXPECT_EQ(plain(headroom_spec.cable_m, headroom_spec.ports, headroom_spec.lossless_classes),
            (Plain{30, 64, 1}));
  EXPECT_EQ(headroom_spec.rate, gbits_per_s(400));
  EXPECT_EQ(headroom_spec.response, nanoseconds(600));
  EXPECT_EQ(headroom_spec.mtu, bytes(4200));
  EXPECT_EQ(headroom_spec.buffer, mib(160));
  const HeadroomCheck headroom_check{};
  EXPECT_EQ(plain(headroom_check.fits, headroom_check.longest_cable_m), (Plain{0, 0}));
  const RoceSettings roce_settings{};
  EXPECT_EQ(roce_settings.pfc_on_every_hop, Answer::unknown);
  EXPECT_EQ(roce_settings.pfc_on_one_class_only, Answer::unknown);
  EXPECT_EQ(roce_settings.ecn_below_pfc, Answer::unknown);
  EXPECT_EQ(roce_settings.own_queue, Answer::unknown);
  EXPECT_EQ(roce_settings.hash_spread, Answer::unknown);
  EXPECT_EQ(roce_settings.watchdog, Answer::unknown);
  EXPECT_EQ(roce_settings.headroom, Answer::unknown);
  const RoceFinding roce_finding{};
  EXPECT_EQ(plain(roce_finding.declared), (Plain{0}));
  const FabricComparison fabric_comparison{};
  EXPECT_EQ(plain(fabric_comparison.infiniband_rate, fabric_comparison.roce_hashed_rate,
                  fabric_comparison.roce_spread_rate),
            (Plain{0, 0, 0}));
}

TEST(Unsaid, of_nccl_log) {
  const NcclLine nccl_line{};
  EXPECT_EQ(plain(nccl_line.bytes, nccl_line.time_us, nccl_line.algbw, nccl_line.busbw),
            (Plain{0, 0, 0, 0}));
  const GapFacts gap_facts{};
  EXPECT_EQ(
      plain(gap_facts.large_ratio, gap_facts.small_ratio, gap_facts.leaves_domain, gap_facts.roce,
            gap_facts.expected_bus, gap_facts.measured_bus, gap_facts.nic_gbytes, gap_facts.nics),
      (Plain{1, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_nccl_tuner) {
  const NcclMachine nccl_machine{};
  EXPECT_EQ(plain(nccl_machine.nvls), (Plain{1}));
  EXPECT_EQ(nccl_machine.generation, GpuGeneration::hopper);
  EXPECT_EQ(nccl_machine.nic_latency, microseconds(0));
  const NcclChoice nccl_choice{};
  EXPECT_EQ(nccl_choice.algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(nccl_choice.protocol, NcclProtocol::simple);
}

TEST(Unsaid, of_pause_fluid) {
  const EcnMarking ecn_marking{};
  EXPECT_EQ(plain(ecn_marking.pmax), (Plain{1}));
  EXPECT_EQ(ecn_marking.kmin, bytes(150e3));
  EXPECT_EQ(ecn_marking.kmax, bytes(1500e3));
  const RateControl rate_control{};
  EXPECT_EQ(plain(rate_control.fast_stages, rate_control.gain, rate_control.increase),
            (Plain{5, 0.00390625, 0.001}));
  EXPECT_EQ(rate_control.cut_gap, microseconds(50));
  EXPECT_EQ(rate_control.alpha_gap, microseconds(55));
  EXPECT_EQ(rate_control.timer, microseconds(55));
  EXPECT_EQ(rate_control.counter, megabytes(10));
  EXPECT_EQ(rate_control.packet, bytes(1000));
  const PauseOptions pause_options{};
  EXPECT_EQ(plain(pause_options.pauses, pause_options.xon, pause_options.way_back),
            (Plain{1, 0.8, 4}));
  EXPECT_EQ(pause_options.step, microseconds(1));
  EXPECT_EQ(pause_options.xoff, bytes(1e6));
  EXPECT_EQ(pause_options.headroom, megabytes(1));
  ASSERT_TRUE(pause_options.marking);
  EXPECT_EQ(pause_options.marking->kmin, bytes(150e3));
  const MarkedQueue marked_queue{};
  EXPECT_EQ(plain(marked_queue.probability, marked_queue.is_marked_enough), (Plain{0, 1}));
}

TEST(Unsaid, of_router) {
  const RoutingOptions routing_options{};
  EXPECT_EQ(plain(routing_options.seed, routing_options.polarised, routing_options.pxn),
            (Plain{1, 0, 0}));
  EXPECT_EQ(routing_options.kind, catalog::RoutingKind::fixed);
}

TEST(Unsaid, of_storm_study) {
  const StormSpec storm_spec{};
  EXPECT_EQ(plain(storm_spec.queue_pairs, storm_spec.partners), (Plain{1, 4}));
  const StormReport storm_report{};
  EXPECT_EQ(plain(storm_report.nodes, storm_report.reach, storm_report.left, storm_report.pauses,
                  storm_report.held, storm_report.before),
            (Plain{0, 0, 1, 0, 1, 1}));
}

TEST(Unsaid, of_topology) {
  const FabricSpec fabric_spec{};
  EXPECT_EQ(plain(fabric_spec.nodes, fabric_spec.rails, fabric_spec.radix, fabric_spec.planes,
                  fabric_spec.oversubscription, fabric_spec.tiers, fabric_spec.manager_ports,
                  fabric_spec.dragonfly_h, fabric_spec.scaleup_chips),
            (Plain{0, 8, 64, 1, 1, 0, 0, 0, 18}));
  EXPECT_EQ(fabric_spec.kind, catalog::TopologyKind::rail_fat_tree);
  EXPECT_EQ(fabric_spec.link_rate, gbits_per_s(400));
  EXPECT_EQ(fabric_spec.link_latency, nanoseconds(500));
  const LeafUnit leaf_unit{};
  EXPECT_EQ(plain(leaf_unit.node_from, leaf_unit.nodes, leaf_unit.rail_from, leaf_unit.rails,
                  leaf_unit.rails_per_leaf, leaf_unit.leaves),
            (Plain{0, 0, 0, 0, 1, 0}));
  const SwitchGroup switch_group{};
  EXPECT_EQ(plain(switch_group.leaves, switch_group.spines), (Plain{0, 0}));
  const Topology topology{};
  EXPECT_EQ(plain(topology.tiers, topology.leaf_uplinks, topology.endpoints, topology.leaves,
                  topology.spines, topology.cores, topology.node_links, topology.spare_leaf_ports,
                  topology.manager_links, topology.leaf_spine_links, topology.spine_core_links,
                  topology.dragonfly_h, topology.dragonfly_groups),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_traffic) {
  const Message message{};
  EXPECT_EQ(
      plain(message.source, message.destination, message.bytes, message.start, message.priority),
      (Plain{0, 0, 0, 0, 0}));
  const TrafficOptions traffic_options{};
  EXPECT_EQ(plain(traffic_options.queue_pairs, traffic_options.tolerance,
                  traffic_options.weigh_by_latency),
            (Plain{1, 0, 0}));
  const TrafficResult traffic_result{};
  EXPECT_EQ(plain(traffic_result.last, traffic_result.unreachable, traffic_result.limiting_link,
                  traffic_result.limiting_seconds, traffic_result.solves),
            (Plain{0, 0, -1, 0, 0}));
}

TEST(Unsaid, of_what_if) {
  const LossSpec loss_spec{};
  EXPECT_EQ(plain(loss_spec.number), (Plain{0}));
  EXPECT_EQ(loss_spec.loss, Loss::leaf_uplink);
  EXPECT_EQ(loss_spec.message, megabytes(100));
  const LossReport loss_report{};
  EXPECT_EQ(
      plain(loss_report.share, loss_report.closed_form_share, loss_report.cut, loss_report.slowed),
      (Plain{1, 1, 0, 0}));
}

}  // namespace
}  // namespace orrery::fabric
