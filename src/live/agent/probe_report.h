// The result of a storage probe: named figures, each the median of its repeats with their spread,
// the conditions of the measurement, and notices on how to read it.
//
// low..high is the 10th to 90th percentile of the repeats (interpolated linearly), as in an
// Estimate; with five repeats this is nearly their range. Values are in base units.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.h"
#include "layers/storage/probe_sizes.h"

namespace orrery::agent {

enum class ProbeUnit { bytes_per_s, per_s, seconds, bytes, factor };
// Returns the suffix of a JSON key: "bytes_per_s", "per_s", ...
std::string_view suffix_of(ProbeUnit unit);

struct ProbeFigure {
  std::string id;     // such as "sequential_read"
  std::string label;  // such as "sequential read, 1 MiB blocks, 8 in flight"
  ProbeUnit unit = ProbeUnit::bytes_per_s;
  std::vector<double> samples;

  double value() const;  // returns the median
  double low() const;
  double high() const;
};

struct ProbeReport {
  std::string target;                                           // as the user named it
  std::string kind;                                             // "folder", "file" or "bucket"
  std::size_t object_bytes = storage::kProbeObjectBytes;        // size of a bucket's large objects
  std::vector<std::pair<std::string, std::string>> conditions;  // such as "engine" -> "io_uring"
  std::vector<ProbeFigure> figures;
  std::vector<std::string> notices;
  bool interrupted = false;

  const ProbeFigure* figure(std::string_view id) const;  // nullptr if it was not measured
  // Adds a sample to the figure with the id of `shape`; adds the figure first if it is new.
  void add(const ProbeFigure& shape, double sample);
};

std::string probe_text(const ProbeReport& report);
// `more` may add members at the end of the object.
std::string probe_json(const ProbeReport& report,
                       const std::function<void(JsonWriter&)>& more = {});
std::string probe_csv(const ProbeReport& report);
// Returns a text such as "1.23 GB/s" or "812 /s".
std::string show_probe(double value, ProbeUnit unit);

}  // namespace orrery::agent
