// For tests of jobs: boards and stores in a folder, and waiting for jobs.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/metrics.h"
#include "app/server/run_job.h"
#include "core/base/json_writer.h"
#include "live/agent/test_folder.h"
#include "twin/run/simulation.h"

namespace orrery::server {

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline std::unique_ptr<JobBoard> board_of(const std::string& path, JobTask task,
                                          JobLimits limits = {}) {
  return JobBoard::open(JobStore::open(path).value(), {{"task", std::move(task)}}, limits).value();
}

inline std::unique_ptr<JobStore> open_store(const std::string& path) {
  auto store = JobStore::open(path);
  if (!store) throw std::runtime_error(to_text(store.error()));
  return std::move(*store);
}

inline std::unique_ptr<JobBoard> open_board(const std::string& path, JobTask task,
                                            JobLimits limits = {}) {
  auto board = JobBoard::open(open_store(path), {{"task", std::move(task)}}, limits);
  if (!board) throw std::runtime_error(to_text(board.error()));
  return std::move(*board);
}

template <class Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline JobState state_of(const JobBoard& board, std::int64_t id) { return board.find(id)->state; }

inline std::string kept_request(const std::string& more) {
  return "{\"design\":" +
         json_escaped(
             "orrery: 1\nname: small\nsite: { region: usa }\n"
             "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n") +
         more + "}";
}

inline Job kept_job(std::int64_t id) {
  return {.id = id, .task = kRunTask, .request = kept_request(R"(,"span":"1 h","replications":1)")};
}

}  // namespace orrery::server
