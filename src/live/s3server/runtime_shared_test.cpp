// A store whose metadata several gateways share, and what its log says about damage and failed
// sweeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/rows/records.h"
#include "live/rows/simulated_postgres_fixture.h"
#include "live/s3server/runtime.h"
#include "live/store/blob.h"
#include "live/store/store.h"

namespace orrery::s3server::runtime_shared_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
  return holds();
}

class SharedRuntime : public testing::Test {
 protected:
  SharedRuntime() {
    folder = (std::filesystem::temp_directory_path() / "orrery-house-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    options.folder = folder + "/s";
    options.tiers = {{.name = "hot", .plan = {1, 0}, .folders = {"a"}}};
    options.held_bytes_max = 0;
    options.moves.on = false;
    options.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex);
      said += line + '\n';
    };
  }
  ~SharedRuntime() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<Runtime> opened() {
    auto runtime = Runtime::open(options);
    EXPECT_TRUE(runtime) << to_text(runtime.error());
    return runtime ? std::move(*runtime) : nullptr;
  }
  // Writes bytes that no commit names.
  static void leave_behind(Runtime& runtime) {
    store::BlobWriter writer = runtime.store().writer("hot");
    EXPECT_TRUE(writer.append(std::string(20'000, 'x')));
    EXPECT_TRUE(writer.finish());
  }
  std::vector<std::filesystem::path> shards(const std::string& drive) const {
    std::vector<std::filesystem::path> found;
    for (const auto& at :
         std::filesystem::recursive_directory_iterator(options.folder + drive + "/data")) {
      if (at.is_regular_file()) found.push_back(at.path());
    }
    return found;
  }
  std::string heard() {
    const std::scoped_lock lock(mutex);
    return said;
  }
  bool hears(const std::string& words) { return heard().find(words) != std::string::npos; }

  std::string folder;
  RuntimeOptions options;
  std::mutex mutex;
  std::string said;
};

TEST_F(SharedRuntime, the_leader_sweeps_and_renews_its_run_once_a_second) {
  const rows::SimulatedPostgres server;
  options.database = server.address();
  leave_behind(*opened());
  ASSERT_EQ(shards("/a").size(), 1u);
  std::filesystem::resize_file(shards("/a").front(), 10);  // the run died while writing
  const auto runtime = opened();
  ASSERT_TRUE(soon([&] { return shards("/a").empty(); }));
  ASSERT_TRUE(soon([&] {
    return hears("1 files of a crashed run belong to no object and were set aside");
  })) << heard();
  // Every tick checks for garbage; the run is renewed once per second.
  const auto began = std::chrono::steady_clock::now();
  const auto looks = [&] { return server.asked("BEGIN ISOLATION").size(); };
  const auto kept = [&] { return server.asked("SELECT 1").size(); };
  const std::size_t first = looks();
  const std::size_t before = kept();
  ASSERT_TRUE(soon([&] { return looks() >= first + 8; }));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_LE(kept() - before, 2u * (1u + static_cast<std::size_t>(took / 1s)));
  EXPECT_THAT(heard(), Not(HasSubstr("could not be renewed")));
}

TEST_F(SharedRuntime, a_gateway_declared_dead_reports_it_and_takes_a_new_number) {
  rows::SimulatedPostgres server;
  options.database = server.address();
  const auto runtime = opened();
  const std::uint64_t run = runtime->store().epoch();
  ASSERT_TRUE(soon([&] { return !server.asked("SELECT 1").empty(); }));
  auto rows = server.rows();
  ASSERT_EQ(rows.erase(rows::row::epoch(run)), 1u);
  server.set_rows(rows);
  ASSERT_TRUE(soon([&] {
    return hears("other gateways declared this one dead: requests in progress fail");
  })) << heard();
  EXPECT_NE(runtime->store().epoch(), run);
}

TEST_F(SharedRuntime, each_damage_is_reported_separately) {
  options.tiers = {{.name = "hot", .plan = {1, 1}, .folders = {"a", "b"}}};
  const auto runtime = opened();
  store::Store& store = runtime->store();
  ASSERT_TRUE(store.make_bucket({.name = "pail", .owner = "main"}));
  store::BlobWriter writer = store.writer("hot");
  ASSERT_TRUE(writer.append(std::string(5000, 'k')));
  const rows::Blob blob = *writer.finish();
  rows::Version version{.size = 5000, .etag = "e"};
  version.extents = {{blob.id, 5000, "e", ""}};
  ASSERT_TRUE(store.put("pail", "k", version, {blob}));
  for (std::uint64_t times = 1; times <= 2; ++times) {
    const auto files = shards("/a");
    ASSERT_EQ(files.size(), 1u);
    std::filesystem::resize_file(files.front(), 100);
    ASSERT_TRUE(soon([&] { return runtime->status().scrub.mended == times; })) << times;
    ASSERT_TRUE(soon([&] { return shards("/a").size() == 1; }));
  }
  ASSERT_TRUE(soon([&] {
    const std::string all = heard();
    const std::string line = "scrubbing found 1 damaged shards and rebuilt 1 of them\n";
    const auto at = all.find(line);
    return at != all.npos && all.find(line, at + 1) != all.npos;
  })) << heard();
}

TEST_F(SharedRuntime, a_failed_sweep_is_reported) {
  leave_behind(*opened());
  const auto files = shards("/a");
  ASSERT_EQ(files.size(), 1u);
  std::filesystem::remove_all(files.front().parent_path());
  const auto runtime = opened();
  EXPECT_TRUE(soon([&] { return hears("the sweep for orphaned files failed: "); })) << heard();
}

}  // namespace
}  // namespace orrery::s3server::runtime_shared_tests
