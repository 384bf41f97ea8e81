#include "study/score/dlio_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::score {
namespace {

using Json = nlohmann::json;

// Largest summary: it lists every host's processor and memory, and nlohmann-json overflows the
// stack on deep nesting.
constexpr std::size_t kSummaryBytesMax = std::size_t{8} << 20;
constexpr int kSummaryDepthMax = 8;
// MLPerf Storage's pass mark: busier accelerators were not slowed down by the tier.
constexpr double kBusy_percent = 90;
constexpr double kDlioErrorLeast = 0.05;
constexpr double kDeviations = 1.28;  // half of an 80 % interval, in standard deviations

Diagnostic no_summary(const std::string& file, std::string what, std::string why = "") {
  return {.code = "calibrate.dlio",
          .place = {.file = file},
          .what = std::move(what),
          .why = std::move(why),
          .fix = "DLIO and MLPerf Storage write summary.json into the folder of their results"};
}

bool is_shallow(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kSummaryDepthMax) return false;
  }
  return text.size() <= kSummaryBytesMax;
}

std::optional<double> metric(const Json& summary, const std::string& name) {
  const Json& all = summary["metric"];
  const auto at = all.find(name);
  if (at == all.end() || !at->is_number()) return std::nullopt;
  const double value = at->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

// A rate with the spread of its repeats.
struct DlioRate {
  BytesPerSecond rate;
  double error = kDlioErrorLeast;
};

double spread(const Json& summary, const std::string& of, double mean) {
  const double deviation = metric(summary, of).value_or(0);
  return std::max(kDlioErrorLeast, kDeviations * deviation / mean);
}

// "save" or "load".
std::optional<DlioRate> checkpoint_rate(const Json& summary, const std::string& way) {
  const auto size = metric(summary, "checkpoint_size_GB");
  const std::string duration = way + "_checkpoint_duration_";
  if (const auto mean = metric(summary, duration + "mean_seconds"); size && mean) {
    return DlioRate{gib(*size) / seconds(*mean),
                    spread(summary, duration + "stdev_seconds", *mean)};
  }
  const std::string io = way + "_checkpoint_io_";
  const auto mean = metric(summary, io + "mean_GB_per_second");
  if (!mean) return std::nullopt;
  return DlioRate{gib(*mean) / seconds(1), spread(summary, io + "stdev_GB_per_second", *mean)};
}

// Returns true if reads may have come from memory: only data that is read a second time can.
bool may_be_cached(const Json& summary) {
  const Json& epochs = summary.value("epochs", Json());
  if (epochs.is_number() && epochs.get<double>() <= 1) return false;
  const auto at = summary.find("potential_caching");
  if (at == summary.end()) return false;
  if (!at->is_array()) return *at == true || *at == 1;
  return std::ranges::any_of(*at, [](const Json& host) { return host == 1 || host == true; });
}

void take_training(DlioCalibration& c, const Json& summary) {
  const auto mean = metric(summary, "train_io_mean_MB_per_second");
  if (!mean) return;
  const BytesPerSecond rate = mib(*mean) / seconds(1);
  const double busy = metric(summary, "train_au_mean_percentage").value_or(0);
  if (may_be_cached(summary)) {
    c.left_out.push_back(fmt::format(
        "read {}: the data set fits into the hosts' memory, and may have been read from there",
        brief(rate)));
  } else if (busy >= kBusy_percent) {
    c.left_out.push_back(
        fmt::format("read {}: accelerators were busy {} % of the time, so the tier gives at least "
                    "this; a test with more of them shows its limit",
                    brief(rate), significant(busy, 3)));
  } else {
    c.tier.read = rate;
    c.tier.error = std::max(c.tier.error, spread(summary, "train_io_stdev_MB_per_second", *mean));
  }
}

void take_checkpoints(DlioCalibration& c, const Json& summary) {
  if (const auto save = checkpoint_rate(summary, "save")) {
    c.tier.write = save->rate;
    c.tier.error = std::max(c.tier.error, save->error);
  }
  const auto load = checkpoint_rate(summary, "load");
  if (!load || c.tier.read) return;
  c.tier.read = load->rate;
  c.tier.error = std::max(c.tier.error, load->error);
}

}  // namespace

bool looks_like_dlio_summary(std::string_view text) {
  return trimmed(text).starts_with('{') && text.find("\"num_accelerators\"") != text.npos &&
         text.find("\"metric\"") != text.npos;
}

Result<DlioCalibration> calibrate_from_dlio(std::string_view text, const std::string& file,
                                            const std::string& tier) {
  if (!is_shallow(text))
    return fail(no_summary(file, "this file is too large or too deeply nested for a summary"));
  const Json summary = Json::parse(text, nullptr, false);
  const bool known = summary.is_object() && summary.contains("metric") &&
                     summary["metric"].is_object() && summary.contains("num_accelerators");
  if (!known) return fail(no_summary(file, "this is not a summary written by DLIO"));
  DlioCalibration c{.tier = {.tier = tier, .error = kDlioErrorLeast}, .left_out = {}};
  const Json& hosts = summary.value("num_hosts", Json());
  c.tier.source = fmt::format(
      "orrery calibrate: DLIO, {} accelerators{}",
      summary["num_accelerators"].is_number()
          ? significant(summary["num_accelerators"].get<double>(), 6)
          : "?",
      hosts.is_number() ? fmt::format(" of {} hosts", significant(hosts.get<double>(), 6)) : "");
  take_training(c, summary);
  take_checkpoints(c, summary);
  if (c.tier.read || c.tier.write) return c;
  return fail(
      no_summary(file, "nothing in this summary shows the limit of the tier",
                 c.left_out.empty() ? "it has neither reads nor checkpoints" : c.left_out.front()));
}

}  // namespace orrery::score
