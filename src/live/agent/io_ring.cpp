#include "live/agent/io_ring.h"

#include <fmt/core.h>
#include <liburing.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "core/base/statistics.h"

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

// A page, which is also larger than any device's sector: the alignment that O_DIRECT requires.
constexpr std::size_t kAlignment = 4096;
// Latencies kept per run; beyond this number the oldest are overwritten.
constexpr std::size_t kLatenciesMax = std::size_t{1} << 19;
// The clock and the stop request are checked once per this many requests, because a request takes
// only microseconds.
constexpr std::uint64_t kCheckEvery = 16;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

struct Freed {
  void operator()(char* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Freed>;

// Bytes that no device can compress, different in every block.
Buffer random_buffer(std::size_t bytes, std::uint64_t seed) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kAlignment, rounded)));
  if (!buffer) return buffer;
  RandomStream stream(seed, "io/buffer");
  for (std::size_t at = 0; at + 8 <= rounded; at += 8) {
    const std::uint64_t word = stream.next();
    std::memcpy(buffer.get() + at, &word, 8);
  }
  return buffer;
}

class Latencies {
 public:
  void add(double seconds) {
    if (kept_.size() < kLatenciesMax) {
      kept_.push_back(static_cast<float>(seconds));
    } else {
      kept_[count_ % kLatenciesMax] = static_cast<float>(seconds);
    }
    ++count_;
  }
  void join(const Latencies& other) {
    for (const float l : other.kept_) add(l);
  }
  double at(double share) const { return quantile(kept_, share, Between::lower); }

 private:
  std::vector<float> kept_;
  std::size_t count_ = 0;
};

// Decides which block comes next, and whether there is one.
class Course {
 public:
  Course(const IoPlan& plan, std::string_view name)
      : plan_(plan),
        draw_(plan.seed, name),
        blocks_(std::max<std::uint64_t>(1, plan.span_bytes / plan.block_bytes)) {}

  std::uint64_t offset(std::uint64_t number) {
    return (plan_.random ? draw_.below(blocks_) : number % blocks_) * plan_.block_bytes;
  }

 private:
  const IoPlan& plan_;
  RandomStream draw_;
  std::uint64_t blocks_;
};

