#include "live/agent/probe_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "live/agent/elapsed.h"
#include "live/agent/probe_folder.h"

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

struct Tally {
  int done = 0;  // number of steps done, without gaps from the first
  double seconds = 0;
  std::string fault = {};

  double per_s() const { return seconds > 0 ? done / seconds : 0; }
};

// Calls `step(i)` for each i below `count`, spread over the threads, until the time is over or the
// user stops it. A step returns what went wrong, or an empty text.
Tally spread(const FilesPlan& plan, int count, const std::function<std::string(int)>& step) {
  Tally tally;
  std::atomic<int> next = 0;
  std::atomic<int> done = 0;
  std::mutex mutex;
  const auto start = Clock::now();
  std::vector<std::thread> crew;
  for (int t = 0; t < plan.threads; ++t) {
    crew.emplace_back([&] {
      while (seconds_since(start) < plan.seconds_max && !(plan.stop && plan.stop())) {
        const int i = next++;
        if (i >= count) return;
        const std::string fault = step(i);
        if (!fault.empty()) {
          const std::lock_guard lock(mutex);
          tally.fault = fault;
          return;
        }
        ++done;
      }
    });
  }
  for (std::thread& t : crew) t.join();
  tally.seconds = seconds_since(start);
  tally.done = done;
  return tally;
}

// Each thread has its own folder of names.
std::string name_of(const FilesPlan& plan, int i, const char* kind) {
  return fmt::format("{}/{}/{}-{}", plan.folder, i % plan.threads, kind, i);
}

std::string make_folders(const FilesPlan& plan) {
  for (int t = 0; t < plan.threads; ++t) {
    const std::string path = fmt::format("{}/{}", plan.folder, t);
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(path, "mkdir");
  }
  return {};
}

std::string write_whole(const std::string& path, std::string_view bytes) {
  const OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed(path, "open");
  while (!bytes.empty()) {
    const ssize_t n = write(file.get(), bytes.data(), bytes.size());
    if (n <= 0) return failed(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(file.get()) != 0) return failed(path, "fsync");
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

// Reads in pieces of `piece` bytes, as a data loader reads samples from a shard.
std::string read_whole(const std::string& path, std::size_t piece,
                       std::atomic<std::uint64_t>& sum) {
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed(path, "open");
  std::vector<char> buffer(piece);
  ssize_t n = 0;
  while ((n = read(file.get(), buffer.data(), buffer.size())) > 0) {
    sum += static_cast<std::uint64_t>(n);
  }
  if (n < 0) return failed(path, "read");
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

struct Pass {
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  std::string fault;
};

// Writes, reads and removes `count` files of `bytes` each.
Pass pass_over(const SamplesPlan& plan, const char* kind, int count, std::size_t bytes) {
  RandomStream stream(1, kind);
  std::string content(bytes, '\0');
  for (char& c : content) c = static_cast<char>(stream.next());
  const Tally written = spread(
      plan.files, count, [&](int i) { return write_whole(name_of(plan.files, i, kind), content); });
  std::atomic<std::uint64_t> read_bytes = 0;
  const Tally read = spread(plan.files, written.done, [&](int i) {
    return read_whole(name_of(plan.files, i, kind), plan.sample_bytes, read_bytes);
  });
  for (int i = 0; i < count; ++i) unlink(name_of(plan.files, i, kind).c_str());
  return {.write_bytes_per_s = written.per_s() * static_cast<double>(bytes),
          .read_bytes_per_s = static_cast<double>(read_bytes) / std::max(read.seconds, 1e-9),
          .fault = written.fault.empty() ? read.fault : written.fault};
}

}  // namespace

MetadataRates measure_metadata(const FilesPlan& plan) {
  MetadataRates rates{.fault = make_folders(plan)};
  if (!rates.fault.empty()) return rates;
  const Tally created = spread(plan, plan.files, [&](int i) -> std::string {
    const std::string path = name_of(plan, i, "meta");
    const OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return file ? "" : failed(path, "open");
  });
  const Tally seen = spread(plan, created.done, [&](int i) -> std::string {
    struct stat facts{};
    const std::string path = name_of(plan, i, "meta");
    return stat(path.c_str(), &facts) == 0 ? "" : failed(path, "stat");
  });
  const Tally removed = spread(plan, created.done, [&](int i) -> std::string {
    const std::string path = name_of(plan, i, "meta");
    return unlink(path.c_str()) == 0 ? "" : failed(path, "unlink");
  });
  for (int i = 0; removed.done < created.done && i < created.done; ++i) {
    unlink(name_of(plan, i, "meta").c_str());
  }
  rates.creates_per_s = created.per_s();
  rates.stats_per_s = seen.per_s();
  rates.unlinks_per_s = removed.per_s();
  for (const Tally* t : {&created, &seen, &removed}) {
    if (rates.fault.empty()) rates.fault = t->fault;
  }
  return rates;
}

CommitRate measure_commits(const FilesPlan& plan) {
  FilesPlan alone = plan;
  alone.threads = 1;
  CommitRate rate{.fault = make_folders(alone)};
  if (!rate.fault.empty()) return rate;
  const std::string folder = plan.folder + "/0";
  const OpenFile descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string content(4096, 'x');
  const Tally tally = spread(alone, plan.files, [&](int i) -> std::string {
    const std::string part = name_of(alone, i, "part");
    const std::string final = name_of(alone, i, "whole");
    std::string fault = write_whole(part, content);
    if (!fault.empty()) return fault;
    if (std::rename(part.c_str(), final.c_str()) != 0) return failed(part, "rename");
    return fsync(descriptor.get()) == 0 ? "" : failed(folder, "fsync");
  });
  for (int i = 0; i < plan.files; ++i) unlink(name_of(alone, i, "whole").c_str());
  rate.per_s = tally.per_s();
  rate.fault = tally.fault;
  return rate;
}

SampleRates measure_samples(const SamplesPlan& plan) {
  SampleRates rates{.fault = make_folders(plan.files)};
  if (!rates.fault.empty()) return rates;
  const std::size_t total = plan.sample_bytes * static_cast<std::size_t>(plan.files.files);
  const Pass files = pass_over(plan, "sample", plan.files.files, plan.sample_bytes);
  const int shards = std::max(1, static_cast<int>(total / plan.shard_bytes));
  const Pass packed = pass_over(plan, "shard", shards, total / static_cast<std::size_t>(shards));
  rates.file_write_bytes_per_s = files.write_bytes_per_s;
  rates.file_read_bytes_per_s = files.read_bytes_per_s;
  rates.shard_write_bytes_per_s = packed.write_bytes_per_s;
  rates.shard_read_bytes_per_s = packed.read_bytes_per_s;
  rates.fault = files.fault.empty() ? packed.fault : files.fault;
  return rates;
}

}  // namespace orrery::agent
