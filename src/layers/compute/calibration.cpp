#include "layers/compute/calibration.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/csv.h"
#include "core/base/math.h"

namespace orrery::compute {
namespace {

constexpr std::array<std::string_view, 4> kValueFiles = {
    "calibration/gemm.csv", "calibration/attention.csv", "calibration/memory.csv",
    "calibration/power.csv"};
constexpr std::string_view kRelativesFile = "calibration/gemm_relatives.csv";

// An accelerator that no table names is treated as this one, with a wider error.
constexpr std::string_view kUnknownRelative = "h100-sxm";
constexpr double kUnknownError = 0.35;
constexpr double kUnknownLimit = 700;  // watts, if the catalog has no limit

// The tiles that matrix libraries choose from on devices with asynchronous matrix units, as powers
// of two of the smallest edge: 256 x 128, 128 x 256, 128 x 128, 128 x 64, 64 x 128, 64 x 64.
constexpr std::array<std::pair<int, int>, kTileCount> kTiles = {
    {{2, 1}, {1, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}};

// Values are kept in this order, so that building a device does not read all of them for each of
// its hundreds of parameters.
using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

Key key_of(const CalibrationValue& v) { return {v.accelerator, v.parameter, v.dtype, v.library}; }

Diagnostic bad_row(const CsvTable& table, const CsvRow& row, std::string what) {
  return {.severity = Severity::error,
          .code = "calibration.row",
          .place = {.file = table.file(), .line = row.line, .column = 0},
          .what = std::move(what),
          .why = "a parameter row needs an accelerator, a parameter and a number",
          .fix = ""};
}

void read_values(const CsvTable& table, Calibration& into, Diagnostics& faults) {
  for (const CsvRow& row : table.rows()) {
    const auto value = table.number(row, "value");
    if (!value || table.text(row, "accelerator").empty() || table.text(row, "parameter").empty()) {
      faults.push_back(bad_row(table, row, "incomplete parameter"));
      continue;
    }
    into.values.push_back({.accelerator = std::string(table.text(row, "accelerator")),
                           .library = std::string(table.text(row, "library")),
                           .dtype = std::string(table.text(row, "dtype")),
                           .parameter = std::string(table.text(row, "parameter")),
                           .value = *value});
  }
}

void read_relatives(const CsvTable& table, Calibration& into, Diagnostics& faults) {
  for (const CsvRow& row : table.rows()) {
    const auto units = table.number(row, "units");
    if (!units || *units < 1 || table.text(row, "measured").empty()) {
      faults.push_back(bad_row(table, row, "the relative has no units or no measured device"));
      continue;
    }
    into.relatives.push_back(
        {.accelerator = std::string(table.text(row, "accelerator")),
         .measured = std::string(table.text(row, "measured")),
         .units = *units,
         .efficiency = table.number(row, "efficiency").value_or(1),
         .memory_efficiency = table.number(row, "memory_efficiency").value_or(1),
         .same_silicon = table.number(row, "same_silicon").value_or(0) > 0,
         .error = table.number(row, "error").value_or(kUnknownError)});
  }
}

// Finds the parameters of one accelerator: its own before its relative's, the library's before the
// vendor's.
struct Lookup {
  const Calibration& calibration;
  Relative relative;
  std::string_view library;

  double operator()(std::string_view dtype, std::string_view name, double otherwise) const {
    for (const std::string_view whose :
         {std::string_view(relative.accelerator), std::string_view(relative.measured)}) {
      for (const std::string_view from : {library, std::string_view()}) {
        const CalibrationValue* found = calibration.find(whose, from, dtype, name);
        if (found) return found->value;
      }
    }
    return otherwise;
  }
};

// Returns the energy per FLOP of one format: the figure for bf16, of the device itself or of the
// same silicon, in proportion to the peaks, because a format with twice the rate was measured to
// draw the same power at its peak. Other silicon is assumed to draw the same share of its limit.
double joules_per_flop(const catalog::Accelerator& a, const Lookup& look, catalog::Dtype dtype) {
  const auto peak = a.peak(dtype);
  auto wide = a.peak(catalog::Dtype::bf16);
  if (!wide) wide = a.peak(catalog::Dtype::fp16);
  if (!peak || !wide) return 0;
  const CalibrationValue* found =
      look.calibration.find(look.relative.accelerator, "", "", "pj_per_flop");
  if (!found && look.relative.same_silicon) {
    found = look.calibration.find(look.relative.measured, "", "", "pj_per_flop");
  }
  const double share = look("", "matrix_share", 1.3);
  const double limit = a.tdp ? a.tdp->base() : kUnknownLimit;
  const double at_wide = found ? 1e-12 * found->value : share * limit / wide->base();
  return at_wide * (wide->base() / peak->base());
}

GemmModel gemm_model(const catalog::Accelerator& a, const Lookup& look, catalog::Dtype dtype,
                     bool grouped) {
  GemmModel model;
  auto peak = a.peak(dtype);
  // Devices older than bf16 run everything that is not narrower in fp16.
  if (!peak && dtype == catalog::Dtype::bf16) peak = a.peak(catalog::Dtype::fp16);
  if (!peak) return model;
  const std::string_view own = to_text(dtype);
  // A format without a fit of its own uses bf16's, as a fraction of its own peak; a grouped product
  // uses the plain one's.
  const auto get = [&](std::string_view name, double otherwise) {
    const double plain = look(own, name, look("bf16", name, otherwise));
    if (!grouped) return plain;
    const std::string full = "grouped." + std::string(name);
    return look(own, full, look("bf16", full, plain));
  };
  model.peak = peak->base();
  model.launch = microseconds(get("launch_us", 2.5));
  model.split_launch = microseconds(get("split_us", 2.8));
  model.k_overhead = get("k_overhead", 135);
  model.tail = get("tail", 0);
  model.overlap_loss = get("overlap_loss", 0.32);
  const double bandwidth = a.memory_bandwidth.base();
  model.memory_seconds =
      1 / (bandwidth * get("memory_efficiency", 0.86) * look.relative.memory_efficiency);
  model.split_seconds = model.memory_seconds * get("split_cost", 1);
  model.tile_by_rows = get("tile_by_rows", 0) > 0;
  if (!grouped) {
    model.quantise_launch = microseconds(look(own, "quantise_launch_us", 0));
    model.quantise_row_seconds = 1e-9 * look(own, "quantise_row_ns", 0);
    const double quantise = look(own, "quantise_efficiency", 0);
    model.quantise_seconds = quantise > 0 ? 1 / (bandwidth * quantise) : 0;
  }
  model.joules_per_flop = joules_per_flop(a, look, dtype);
  model.pass = {get("forward", 1), get("dgrad", 1), get("wgrad", 1)};
  const double efficiency = std::min(1.0, get("efficiency", 0.85) * look.relative.efficiency);
  const double unit_rate = model.peak * efficiency / look.relative.units;
  const double latency = 1e-9 * get("latency_ns", 0);
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const auto [rows, columns] = kTiles[i];
    const double area = kLeastTileEdge * kLeastTileEdge * (1 << (rows + columns));
    model.tiles[i] = {
        .rows = rows, .columns = columns, .seconds_per_k = 2 * area / unit_rate + latency};
  }
  return model;
}

AttentionModel attention_model(const catalog::Accelerator& a, const Lookup& look,
                               std::string_view kernel) {
  AttentionModel model;
  auto peak = a.peak(catalog::Dtype::bf16);
  if (!peak) peak = a.peak(catalog::Dtype::fp16);
  const double rate = (peak ? peak->base() : 1e12) / look.relative.units;
  const auto get = [&](std::string_view name, double otherwise) {
    return look("bf16", std::string(kernel) + "." + std::string(name), otherwise);
  };
  model.launch = microseconds(get("launch_us", 12));
  model.flop_seconds = 1 / (rate * get("efficiency", 0.7) * look.relative.efficiency);
  const double pair_flop = get("pair_flop", 0);
  model.pair_seconds = pair_flop / rate;
  model.plain_pair_seconds = get("plain_pair_flop", pair_flop) / rate;
  model.narrow_rate = get("narrow_rate", 0);
  model.most_queries = get("most_queries", kDecodeQueries);
  model.splits = get("splits", 1) > 0;
  model.packs = get("packs", 1) > 0;
  model.tile_rows = get("tile_rows", 128);
  model.key_overhead = get("key_overhead", 300);
  model.tail = get("tail", 0);
  model.overlap_loss = get("overlap_loss", 0.5);
  model.memory_seconds = 1 / (a.memory_bandwidth.base() * get("memory_efficiency", 0.85) *
                              look.relative.memory_efficiency);
  // Per useful FLOP: the exponentials cost energy too, and in decode the rows that pad a tile.
  const catalog::Dtype wide =
      a.peak(catalog::Dtype::bf16) ? catalog::Dtype::bf16 : catalog::Dtype::fp16;
  model.joules_per_flop = get("energy", 1) * joules_per_flop(a, look, wide);
  return model;
}

PowerModel power_model(const catalog::Accelerator& a, const Lookup& look) {
  PowerModel model;
  const double limit = a.tdp ? a.tdp->base() : kUnknownLimit;
  model.limit = Watts(limit);
  model.held = look("", "held_share", 1);
  model.idle = a.idle ? *a.idle : Watts(limit / 8);
  model.active = Watts(look("", "active_share", 0.06) * limit);
  model.joules_per_byte = 1e-12 * look("", "pj_per_byte", 90);
  model.voltage_share = look("", "voltage_share", 0.4);
  model.lowest_clock = look("", "lowest_clock", 0.2);
  return model;
}

}  // namespace

void Calibration::set(CalibrationValue value) {
  const auto at = std::ranges::lower_bound(values, key_of(value), {}, key_of);
  if (at != values.end() && key_of(*at) == key_of(value)) {
    *at = std::move(value);
  } else {
    values.insert(at, std::move(value));
  }
}

const CalibrationValue* Calibration::find(std::string_view accelerator, std::string_view library,
                                          std::string_view dtype,
                                          std::string_view parameter) const {
  const Key key(accelerator, parameter, dtype, library);
  const auto at = std::ranges::lower_bound(values, key, {}, key_of);
  return at != values.end() && key_of(*at) == key ? &*at : nullptr;
}

const Relative* Calibration::relative(std::string_view accelerator) const {
  for (const Relative& r : relatives) {
    if (r.accelerator == accelerator) return &r;
  }
  return nullptr;
}

Result<Calibration> read_calibration(const catalog::Knowledge& knowledge) {
  Calibration all;
  Diagnostics faults;
  const auto add = [&faults](const Diagnostics& more) {
    faults.insert(faults.end(), more.begin(), more.end());
  };
  const auto each = [&](std::string_view path, auto&& read_rows) {
    const auto text = knowledge.text(path);
    if (!text) return add(text.error());
    const auto table = CsvTable::parse(*text, "data/" + std::string(path));
    if (!table) return add(table.error());
    read_rows(*table, all, faults);
  };
  for (const std::string_view path : kValueFiles) each(path, read_values);
  each(kRelativesFile, read_relatives);
  if (has_errors(faults)) return std::unexpected(faults);
  std::ranges::stable_sort(all.values, {}, key_of);
  return all;
}

DeviceModel device_model(const catalog::Accelerator& a, const Calibration& calibration,
                         const DeviceOptions& options) {
  const Relative* named = calibration.relative(a.id);
  if (!named) named = calibration.relative(kUnknownRelative);
  Relative relative = named ? *named : Relative{};
  if (relative.accelerator != a.id) {
    relative.accelerator = a.id;
    relative.error = kUnknownError;
  }
  const Lookup look{.calibration = calibration, .relative = relative, .library = options.products};
  const Lookup attention{
      .calibration = calibration, .relative = relative, .library = options.attention};

  DeviceModel device;
  device.units = relative.units;
  device.bandwidth = a.memory_bandwidth.base();
  device.pass_launch = microseconds(look("", "pass_launch_us", 2.5));
  device.pass_seconds =
      1 / (device.bandwidth * look("", "pass_efficiency", 0.85) * relative.memory_efficiency);
  for (int i = 0; i < catalog::kDtypeCount; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const auto dtype = static_cast<catalog::Dtype>(i);
    device.gemm[index] = gemm_model(a, look, dtype, false);
    device.grouped[index] = gemm_model(a, look, dtype, true);
    device.attention_rate[index] =
        dtype == catalog::Dtype::fp8 ? look("fp8", "attention_rate", 1) : 1;
    const double own = look(to_text(dtype), "error", look("bf16", "error", 0.15));
    device.error[index] = math::hypot(own, relative.error);
  }
  device.borrowed_error = relative.error;
  device.memory_error = math::hypot(look("", "memory_error", 0.08), relative.error);
  device.attention = {
      attention_model(a, attention, "prefill"), attention_model(a, attention, "backward"),
      attention_model(a, attention, "decode"), attention_model(a, attention, "latent")};
  device.power = power_model(a, look);
  return device;
}

}  // namespace orrery::compute
