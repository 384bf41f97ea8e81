// The exporter: plan and measured values of a cluster side by side, as one page of metrics.
//
//   orrery_plan_NAME{..., bound="value|low|high"}    from the review, handed in
//   orrery_measured_NAME{...}                        from Slurm, node files, storage probes
//   orrery_exporter_NAME{...}                        whether the sources could be read
// Sources are read when Prometheus asks, at most once a second, each by a thread of its own. The
// page waits for them up to `patience` and then shows the last result of each, so a program that
// hangs delays no scrape and removes no metric at once. source_up is 0 if the last reading failed
// or is late. source_age_seconds is the age of the source's metrics; older than kKept_s they are
// left out. Node files are what jobs and health checks leave in a folder (`*.prom`, lines of the
// exposition format); a job should replace its file by rename, so that it is never read half
// written. A probe file is the CSV of `orrery probe storage`.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/quantity.h"
#include "live/agent/command.h"
#include "live/agent/exporter_metrics.h"
#include "live/agent/exporter_slurm.h"

namespace orrery::agent {

struct ProbeFile {
  std::string tier;  // the tier that it measured
  std::string path;
};
// "hot=probes/a.csv", or the tier in the file's name: "probes/hot.csv".
ProbeFile probe_file_of(std::string_view text);

// The figures of a probe that a tier's plan can be compared with: sequential_read,
// sequential_write, first_byte.
Result<MetricFamilies> probe_metrics(std::string_view csv, const ProbeFile& probe);

struct ExporterSetup {
  MetricFamilies plan;  // orrery_plan_*, and the design's name
  bool slurm = false;
  SlurmQuestion question;
  std::string node_files;  // a folder; empty: none
  std::vector<ProbeFile> probes;
  Seconds patience = seconds(2);  // Prometheus itself waits for 10 s

  CommandRunner run = run_command;
  std::function<Result<std::string>(const std::string&)> read_file;
  std::function<Seconds()> now;  // since 1970
  std::function<void(const Diagnostics&)> log = [](const Diagnostics&) {};
};

class Exporter {
 public:
  explicit Exporter(ExporterSetup setup);
  ~Exporter();  // waits for readings that are under way
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // The whole page. May be called from several threads.
  std::string page();

 private:
  // What one source gave at its last look. mutex_ guards all but `name` and `look`.
  struct Source {
    std::string name;  // "slurm", "node-files", "probe"
    std::function<Result<MetricFamilies>(Diagnostics& faults)> look;
    bool is_wanted = false;   // a look was asked for
    bool is_looking = false;  // and is under way
    bool up = false;
    double looked_at_s = -1;
    double last_good_s = 0;
    MetricFamilies found;  // by the last good look
    std::size_t faults = 0;
    std::string said;  // logged last, so it is not repeated at every scrape
    std::jthread thread;
  };

  Result<MetricFamilies> look_slurm(Diagnostics& faults) const;
  Result<MetricFamilies> look_node_files(Diagnostics& faults) const;
  Result<MetricFamilies> look_probes(Diagnostics& faults) const;
  void serve_looks(Source& source, const std::stop_token& stop);
  void take(Source& source, Result<MetricFamilies> found, Diagnostics faults);
  MetricFamilies health() const;

  ExporterSetup setup_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  double looks_ = 0;
};

}  // namespace orrery::agent
