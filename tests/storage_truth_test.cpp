// This machine's own disk and an object store on it: probed, calibrated and simulated, compared
// with the real time of the same burst and the same ingest.
//
//   probe --format json -> calibrate -> a design's tier -> the twin's save and read-back
//
// The probe's sizes differ from the predicted ones but have the same order of magnitude (an upload
// costs some commits whatever its size); the number of streams is the same. Each round measures
// everything, so that other load slows all of it; medians are compared. ORRERY_FULL=1 measures with
// sizes large enough to require the prediction within 15 %, if the rounds agree well enough to
// decide. Without it only the path from file to file is tested.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/csv.h"
#include "live/agent/checkpoint_burst.h"
#include "live/agent/test_folder.h"
#include "model/jobs/build_machine.h"
#include "model/machine/machine.h"
#include "store_process.h"
#include "twin/processes/scenario.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }
int rounds() { return is_full() ? 11 : 2; }
std::uint64_t burst_bytes() { return std::uint64_t{is_full() ? 400u : 12u} << 20; }
constexpr int kStreams = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Said {
  cli::ExitCode code;
  std::string out;
  std::string err;
};
Said run(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Terminal terminal{.out = out, .err = err, .read_file = cli::read_text_file};
  const cli::ExitCode code = run_command_line(cli::all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

// Values of a tier's parameters from calibrations of several rounds.
using Calibrations = std::map<std::string, std::vector<double>>;

void calibrate(const agent::TestFolder& folder, std::vector<std::string> probe,
               const std::string& tier, Calibrations& into) {
  probe.insert(probe.begin(), {"probe", "storage"});
  probe.insert(probe.end(), {"--repeats", "1", "--format", "json"});
  const Said said = run(probe);
  ASSERT_EQ(said.code, cli::ExitCode::good) << said.err;
  folder.write("probe.json", said.out);
  const Said fit = run({"calibrate", folder.at("probe.json"), "--tier", tier, "--whole-tier"});
  ASSERT_EQ(fit.code, cli::ExitCode::good) << fit.err;
  const auto table = CsvTable::parse(fit.out, "calibration");
  ASSERT_TRUE(table);
  for (const CsvRow& row : table->rows()) {
    into[std::string(table->text(row, "parameter"))].push_back(table->number(row, "value").value());
  }
}

std::string calibration_csv(const std::string& tier, const Calibrations& of) {
  std::string text = "tier,parameter,value,error,fit\n";
  for (const auto& [name, values] : of) {
    text += tier + ',' + name + ',' + std::to_string(median(values)) + ",0.1,medians of rounds\n";
  }
  return text;
}

std::string design_of(const std::string& tier) {
  std::string text = R"(orrery: 1
name: this-machine
version: "1"
site: { region: usa, power: 20 kW, cooling: air-contained, rack: 15 kW, redundancy: n }
fleet: [{ name: box, node: dgx-h100, count: 1 }]
fabric: { management: { topology: fat-tree, switch: oob-sn2201 } }
storage:
  - { tier: node-nvme, kind: local-nvme, device: tlc-gen4, servers: 1, devices_per_server: 1, capacity: 2 TB }
  - { tier: cold, kind: object, servers: 1, device: qlc-61, devices_per_server: 1, read: 1 GB/s, write: 1 GB/s, capacity: 60 TB }
scheduler: { kind: slurm, topology: none }
workloads:
  - train:
      name: small
      model: mpt-125m
      tokens: 5B
      sequence: 2048
      batch: 64
      precision: bf16
      layout: { tp: 1, dp: 8 }
      dataset: { kind: text, size: 20 GB, tier: TIER }
      checkpoint: { every: 10 min, to: [TIER], mode: sync }
economics: { horizon: 4 y, power_price: 0.12 USD/kWh }
)";
  for (auto at = text.find("TIER"); at != text.npos; at = text.find("TIER", at)) {
    text.replace(at, 4, tier);
  }
  return text;
}

struct Times {
  double burst_s = 0;
  double ingest_s = 0;
};

// The burst does not come from a framework that gathers its ranks, so the commit is left out.
Times simulated(const agent::TestFolder& folder, const std::string& tier, const Calibrations& of) {
  folder.write("tier.csv", calibration_csv(tier, of));
  folder.write("design.yaml", design_of(tier));
  const Said whole = run({"simulate", folder.at("design.yaml"), "--calibration",
                          folder.at("tier.csv"), "--for", "1d", "--replications", "1"});
  EXPECT_EQ(whole.code, cli::ExitCode::good) << whole.err;
  std::ostringstream said;
  cli::Terminal terminal{.out = said, .err = said, .read_file = cli::read_text_file};
  const auto models = cli::calibrated_models({folder.at("tier.csv")}, terminal);
  auto design = cli::load_design(folder.at("design.yaml"), models->catalog(), terminal);
  EXPECT_TRUE(design) << said.str();
  const machine::Machine machine = jobs::build_machine(*std::move(design), *models);
  processes::Scenario scenario = processes::scenario_of(machine, days(1));
  jobs::SavePlan& save = *scenario.trains.front().checkpoint;
  save.load.busiest_node = bytes(static_cast<double>(burst_bytes()));
  save.write.commit = Seconds(0);
  save.files = kStreams;
  const twin_storage::StorageRun day = run_storage(scenario.storage_work(), {});
  const twin_storage::SaveTimes& times = day.jobs.front().saves.value();
  return {times.local.base(), times.restore.base()};
}

// A data set on the disk, read like a loader that keeps requests in flight and bypasses the page
// cache.
std::string data_set(const agent::TestFolder& folder) {
  const std::string name = folder.at("data");
  std::ofstream out(name, std::ios::binary);
  std::string piece(1 << 20, '\0');
  for (std::uint64_t at = 0; at < burst_bytes(); at += piece.size()) {
    std::ranges::fill(piece, static_cast<char>(at >> 20));
    out << piece;
  }
  return name;
}

void in_streams(int streams, const std::function<void(int)>& each) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < streams; ++i) threads.emplace_back([&each, i] { each(i); });
}

