// Defaults of requests, engines, fleets and windows.
#include <gtest/gtest.h>

#include <vector>

#include "layers/engines/engine.h"
#include "layers/engines/kv_tier.h"
#include "layers/engines/scheduler.h"
#include "layers/engines/sequence.h"
#include "layers/serving/adapters.h"
#include "layers/serving/disaggregated.h"
#include "layers/serving/iteration.h"
#include "layers/serving/memory.h"
#include "layers/serving/steady_state.h"
#include "layers/traffic/apart_fleet.h"
#include "layers/traffic/autoscaler.h"
#include "layers/traffic/failover.h"
#include "layers/traffic/fleet.h"
#include "layers/traffic/live_replica.h"
#include "layers/traffic/load.h"
#include "layers/traffic/load_window.h"
#include "layers/traffic/replica_sim.h"
#include "layers/traffic/replica_trace.h"
#include "layers/traffic/retrieval.h"
#include "layers/traffic/sessions.h"
#include "layers/traffic/talks.h"

namespace orrery::traffic {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, defaults_of_adapters) {
  const serving::AdapterSet adapter_set{};
  EXPECT_EQ(plain(adapter_set.count, adapter_set.slots, adapter_set.rank, adapter_set.skew),
            (Plain{0, 1, 16, 1}));
  const serving::AdapterClass adapter_class{};
  EXPECT_EQ(plain(adapter_class.share, adapter_class.many), (Plain{0, 1}));
  const serving::ReplicaAdapters replica_adapters{};
  EXPECT_EQ(plain(replica_adapters.products, replica_adapters.token_bytes,
                  replica_adapters.token_flops, replica_adapters.missed),
            (Plain{0, 0, 0, 0}));
  const serving::SlotUse slot_use{};
  EXPECT_EQ(plain(slot_use.loads, slot_use.wait, slot_use.wait_p99), (Plain{0, 0, 0}));
  const serving::PrefixCase prefix_case{};
  EXPECT_EQ(plain(prefix_case.prefix, prefix_case.fresh, prefix_case.room, prefix_case.running),
            (Plain{0, 1, 0, 0}));
}

TEST(Unsaid, defaults_of_apart_fleet) {
  const ApartOptions apart_options{};
  EXPECT_EQ(plain(apart_options.bytes_per_token, apart_options.port_rate), (Plain{0, 0}));
  const ApartRun apart_run{};
  EXPECT_EQ(plain(apart_run.transfer_mean, apart_run.prefill_seconds), (Plain{0, 0}));
}

TEST(Unsaid, defaults_of_autoscaler) {
  const Autoscaler autoscaler{};
  EXPECT_EQ(plain(autoscaler.target, autoscaler.period, autoscaler.lag, autoscaler.hold,
                  autoscaler.least, autoscaler.most),
            (Plain{0, 15, 15, 0, 1, 1}));
}

TEST(Unsaid, defaults_of_disaggregated) {
  const serving::DisaggregatedPool disaggregated_pool{};
  EXPECT_EQ(plain(disaggregated_pool.replicas), (Plain{1}));
  const serving::DisaggregatedPoint disaggregated_point{};
  EXPECT_EQ(plain(disaggregated_point.decoding, disaggregated_point.prefill_load), (Plain{0, 0}));
}

TEST(Unsaid, defaults_of_engine) {
  const engines::Engine engine{};
  EXPECT_EQ(plain(engine.memory_share, engine.block_tokens, engine.kernels_hidden,
                  engine.keeps_all_output),
            (Plain{0.9, 16, 0, 0}));
  EXPECT_EQ(engine.kind, engines::EngineKind::vllm);
  const engines::ServingTuning serving_tuning{};
  EXPECT_EQ(plain(serving_tuning.products, serving_tuning.experts, serving_tuning.decoding,
                  serving_tuning.latent, serving_tuning.prefill, serving_tuning.messages,
                  serving_tuning.poll_steps, serving_tuning.prompt_wait),
            (Plain{1, 1, 1, 1, 1, 1, 0, 1}));
  const engines::EngineLimits engine_limits{};
  EXPECT_EQ(
      plain(engine_limits.token_budget, engine_limits.max_sequences, engine_limits.chunked_prefill),
      (Plain{8192, 1024, 1}));
}

