#include "live/agent/probe_s3.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/random.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "live/agent/elapsed.h"

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

std::string random_bytes(std::size_t count, std::string_view name) {
  RandomStream stream(1, name);
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(stream.next());
  return bytes;
}

struct Rate {
  int done = 0;
  double seconds = 0;
  double per_s() const { return seconds > 0 ? done / seconds : 0; }
};

class BucketRun {
 public:
  explicit BucketRun(const BucketProbe& probe)
      : probe_(probe),
        small_(s3::Body::of(random_bytes(probe.small_bytes, "s3/small"))),
        large_(s3::Body::of(random_bytes(probe.large_bytes, "s3/large"))) {
    const auto ticks = Clock::now().time_since_epoch().count();
    const std::string token = fmt::format("orrery-probe-{}-{:x}", getpid(), ticks);
    prefix_ = (probe.prefix.empty() ? "" : probe.prefix + '/') + token + '/';
    for (int i = 0; i < probe.streams; ++i) {
      s3::Config config = probe.config;
      config.writer = fmt::format("{}-{}", token, i);
      clients_.emplace_back(std::move(config), probe.limits);
    }
    report_.target = probe.target;
    report_.kind = "bucket";
    report_.object_bytes = probe.large_bytes;
  }

  Result<ProbeReport> run() {
    report_.conditions = {{"endpoint", probe_.config.endpoint},
                          {"streams", std::to_string(probe_.streams)}};
    if (probe_.create_bucket) take(clients_[0].create_bucket());
    if (!ended()) look_at_conditions();
    for (int i = 0; i < probe_.repeats && !ended(); ++i) round(i);
    clean_up();
    count_retries();
    if (!faults_.empty()) return std::unexpected(faults_);
    return std::move(report_);
  }

 private:
  template <class T>
  bool take(const s3::Outcome<T>& result) {
    if (result) return true;
    const std::lock_guard lock(mutex_);
    if (faults_.empty()) faults_ = {to_diagnostic(result.error())};
    failed_ = true;
    return false;
  }
  bool ended() {
    if (probe_.stop()) interrupted_ = true;
    report_.interrupted = interrupted_;
    return interrupted_ || failed_;
  }

  // Calls `step` with a client and a number counting up from 0, until `count` or the time limit is
  // reached.
  Rate spread(int streams, int count, const std::function<bool(s3::Client&, int)>& step) {
    std::atomic<int> next = 0;
    std::atomic<int> done = 0;
    const auto start = Clock::now();
    std::vector<std::thread> crew;
    for (int s = 0; s < streams; ++s) {
      crew.emplace_back([&, s] {
        while (!failed_ && !probe_.stop() && seconds_since(start) < probe_.seconds) {
          const int i = next++;
          if (i >= count || !step(clients_[static_cast<std::size_t>(s)], i)) return;
          ++done;
        }
      });
    }
    for (std::thread& t : crew) t.join();
    return {done, seconds_since(start)};
  }

  std::string key(const char* kind, int i) const {
    return fmt::format("{}{}-{}", prefix_, kind, i);
  }

  bool put(s3::Client& client, const std::string& name, const s3::Body& body) {
    {
      const std::lock_guard lock(mutex_);
      written_.insert(name);  // before it is sent, because the answer may be lost
    }
    return take(client.put(name, body));
  }

  void look_at_conditions() {
    const std::string name = key("commit", 0);
    written_.insert(name);
    s3::Client& client = clients_[0];
    if (!take(client.put_new(name, s3::Body::of("first")))) return;
    const auto second = client.put_new(name, s3::Body::of("second"));
    const bool honoured = !second && second.error().fault == s3::Fault::precondition;
    if (!second && !honoured) return take(second), void();
    report_.conditions.emplace_back("conditional_put", honoured ? "honoured" : "ignored");
    if (!honoured) {
      report_.notices.push_back(
          "the store ignores If-None-Match: two writers can both believe that their commit "
          "succeeded");
    }
  }

  void round(int number) {
    const std::pair<const char*, void (BucketRun::*)()> all[] = {
        {"small objects", &BucketRun::small},
        {"large objects", &BucketRun::large},
        {"one stream", &BucketRun::one_stream},
        {"checkpoint as multipart upload", &BucketRun::checkpoint}};
    for (std::size_t i = 0; i < std::size(all) && !ended(); ++i) {
      probe_.progress(
          all[i].first,
          (number + static_cast<double>(i) / static_cast<double>(std::size(all))) / probe_.repeats);
      (this->*all[i].second)();
    }
  }

  void add(const ProbeFigure& shape, double sample) {
    if (!ended()) report_.add(shape, sample);
  }

  void small() {
    const std::string how = fmt::format(" of {} B, {} streams", probe_.small_bytes, probe_.streams);
    const Rate puts = spread(probe_.streams, probe_.small_objects, [this](s3::Client& c, int i) {
      return put(c, key("small", i), small_);
    });
    add({"creates", "PUT" + how, ProbeUnit::per_s}, puts.per_s());
    const Rate gets = spread(probe_.streams, puts.done, [this](s3::Client& c, int i) {
      return take(c.get(key("small", i), probe_.small_bytes));
    });
    add({"small_reads", "GET" + how, ProbeUnit::per_s}, gets.per_s());
    const Rate heads = spread(probe_.streams, puts.done, [this](s3::Client& c, int i) {
      return take(c.head(key("small", i)));
    });
    add({"stats", "HEAD" + how, ProbeUnit::per_s}, heads.per_s());
    if (ended()) return;
    const auto start = Clock::now();
    const auto page = clients_[0].list(prefix_);
    if (take(page)) {
      add({"list", "keys listed, one stream", ProbeUnit::per_s},
          static_cast<double>(page->entries.size()) / seconds_since(start));
    }
    const Rate removed = spread(probe_.streams, puts.done, [this](s3::Client& c, int i) {
      return take(c.remove(key("small", i)));
    });
    add({"unlinks", "DELETE" + how, ProbeUnit::per_s}, removed.per_s());
  }

