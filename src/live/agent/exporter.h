// The exporter: planned and measured values of a cluster next to each other, as one page of
// metrics.
//
//   orrery_plan_NAME{..., bound="value|low|high"}    from the review, passed in by the caller
//   orrery_measured_NAME{...}                        from Slurm, node files, storage probes
//   orrery_exporter_NAME{...}                        whether the sources could be read
//
// Sources are read when Prometheus scrapes, at most once per second, each on its own thread. The
// page waits for them up to `patience` and then shows the last result of each, so a program that
// hangs delays no scrape and does not remove its metrics at once. source_up is 0 if the last
// reading failed or is late. source_age_seconds is the age of the source's metrics; they are left
// out once they are older than kKept_s. Node files are files that jobs and health checks leave in a
// folder (`*.prom`, lines in the exposition format). A job should replace its file by rename, so
// that it is never read half written. A probe file is the CSV of `orrery probe storage`.
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
  std::string tier;  // tier that was measured
  std::string path;
};
// Parses "hot=probes/a.csv", or takes the tier from the file's name: "probes/hot.csv".
ProbeFile probe_file_of(std::string_view text);

// Returns the figures of a probe that can be compared with the plan of a tier: sequential_read,
// sequential_write, first_byte.
Result<MetricFamilies> probe_metrics(std::string_view csv, const ProbeFile& probe);

struct ExporterSetup {
  MetricFamilies plan;  // orrery_plan_*, and the name of the design
  bool slurm = false;
  SlurmQuestion question;
  std::string node_files;  // folder of node files; empty: none
  std::vector<ProbeFile> probes;
  Seconds patience = seconds(2);  // time to wait for sources; Prometheus itself waits for 10 s

  CommandRunner run = run_command;
  std::function<Result<std::string>(const std::string&)> read_file;
  std::function<Seconds()> now;  // time since 1970
  std::function<void(const Diagnostics&)> log = [](const Diagnostics&) {};
};

class Exporter {
 public:
  explicit Exporter(ExporterSetup setup);
  ~Exporter();  // waits for readings in progress
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Returns the whole page. May be called from several threads.
  std::string page();

 private:
  // The result of a source's last reading. mutex_ guards everything except `name` and `look`.
  struct Source {
    std::string name;  // "slurm", "node-files", "probe"
    std::function<Result<MetricFamilies>(Diagnostics& faults)> look;
    bool is_wanted = false;   // a reading was requested
    bool is_looking = false;  // a reading is in progress
    bool up = false;
    double looked_at_s = -1;
    double last_good_s = 0;
    MetricFamilies found;  // metrics of the last good reading
    std::size_t faults = 0;
    std::string said;  // message logged last, so that it is not repeated at every scrape
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
