// Records what a simulation did. The caller hands in a sink; without one nothing is recorded.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/sim/sim_time.h"

namespace orrery::sim {

// begin and end bracket a span on a track ("job 7" on "node 12"); instant marks a point in time;
// value is a sample.
enum class TraceKind : std::uint8_t { begin, end, instant, value };

struct TraceRecord {
  SimTime time;
  TraceKind kind = TraceKind::instant;
  std::string_view track;
  std::string_view name;
  double value = 0;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The record's texts are valid only during the call.
  virtual void record(const TraceRecord& record) = 0;
};

}  // namespace orrery::sim
