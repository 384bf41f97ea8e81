#include "app/server/work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace orrery::server {
namespace {

constexpr auto kQuick = std::to_array<std::string_view>(
    {"/healthz", "/metrics", "/assets/{name}", "/api/v1/openapi.yaml", "/api/v1/templates",
     "/api/v1/templates/{name}", "/api/v1/catalog", "/api/v1/catalog/{table}",
     "/api/v1/catalog/{table}/{id}", "/api/v1/rules", "/api/v1/glossary", "/api/v1/completions"});
constexpr auto kLarge = std::to_array<std::string_view>(
    {"/api/v1/serving", "/api/v1/storage", "/api/v1/training", "/api/v1/training/trace",
     "/api/v1/fabric", "/api/v1/compare", "/api/v1/compare/report", "/api/v1/prices"});

// Interval at which a waiting request checks that its client is still connected.
constexpr std::chrono::milliseconds kLook{100};

double cpu_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Work work_of(std::string_view pattern) {
  if (std::ranges::find(kQuick, pattern) != kQuick.end()) return Work::quick;
  return std::ranges::find(kLarge, pattern) != kLarge.end() ? Work::large : Work::usual;
}

std::function<bool()> stop_of(const Request& request, double cpu_s) {
  return [&request, end = cpu_of_thread() + cpu_s] {
    return request.abandoned() || cpu_of_thread() >= end;
  };
}

LargeGate::Turn LargeGate::enter(const std::function<bool()>& gone) {
  std::unique_lock lock(mutex_);
  if (running_ >= running_most_) {
    if (waiting_ >= waiting_most_) return Turn(nullptr);
    ++waiting_;
    while (running_ >= running_most_ && !gone()) freed_.wait_for(lock, kLook);
    --waiting_;
    if (running_ >= running_most_) return Turn(nullptr);
  }
  ++running_;
  return Turn(this);
}

void LargeGate::leave() {
  {
    const std::scoped_lock lock(mutex_);
    --running_;
  }
  freed_.notify_one();
}

}  // namespace orrery::server
