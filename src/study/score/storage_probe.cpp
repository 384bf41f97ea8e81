#include "study/score/storage_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::score {
namespace {

using Json = nlohmann::json;

// Largest and deepest report: it has some kilobytes and four levels, and nlohmann-json overflows
// the stack on deep nesting.
constexpr std::size_t kReportBytesMax = std::size_t{1} << 20;
constexpr int kReportDepthMax = 8;
constexpr double kErrorLeast = 0.05;
constexpr std::string_view kUnits[] = {"bytes_per_s", "per_s", "s", "bytes", "factor"};

Diagnostic bad_report(const std::string& file, std::string what) {
  return {.code = "calibrate.storage-report",
          .place = {.file = file},
          .what = std::move(what),
          .why = "",
          .fix = "`orrery probe storage PATH --format json` writes such a report"};
}

int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

// "value_bytes_per_s": returns the value whose key ends in the unit of the figure.
std::optional<double> with_unit(const Json& figure, std::string_view name) {
  for (const std::string_view unit : kUnits) {
    const auto at = figure.find(fmt::format("{}_{}", name, unit));
    if (at != figure.end() && at->is_number()) return at->get<double>();
  }
  return std::nullopt;
}

std::optional<MeasuredFigure> figure_of(const Json& json) {
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string()) return std::nullopt;
  const auto value = with_unit(json, "value");
  if (!value || !std::isfinite(*value) || *value < 0) return std::nullopt;
  return MeasuredFigure{.id = json["id"].get<std::string>(),
                        .value = *value,
                        .low = with_unit(json, "low").value_or(*value),
                        .high = with_unit(json, "high").value_or(*value)};
}

struct Parameter {
  std::string_view name;
  std::optional<double> (*get)(const machine::TierMeasurement&);
  void (*set)(machine::TierMeasurement&, double);
};

template <auto Member>
std::optional<double> got(const machine::TierMeasurement& m) {
  return (m.*Member) ? std::optional((m.*Member)->base()) : std::nullopt;
}
template <auto Member>
void given(machine::TierMeasurement& m, double value) {
  using Value = std::remove_reference_t<decltype(*(m.*Member))>;
  m.*Member = Value(value);
}
template <auto Member>
constexpr Parameter parameter(std::string_view name) {
  return {name, got<Member>, given<Member>};
}

constexpr Parameter kParameters[] = {
    parameter<&machine::TierMeasurement::read>("read_bytes_per_s"),
    parameter<&machine::TierMeasurement::write>("write_bytes_per_s"),
    parameter<&machine::TierMeasurement::creates>("creates_per_s"),
    parameter<&machine::TierMeasurement::first_byte>("first_byte_s"),
    parameter<&machine::TierMeasurement::stream_rate>("stream_rate_bytes_per_s")};

double error_of(const MeasuredFigure& f) {
  if (f.value <= 0) return kErrorLeast;
  return std::max({kErrorLeast, (f.high - f.value) / f.value, (f.value - f.low) / f.value});
}

}  // namespace

const MeasuredFigure* StorageProbe::figure(std::string_view id) const {
  const auto at = std::ranges::find(figures, id, &MeasuredFigure::id);
  return at == figures.end() ? nullptr : &*at;
}

bool looks_like_storage_probe(std::string_view text) { return trimmed(text).starts_with('{'); }

