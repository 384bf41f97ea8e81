// What the kernel does unasked: kinds and data that nobody names, traces with and without a sink.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/sim/kernel.h"
#include "core/sim/trace.h"

namespace orrery::sim {
namespace {

struct Heard : EventHandler {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
  void on_event(Kernel&, std::uint32_t kind, std::uint64_t data) override {
    all.emplace_back(kind, data);
  }
};

TEST(KernelPlain, an_event_has_the_kind_and_data_it_was_given_and_else_none) {
  Kernel kernel;
  Heard heard;
  kernel.schedule(SimTime::nanoseconds(1), EventRank::start, heard);
  kernel.schedule(SimTime::nanoseconds(2), EventRank::start, heard, 7);
  kernel.schedule(SimTime::nanoseconds(3), EventRank::start, heard, 8, 9);
  EXPECT_EQ(kernel.run(), 3U);
  EXPECT_EQ(heard.all, (decltype(heard.all){{0, 0}, {7, 0}, {8, 9}}));
}

struct Written : TraceSink {
  struct Line {
    std::int64_t ns;
    TraceKind kind;
    std::string track, name;
    double value;
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> lines;
  void record(const TraceRecord& r) override {
    lines.push_back({r.time.ns(), r.kind, std::string(r.track), std::string(r.name), r.value});
  }
};

TEST(KernelPlain, what_is_traced_goes_to_the_sink_with_the_time) {
  Written sink;
  Kernel kernel(1, &sink);
  kernel.run(SimTime::nanoseconds(40));
  kernel.trace(TraceKind::begin, "job 7", "step");
  kernel.trace(TraceKind::value, "node 2", "load", 0.25);
  EXPECT_EQ(sink.lines,
            (std::vector<Written::Line>{{40, TraceKind::begin, "job 7", "step", 0},
                                        {40, TraceKind::value, "node 2", "load", 0.25}}));
  const Kernel silent;
  silent.trace(TraceKind::begin, "job 7", "step");
  EXPECT_EQ(sink.lines.size(), 2U);
  EXPECT_EQ(TraceRecord{}.kind, TraceKind::instant);
  EXPECT_EQ(TraceRecord{}.value, 0);
  EXPECT_EQ(silent.seed(), 1U);
  EXPECT_EQ(silent.events_run(), 0U);
  EXPECT_EQ(silent.now().ns(), 0);
}

}  // namespace
}  // namespace orrery::sim
