#include "live/agent/exporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::agent {
namespace {

namespace fs = std::filesystem;

// Two Prometheus servers, or a person besides one, must not double the load on slurmctld.
constexpr double kShortestLook_s = 1;
// Metrics of a failing source are shown with their age for this long, and are then left out.
constexpr double kKept_s = 60;
// A folder has a few files per node; a file has a few lines per rank.
constexpr std::size_t kFilesMax = 20'000;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr std::size_t kLoggedMax = 5;

Diagnostic file_fault(const std::string& path, std::string what, std::string fix) {
  return {.severity = Severity::warning,
          .code = "exporter.file",
          .place = {.file = path},
          .what = std::move(what),
          .why = "its measurements are left out of the metrics",
          .fix = std::move(fix)};
}

void append(MetricFamilies& to, MetricFamilies from) {
  for (MetricFamily& f : from) {
    const auto mine = std::ranges::find(to, f.name, &MetricFamily::name);
    if (mine == to.end()) {
      to.push_back(std::move(f));
    } else {
      std::ranges::move(f.samples, std::back_inserter(mine->samples));
    }
  }
}

// Only regular files: a link could lead out of the folder, and reading a pipe would never end.
Result<std::vector<std::string>> prom_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    return fail(file_fault(folder, "the folder cannot be read: " + error.message(),
                           "name a folder that this user can read"));
  }
  for (; entries != fs::directory_iterator() && paths.size() < kFilesMax;
       entries.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (entries->path().extension() != ".prom") continue;
    if (entries->symlink_status(ignored).type() == fs::file_type::regular) {
      paths.push_back(entries->path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

struct ProbeColumn {
  std::string_view figure;
  std::string_view metric;
  std::string_view op;
};
constexpr ProbeColumn kProbeColumns[] = {
    {"sequential_read", "orrery_measured_tier_bytes_per_second", "read"},
    {"sequential_write", "orrery_measured_tier_bytes_per_second", "write"},
    {"first_byte", "orrery_measured_tier_latency_seconds", "read"}};

}  // namespace

ProbeFile probe_file_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0) {
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  }
  return {fs::path(text).stem().string(), std::string(text)};
}

Result<MetricFamilies> probe_metrics(std::string_view csv, const ProbeFile& probe) {
  const auto table = CsvTable::parse(csv, probe.path);
  if (!table) return std::unexpected(table.error());
  auto known = metrics_from("files");
  if (!known) return std::unexpected(known.error());
  MetricFamilies families;
  for (const CsvRow& row : table->rows()) {
    for (const ProbeColumn& column : kProbeColumns) {
      const auto value = table->number(row, "value");
      if (table->text(row, "id") != column.figure || !value || *value <= 0) continue;
      const auto family = std::ranges::find(*known, column.metric, &MetricFamily::name);
      if (family == known->end()) continue;
      MetricFamily one = *family;
      one.samples = {{{{"op", std::string(column.op)}, {"tier", probe.tier}}, *value}};
      append(families, {one});
    }
  }
  if (!families.empty()) return families;
  return fail(file_fault(probe.path, "the file holds no results of a storage probe",
                         "give a file written by: orrery probe storage PATH --format csv"));
}

Exporter::Exporter(ExporterSetup setup) : setup_(std::move(setup)) {
  const auto add = [this](const char* name, auto look) {
    auto source = std::make_unique<Source>();
    source->name = name;
    source->look = [this, look](Diagnostics& f) { return (this->*look)(f); };
    sources_.push_back(std::move(source));
  };
  if (setup_.slurm) add("slurm", &Exporter::look_slurm);
  if (!setup_.node_files.empty()) add("node-files", &Exporter::look_node_files);
  if (!setup_.probes.empty()) add("probe", &Exporter::look_probes);
  for (auto& source : sources_) {
    source->thread =
        std::jthread([this, &source](const std::stop_token& stop) { serve_looks(*source, stop); });
  }
}

Exporter::~Exporter() {
  for (auto& source : sources_) source->thread.request_stop();
  for (auto& source : sources_) source->thread.join();
}

Result<MetricFamilies> Exporter::look_slurm(Diagnostics& faults) const {
  const auto look = look_at_slurm(setup_.question, setup_.run);
  if (!look) return std::unexpected(look.error());
  faults = look->faults;
  return slurm_metrics(*look, setup_.now());
}

