#include "study/score/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"
#include "layers/compute/power.h"
#include "study/score/storage_probe.h"

namespace orrery::score {
namespace {

// Least rows that fix a set of parameters.
constexpr std::size_t kLeastRows = 12;

struct ProbeRow {
  workload::Operation op;
  std::string part;
  Seconds seconds;
  Watts power;
  bool sustained = false;
};

// Returns a median that is one of the errors, not a value between two.
double middle_miss(std::vector<double> misses) {
  return quantile(std::move(misses), 0.5, Between::higher);
}

std::optional<workload::GemmPass> pass_from(std::string_view text) {
  if (text.empty() || text == "forward") return workload::GemmPass::forward;
  if (text == "dgrad") return workload::GemmPass::dgrad;
  if (text == "wgrad") return workload::GemmPass::wgrad;
  return std::nullopt;
}

std::optional<ProbeRow> read_gemm(const CsvTable& t, const CsvRow& row) {
  const auto dtype = from_word<catalog::Dtype>(t.text(row, "dtype"));
  const auto pass = pass_from(t.text(row, "pass"));
  const auto m = t.number(row, "m");
  const auto n = t.number(row, "n");
  const auto k = t.number(row, "k");
  if (!dtype || !pass || !m || !n || !k) return std::nullopt;
  return ProbeRow{.op = workload::Gemm{.m = *m, .n = *n, .k = *k, .dtype = *dtype, .pass = *pass},
                  .part = std::string(to_text(*dtype)) + " products"};
}

std::optional<ProbeRow> read_attention(const CsvTable& t, const CsvRow& row) {
  const auto number = [&](std::string_view name) { return t.number(row, name).value_or(0); };
  workload::Attention a{.batch = number("batch"),
                        .q_heads = number("q_heads"),
                        .kv_heads = number("kv_heads"),
                        .qk_dim = number("head_dim"),
                        .v_dim = number("head_dim"),
                        .q_len = number("q_len"),
                        .kv_len = number("kv_len")};
  a.backward = t.text(row, "pass") == "backward";
  if (a.batch <= 0 || a.kv_heads <= 0 || a.q_len <= 0 || a.kv_len < a.q_len) return std::nullopt;
  const char* part = a.backward                           ? "backward attention"
                     : a.q_len <= compute::kDecodeQueries ? "decode attention"
                                                          : "prefill attention";
  return ProbeRow{.op = a, .part = part};
}

std::optional<ProbeRow> read_row(const CsvTable& t, const CsvRow& row) {
  const std::string_view op = t.text(row, "op");
  std::optional<ProbeRow> read;
  if (op == "gemm") read = read_gemm(t, row);
  if (op == "attention") read = read_attention(t, row);
  if (op == "pass" && t.number(row, "bytes")) {
    const Bytes each(*t.number(row, "bytes"));
    read = ProbeRow{.op = workload::MemoryPass{.read = each, .written = each}, .part = "passes"};
  }
  const auto seconds = t.number(row, "seconds");
  if (!read || !seconds || *seconds <= 0) return std::nullopt;
  read->seconds = Seconds(*seconds);
  read->power = Watts(t.number(row, "watts").value_or(0));
  read->sustained = t.number(row, "sustained").value_or(0) > 0;
  return read;
}

// The factor of a pass layout is fitted only if some rows have that layout.
bool has_pass(const std::vector<compute::KernelSample>& samples, workload::GemmPass pass) {
  return std::ranges::any_of(samples, [pass](const compute::KernelSample& s) {
    return std::get<workload::Gemm>(s.kernels.front()).pass == pass;
  });
}

std::vector<compute::FitParameter> parameters_of(
    const std::string& part, const std::vector<compute::KernelSample>& samples) {
  if (part == "passes") return compute::pass_parameters();
  if (part == "prefill attention") return attention_parameters(compute::AttentionKernel::prefill);
  if (part == "backward attention") return attention_parameters(compute::AttentionKernel::backward);
  if (part == "decode attention") return attention_parameters(compute::AttentionKernel::decode);
  const std::string dtype = part.substr(0, part.find(' '));
  std::vector<compute::FitParameter> all =
      compute::gemm_parameters(*from_word<catalog::Dtype>(dtype));
  for (const auto& [pass, name] : {std::pair{workload::GemmPass::dgrad, "dgrad"},
                                   std::pair{workload::GemmPass::wgrad, "wgrad"}}) {
    if (!has_pass(samples, pass)) continue;
    all.push_back({.dtype = dtype, .name = name, .start = 1, .step = 0.02, .low = 0.5, .high = 2});
  }
  return all;
}

double median_error(const compute::DeviceModel& device,
                    const std::vector<compute::KernelSample>& samples) {
  std::vector<double> errors;
  for (const compute::KernelSample& s : samples) {
    const Seconds predicted = kernel_time(device, s.kernels.front());
    errors.push_back(std::abs(predicted / s.measured - 1));
  }
  return middle_miss(std::move(errors));
}

void check_sustained(const compute::DeviceModel& device, const std::vector<ProbeRow>& rows,
                     CalibrationReport& report) {
  std::vector<double> time;
  std::vector<double> power;
  for (const ProbeRow& r : rows) {
    if (!r.sustained) continue;
    const compute::Throttled t = throttle(device, kernel_cost(device, r.op));
    time.push_back(std::abs(t.time / r.seconds - 1));
    if (r.power > Watts(0)) power.push_back(std::abs(t.power / r.power - 1));
  }
  report.sustained = static_cast<int>(time.size());
  report.sustained_time_error = middle_miss(std::move(time));
  report.sustained_watts_error = middle_miss(std::move(power));
}

Diagnostic nothing_to_fit(const CsvTable& probe) {
  return {.severity = Severity::error,
          .code = "calibrate.rows",
          .place = {.file = probe.file(), .line = 0, .column = 0},
          .what = fmt::format("fewer than {} rows of any kind can be used", kLeastRows),
          .why = "a fit needs several sizes of each kernel",
          .fix = "`orrery probe gpu` writes such a file"};
}

}  // namespace

Result<CalibrationReport> calibrate(const CsvTable& probe, const catalog::Accelerator& accelerator,
                                    const compute::Calibration& shipped) {
  CalibrationReport report{.accelerator = accelerator.id, .gpu = {}, .parts = {}};
  std::vector<ProbeRow> rows;
  std::map<std::string, std::vector<compute::KernelSample>> samples;
  const compute::DeviceModel before = device_model(accelerator, shipped);
  for (const CsvRow& row : probe.rows()) {
    ++report.rows;
    if (report.gpu.empty()) report.gpu = probe.text(row, "gpu");
    auto read = read_row(probe, row);
    if (!read || !std::isfinite(kernel_time(before, read->op).base())) continue;
    ++report.used;
    if (!read->sustained) {
      samples[read->part].push_back({.kernels = {read->op}, .measured = read->seconds});
    }
    rows.push_back(std::move(*read));
  }
  compute::Calibration fitted = shipped;
  for (const auto& [part, of_part] : samples) {
    if (of_part.size() < kLeastRows && part != "passes") continue;
    CalibrationPart p{.name = part, .fit = {}, .median_before = median_error(before, of_part)};
    p.fit = fit_kernels(accelerator, fitted, {}, parameters_of(part, of_part), of_part);
    fitted = with_values(std::move(fitted), p.fit.values);
    report.parts.push_back(std::move(p));
  }
  if (report.parts.empty()) return fail(nothing_to_fit(probe));
  check_sustained(device_model(accelerator, fitted), rows, report);
  return report;
}

Result<void> lay_calibration_over(std::string_view text, const std::string& file,
                                  machine::Models& models) {
  const auto table = CsvTable::parse(text, file);
  if (!table) return std::unexpected(table.error());
  if (is_tier_calibration(*table)) {
    const auto tiers = read_tier_calibration(*table);
    if (!tiers) return std::unexpected(tiers.error());
    models.tiers.insert(models.tiers.end(), tiers->begin(), tiers->end());
    return {};
  }
  const auto values = machine::read_kernel_values(*table);
  if (!values) return std::unexpected(values.error());
  for (const compute::CalibrationValue& v : *values) models.kernels.set(v);
  return {};
}

std::string calibration_csv(const CalibrationReport& report) {
  std::string out =
      "accelerator,library,dtype,parameter,value,fit,rows,held_out_median,held_out_p90\n";
  for (const CalibrationPart& p : report.parts) {
    for (const compute::CalibrationValue& v : p.fit.values) {
      out += fmt::format("{},{},{},{},{},{},{},{:.3f},{:.3f}\n", v.accelerator, v.library, v.dtype,
                         v.parameter, significant(v.value, 4),
                         csv_field("orrery calibrate: " + p.name + " of one " + report.gpu),
                         p.fit.fitted_on, p.fit.median_error, p.fit.p90_error);
    }
  }
  return out;
}

std::string calibration_text(const CalibrationReport& report) {
  std::string out = fmt::format("{} as {}: {} of {} rows used\n", report.gpu, report.accelerator,
                                report.used, report.rows);
  for (const CalibrationPart& p : report.parts) {
    out += fmt::format(
        "  {:<20} fitted on {:>4}, held out {:>4}: median {:>5.1f} %, p90 {:>5.1f} % "
        "(shipped parameters: median {:.1f} %)\n",
        p.name, p.fit.fitted_on, p.fit.held_out, 100 * p.fit.median_error, 100 * p.fit.p90_error,
        100 * p.median_before);
  }
  if (report.sustained > 0) {
    out += fmt::format("  {:<20} {} rows under the power limit: time {:.1f} %, watts {:.1f} %\n",
                       "sustained", report.sustained, 100 * report.sustained_time_error,
                       100 * report.sustained_watts_error);
  }
  return out;
}

}  // namespace orrery::score
