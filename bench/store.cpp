// Speed of the object store: a whole store in its own folder, with clients on loopback.
//
// ORRERY_PROBE_FOLDER names a folder on the disk to use if the temporary folder is in memory. Large
// puts are compared with a plain write and fsync of the same physical bytes, measured alternately
// in the same run. The client computes no digests, because that would measure its own time; the
// cost of digests is a separate figure.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "bench/figure.h"
#include "live/net/client.h"
#include "live/net/server.h"
#include "live/s3/client.h"
#include "live/s3/sigv4.h"
#include "live/s3server/runtime.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kLarge = std::size_t{64} << 20;
constexpr int kClients = 16;
constexpr int kSmallEach = 100;
constexpr int kStoreRounds = 9;

std::unexpected<Diagnostics> bench_fault(const std::string& what) {
  return fail({.code = "bench.store", .place = {}, .what = what, .why = {}, .fix = {}});
}

// A store with its server and its folder, which end together.
class RunningStore {
 public:
  static Result<std::unique_ptr<RunningStore>> start(const std::string& tier) {
    auto made = std::make_unique<RunningStore>();
    const char* chosen = std::getenv("ORRERY_PROBE_FOLDER");
    const fs::path parent = chosen ? fs::path(chosen) : fs::temp_directory_path();
    made->folder_ = (parent / "orrery-bench-XXXXXX").string();
    if (::mkdtemp(made->folder_.data()) == nullptr) return bench_fault("no folder can be made");
    s3server::RuntimeOptions options{.folder = made->folder_ + "/store",
                                     .log = [](const std::string&) {}};
    auto plan = upkeep::tier_plan_of("hot=" + tier);
    if (!plan) return std::unexpected(plan.error());
    options.tiers.front() = *plan;
    options.gateway.puts_off = true;  // as in `orrery store`
    auto runtime = s3server::Runtime::open(options);
    if (!runtime) return std::unexpected(runtime.error());
    made->runtime_ = std::move(*runtime);
    if (auto keys = made->runtime_->first_tenant("bench", "bench"); !keys) {
      return std::unexpected(keys.error());
    }
    auto server = net::Server::listen({.handler_threads = 32,
                                       .answers_in_place = true,
                                       .body_bytes_max = 4u << 20,
                                       .inflow_bytes = 1u << 20},
                                      made->runtime_->gateway().service());
    if (!server) return std::unexpected(server.error());
    made->server_ = std::move(*server);
    made->thread_ = std::jthread([running = made.get()] {
      running->server_->run([running] { return running->stop_.load(); });
    });
    if (!made->client().create_bucket()) return bench_fault("no bucket can be made");
    return made;
  }
  ~RunningStore() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
    runtime_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  s3::Client client() const {
    return s3::Client({.endpoint = fmt::format("http://127.0.0.1:{}", server_->port()),
                       .bucket = "bench",
                       .credentials = {"bench", "bench", ""}});
  }
  s3server::Runtime& runtime() { return *runtime_; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::unique_ptr<s3server::Runtime> runtime_;
  std::unique_ptr<net::Server> server_;
  std::atomic<bool> stop_ = false;
  std::jthread thread_;
};

std::string small_key(int client, int i) { return fmt::format("{}/{}", client, i); }

// Operations per second of all concurrent clients; each has its own connection.
Result<double> small_rate(RunningStore& running,
                          const std::function<bool(s3::Client&, const std::string&)>& ask) {
  std::atomic<int> failed = 0;
  std::vector<s3::Client> clients;
  for (int c = 0; c < kClients; ++c) clients.push_back(running.client());
  const double took = seconds_of([&] {
    std::vector<std::jthread> threads;
    for (int c = 0; c < kClients; ++c) {
      threads.emplace_back([&, c] {
        for (int i = 0; i < kSmallEach; ++i) {
          if (!ask(clients[static_cast<std::size_t>(c)], small_key(c, i))) ++failed;
        }
      });
    }
  });
  if (failed > 0) return bench_fault(fmt::format("{} requests failed", failed.load()));
  return kClients * kSmallEach / took;
}

Result<double> small_puts(RunningStore& running) {
  const s3::Body body = s3::Body::of(std::string(kSmall, 's'));
  return small_rate(running, [&body](s3::Client& client, const std::string& key) {
    return client.put(key, body).has_value();
  });
}

Result<double> put_small() {
  auto running = RunningStore::start("1x");
  if (!running) return std::unexpected(running.error());
  return small_puts(**running);
}

Result<double> get_small() {
  auto running = RunningStore::start("1x");
  if (!running) return std::unexpected(running.error());
  if (auto put = small_puts(**running); !put) return put;
  return small_rate(**running, [](s3::Client& client, const std::string& key) {
    const auto object = client.get(key, kSmall);
    return object && object->bytes.size() == kSmall;
  });
}

// A plain write and fsync of as many bytes as the store writes to its drives.
double plain_write(const std::string& path, std::size_t bytes) {
  const std::string piece(std::size_t{1} << 20, 'p');
  ::unlink(path.c_str());
  return seconds_of([&] {
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    for (std::size_t done = 0; done < bytes; done += piece.size()) {
      if (::write(file, piece.data(), piece.size()) < 0) break;
    }
    ::fsync(file);
    ::close(file);
  });
}

// A put whose body is not signed and has no digest.
bool put_unsigned(net::Client& client, const s3::Config& config, std::string_view bytes) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &parts);
  s3::SignatureInput input{.method = "PUT",
                           .path = "/bench/large",
                           .query = {},
                           .headers = {},
                           .payload = "UNSIGNED-PAYLOAD",
                           .time = time,
                           .region = config.region};
  input.headers = {{"Host", config.endpoint.substr(config.endpoint.find("//") + 2)},
                   {"x-amz-content-sha256", input.payload},
                   {"x-amz-date", input.time}};
  net::Question question{.method = "PUT",
                         .url = config.endpoint + input.path,
                         .headers = input.headers,
                         .source = net::source_of(bytes),
                         .source_bytes = bytes.size()};
  question.headers.emplace_back("Authorization", s3::authorization(input, config.credentials));
  return client.ask(question).status == 200;
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The time of the plain write divided by the time of the put, the median of a few alternating
// rounds: 1 means equally fast.
Result<double> put_large(const std::string& tier, double overhead, bool digests) {
  auto running = RunningStore::start(tier);
  if (!running) return std::unexpected(running.error());
  const std::string bytes(kLarge, 'l');
  const s3::Body body = s3::Body::of(bytes);
  s3::Client client = (*running)->client();
  net::Client plain_client;
  std::vector<double> plain;
  std::vector<double> ours;
  for (int round = 0; round < kStoreRounds; ++round) {
    plain.push_back(
        plain_write((*running)->folder() + "/plain", static_cast<std::size_t>(kLarge * overhead)));
    bool good = true;
    ours.push_back(seconds_of([&] {
      good = digests ? client.put("large", body).has_value()
                     : put_unsigned(plain_client, client.config(), bytes);
    }));
    if (!good) return bench_fault("a put failed");
  }
  return middle_of(plain) / middle_of(ours);
}

