#include "twin/world/recorder.h"

#include <algorithm>
#include <utility>

namespace orrery::world {

Recorder::Recorder(sim::SimTime horizon, int bins)
    : bin_ns_(std::max<std::int64_t>(1, (horizon.ns() + bins - 1) / bins)),
      bins_(static_cast<std::size_t>(bins)),
      sums_(bins_) {}

std::size_t Recorder::add_column(std::string name) {
  names_.push_back(std::move(name));
  levels_.push_back(0);
  for (std::vector<double>& row : sums_) row.push_back(0);
  return names_.size() - 1;
}

void Recorder::settle(sim::SimTime now) {
  while (settled_ < now) {
    const std::size_t row = std::min(bins_ - 1, static_cast<std::size_t>(settled_.ns() / bin_ns_));
    const auto row_end = row + 1 == bins_ ? now.ns() : static_cast<std::int64_t>(row + 1) * bin_ns_;
    const std::int64_t until = std::min(now.ns(), row_end);
    const auto span = static_cast<double>(until - settled_.ns());
    for (std::size_t c = 0; c < levels_.size(); ++c) sums_[row][c] += levels_[c] * span;
    settled_ = sim::SimTime::nanoseconds(until);
  }
}

void Recorder::change(sim::SimTime now, std::size_t column, double delta) {
  settle(now);
  levels_[column] += delta;
}

void Recorder::record(const sim::TraceRecord& r) {
  if (events_.size() >= kEventsMax) {
    ++left_out_;
    return;
  }
  events_.push_back({.at = r.time,
                     .kind = r.kind,
                     .track = std::string(r.track),
                     .name = std::string(r.name),
                     .value = r.value});
}

void Recorder::record_host(const HostChange& change) {
  if (host_changes_.size() >= kEventsMax) {
    ++left_out_;
    return;
  }
  host_changes_.push_back(change);
}

Series Recorder::series(sim::SimTime end) {
  settle(end);
  Series s{.bin = sim::SimTime::nanoseconds(bin_ns_).seconds(), .columns = names_, .means = sums_};
  for (std::size_t row = 0; row < bins_; ++row) {
    const std::int64_t begin = static_cast<std::int64_t>(row) * bin_ns_;
    const std::int64_t span = std::min(bin_ns_, end.ns() - begin);
    if (span <= 0) {
      s.means.resize(row);
      break;
    }
    for (double& v : s.means[row]) v /= static_cast<double>(span);
  }
  return s;
}

}  // namespace orrery::world
