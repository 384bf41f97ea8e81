// The files of a Prometheus server that watches a design's cluster.
//
//   prometheus.yml            what to scrape, which rules to load
//   prometheus-kubernetes.yml the same if exporters are pods, for designs with Kubernetes
//   targets/*.yml             hosts by fleet, with their leaf of the fabric
//   rules/recording.yml       what several rules and panels share
//   rules/GROUP.yml           alerts: gpu, training, cluster, storage, watch
//   tests/GROUP_test.yml      a unit test of every alert, for `promtool test rules`
//   dcgm_counters.csv         the counters that dcgm-exporter must export (its option -f)
//
// Thresholds are figures of the plan; the sources of fixed ones are in data/emit/prometheus.
#pragma once

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

// Default ports of the exporters; 9817 is that of `orrery exporter`.
inline constexpr int kDcgmExporterPort = 9400;
inline constexpr int kNodeExporterPort = 9100;
inline constexpr int kOrreryExporterPort = 9817;

Result<EmittedFiles> emit_prometheus(const review::Review& review, const EmitSource& source);

}  // namespace orrery::emit