// Lets anyone read, so that a client without any checks can be used and the figure shows only the
// store.
Result<void> open_to_all(RunningStore& running) {
  const auto done = running.runtime().store().change_bucket(
      "bench", [](rows::Bucket& bucket) -> store::Answer<void> {
        bucket.documents.emplace_back(
            "policy", R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",)"
                      R"("Resource":"arn:aws:s3:::bench/*"}})");
        return {};
      });
  if (!done) return bench_fault("the bucket cannot be opened");
  return {};
}

Result<double> get_large(const std::string& tier) {
  auto running = RunningStore::start(tier);
  if (!running) return std::unexpected(running.error());
  s3::Client client = (*running)->client();
  if (!client.put("large", s3::Body::of(std::string(kLarge, 'l'))))
    return bench_fault("a put failed");
  if (auto open = open_to_all(**running); !open) return std::unexpected(open.error());
  net::Client plain;
  double best = 0;
  for (int round = 0; round < kStoreRounds; ++round) {
    std::size_t got = 0;
    const net::Question question{.url = client.config().endpoint + "/bench/large",
                                 .take = [&](const net::Reply&, std::string_view piece) {
                                   got += piece.size();
                                   return true;
                                 }};
    const double took = seconds_of([&] { plain.ask(question); });
    if (got != kLarge) return bench_fault("a get failed");
    best = std::max(best, kLarge / took / 1e6);
  }
  return best;
}

// Writes a million keys without waiting for the disk; then requests a page by prefix over HTTP.
Result<double> list_page() {
  auto running = RunningStore::start("1x");
  if (!running) return std::unexpected(running.error());
  rows::Metadata& metadata = (*running)->runtime().store().metadata();
  for (int i = 0; i < 1'000'000; i += 1000) {
    rows::Commit commit{.durable = false};
    for (int k = i; k < i + 1000; ++k) {
      const std::string key = fmt::format("data/{:03}/{:06}", k / 10'000, k);
      commit.changes.push_back(
          {rows::row::object("bench", key),
           rows::encode(rows::Version{.stamp = 1, .id = "null", .size = 0, .etag = "e"})});
    }
    if (!metadata.commit(commit)) return bench_fault("the keys could not be written");
  }
  s3::Client client = (*running)->client();
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) {
    const std::string prefix = fmt::format("data/{:03}/", i * 5);
    std::size_t keys = 0;
    times.push_back(seconds_of([&] {
      const auto page = client.list(prefix);
      keys = page ? page->entries.size() : 0;
    }));
    if (keys != 1000) return bench_fault("a page is not full");
  }
  std::ranges::sort(times);
  return times[18] * 1000;
}

}  // namespace

std::vector<SpeedFigure> store_figures() {
  std::vector<SpeedFigure> figures = {
      {"store_put_small_16", "1/s", "durable 4 KiB puts, 16 clients", put_small},
      {"store_get_small_16", "1/s", "4 KiB gets, 16 clients", get_small},
      {"store_list_page_1m", "ms", "p90 of a page of 1,000 by prefix of 1,000,000 keys",
       list_page}};
  struct Layout {
    const char* name;
    const char* tier;
    double overhead;
  };
  for (const Layout& layout :
       {Layout{"1x", "1x", 1}, Layout{"2x", "2x", 2}, Layout{"4p2", "4+2", 1.5}}) {
    figures.push_back({fmt::format("store_put_large_{}", layout.name), "1",
                       "64 MiB put, over a plain write with fsync of the same physical bytes",
                       [layout] { return put_large(layout.tier, layout.overhead, false); }});
    figures.push_back({fmt::format("store_get_large_{}", layout.name), "MB/s",
                       "64 MiB get by a client that checks nothing, the best of nine",
                       [layout] { return get_large(layout.tier); }});
  }
  figures.push_back({"store_put_large_digests", "1",
                     "... one copy, with an MD5 and a SHA-256 sent along and checked",
                     [] { return put_large("1x", 1, true); }});
  return figures;
}

}  // namespace orrery
