#include "layers/compute/kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>

namespace orrery::compute {
namespace {

// The fewest keys worth splitting off to another unit.
constexpr double kLeastKeys = 128;
constexpr double kMostSplits = 32;
constexpr double kPartialSumBytes = 8;  // fp32, written and read again
// The tiles of a library that looks at m alone, as indices into calibration's list.
constexpr std::size_t kSquareTile = 2;  // 128 x 128
constexpr std::size_t kFlatTile = 4;    // 64 x 128
constexpr std::size_t kSmallTile = 5;   // 64 x 64

// std::ceil is a function call without SSE4.1; sizes here are positive and far below 2^63.
double ceil_of(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

double waves(double tasks_per_unit, double tail) {
  if (tasks_per_unit <= 1) return 1;
  if (tail <= 0) return tasks_per_unit;
  return tasks_per_unit + tail * (ceil_of(tasks_per_unit) - tasks_per_unit);
}

struct Joined {
  double time = 0;
  double clocked = 0;  // compute * d(time)/d(compute)
};

Joined join(double compute, double memory, double loss) {
  if (compute >= memory) {
    if (compute <= 0) return {};
    const double hidden = loss * memory * memory / compute;
    return {.time = compute + hidden, .clocked = compute - hidden};
  }
  const double hidden = loss * compute * compute / memory;
  return {.time = memory + hidden, .clocked = 2 * hidden};
}

// How many tiles of the smallest edge, of twice that and of four times that cover a side, rounded
// up.
struct Edges {
  std::array<double, 3> count{};

  explicit Edges(double side) {
    auto least = static_cast<std::int64_t>(side / kLeastTileEdge);
    if (static_cast<double>(least) * kLeastTileEdge < side) ++least;
    const std::int64_t twice = (least + 1) / 2;  // tiles of twice the edge; the last may be partial
    const std::int64_t four_times = (least + 3) / 4;
    count = {static_cast<double>(least), static_cast<double>(twice),
             static_cast<double>(four_times)};
  }
  double operator[](int edge) const { return count[static_cast<std::size_t>(edge)]; }
};

double whole_k_time(const GemmModel& model, const GemmTile& tile, double load, double k) {
  return waves(load, model.tail) * tile.seconds_per_k * (k + model.k_overhead);
}

// Returns the least time over tiles and splits of K. The time of every candidate grows with m, n
// and k, and more rows or columns allow fewer candidates, so the minimum grows too.
double best_tile_time(const GemmModel& model, const workload::Gemm& g, double per_unit) {
  const Edges rows(g.m);
  const Edges columns(g.n);
  const double sums_per_split = kPartialSumBytes * g.m * g.n * g.groups * model.split_seconds;
  double best = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : model.tiles) {
    const double load = rows[tile.rows] * columns[tile.columns] * per_unit;
    best = std::min(best, whole_k_time(model, tile, load, g.k));
    for (double split = 2; split <= kMostSplits; split *= 2) {
      if (load * split > 1) break;
      const double part = tile.seconds_per_k * (g.k / split + model.k_overhead);
      best = std::min(best, part + sums_per_split * split + model.split_launch.base());
    }
  }
  return best;
}

double tile_by_rows_time(const GemmModel& model, const workload::Gemm& g, double per_unit) {
  const GemmTile& tile = model.tiles[g.m <= 64 ? kSmallTile : g.m <= 128 ? kFlatTile : kSquareTile];
  const double load = Edges(g.m)[tile.rows] * Edges(g.n)[tile.columns] * per_unit;
  return whole_k_time(model, tile, load, g.k);
}

double gemm_compute(const GemmModel& model, const workload::Gemm& g, double units) {
  const double per_unit = g.groups / units;
  const double time = model.tile_by_rows ? tile_by_rows_time(model, g, per_unit)
                                         : best_tile_time(model, g, per_unit);
  return time * model.pass[static_cast<std::size_t>(g.pass)];
}

// Returns the time to read m x k in 16 bits and write it narrower; zero if the caller lists that
// pass itself.
double quantise_time(const GemmModel& model, const workload::Gemm& g, double per_operand) {
  const double rows = g.m * g.groups;
  return model.quantise_launch.base() + rows * model.quantise_row_seconds +
         rows * g.k * (2 + per_operand) * model.quantise_seconds;
}

// Distributes query tiles over the units, and splits the keys over units that would otherwise be
// idle.
double attention_compute(const AttentionModel& model, double tasks, double keys, double per_key,
                         double units) {
  const double load = tasks / units;
  double best = waves(load, model.tail) * (keys + model.key_overhead) * per_key;
  if (!model.splits) return best;
  for (double split = 2; load * split <= 1 && keys >= kLeastKeys * split; split *= 2) {
    best = std::min(best, (keys / split + model.key_overhead) * per_key);
  }
  return best;
}

const AttentionModel& model_of(const DeviceModel& device, const workload::Attention& a) {
  const auto of = [&device](AttentionKernel k) -> const AttentionModel& {
    return device.attention[static_cast<std::size_t>(k)];
  };
  if (a.backward) return of(AttentionKernel::backward);
  const AttentionModel& decode =
      of(a.kv_heads < 1 ? AttentionKernel::latent : AttentionKernel::decode);
  return a.q_len <= decode.most_queries ? decode : of(AttentionKernel::prefill);
}

// Returns the time per query-key pair. Pairs under a mask (the square of the queries themselves)
// cost more than those of a prefix that all queries see.
double pair_seconds(const AttentionModel& model, const workload::Attention& a, double keys) {
  // If the device has no such rate, both times are infinite, and so is their mean.
  if (model.plain_pair_seconds == model.pair_seconds) return model.pair_seconds;
  const double masked = a.causal ? std::min(1.0, (a.q_len + 1) / 2 / keys) : 0;
  return model.plain_pair_seconds + masked * (model.pair_seconds - model.plain_pair_seconds);
}

}  // namespace

KernelCost& KernelCost::operator+=(const KernelCost& o) {
  time += o.time;
  clocked += o.clocked;
  core += o.core;
  memory += o.memory;
  return *this;
}

KernelCost operator*(KernelCost a, double times) {
  a.time *= times;
  a.clocked *= times;
  a.core *= times;
  a.memory *= times;
  return a;
}

KernelCost kernel_cost(const DeviceModel& device, const workload::Gemm& g) {
  const auto& models = g.groups > 1 ? device.grouped : device.gemm;
  const GemmModel& model = models[static_cast<std::size_t>(g.dtype)];
  const double per_operand = bytes_per_element(g.dtype);
  const double per_result = per_operand > 2 ? per_operand : 2;
  const double operands = g.k * (per_operand * g.m + g.weight_bytes() * g.n);
  const double bytes = g.groups * (operands + per_result * g.m * g.n);
  const double flop = 2 * g.m * g.n * g.k * g.groups;
  if (model.peak <= 0) {
    return {.time = Seconds(std::numeric_limits<double>::infinity()),
            .clocked = {},
            .core = {},
            .memory = {}};
  }
  if (flop <= 0) return {};
  const Joined joined =
      join(gemm_compute(model, g, device.units), bytes * model.memory_seconds, model.overlap_loss);
  return {.time = model.launch + Seconds(joined.time + quantise_time(model, g, per_operand)),
          .clocked = Seconds(joined.clocked),
          .core = Joules(flop * model.joules_per_flop),
          .memory = Joules(bytes * device.power.joules_per_byte)};
}

KernelCost kernel_cost(const DeviceModel& device, const workload::Attention& a) {
  const AttentionModel& model = model_of(device, a);
  const double flop = flops_of(a).base();
  const double bytes = bytes_of(a).base();
  if (flop <= 0) return {};
  const double per_pair = 2 * (a.qk_dim + a.v_dim) * (a.backward ? 2.5 : 1);
  const double keys = flop / (per_pair * a.batch * a.q_heads * a.q_len);
  // Query heads that share keys are packed into one tile; the rows that pad it are computed too.
  const double packs = model.packs ? std::max(1.0, a.kv_heads) : a.q_heads;
  const double rows = a.q_len * a.q_heads / packs;
  const double tiles = ceil_of(rows / model.tile_rows);
  const double padded = tiles * model.tile_rows / rows;
  const double tasks = tiles * packs * a.batch;
  const bool narrow = a.dtype == catalog::Dtype::fp8 && model.narrow_rate > 0;
  const double rate =
      narrow ? model.narrow_rate : device.attention_rate[static_cast<std::size_t>(a.dtype)];
  const double per_key =
      model.tile_rows * (per_pair * model.flop_seconds / rate + pair_seconds(model, a, keys));
  const Joined joined = join(attention_compute(model, tasks, keys, per_key, device.units),
                             bytes * model.memory_seconds, model.overlap_loss);
  return {.time = model.launch + Seconds(joined.time),
          .clocked = Seconds(joined.clocked),
          .core = Joules(flop * padded * model.joules_per_flop),
          .memory = Joules(bytes * device.power.joules_per_byte)};
}

DeviceModel slice_of(DeviceModel d, const DeviceSlice& slice) {
  const double units = slice.units / d.units;
  const double slower = 1 / slice.memory_share;
  const auto narrow = [&](GemmModel& g) {
    g.peak *= units;
    g.memory_seconds *= slower;
    g.split_seconds *= slower;
    g.quantise_seconds *= slower;
  };
  d.units = slice.units;
  d.bandwidth *= slice.memory_share;
  d.pass_seconds *= slower;
  std::ranges::for_each(d.gemm, narrow);
  std::ranges::for_each(d.grouped, narrow);
  for (AttentionModel& a : d.attention) a.memory_seconds *= slower;
  d.power.idle = d.power.idle * slice.power_share;
  d.power.active = d.power.active * slice.power_share;
  d.power.limit = d.power.limit * slice.power_share;
  return d;
}

KernelCost kernel_cost(const DeviceModel& device, const workload::MemoryPass& pass) {
  const double bytes = (pass.read + pass.written).base();
  if (bytes <= 0) return {};
  return {.time = device.pass_launch + Seconds(bytes * device.pass_seconds),
          .clocked = {},
          .core = {},
          .memory = Joules(bytes * device.power.joules_per_byte)};
}

KernelCost kernel_cost(const DeviceModel& device, const workload::Operation& op) {
  return std::visit([&device](const auto& kernel) { return kernel_cost(device, kernel); }, op);
}

Seconds kernel_time(const DeviceModel& device, const workload::Gemm& gemm) {
  return kernel_cost(device, gemm).time;
}
Seconds kernel_time(const DeviceModel& device, const workload::Attention& attention) {
  return kernel_cost(device, attention).time;
}
Seconds kernel_time(const DeviceModel& device, const workload::MemoryPass& pass) {
  return kernel_cost(device, pass).time;
}
Seconds kernel_time(const DeviceModel& device, const workload::Operation& op) {
  return kernel_cost(device, op).time;
}

double relative_error(const DeviceModel& device, catalog::Dtype dtype) {
  return device.error[static_cast<std::size_t>(dtype)];
}

}  // namespace orrery::compute