double read_through(const std::string& name) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  const int file = ::open(name.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  ::fsync(file);
  std::atomic<std::uint64_t> next = 0;
  const auto start = Clock::now();
  in_streams(8, [&](int) {
    void* block = std::aligned_alloc(4096, kBlock);
    for (std::uint64_t at = next.fetch_add(kBlock); at < burst_bytes();
         at = next.fetch_add(kBlock)) {
      EXPECT_EQ(::pread(file, block, kBlock, static_cast<off_t>(at)), ssize_t{kBlock});
    }
    std::free(block);
  });
  const double took = seconds_since(start);
  ::close(file);
  return took;
}

// Objects that are put whole are checked against their digest when read; multipart uploads are not.
struct Objects {
  std::string address;
  std::string bytes = std::string(burst_bytes() / kStreams, 'o');
  std::string shard = std::string(std::size_t{is_full() ? 50u : 2u} << 20, 's');

  int shards() const { return static_cast<int>(burst_bytes() / shard.size()); }
  static std::string name(const char* of, int i) { return of + std::to_string(i); }
  void put_data_set() {
    for (int i = 0; i < shards(); ++i) {
      EXPECT_TRUE(client_of(address).put(name("data/", i), s3::Body::of(shard)));
    }
  }
  double burst() {
    const auto start = Clock::now();
    in_streams(kStreams, [&](int i) {
      s3::Client client = client_of(address);
      const net::BodySource source = [&](std::uint64_t at, std::span<char> into) {
        const std::size_t some = std::min<std::size_t>(into.size(), bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), some, into.begin());
        return std::optional(some);
      };
      EXPECT_TRUE(client.put_parts(name("burst/", i), bytes.size(), source, std::size_t{8} << 20));
    });
    return seconds_since(start);
  }
  double ingest() {
    std::atomic<int> next = 0;
    const auto start = Clock::now();
    in_streams(kStreams, [&](int) {
      s3::Client client = client_of(address);
      for (int i = next++; i < shards(); i = next++) {
        const auto object = client.get(name("data/", i), shard.size());
        EXPECT_TRUE(object && object->verified && object->bytes == shard) << i;
      }
    });
    return seconds_since(start);
  }
};

// Standard error of the median's logarithm, from the spread of the rounds (1.25 sigma / sqrt n for
// a normal distribution).
double standard_error(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double v : values) {
    sum += std::log(v);
    squares += std::log(v) * std::log(v);
  }
  const auto n = static_cast<double>(values.size());
  return 1.25 * std::sqrt(std::max(0.0, squares / n - sum / n * sum / n) / n);
}