  void large() {
    const auto bytes = static_cast<double>(probe_.large_bytes);
    const std::string how =
        fmt::format(" of {} MB, {} streams", significant(bytes / 1e6, 3), probe_.streams);
    const Rate puts = spread(probe_.streams, probe_.large_objects, [this](s3::Client& c, int i) {
      return put(c, key("large", i), large_);
    });
    add({"sequential_write", "PUT" + how}, puts.per_s() * bytes);
    const Rate gets = spread(probe_.streams, puts.done, [this](s3::Client& c, int i) {
      return take(c.get(key("large", i), probe_.large_bytes));
    });
    add({"sequential_read", "GET" + how}, gets.per_s() * bytes);
  }

  void one_stream() {
    std::vector<double> first_byte;
    if (!put(clients_[0], key("small", 0), small_)) return;
    spread(1, 20, [&](s3::Client& c, int) {
      const auto got = c.get(key("small", 0), probe_.small_bytes);
      if (got) first_byte.push_back(got->first_byte_s);
      return take(got);
    });
    if (first_byte.empty()) return;
    add({"first_byte", "time to first byte of a small GET, median", ProbeUnit::seconds},
        quantile(first_byte, 0.5, Between::higher));
    if (!put(clients_[0], key("large", 0), large_)) return;
    const Rate gets = spread(1, 2, [this](s3::Client& c, int) {
      return take(c.get(key("large", 0), probe_.large_bytes));
    });
    add({"stream_read", "GET of one large object, one stream"},
        gets.per_s() * static_cast<double>(probe_.large_bytes));
    const std::uint64_t piece = std::max<std::uint64_t>(1, probe_.large_bytes / 16);
    const Rate ranges = spread(probe_.streams, 16, [this, piece](s3::Client& c, int i) {
      return take(c.get_range(key("large", 0), static_cast<std::uint64_t>(i) * piece, piece));
    });
    add({"range_read", fmt::format("range GET of {} kB, {} streams", piece / 1000, probe_.streams)},
        ranges.per_s() * static_cast<double>(piece));
  }

  // Every stream writes one object in parts. There is no page cache in between: the job waits until
  // the store has answered, so the end of the stall and durability coincide.
  void checkpoint() {
    const auto start = Clock::now();
    const Rate saved = spread(probe_.streams, probe_.streams, [this](s3::Client& c, int i) {
      const std::string name = key("checkpoint", i);
      {
        const std::lock_guard lock(mutex_);
        written_.insert(name);
      }
      const auto stop = [this] { return probe_.stop() || failed_; };
      const auto done = c.put_parts(name, large_.bytes, large_.read, probe_.part_bytes, stop);
      if (!done && done.error().detail == "interrupted") return false;
      return take(done);
    });
    const double bytes = static_cast<double>(probe_.large_bytes) * saved.done;
    add({"checkpoint_safe",
         fmt::format("checkpoint of {} objects as multipart uploads: time until "
                     "durable",
                     probe_.streams),
         ProbeUnit::seconds},
        seconds_since(start));
    add({"checkpoint_rate", "checkpoint bytes made durable"}, bytes / saved.seconds);
  }

  void clean_up() {
    probe_.progress("deleting", 1);
    std::vector<std::string> left;
    for (const std::string& name : written_) {
      if (left.size() >= 3) {  // a store that no longer answers is not asked a thousand times
        left.push_back(name);
        continue;
      }
      if (!clients_[0].remove(name)) left.push_back(name);
    }
    if (left.empty()) return;
    const Diagnostic remains{.severity = Severity::warning,
                             .code = "probe.left",
                             .place = {.file = probe_.target},
                             .what = fmt::format("{} objects could not be deleted", left.size()),
                             .why = "the store did not answer the delete requests",
                             .fix = "delete all objects under " + prefix_};
    if (faults_.empty()) report_.notices.push_back(remains.what + ": " + remains.fix);
    if (!faults_.empty()) faults_.push_back(remains);
  }

  void count_retries() {
    int retries = 0;
    int reconnects = 0;
    for (const s3::Client& c : clients_) {
      retries += c.retries();
      reconnects += c.reconnects();
    }
    report_.conditions.emplace_back("retries", std::to_string(retries));
    if (retries + reconnects > 0) {
      report_.notices.push_back(fmt::format(
          "{} requests were retried after a failure and {} connections were reopened; this time is "
          "included",
          retries, reconnects));
    }
  }

  const BucketProbe& probe_;
  s3::Body small_;
  s3::Body large_;
  std::string prefix_;
  std::vector<s3::Client> clients_;
  ProbeReport report_;
  std::mutex mutex_;
  std::set<std::string> written_;
  Diagnostics faults_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

Result<ProbeReport> probe_bucket(const BucketProbe& probe) { return BucketRun(probe).run(); }

}  // namespace orrery::agent
