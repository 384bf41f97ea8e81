#include "layers/traffic/load_window.h"

#include <gtest/gtest.h>

namespace orrery::traffic {
namespace {

RequestRecord record(int id, std::uint64_t session, double arrived, double last) {
  return {.id = id,
          .prompt = 100,
          .output = 1,
          .session = session,
          .arrived = arrived,
          .first = last,
          .last = last};
}

// Two calls of task 1 between 1 s and 4.5 s, each seen 0.1 s later than the replica says; task 2
// was in progress at the start, and task 3 began after the window.
FleetRun two_calls_each() {
  FleetRun run;
  run.records = {record(0, 1, 1, 2), record(1, 2, 1.5, 2), record(2, 1, 3, 4.5),
                 record(3, 3, 9, 9.5), record(4, 3, 9.6, 9.9)};
  return run;
}

double count_tasks(const LoadWindow& w) {
  double tasks = 0;
  for (const WindowPart& p : w.parts) tasks += p.tasks;
  return tasks;
}

TEST(LoadWindow, tasks_that_began_in_the_window_count_whole) {
  const LoadWindow w =
      window_of(two_calls_each(), 1, {.begins = 0, .ends = 8}, {.aside = 0.1, .calls = 2});
  EXPECT_EQ(count_tasks(w), 1);
  EXPECT_EQ(w.parts[1].tasks, 1);
  const std::vector<LoadWindow> tasks = of_tasks({w});
  const double one[] = {1};
  EXPECT_NEAR(sampled(tasks, one, &WindowPart::task, 0).value, 3.5 + 0.2, 1e-9);
  EXPECT_EQ(tasks_within(tasks, one, 3.71), 1);
  EXPECT_EQ(tasks_within(tasks, one, 3.69), 0);
}

TEST(LoadWindow, without_agents_there_are_no_tasks) {
  const LoadWindow w = window_of(two_calls_each(), 1, {.begins = 0, .ends = 8}, {});
  EXPECT_EQ(count_tasks(w), 0);
}

// Reads that all take 0.25 s precede every first token, and every call of a task.
TEST(LoadWindow, retrieval_delays_the_first_token) {
  const WindowSpan span{.begins = 0, .ends = 8};
  ClientView view{.calls = 2};
  const LoadWindow bare = window_of(two_calls_each(), 1, span, view);
  view.retrieval = RetrievalLaw{.median = seconds(0.25), .p99 = seconds(0.25)};
  const LoadWindow looked = window_of(two_calls_each(), 1, span, view);
  const double one[] = {1};
  const auto mean = [&](const LoadWindow& w, LatencyPoints WindowPart::* of) {
    return sampled({&w, 1}, one, of, 0).value;
  };
  EXPECT_NEAR(mean(looked, &WindowPart::ttft) - mean(bare, &WindowPart::ttft), 0.25, 1e-9);
  EXPECT_NEAR(mean(looked, &WindowPart::whole) - mean(bare, &WindowPart::whole), 0.25, 1e-9);
  EXPECT_NEAR(looked.parts[1].task[0] - bare.parts[1].task[0], 0.5, 1e-9);
  EXPECT_EQ(looked.stay, bare.stay);  // at the replica
}

}  // namespace
}  // namespace orrery::traffic