// A busy machine gives no verdict: 15 % is judged only if the rounds, of the probe and of the real
// measurement, agree well enough to exclude chance.
constexpr double kErrorMost = 0.06;

// Returns false if it could not be judged.
bool compare(const std::string& what, const std::vector<double>& real, double simulated_s,
             const std::vector<double>& calibrated) {
  const double ratio = simulated_s / median(real);
  const double error = std::hypot(standard_error(real), standard_error(calibrated));
  std::cout << what << ": simulated " << simulated_s << " s, real " << median(real) << " s ("
            << std::ranges::min(real) << " .. " << std::ranges::max(real) << "), ratio " << ratio
            << " +- " << error << '\n';
  EXPECT_GT(simulated_s, 0) << what;
  if (!is_full()) return true;
  if (error > kErrorMost) return false;
  EXPECT_NEAR(ratio, 1, 0.15) << what;
  return true;
}
constexpr const char* kNotJudged = "the rounds differ too much on this machine now to judge all";

TEST(StorageTruth, burst_and_ingest_times_on_this_disk_match_the_twin) {
  const agent::TestFolder folder(agent::folder_on_disk());
  // Half of it is the probe's burst, nearly as large as the other one: bursts of other sizes took
  // more or less than proportional time.
  const std::string size = is_full() ? "704 MiB" : "8 MiB";
  Calibrations of;
  std::vector<double> bursts;
  std::vector<double> ingests;
  const std::string data = data_set(folder);
  for (int round = 0; round < rounds(); ++round) {
    Calibrations blocks;
    calibrate(folder, {folder.path(), "--only", "sequential", "--size", size, "--seconds", "0.5"},
              "node-nvme", blocks);
    ingests.push_back(read_through(data));
    // The second writer finds the disk busy with the first, so they take turns.
    const auto burst = [&] {
      const agent::BurstTimes real =
          agent::run_burst({.folder = folder.path(), .writers = kStreams, .bytes = burst_bytes()});
      EXPECT_EQ(real.fault, "");
      bursts.push_back(real.safe_s);
    };
    if (round % 2 == 0) burst();
    calibrate(folder, {folder.path(), "--only", "checkpoint", "--size", size}, "node-nvme", of);
    if (round % 2 == 1) burst();
    if (HasFailure()) return;
    of["read_bytes_per_s"].push_back(blocks["read_bytes_per_s"].back());
  }
  const Times times = simulated(folder, "node-nvme", of);
  bool judged = compare("burst to the disk", bursts, times.burst_s, of["write_bytes_per_s"]);
  judged &= compare("ingest from the disk", ingests, times.ingest_s, of["read_bytes_per_s"]);
  if (!judged) GTEST_SKIP() << kNotJudged;
}

TEST(StorageTruth, burst_and_ingest_times_on_a_loopback_store_match_the_twin) {
  const agent::TestFolder folder(agent::folder_on_disk());
  StoreProcess store({folder.at("store"), "--port", "0"});
  ASSERT_NE(store.address(), "") << store.said();
  ASSERT_TRUE(client_of(store.address()).create_bucket());
  ::setenv("AWS_ACCESS_KEY_ID", "test", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  Calibrations of;
  std::vector<double> bursts;
  std::vector<double> ingests;
  Objects objects{.address = store.address()};
  objects.put_data_set();
  for (int round = 0; round < rounds(); ++round) {
    calibrate(folder,
              {"s3://bucket/probe", "--endpoint", store.address(), "--quick", "--seconds", "5",
               "--size", is_full() ? "64 MiB" : "1 MiB"},
              "cold", of);
    if (HasFatalFailure()) return;
    bursts.push_back(objects.burst());
    ingests.push_back(objects.ingest());
  }
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  const Times times = simulated(folder, "cold", of);
  bool judged = compare("burst to the store", bursts, times.burst_s, of["write_bytes_per_s"]);
  judged &= compare("ingest from the store", ingests, times.ingest_s, of["read_bytes_per_s"]);
  if (!judged) GTEST_SKIP() << kNotJudged;
}

}  // namespace
}  // namespace orrery
