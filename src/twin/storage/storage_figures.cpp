// A day of storage as sections of a run.
#include <fmt/core.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "twin/storage/storage_run.h"

namespace orrery::twin_storage {
namespace {

using figures::Figure;
using figures::FigureId;
using figures::Section;

constexpr const char* kPage = "docs/models/storage-in-time.md";

// Times that differ by less than this share count as equal.
constexpr double kAlike = 0.01;

// A figure with the mean as its value, and an interval up to the longest value seen.
Figure span_figure(FigureId id, Seconds mean, Seconds longest, std::string formula = {}) {
  return {.kind = id,
          .estimate = {.value = mean.base(),
                       .low = mean.base(),
                       .high = longest > mean * (1 + kAlike) ? longest.base() : mean.base(),
                       .basis = Basis::derived,
                       .reference = kPage},
          .formula = std::move(formula)};
}

Figure plain_figure(FigureId id, double value, std::string formula = {}) {
  return {
      .kind = id, .estimate = exact(value, Basis::derived, kPage), .formula = std::move(formula)};
}

void add_saves(Section& s, const SaveTimes& t) {
  s.figures.push_back(span_figure(FigureId::stall_end, t.stall, t.longest_stall));
  if (t.peer) {
    s.figures.push_back(span_figure(FigureId::peer_copy, *t.peer, *t.peer));
  }
  s.figures.push_back(span_figure(FigureId::safe, t.safe, t.longest_safe));
  for (const StopTimes& stop : t.stops) {
    if (stop.saves == 0) continue;
    s.figures.push_back(span_figure(
        FigureId::on, stop.mean, stop.longest,
        fmt::format("{} saves reached it", grouped(static_cast<std::int64_t>(stop.saves)))));
    s.figures.back().of = stop.tier;
  }
  s.figures.push_back(span_figure(FigureId::exposed, t.safe - t.stall, t.longest_safe - t.stall,
                                  "safe - end of the stall"));
  s.figures.push_back(span_figure(FigureId::read_back, t.restore, t.restore));
}

void add_collectives(Section& s, const JobStorage& job) {
  const std::string why =
      job.is_converged ? "the burst and the collective share the hosts' wires"
                       : "the storage network is separate: the burst does not meet the collective";
  s.figures.push_back(plain_figure(FigureId::all_reduce_in_burst, job.all_reduce, why));
  if (job.all_reduce > 1.001) {
    s.limit =
        fmt::format("a save slows an all-reduce {}x: {}", significant(job.all_reduce, 3), why);
  }
}

Section job_section(const JobStorage& job, Seconds span) {
  Section s{.layer = figures::Layer::storage, .name = job.label + " on the clock"};
  s.summary = fmt::format("{} of saves and reads on the links they share", brief(span));
  if (job.saves) {
    s.summary += fmt::format(", {} saves", grouped(static_cast<std::int64_t>(job.saves->saves)));
    add_saves(s, *job.saves);
    add_collectives(s, job);
  }
  s.figures.push_back(
      plain_figure(FigureId::starved, job.starved, "of the bytes that the steps use"));
  if (job.hit_reads > 0) {
    s.figures.push_back(
        plain_figure(FigureId::hit_rate, job.hit_rate,
                     fmt::format("{} reads of one host, with a warm cache",
                                 grouped(static_cast<std::int64_t>(job.hit_reads)))));
  }
  return s;
}

Section tier_section(const TierLoad& t) {
  Section s{.layer = figures::Layer::storage, .name = t.label + " tier on the clock"};
  s.figures.push_back(plain_figure(FigureId::read_share, t.read_share));
  s.figures.push_back(plain_figure(FigureId::write_share, t.write_share));
  s.figures.push_back(plain_figure(FigureId::most_at_once, t.use.most_at_once));
  if (t.use.requests > 0) {
    const double mean = t.use.waited.base() / static_cast<double>(t.use.transfers);
    s.figures.push_back(span_figure(FigureId::request_wait, Seconds(mean), t.use.longest_wait));
  }
  return s;
}

}  // namespace

std::vector<Section> sections_of(const StorageRun& storage) {
  std::vector<Section> sections;
  for (const JobStorage& job : storage.jobs) {
    if (!job.label.empty() && (job.saves || job.starved > 0 || job.hit_reads > 0)) {
      sections.push_back(job_section(job, storage.span));
    }
  }
  for (const TierLoad& t : storage.tiers) sections.push_back(tier_section(t));
  return sections;
}

}  // namespace orrery::twin_storage
