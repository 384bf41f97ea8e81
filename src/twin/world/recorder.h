// The record of a run: events in order, and levels over time as means over equal bins.
//
// A level is piecewise constant (accelerators under a share, watts of a site); its mean over a bin
// is exact, so the sum of a column times the bin's width is its integral. Only the first
// replication is recorded. Events and changes of hosts beyond kEventsMax are counted but not kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/sim/trace.h"

namespace orrery::world {

inline constexpr std::size_t kEventsMax = 200'000;
// Events of a fleet that are not faults.
inline constexpr std::string_view kHostRepaired = "host repaired";
inline constexpr std::string_view kLemon = "lemon";
// Event of a run that begins to step; its value is the seconds from one save to the next.
inline constexpr std::string_view kSavesEvery = "saves every, s";

// The value of an instant event without a host.
inline constexpr double kNoHostValue = -1;

struct RunEvent {
  sim::SimTime at;
  sim::TraceKind kind = sim::TraceKind::instant;
  std::string track;  // "pretrain", "fleet train"
  std::string name;   // "restoring", "faulty GPU"
  double value = 0;   // of an instant event: the host, or kNoHostValue
};

enum class HostMark : std::uint8_t { free, reserve, held, repair };

// A host is taken or freed. A host that several jobs share belongs to the first of them. Before its
// first change a host is free, or in reserve if it is a declared spare.
struct HostChange {
  sim::SimTime at;
  std::uint32_t fleet = 0;
  std::uint32_t host = 0;
  HostMark mark = HostMark::free;
  std::int32_t holder = -1;  // index of the training run that has it; -1: other work, or free
};

struct Series {
  Seconds bin;
  std::vector<std::string> columns;        // "productive_accelerators", "main_w"
  std::vector<std::vector<double>> means;  // one row per bin, one value per column
};

class Recorder final : public sim::TraceSink {
 public:
  Recorder(sim::SimTime horizon, int bins);

  std::size_t add_column(std::string name);
  void change(sim::SimTime now, std::size_t column, double delta);
  void record(const sim::TraceRecord& record) override;
  void record_host(const HostChange& change);

  Series series(sim::SimTime end);
  const std::vector<RunEvent>& events() const { return events_; }
  const std::vector<HostChange>& host_changes() const { return host_changes_; }
  std::uint64_t events_left_out() const { return left_out_; }

 private:
  void settle(sim::SimTime now);

  std::int64_t bin_ns_;
  std::size_t bins_;
  sim::SimTime settled_;
  std::vector<std::string> names_;
  std::vector<double> levels_;
  std::vector<std::vector<double>> sums_;  // level x ns, one row per bin
  std::vector<RunEvent> events_;
  std::vector<HostChange> host_changes_;
  std::uint64_t left_out_ = 0;
};

}  // namespace orrery::world