Result<MetricFamilies> Exporter::look_node_files(Diagnostics& faults) const {
  const auto paths = prom_files(setup_.node_files);
  if (!paths) return std::unexpected(paths.error());
  const auto known = metrics_from("files");
  if (!known) return std::unexpected(known.error());
  MetricFamilies families;
  for (const std::string& path : *paths) {
    const auto text = setup_.read_file(path);
    if (!text || text->size() > kFileBytesMax) {
      faults.push_back(
          file_fault(path, text ? "the file is larger than 1 MiB" : "the file cannot be read",
                     "a node file is a small text file in the Prometheus exposition "
                     "format"));
      continue;
    }
    ParsedMetrics parsed = parse_metrics(*text, path, *known);
    faults.insert(faults.end(), parsed.faults.begin(), parsed.faults.end());
    append(families, std::move(parsed.families));
  }
  return families;
}

// One bad probe file does not hide the others; it is a failure if none is good.
Result<MetricFamilies> Exporter::look_probes(Diagnostics& faults) const {
  MetricFamilies families;
  for (const ProbeFile& probe : setup_.probes) {
    const auto text = setup_.read_file(probe.path);
    auto found =
        text ? probe_metrics(*text, probe) : Result<MetricFamilies>(std::unexpected(text.error()));
    if (found) {
      append(families, *std::move(found));
    } else {
      faults.insert(faults.end(), found.error().begin(), found.error().end());
    }
  }
  if (families.empty()) return std::unexpected(faults);
  return families;
}

void Exporter::serve_looks(Source& source, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&source] { return source.is_wanted; })) {
    source.is_wanted = false;
    source.is_looking = true;
    lock.unlock();
    Diagnostics faults;
    auto found = source.look(faults);
    lock.lock();
    take(source, std::move(found), std::move(faults));
    source.is_looking = false;
    changed_.notify_all();
  }
}

void Exporter::take(Source& source, Result<MetricFamilies> found, Diagnostics faults) {
  source.up = found.has_value();
  source.looked_at_s = setup_.now().base();
  if (found) {
    source.last_good_s = source.looked_at_s;
    source.found = *std::move(found);
  } else {
    faults = found.error();
  }
  source.faults = faults.size();
  if (faults.size() > kLoggedMax) faults.resize(kLoggedMax);
  const std::string said = to_text(faults);
  if (said != source.said && !faults.empty()) setup_.log(faults);
  source.said = said;
}

MetricFamilies Exporter::health() const {
  MetricFamily up{.name = "orrery_exporter_source_up",
                  .help = "1 if the source could be read in time at the last scrape, else 0.",
                  .samples = {}};
  MetricFamily faults{
      .name = "orrery_exporter_source_faults",
      .help = "Lines and files of the source that were left out at the last scrape.",
      .samples = {}};
  MetricFamily good{.name = "orrery_exporter_source_last_good_timestamp_seconds",
                    .help = "Unix time at which the source was last read without failure.",
                    .samples = {}};
  MetricFamily age{.name = "orrery_exporter_source_age_seconds",
                   .help = "Age of the source's metrics; absent if the source has never been read.",
                   .samples = {}};
  for (const auto& s : sources_) {
    const bool is_late = s->is_looking || s->is_wanted;
    up.samples.push_back({{{"source", s->name}}, s->up && !is_late ? 1.0 : 0.0});
    faults.samples.push_back({{{"source", s->name}}, static_cast<double>(s->faults)});
    good.samples.push_back({{{"source", s->name}}, s->last_good_s});
    if (s->last_good_s <= 0) continue;
    age.samples.push_back(
        {{{"source", s->name}}, std::max(0.0, setup_.now().base() - s->last_good_s)});
  }
  // The plan is a source too; it is up if the page contains a plan.
  up.samples.push_back({{{"source", "plan"}}, setup_.plan.empty() ? 0.0 : 1.0});
  return {up,
          faults,
          good,
          age,
          {.name = "orrery_exporter_looks_total",
           .type = "counter",
           .help = "Number of times the sources have been read.",
           .samples = {{{}, looks_}}}};
}

std::string Exporter::page() {
  std::unique_lock lock(mutex_);
  const double now = setup_.now().base();
  bool is_asked = false;
  for (auto& source : sources_) {
    const bool is_fresh = source->looked_at_s >= 0 && now >= source->looked_at_s &&
                          now - source->looked_at_s < kShortestLook_s;
    if (is_fresh || source->is_looking || source->is_wanted) continue;
    source->is_wanted = is_asked = true;
  }
  if (is_asked) ++looks_;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::duration<double>(setup_.patience.base()), [this] {
    return std::ranges::none_of(sources_,
                                [](const auto& s) { return s->is_wanted || s->is_looking; });
  });
  MetricFamilies all = setup_.plan;
  for (const auto& source : sources_) {
    const double age = setup_.now().base() - source->last_good_s;
    if (source->last_good_s > 0 && age <= kKept_s) append(all, source->found);
  }
  append(all, health());
  return exposition(std::move(all));
}

}  // namespace orrery::agent
