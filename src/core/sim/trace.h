// Where a simulation writes what it did. A sink is handed in; without one nothing is recorded.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/sim/sim_time.h"

namespace orrery::sim {

// begin/end bracket a span of a track ("job 7" on "node 12"); instant is a point; value a sample.
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
  virtual void record(const TraceRecord& record) = 0;  // texts live only during the call
};

}  // namespace orrery::sim