Result<StorageProbe> read_storage_probe(std::string_view text, const std::string& file) {
  if (text.size() > kReportBytesMax || depth_of(text) > kReportDepthMax) {
    return fail(bad_report(file, "this is too large or too deeply nested for a probe's report"));
  }
  const Json json = Json::parse(text, nullptr, false);
  const bool known = json.is_object() && json.value("kind", Json()) == "storage-probe" &&
                     json.value("schema_version", Json()) == 1;
  if (!known || !json.contains("figures") || !json["figures"].is_array()) {
    return fail(bad_report(file, "this is not a report of a storage probe"));
  }
  StorageProbe probe;
  const auto text_of = [](const Json& from, const char* key) {
    const auto at = from.find(key);
    return at != from.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  probe.target = text_of(json, "target");
  probe.kind = text_of(json, "target_kind");
  if (json.contains("conditions") && json["conditions"].is_object()) {
    const auto streams = parse_integer(text_of(json["conditions"], "streams"));
    if (streams && *streams > 0 && *streams < 100'000) probe.streams = static_cast<int>(*streams);
  }
  for (const Json& item : json["figures"]) {
    const auto figure = figure_of(item);
    if (!figure) return fail(bad_report(file, "a figure has no id or no value"));
    probe.figures.push_back(*figure);
  }
  return probe;
}

Result<machine::TierMeasurement> tier_measurement(const StorageProbe& probe,
                                                  const TierCalibrationOptions& options) {
  machine::TierMeasurement m{.tier = options.tier, .error = kErrorLeast};
  m.source = fmt::format("orrery calibrate: probe of {}", probe.target);
  const bool local = options.tier == "node-nvme";
  const auto take = [&](std::string_view id, auto& into, bool rate) {
    const MeasuredFigure* f = probe.figure(id);
    if (f == nullptr || f->value <= 0) return;
    into = std::remove_reference_t<decltype(*into)>(f->value);
    if (rate) m.error = std::max(m.error, error_of(*f));
  };
  if (local || options.whole_tier) {
    take("sequential_read", m.read, true);
    // A save writes new files and makes them safe; overwriting blocks of an existing file is
    // several times as fast if the page cache, new extents or a flush cost anything.
    const bool saved = probe.figure("checkpoint_rate") != nullptr;
    take(saved ? "checkpoint_rate" : "sequential_write", m.write, true);
    take("creates", m.creates, false);
  }
  take("first_byte", m.first_byte, false);
  take("stream_read", m.stream_rate, false);
  const bool any =
      std::ranges::any_of(kParameters, [&](const Parameter& p) { return p.get(m).has_value(); });
  if (any) return m;
  return fail(bad_report(probe.target, "nothing in this report applies to that tier"));
}

std::string tier_calibration_csv(const machine::TierMeasurement& m) {
  std::string out = "tier,parameter,value,error,fit\n";
  for (const Parameter& p : kParameters) {
    if (const auto value = p.get(m)) {
      out += fmt::format("{},{},{},{:.3f},{}\n", csv_field(m.tier), p.name, significant(*value, 4),
                         m.error, csv_field(m.source));
    }
  }
  return out;
}

std::string tier_calibration_text(const machine::TierMeasurement& m) {
  std::string out = fmt::format("tier {} from {}\n", m.tier, m.source);
  for (const Parameter& p : kParameters) {
    const auto value = p.get(m);
    out += fmt::format("  {:<26} {}\n", p.name,
                       value ? significant(*value, 4) : std::string("as planned"));
  }
  if (!m.read && !m.write) {
    out +=
        "  one client cannot show what a shared tier gives to all clients, so its planned rates "
        "are kept (--whole-tier says that it can)\n";
  }
  return out;
}

bool is_tier_calibration(const CsvTable& table) { return table.column("tier").has_value(); }

Result<std::vector<machine::TierMeasurement>> read_tier_calibration(const CsvTable& table) {
  std::vector<machine::TierMeasurement> all;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    const std::string tier(table.text(row, "tier"));
    const auto value = table.number(row, "value");
    const auto known =
        std::ranges::find(kParameters, table.text(row, "parameter"), &Parameter::name);
    if (tier.empty() || !value || !(*value > 0) || known == std::end(kParameters)) {
      faults.push_back({.code = "calibration.row",
                        .place = {table.file(), row.line, 1},
                        .what = "a row names a tier, one of its parameters and a number above 0",
                        .fix = "`orrery calibrate PROBE.json --tier NAME` writes such a file"});
      continue;
    }
    auto at = std::ranges::find(all, tier, &machine::TierMeasurement::tier);
    if (at == all.end()) at = all.insert(all.end(), machine::TierMeasurement{.tier = tier});
    known->set(*at, *value);
    at->error = std::clamp(table.number(row, "error").value_or(at->error), 0.0, 0.9);
    at->source = table.text(row, "fit");
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all;
}

}  // namespace orrery::score
