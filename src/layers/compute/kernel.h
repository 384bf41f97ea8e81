// How long one kernel takes on one device and what power it draws, by shape, layout and number
// format.
//
//   GEMM      t = launch + join(compute, memory)
//     compute = min over tiles and splits of K of
//               waves(ceil(m/tm) ceil(n/tn) groups split / units) (2 tm tn / rate + l) (k/split +
//               k0)
//     memory  = bytes / (bandwidth * efficiency)
//   attention the same with query tiles over keys; decode splits the keys over idle units
//   pass      t = launch + bytes / (bandwidth * efficiency)
// join(a, b) = max + c min^2 / max, because no kernel overlaps its loads and its products
// perfectly; waves(x) is between x and ceil(x), for kernels that balance their last wave. The
// parameters are fitted to measured kernels (docs/models/compute.md says which, and with what
// error); a device without measurements borrows those of its nearest relative.
//
// Times are at full clock. A GPU slows down when it reaches its power limit, which takes longer
// than one kernel: sum the costs of a step and pass them to throttle() in power.h.
//
// Wrong for: sparse products, kernels fused across products, shapes whose rows are not multiples of
// 16 bytes. Every function is monotone: a higher peak, more bandwidth or less work never takes
// longer.
#pragma once

#include <array>

#include "core/base/quantity.h"
#include "core/workload/operation.h"

namespace orrery::compute {

inline constexpr int kTileCount = 6;

// One output tile of a GEMM kernel: 64 << rows by 64 << columns elements. Because all edges are a
// power of two times the same smallest edge, one division serves all tiles.
struct GemmTile {
  int rows = 0;
  int columns = 0;
  double seconds_per_k = 0;  // time of one unit on one tile per step of K
};
inline constexpr double kLeastTileEdge = 64;

// The parameters of one number format. A peak of zero means that the device lacks the format.
struct GemmModel {
  double peak = 0;  // FLOP/s, dense
  Seconds launch;
  Seconds split_launch;       // extra launch time if K is split
  double k_overhead = 0;      // prologue and epilogue of a tile, in steps of K
  double tail = 1;            // 1: the last wave costs a whole one; 0: it is spread evenly
  double overlap_loss = 0;    // c of join(): 0 overlaps perfectly
  double memory_seconds = 0;  // per byte
  double split_seconds = 0;   // per byte of partial sums, written and read again
  double grouped = 1;         // time factor for the products of a grouped kernel
  bool tile_by_rows = false;  // the library chooses the tile by m alone and never splits K
  // Launch time if the library quantises the left operand itself, in a separate kernel before the
  // product.
  Seconds quantise_launch;
  double quantise_row_seconds = 0;
  double quantise_seconds = 0;   // per byte read and written
  double joules_per_flop = 0;    // dynamic, at full clock
  std::array<double, 3> pass{};  // time factors of the forward, dgrad and wgrad layouts
  std::array<GemmTile, kTileCount> tiles{};
};

// Attention runs as one of four kernels. A latent that all query heads share has a kernel of its
// own in decode, which reads little and multiplies much. Such a shape has kv_heads below one: the
// share of the keys' and values' widths that is read.
enum class AttentionKernel { prefill, backward, decode, latent };
inline constexpr int kAttentionKernels = 4;
// A step with at most this many queries is a decode step (speculative decoding checks a few at
// once).
inline constexpr double kDecodeQueries = 16;

struct AttentionModel {
  Seconds launch;
  double flop_seconds = 0;  // per FLOP on one unit
  double pair_seconds = 0;  // per query, key and head on one unit: the exponential
  // The same for keys that no mask cuts: a chunk's queries over its prefix.
  double plain_pair_seconds = 0;
  // Rate with 8-bit keys relative to 16-bit keys; 0: the device's attention_rate.
  double narrow_rate = 0;
  double most_queries = kDecodeQueries;  // decode: with more queries the prefill kernel runs
  bool splits = true;                    // splits keys over units that would otherwise be idle
  bool packs = true;                     // packs query heads that share keys into one tile
  double tile_rows = 128;                // queries that one unit processes at a time
  double key_overhead = 0;               // per query tile, in keys
  double tail = 1;
  double overlap_loss = 0;
  double memory_seconds = 0;  // per byte
  double joules_per_flop = 0;
};

struct PowerModel {
  Watts idle;    // draw at full clock with no kernel running
  Watts active;  // added while any kernel runs
  double joules_per_byte = 0;
  Watts limit;      // the device's default limit
  double held = 1;  // share of the limit at which the power controller settles
  // Share of the core's energy that scales with the square of the clock.
  double voltage_share = 0.8;
  double lowest_clock = 0.2;
};

struct DeviceModel {
  double units = 1;      // streaming multiprocessors, compute units, cores
  double bandwidth = 0;  // bytes/s, from the datasheet
  Seconds pass_launch;
  double pass_seconds = 0;  // per byte
  std::array<GemmModel, catalog::kDtypeCount> gemm{};
  std::array<GemmModel, catalog::kDtypeCount>
      grouped{};  // products of several experts in one kernel
  std::array<double, catalog::kDtypeCount> attention_rate{};  // relative to bf16
  std::array<AttentionModel, kAttentionKernels> attention{};
  PowerModel power;
  std::array<double, catalog::kDtypeCount> error{};  // relative half-width of the 80 % interval
  double memory_error = 0;
  double borrowed_error = 0;  // the part of it due to using a relative's parameters
};

// A partition of a device with its own units and memory channels (MIG); other partitions do not
// slow it down. Measured on every profile of one H200 (data/validation/h200_slices.csv).
struct DeviceSlice {
  double units = 1;         // share of the device's units
  double memory_share = 1;  // share of its memory and of that memory's bandwidth
  double power_share = 1;   // share of the board's idle draw and of its limit
};
DeviceModel slice_of(DeviceModel whole, const DeviceSlice& slice);

// The cost of one kernel, or of several in a row: costs add.
struct KernelCost {
  Seconds time;     // at full clock
  Seconds clocked;  // the part that stretches when the core clock falls
  Joules core;      // dynamic energy of the matrix units at full clock
  Joules memory;    // dynamic energy of device memory

  KernelCost& operator+=(const KernelCost& o);
  friend KernelCost operator+(KernelCost a, const KernelCost& b) { return a += b; }
  friend KernelCost operator*(KernelCost a, double times);
};

KernelCost kernel_cost(const DeviceModel& device, const workload::Gemm& gemm);
KernelCost kernel_cost(const DeviceModel& device, const workload::Attention& attention);
KernelCost kernel_cost(const DeviceModel& device, const workload::MemoryPass& pass);
KernelCost kernel_cost(const DeviceModel& device, const workload::Operation& op);

// Returns the kernel's time; infinite if the device lacks the number format.
Seconds kernel_time(const DeviceModel& device, const workload::Gemm& gemm);
Seconds kernel_time(const DeviceModel& device, const workload::Attention& attention);
Seconds kernel_time(const DeviceModel& device, const workload::MemoryPass& pass);
Seconds kernel_time(const DeviceModel& device, const workload::Operation& op);

// Returns the half-width of the 80 % interval of a kernel's time, as a fraction.
double relative_error(const DeviceModel& device, catalog::Dtype dtype);

}  // namespace orrery::compute