std::uint64_t operations_max(const IoPlan& plan) {
  if (plan.bytes_max == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::max<std::uint64_t>(1, plan.bytes_max / plan.block_bytes);
}

std::string fault_text(const IoPlan& plan, std::uint64_t offset, long result) {
  const char* verb = plan.write ? "write" : "read";
  if (result >= 0) {
    return fmt::format("a {} at byte {} transferred {} of {} bytes", verb, offset, result,
                       plan.block_bytes);
  }
  return fmt::format("a {} at byte {} failed: {}", verb, offset,
                     std::strerror(static_cast<int>(-result)));
}

// One request in flight.
struct Slot {
  char* memory = nullptr;
  std::uint64_t offset = 0;
  Clock::time_point sent = {};
};

class Ring {
 public:
  explicit Ring(int depth) {
    // Completions are processed when we ask for them, without interrupting us; kernels before 6.1
    // refuse these flags.
    constexpr unsigned kQuiet = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    status_ = io_uring_queue_init(static_cast<unsigned>(depth), &ring_, kQuiet);
    if (status_ == -EINVAL) {
      status_ = io_uring_queue_init(static_cast<unsigned>(depth), &ring_, 0);
    }
  }
  ~Ring() {
    if (status_ == 0) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  int status() const { return status_; }
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  int status_ = -1;
};

class RingRun {
 public:
  RingRun(const IoPlan& plan, Buffer buffer)
      : plan_(plan), ring_(plan.depth), buffer_(std::move(buffer)), course_(plan, "io/ring") {
    for (int i = 0; i < plan.depth; ++i) {
      slots_.push_back({.memory = buffer_.get() + static_cast<std::size_t>(i) * plan.block_bytes});
    }
  }

  IoRun run() {
    if (ring_.status() != 0) {
      result_.fault = fmt::format("io_uring failed: {}", std::strerror(-ring_.status()));
      return result_;
    }
    start_ = Clock::now();
    const double cpu = cpu_seconds();
    for (Slot& s : slots_) send(s);
    while (in_flight_ > 0) {
      const int sent = io_uring_submit_and_wait(ring_.get(), 1);
      if (sent < 0 && sent != -EINTR) {
        result_.fault = fmt::format("io_uring failed: {}", std::strerror(-sent));
        break;
      }
      take_one();
    }
    result_.seconds = seconds_between(start_, last_);
    result_.cpu_share = (cpu_seconds() - cpu) / std::max(1e-9, result_.seconds);
    result_.latency_p50_s = latencies_.at(0.5);
    result_.latency_p99_s = latencies_.at(0.99);
    return result_;
  }

 private:
  void send(Slot& slot) {
    if (ended_ || started_ >= operations_max(plan_)) return;
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    slot.offset = course_.offset(started_++);
    const auto bytes = static_cast<unsigned>(plan_.block_bytes);
    if (plan_.write) {
      io_uring_prep_write(entry, plan_.file, slot.memory, bytes, slot.offset);
    } else {
      io_uring_prep_read(entry, plan_.file, slot.memory, bytes, slot.offset);
    }
    io_uring_sqe_set_data(entry, &slot);
    slot.sent = Clock::now();
    ++in_flight_;
  }

  // Takes one completion, so that one new request follows. Taking all completions and sending as
  // many requests at once would be faster on some devices and slower on others, and the queue depth
  // would vary. fio does the same.
  void take_one() {
    io_uring_cqe* entry = nullptr;
    if (io_uring_peek_cqe(ring_.get(), &entry) != 0) return;
    last_ = Clock::now();
    if (seconds_between(start_, last_) >= plan_.seconds_max) ended_ = true;
    auto& slot = *static_cast<Slot*>(io_uring_cqe_get_data(entry));
    const long answer = entry->res;
    io_uring_cqe_seen(ring_.get(), entry);
    take(slot, answer);
  }

  void take(Slot& slot, long answer) {
    --in_flight_;
    if (answer != static_cast<long>(plan_.block_bytes)) {
      if (result_.fault.empty()) result_.fault = fault_text(plan_, slot.offset, answer);
      ended_ = true;
      return;
    }
    ++result_.operations;
    result_.bytes += plan_.block_bytes;
    latencies_.add(seconds_between(slot.sent, last_));
    if (result_.operations % kCheckEvery == 0 && plan_.stop && plan_.stop()) ended_ = true;
    send(slot);
  }

  const IoPlan& plan_;
  Ring ring_;
  Buffer buffer_;
  Course course_;
  std::vector<Slot> slots_;
  IoRun result_;
  Latencies latencies_;
  Clock::time_point start_{};
  Clock::time_point last_{};
  std::uint64_t started_ = 0;
  int in_flight_ = 0;
  bool ended_ = false;
};

// What the threads of a run share.
struct Crew {
  std::atomic<std::uint64_t> started = 0;
  std::atomic<bool> ended = false;
  std::mutex mutex = {};
  IoRun result = {};
  Latencies latencies = {};
};

void work(const IoPlan& plan, Crew& crew, char* memory, int number, Clock::time_point start) {
  Course course(plan, fmt::format("io/thread-{}", number));
  Latencies latencies;
  std::uint64_t done = 0;
  std::string fault;
  while (!crew.ended) {
    const std::uint64_t turn = crew.started++;
    if (turn >= operations_max(plan)) break;
    const std::uint64_t offset = course.offset(turn);
    const auto sent = Clock::now();
    const auto place = static_cast<off_t>(offset);
    const ssize_t n = plan.write ? pwrite(plan.file, memory, plan.block_bytes, place)
                                 : pread(plan.file, memory, plan.block_bytes, place);
    const auto now = Clock::now();
    if (n != static_cast<ssize_t>(plan.block_bytes)) {
      fault = fault_text(plan, offset, n < 0 ? -errno : n);
      crew.ended = true;
      break;
    }
    ++done;
    latencies.add(seconds_between(sent, now));
    if (seconds_between(start, now) >= plan.seconds_max) crew.ended = true;
    if (done % kCheckEvery == 0 && plan.stop && plan.stop()) crew.ended = true;
  }
  const std::lock_guard lock(crew.mutex);
  crew.result.operations += done;
  crew.latencies.join(latencies);
  if (crew.result.fault.empty()) crew.result.fault = fault;
}

IoRun run_threads(const IoPlan& plan, const Buffer& buffer) {
  Crew crew;
  const double cpu = cpu_seconds();
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < plan.depth; ++i) {
    char* memory = buffer.get() + static_cast<std::size_t>(i) * plan.block_bytes;
    threads.emplace_back([&, memory, i] { work(plan, crew, memory, i, start); });
  }
  for (std::thread& t : threads) t.join();
  IoRun result = crew.result;
  result.seconds = seconds_between(start, Clock::now());
  result.bytes = result.operations * plan.block_bytes;
  result.cpu_share = (cpu_seconds() - cpu) / std::max(1e-9, result.seconds);
  result.latency_p50_s = crew.latencies.at(0.5);
  result.latency_p99_s = crew.latencies.at(0.99);
  return result;
}

}  // namespace

const char* to_text(IoEngine engine) {
  return engine == IoEngine::io_uring ? "io_uring" : "threads";
}

bool io_uring_works(std::string& why) {
  const Ring ring(1);
  if (ring.status() == 0) return true;
  why = std::strerror(-ring.status());
  return false;
}

IoRun run_io(const IoPlan& plan, IoEngine engine) {
  const auto bytes = static_cast<std::size_t>(plan.depth) * plan.block_bytes;
  Buffer buffer = random_buffer(bytes, plan.seed);
  if (!buffer) {
    IoRun failed;
    failed.fault = fmt::format("there is not enough memory for {} blocks of {} bytes", plan.depth,
                               plan.block_bytes);
    return failed;
  }
  if (engine == IoEngine::threads) return run_threads(plan, buffer);
  return RingRun(plan, std::move(buffer)).run();
}

}  // namespace orrery::agent
