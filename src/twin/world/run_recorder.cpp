#include "twin/world/run_recorder.h"

#include <fmt/core.h>

namespace orrery::world {
namespace {

std::size_t at_share(Share share) { return static_cast<std::size_t>(share); }

}  // namespace

RunRecorder::RunRecorder(const sim::Kernel& kernel, Recorder* recorder,
                         const machine::Machine& machine)
    : kernel_(kernel), recorder_(recorder) {
  if (recorder_ == nullptr) return;
  for (const Word<Share>& w : words_of(Share{}).rows()) {
    share_columns_[at_share(w.value)] =
        recorder_->add_column(fmt::format("{}_accelerators", w.word));
  }
  for (const machine::Site& s : machine.sites) {
    site_columns_.push_back(recorder_->add_column(fmt::format("{}_it_w", s.site->name)));
  }
}

void RunRecorder::add_idle(double accelerators) {
  if (recorder_ == nullptr) return;
  recorder_->change(kernel_.now(), share_columns_[at_share(Share::idle)], accelerators);
}

void RunRecorder::move(Cause from, Cause to, std::int64_t accelerators) {
  if (recorder_ == nullptr) return;
  const auto count = static_cast<double>(accelerators);
  const auto change = [&](Cause cause, double delta) {
    if (cause == Cause::productive) return;
    recorder_->change(kernel_.now(), share_columns_[at_share(share_of(cause))], delta);
  };
  change(from, -count);
  change(to, count);
}

void RunRecorder::mark_steps(const std::array<double, kShares>& accelerators, double sign) {
  if (recorder_ == nullptr) return;
  for (std::size_t s = 0; s < kShares; ++s) {
    if (accelerators[s] != 0) {
      recorder_->change(kernel_.now(), share_columns_[s], sign * accelerators[s]);
    }
  }
}

void RunRecorder::mark_busy(double accelerators, double share) {
  if (recorder_ == nullptr) return;
  std::array<double, kShares> level{};
  level[at_share(Share::productive)] = accelerators * share;
  level[at_share(Share::idle)] = accelerators * (1 - share);
  mark_steps(level, 1);
}

void RunRecorder::change_watts(design::SiteIndex site, Watts delta) {
  if (recorder_ == nullptr || delta == Watts()) return;
  recorder_->change(kernel_.now(), site_columns_[site], delta.base());
}

void RunRecorder::mark_host(design::FleetIndex fleet, HostIndex host, HostMark mark,
                            std::optional<int> run) {
  if (recorder_ == nullptr) return;
  recorder_->record_host({.at = kernel_.now(),
                          .fleet = static_cast<std::uint32_t>(fleet.value()),
                          .host = static_cast<std::uint32_t>(host.value()),
                          .mark = mark,
                          .holder = run.value_or(-1)});
}

}  // namespace orrery::world
