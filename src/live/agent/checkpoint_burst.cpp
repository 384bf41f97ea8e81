#include "live/agent/checkpoint_burst.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "live/agent/elapsed.h"
#include "live/agent/probe_folder.h"

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

// A store that removes duplicates would store two equal pages once, so every page differs.
constexpr std::size_t kPage = 4096;

struct FileWriter {
  std::string part;   // name while the file is being written
  std::string final;  // name that marks a complete file
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;
  double handed_over_s = 0;
  std::string fault = {};
  OpenFile file = OpenFile();
};

std::string filled(std::size_t bytes, std::uint64_t seed, std::string_view name) {
  RandomStream stream(seed, name);
  std::string buffer(std::max(bytes, kPage) / kPage * kPage, '\0');
  for (std::size_t at = 0; at < buffer.size(); at += 8) {
    const std::uint64_t word = stream.next();
    std::memcpy(buffer.data() + at, &word, 8);
  }
  return buffer;
}

void write_file(const BurstPlan& plan, FileWriter& w, std::string& buffer,
                Clock::time_point start) {
  w.file = OpenFile(open(w.part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!w.file) return w.fault = failed(w.part, "open"), void();
  std::uint64_t stamp = 0;
  while (w.written < w.bytes && !(plan.stop && plan.stop())) {
    for (std::size_t page = 0; page < buffer.size(); page += kPage) {
      std::memcpy(buffer.data() + page, &++stamp, sizeof stamp);
    }
    const auto count = std::min<std::uint64_t>(buffer.size(), w.bytes - w.written);
    const ssize_t n = write(w.file.get(), buffer.data(), count);
    if (n <= 0) return w.fault = failed(w.part, "write"), void();
    w.written += static_cast<std::uint64_t>(n);
  }
  w.handed_over_s = seconds_since(start);
}

void make_safe(FileWriter& w) {
  if (!w.fault.empty()) return;
  if (fsync(w.file.get()) != 0) return w.fault = failed(w.part, "fsync"), void();
  if (std::rename(w.part.c_str(), w.final.c_str()) != 0) w.fault = failed(w.part, "rename");
}

std::string flush_folder(const std::string& folder) {
  const OpenFile descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor || fsync(descriptor.get()) != 0) return failed(folder, "fsync");
  return {};
}

}  // namespace

BurstTimes run_burst(const BurstPlan& plan) {
  std::vector<FileWriter> writers;
  std::vector<std::string> buffers;
  for (int i = 0; i < plan.writers; ++i) {
    const std::string name = fmt::format("{}/rank-{}", plan.folder, i);
    writers.push_back({.part = name + ".part",
                       .final = name + ".ckpt",
                       .bytes = plan.bytes / static_cast<std::uint64_t>(plan.writers)});
    buffers.push_back(filled(plan.write_bytes, plan.seed, name));
  }
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  // No writer flushes before all have written their bytes, as a job continues after a barrier.
  std::barrier handed_over(plan.writers);
  for (std::size_t i = 0; i < writers.size(); ++i) {
    threads.emplace_back([&, i] {
      write_file(plan, writers[i], buffers[i], start);
      handed_over.arrive_and_wait();
      make_safe(writers[i]);
    });
  }
  for (std::thread& t : threads) t.join();
  BurstTimes times{.fault = flush_folder(plan.folder)};
  times.safe_s = seconds_since(start);
  for (const FileWriter& w : writers) {
    times.stall_end_s = std::max(times.stall_end_s, w.handed_over_s);
    times.bytes += w.written;
    if (!w.fault.empty()) times.fault = w.fault;
    unlink(w.part.c_str());
    unlink(w.final.c_str());
  }
  return times;
}

}  // namespace orrery::agent