TEST(Unsaid, defaults_of_failover) {
  const RegionWay region_way{};
  EXPECT_EQ(plain(region_way.to, region_way.round_trip), (Plain{0, 0}));
  const Region region{};
  EXPECT_EQ(plain(region.after), (Plain{60}));
  EXPECT_EQ(region.farthest, kForever);
  const RegionNow region_now{};
  EXPECT_EQ(plain(region_now.load, region_now.capacity), (Plain{0, 0}));
  const RegionMove region_move{};
  EXPECT_EQ(plain(region_move.from, region_move.to, region_move.rate), (Plain{0, 0, 0}));
  const RegionLosses region_losses{};
  EXPECT_EQ(plain(region_losses.dark, region_losses.unseen, region_losses.few,
                  region_losses.carried, region_losses.spilled, region_losses.others),
            (Plain{0, 0, 0, 0, 0, 1}));
}

TEST(Unsaid, defaults_of_fleet) {
  const ColdStart cold_start{};
  EXPECT_EQ(plain(cold_start.image, cold_start.process, cold_start.weights, cold_start.graphs),
            (Plain{0, 5, 12, 3.8}));
  const FleetOptions fleet_options{};
  EXPECT_EQ(plain(fleet_options.replicas, fleet_options.spill, fleet_options.most_outstanding,
                  fleet_options.mtbf, fleet_options.lose_one_at, fleet_options.seed),
            (Plain{1, 8, 0, 0, 0, 1}));
  EXPECT_EQ(fleet_options.router, Router::least_requests);
  const FleetRun fleet_run{};
  EXPECT_EQ(plain(fleet_run.served, fleet_run.refused, fleet_run.failures,
                  fleet_run.restarted_requests, fleet_run.replica_seconds, fleet_run.most_replicas,
                  fleet_run.cached_tokens, fleet_run.fetched_tokens, fleet_run.prompt_tokens),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, defaults_of_iteration) {
  const serving::ServingSplit serving_split{};
  EXPECT_EQ(plain(serving_split.tp, serving_split.pp, serving_split.attention_dp,
                  serving_split.moe_tp, serving_split.ep),
            (Plain{1, 1, 1, 0, 1}));
  const serving::ServingPrecision serving_precision{};
  EXPECT_EQ(plain(serving_precision.weights_only, serving_precision.narrow_output), (Plain{0, 0}));
  EXPECT_EQ(serving_precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(serving_precision.experts, catalog::Dtype::bf16);
  EXPECT_EQ(serving_precision.kv, catalog::Dtype::bf16);
  const serving::Iteration iteration{};
  EXPECT_EQ(plain(iteration.decoding, iteration.context, iteration.prompts, iteration.prompt_tokens,
                  iteration.prompt_cached, iteration.tokens_per_step, iteration.adapters),
            (Plain{0, 0, 0, 0, 0, 1, 0}));
  const serving::WorkGroup work_group{};
  EXPECT_EQ(plain(work_group.repeats), (Plain{0}));
}

TEST(Unsaid, defaults_of_kv_tier) {
  const engines::KvTierLaw kv_tier_law{};
  EXPECT_EQ(plain(kv_tier_law.blocks, kv_tier_law.first_byte, kv_tier_law.fetch_per_token,
                  kv_tier_law.compute_per_token),
            (Plain{0, 0, 0, 0}));
}

TEST(Unsaid, defaults_of_live_replica) {
  const LiveRun live_run{};
  EXPECT_EQ(plain(live_run.failed), (Plain{0}));
}

TEST(Unsaid, defaults_of_load) {
  const LengthLaw length_law{};
  EXPECT_EQ(plain(length_law.length, length_law.least_share, length_law.p99, length_law.added),
            (Plain{1024, 1, 0, 0}));
  const Timed timed{};
  EXPECT_EQ(plain(timed.at), (Plain{0}));
  const OpenLoad open_load{};
  EXPECT_EQ(plain(open_load.rate, open_load.cv, open_load.swing, open_load.period,
                  open_load.requests, open_load.seed),
            (Plain{1, 1, 0, 86400, 1000, 1}));
  const LatencySummary latency_summary{};
  EXPECT_EQ(plain(latency_summary.count, latency_summary.ttft_mean, latency_summary.ttft_p50,
                  latency_summary.ttft_p99, latency_summary.tpot_mean, latency_summary.tpot_p50,
                  latency_summary.tpot_p99, latency_summary.e2e_mean, latency_summary.e2e_p50,
                  latency_summary.e2e_p99, latency_summary.output_tokens_per_s,
                  latency_summary.requests_per_s),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, defaults_of_load_window) {
  const WindowPart window_part{};
  EXPECT_EQ(plain(window_part.requests, window_part.good, window_part.tasks), (Plain{0, 0, 0}));
  const LoadWindow load_window{};
  EXPECT_EQ(plain(load_window.rate, load_window.busy, load_window.stay, load_window.found,
                  load_window.fetched),
            (Plain{0, 0, 0, 0, 0}));
  const WindowSpan window_span{};
  EXPECT_EQ(plain(window_span.begins, window_span.ends, window_span.last), (Plain{0, 0, 0}));
  const ClientView client_view{};
  EXPECT_EQ(plain(client_view.aside, client_view.accepted, client_view.calls, client_view.seed),
            (Plain{0, 1, 0, 1}));
  EXPECT_EQ(client_view.ttft, std::numeric_limits<double>::infinity());
  EXPECT_EQ(client_view.tpot, std::numeric_limits<double>::infinity());
  EXPECT_EQ(client_view.whole, std::numeric_limits<double>::infinity());
  const Sampled sampled{};
  EXPECT_EQ(plain(sampled.value, sampled.error), (Plain{0, 0}));
}

TEST(Unsaid, defaults_of_memory) {
  const serving::ServingMemory serving_memory{};
  EXPECT_EQ(plain(serving_memory.blocks, serving_memory.kv_tokens, serving_memory.fits),
            (Plain{0, 0, 0}));
  const serving::ServingMemoryOptions serving_memory_options{};
  EXPECT_EQ(plain(serving_memory_options.least_tokens), (Plain{2048}));
  EXPECT_EQ(serving_memory_options.adapters, Bytes(0));
}

TEST(Unsaid, defaults_of_replica_sim) {
  const RequestRecord request_record{};
  EXPECT_EQ(plain(request_record.id, request_record.prompt, request_record.output,
                  request_record.cached, request_record.fetched, request_record.preemptions,
                  request_record.place, request_record.session, request_record.arrived,
                  request_record.scheduled, request_record.first, request_record.last),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const ReplicaCounts replica_counts{};
  EXPECT_EQ(
      plain(replica_counts.iterations, replica_counts.busy, replica_counts.prompt_tokens,
            replica_counts.output_tokens, replica_counts.preemptions, replica_counts.adapter_loads,
            replica_counts.requests_integral, replica_counts.blocks_integral),
      (Plain{0, 0, 0, 0, 0, 0, 0, 0}));
  const Gathering gathering{};
  EXPECT_EQ(plain(gathering.iterations), (Plain{0}));
  EXPECT_EQ(gathering.tokens, std::numeric_limits<double>::infinity());
  EXPECT_EQ(gathering.prompts, std::numeric_limits<int>::max());
  const ReplicaSim::Options options{};
  EXPECT_EQ(plain(options.merge, options.receive_every), (Plain{1, 1}));
}

TEST(Unsaid, defaults_of_replica_trace) {
  const IterationNote iteration_note{};
  EXPECT_EQ(plain(iteration_note.start, iteration_note.seconds, iteration_note.prompt_tokens,
                  iteration_note.output_tokens, iteration_note.waiting, iteration_note.held),
            (Plain{0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, defaults_of_retrieval) {
  const RetrievalLaw retrieval_law{};
  EXPECT_EQ(plain(retrieval_law.reads, retrieval_law.hops), (Plain{1, 1}));
}

TEST(Unsaid, defaults_of_scheduler) {
  const engines::EnginePolicy engine_policy{};
  EXPECT_EQ(
      plain(engine_policy.blocks, engine_policy.block_tokens, engine_policy.max_sequences,
            engine_policy.max_length, engine_policy.chunked_prefill, engine_policy.prefix_cache,
            engine_policy.by_priority, engine_policy.long_prompt, engine_policy.whole_prompt_fits,
            engine_policy.longest_prefix_first, engine_policy.new_token_ratio,
            engine_policy.new_token_ratio_min, engine_policy.new_token_steps,
            engine_policy.clip_output, engine_policy.ignores_end, engine_policy.max_utilisation,
            engine_policy.chunk_unit, engine_policy.adapter_slots, engine_policy.adapter_load),
      (Plain{1048576, 16, 256, 1073741824, 1, 0, 0, 0, 1, 1, 0.7, 0.098, 600, 4096, 0, 0, 32, 0,
             0}));
  EXPECT_EQ(engine_policy.kind, engines::EngineKind::vllm);
  const engines::BatchItem batch_item{};
  EXPECT_EQ(plain(batch_item.id, batch_item.tokens, batch_item.context, batch_item.emits),
            (Plain{0, 0, 0, 0}));
  const engines::StepSums step_sums{};
  EXPECT_EQ(
      plain(step_sums.decoding, step_sums.decode_keys, step_sums.prompts, step_sums.prompt_tokens,
            step_sums.prompt_pairs, step_sums.sampled, step_sums.fetches, step_sums.fetched,
            step_sums.adapters, step_sums.adapter_loads),
      (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, defaults_of_sequence) {
  const engines::RequestSpec request_spec{};
  EXPECT_EQ(
      plain(request_spec.prompt, request_spec.output, request_spec.priority,
            request_spec.transferred, request_spec.shared, request_spec.shared_tokens,
            request_spec.content, request_spec.talks, request_spec.session, request_spec.adapter),
      (Plain{1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  const engines::Sequence sequence{};
  EXPECT_EQ(plain(sequence.arrived, sequence.computed, sequence.generated, sequence.cached,
                  sequence.fetched, sequence.blocks, sequence.preemptions),
            (Plain{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sequence.state, engines::SequenceState::waiting);
}

TEST(Unsaid, defaults_of_sessions) {
  const SessionLoad session_load{};
  EXPECT_EQ(plain(session_load.users, session_load.turns, session_load.think, session_load.requests,
                  session_load.seed),
            (Plain{1, 4, 30, 1000, 1}));
  const SessionRun session_run{};
  EXPECT_EQ(plain(session_run.history_tokens, session_run.found_tokens, session_run.fetched_tokens),
            (Plain{0, 0, 0}));
}

TEST(Unsaid, defaults_of_steady_state) {
  const serving::RequestShape request_shape{};
  EXPECT_EQ(
      plain(request_shape.input, request_shape.output, request_shape.input_p99,
            request_shape.output_p99, request_shape.cached_share, request_shape.accepted_per_step,
            request_shape.checked_per_step, request_shape.requests_per_client),
      (Plain{1024, 1024, 0, 0, 0, 1, 1, 0}));
  const serving::ServingPoint serving_point{};
  EXPECT_EQ(plain(serving_point.concurrency, serving_point.running, serving_point.prefill_share,
                  serving_point.output_tokens_per_s, serving_point.total_tokens_per_s),
            (Plain{0, 0, 0, 0, 0}));
  EXPECT_EQ(serving_point.bound, serving::ServingBound::none);
  const serving::StaticBatch static_batch{};
  EXPECT_EQ(plain(static_batch.batch, static_batch.output_tokens_per_s), (Plain{0, 0}));
}

TEST(Unsaid, defaults_of_talks) {
  const TalkLoad talk_load{};
  EXPECT_EQ(plain(talk_load.rate, talk_load.turns, talk_load.think, talk_load.whole,
                  talk_load.system_share, talk_load.most_prompt, talk_load.most_output,
                  talk_load.most_held, talk_load.until, talk_load.seed),
            (Plain{1, 4, 30, 0, 0, 1073741824, 1073741824, 1073741824, 0, 1}));
  const TalkCase talk_case{};
  EXPECT_EQ(
      plain(talk_case.turns, talk_case.think, talk_case.prompt, talk_case.output, talk_case.rate,
            talk_case.stay, talk_case.tokens, talk_case.replicas, talk_case.at_home),
      (Plain{4, 30, 500, 250, 1, 5, 100000, 1, 0}));
  const TaskCase task_case{};
  EXPECT_EQ(plain(task_case.calls), (Plain{1}));
}

}  // namespace
}  // namespace orrery::traffic
