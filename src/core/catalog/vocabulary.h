// Terms that both the design file and the layers use: one enumeration and one table of words for
// each.
//
// design/ reads and writes these words and the layers compute with the values. The command line,
// the reports and the rows of data/ take their spelling from the same table. If their spelling
// differs (`static` routing is `fixed` on the command line), it is in the table's second column.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/words.h"

namespace orrery::catalog {

// The format in which products are computed or in which weights and caches are stored. The fp8
// kinds differ in what shares a scale: a tensor, a row, a block, or 32 elements (MX). In nvfp4, 16
// elements share one.
enum class Precision { fp32, tf32, bf16, fp16, fp8, fp8_row, fp8_block, mxfp8, nvfp4, int8, int4 };
inline constexpr Word<Precision> kPrecisionWords[] = {
    {Precision::fp32, "fp32"},
    {Precision::tf32, "tf32"},
    {Precision::bf16, "bf16"},
    {Precision::fp16, "fp16"},
    {Precision::fp8, "fp8"},
    {Precision::fp8_row, "fp8-row", "fp8_row"},
    {Precision::fp8_block, "fp8-block", "fp8_block"},
    {Precision::mxfp8, "mxfp8"},
    {Precision::nvfp4, "nvfp4"},
    {Precision::int8, "int8"},
    {Precision::int4, "int4"},
};
constexpr WordTable<Precision> words_of(Precision) { return kPrecisionWords; }
// The spelling in data rows, JSON and on the command line.
constexpr std::string_view to_text(Precision p) { return other_word_of(p); }

// What the data-parallel replicas of a model shard among themselves: optimizer, gradients, weights.
enum class Sharding { none, zero1, zero2, zero3 };
inline constexpr Word<Sharding> kShardingWords[] = {
    {Sharding::none, "none"},
    {Sharding::zero1, "zero1"},
    {Sharding::zero2, "zero2"},
    {Sharding::zero3, "zero3", "fsdp"},
};
constexpr WordTable<Sharding> words_of(Sharding) { return kShardingWords; }
constexpr std::string_view to_text(Sharding s) { return word_of(s); }

// Which activations are recomputed in the backward pass instead of kept.
enum class Recompute { none, selective, full };
inline constexpr Word<Recompute> kRecomputeWords[] = {
    {Recompute::none, "none"},
    {Recompute::selective, "selective"},
    {Recompute::full, "full"},
};
constexpr WordTable<Recompute> words_of(Recompute) { return kRecomputeWords; }
constexpr std::string_view to_text(Recompute r) { return word_of(r); }

// The order of forward and backward passes in a pipeline.
enum class Schedule { one_f_one_b, interleaved, zero_bubble, dualpipe };
inline constexpr Word<Schedule> kScheduleWords[] = {
    {Schedule::one_f_one_b, "1f1b"},
    {Schedule::interleaved, "interleaved"},
    {Schedule::zero_bubble, "zero-bubble", "zb"},
    {Schedule::dualpipe, "dualpipe"},
};
constexpr WordTable<Schedule> words_of(Schedule) { return kScheduleWords; }
constexpr std::string_view to_text(Schedule s) { return word_of(s); }

// The networks that fabric/ can generate. The design file has its own names for some of them with
// parameters: design/networks.h.
enum class TopologyKind { rail_fat_tree, fat_tree, rail_only, dragonfly, torus, scale_up };
inline constexpr Word<TopologyKind> kTopologyWords[] = {
    {TopologyKind::rail_fat_tree, "rail-fat-tree"},
    {TopologyKind::fat_tree, "fat-tree"},
    {TopologyKind::rail_only, "rail-only"},
    {TopologyKind::dragonfly, "dragonfly"},
    {TopologyKind::torus, "torus"},
    {TopologyKind::scale_up, "scale-up"},
};
constexpr WordTable<TopologyKind> words_of(TopologyKind) { return kTopologyWords; }
constexpr std::string_view to_text(TopologyKind k) { return word_of(k); }

// How a switch chooses among equal-cost paths.
enum class RoutingKind : std::uint8_t { fixed, ecmp, adaptive };
inline constexpr Word<RoutingKind> kRoutingWords[] = {
    {RoutingKind::fixed, "static", "fixed"},
    {RoutingKind::ecmp, "ecmp"},
    {RoutingKind::adaptive, "adaptive"},
};
constexpr WordTable<RoutingKind> words_of(RoutingKind) { return kRoutingWords; }

// Networks whose collectives have parameters of their own. efa_first: the first EFA adapters (A100
// machines, AWS p4); efa: later ones.
enum class NetworkKind : std::uint8_t {
  none,
  infiniband,
  roce,
  efa,
  efa_first,
  tcpxo,
  tcpx,
  ethernet
};
inline constexpr Word<NetworkKind> kNetworkWords[] = {
    {NetworkKind::none, "none"},      {NetworkKind::infiniband, "infiniband"},
    {NetworkKind::roce, "roce"},      {NetworkKind::efa, "efa"},
    {NetworkKind::efa_first, "efa1"}, {NetworkKind::tcpxo, "tcpxo"},
    {NetworkKind::tcpx, "tcpx"},      {NetworkKind::ethernet, "ethernet"},
};
constexpr WordTable<NetworkKind> words_of(NetworkKind) { return kNetworkWords; }
constexpr std::string_view to_text(NetworkKind k) { return word_of(k); }

// Which replica of a service gets a request; traffic/fleet.h says how each policy chooses.
enum class ServeRouter { round_robin, least_requests, least_tokens, session, prefix };
inline constexpr Word<ServeRouter> kServeRouterWords[] = {
    {ServeRouter::round_robin, "round-robin"},
    {ServeRouter::least_requests, "least-requests"},
    {ServeRouter::least_tokens, "least-tokens"},
    {ServeRouter::session, "session"},
    {ServeRouter::prefix, "prefix"},
};
constexpr WordTable<ServeRouter> words_of(ServeRouter) { return kServeRouterWords; }

// What a full cache evicts.
enum class EvictionPolicy { lru, random, pin, belady };
inline constexpr Word<EvictionPolicy> kEvictionWords[] = {
    {EvictionPolicy::lru, "lru"},
    {EvictionPolicy::random, "random"},
    {EvictionPolicy::pin, "pin"},
    {EvictionPolicy::belady, "belady"},
};
constexpr WordTable<EvictionPolicy> words_of(EvictionPolicy) { return kEvictionWords; }
constexpr std::string_view to_text(EvictionPolicy p) { return word_of(p); }

// How past use affects a job's priority, as in Slurm.
enum class FairShareBy { fair_tree, classic };
inline constexpr Word<FairShareBy> kFairShareWords[] = {
    {FairShareBy::fair_tree, "fair-tree"},
    {FairShareBy::classic, "classic"},
};
constexpr WordTable<FairShareBy> words_of(FairShareBy) { return kFairShareWords; }

// The terms on which a machine is rented.
enum class Contract { on_demand, reserved, spot };
inline constexpr Word<Contract> kContractWords[] = {
    {Contract::on_demand, "on-demand", "on demand"},
    {Contract::reserved, "reserved"},
    {Contract::spot, "spot"},
};
constexpr WordTable<Contract> words_of(Contract) { return kContractWords; }
// The spelling in reports.
constexpr std::string_view to_text(Contract c) { return other_word_of(c); }

}  // namespace orrery::catalog
