// A store that runs in its own folder: keys and tenants over restarts, its own pages, and the work
// that it does besides answering requests.
#include "live/s3server/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/rows/records.h"
#include "live/rows/rocks_metadata.h"
#include "live/s3/hash.h"
#include "live/s3/sigv4.h"
#include "live/s3server/s3_request.h"
#include "live/store/blob.h"
#include "live/store/moment.h"
#include "live/upkeep/store_folder.h"

namespace orrery::s3server::runtime_tests {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
  return holds();
}

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest()
      : folder(testing::TempDir() + "orrery-runtime." + std::to_string(::getpid()) + '.' +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    options.folder = folder;
    options.tiers = {{.name = "hot", .plan = {1, 0}}, {.name = "cold", .plan = {1, 0}}};
    options.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex);
      said += line + '\n';
    };
  }
  ~RuntimeTest() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<Runtime> opened() {
    auto runtime = Runtime::open(options);
    EXPECT_TRUE(runtime) << to_text(runtime.error());
    return runtime ? std::move(*runtime) : nullptr;
  }
  // Signs with the keys of the first tenant, or with the given keys.
  static net::Response ask(Runtime& runtime, const std::string& method, const std::string& target,
                           const std::string& body = "", const std::string& key = "AK",
                           const std::string& secret = "secret", net::HeaderList headers = {}) {
    net::Request request{.method = method, .target = target, .headers = std::move(headers)};
    const std::string time = amz_time(wall_clock_ms());
    const std::string payload = s3::sha256_hex(body);
    request.headers.emplace_back("Host", "127.0.0.1");
    request.headers.emplace_back("x-amz-date", time);
    request.headers.emplace_back("x-amz-content-sha256", payload);
    const auto parsed = s3_request_of(request, "localhost");
    const s3::SignatureInput input{.method = method,
                                   .path = s3::uri_encoded(parsed->path, true),
                                   .query = parsed->query,
                                   .headers = request.headers,
                                   .payload = payload,
                                   .time = time,
                                   .region = "us-east-1"};
    request.headers.emplace_back("Authorization", s3::authorization(input, {key, secret, ""}));
    if (body.empty()) return runtime.service().answer(request);
    request.headers.emplace_back("Content-Length", std::to_string(body.size()));
    net::BodyPlan plan = runtime.service().plan(request);
    if (auto* refusal = std::get_if<net::Response>(&plan)) return std::move(*refusal);
    if (auto* sink = std::get_if<std::unique_ptr<net::BodySink>>(&plan)) {
      if (auto refusal = (*sink)->take(body)) return *refusal;
      return (*sink)->finish();
    }
    request.body = body;
    return runtime.service().answer(request);
  }
  static net::Response page(Runtime& runtime, const std::string& target, const std::string& peer) {
    const net::Request request{
        .target = target, .headers = {{"Host", "127.0.0.1:8118"}}, .peer = peer};
    net::Response response = runtime.service().answer(request);
    return response.later ? response.later() : response;
  }
  std::size_t files(const std::string& tier) const {
    std::size_t count = 0;
    for (const auto& at :
         std::filesystem::recursive_directory_iterator(folder + '/' + tier + "/data")) {
      count += at.is_regular_file() && at.path().filename().string().find('.') != std::string::npos;
    }
    return count;
  }
  std::string heard() {
    const std::scoped_lock lock(mutex);
    return said;
  }

  std::string folder;
  RuntimeOptions options;
  std::mutex mutex;
  std::string said;
};

TEST_F(RuntimeTest, the_first_tenant_has_keys_that_stay) {
  Runtime::FirstKeys made;
  {
    const auto runtime = opened();
    made = *runtime->first_tenant("", "");
    EXPECT_TRUE(made.made);
    EXPECT_EQ(made.access_key.size(), 20u);
    EXPECT_EQ(made.secret_key.size(), 40u);
    EXPECT_EQ(made.access_key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
              std::string::npos);
    EXPECT_NE(made.secret_key.substr(0, 20), made.access_key);
    EXPECT_EQ(ask(*runtime, "PUT", "/pail", "", made.access_key, made.secret_key).status, 200);
    const auto again = runtime->first_tenant("", "");
    EXPECT_FALSE(again->made);
    EXPECT_EQ(again->access_key, made.access_key);
  }
  const auto runtime = opened();
  const auto kept = runtime->first_tenant("", "");
  EXPECT_FALSE(kept->made);
  EXPECT_EQ(kept->access_key, made.access_key);
  EXPECT_EQ(kept->secret_key, made.secret_key);
  const auto given = runtime->first_tenant("MINE", "hidden");
  EXPECT_FALSE(given->made);
  EXPECT_EQ(given->access_key, "MINE");
  EXPECT_THAT(ask(*runtime, "GET", "/", "", "MINE", "hidden").body, HasSubstr("<Name>pail</Name>"))
      << "both keys belong to one tenant";
}

TEST_F(RuntimeTest, tenants_are_those_of_the_last_list) {
  const auto knows = [](Runtime& runtime, const std::string& key) {
    return ask(runtime, "GET", "/", "", key, "s").status == 200;
  };
  options.tenants =
      std::vector<Tenant>{{"BLUE", "s", "blue", "blue", 20'000}, {"RED", "s", "red", "red", 0}};
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
    EXPECT_TRUE(knows(*runtime, "BLUE") && knows(*runtime, "RED"));
    EXPECT_EQ(ask(*runtime, "PUT", "/pail", "", "BLUE", "s").status, 200);
    EXPECT_EQ(ask(*runtime, "PUT", "/pail/a", std::string(20'000, 'a'), "BLUE", "s").status, 200);
    EXPECT_THAT(ask(*runtime, "PUT", "/pail/b", "b", "BLUE", "s").body, HasSubstr("QuotaExceeded"));
    EXPECT_EQ(ask(*runtime, "PUT", "/own", "").status, 200);
    EXPECT_EQ(ask(*runtime, "PUT", "/own/a", std::string(30'000, 'a')).status, 200) << "no quota";
  }
  options.tenants.reset();
  {
    const auto runtime = opened();
    EXPECT_TRUE(knows(*runtime, "BLUE") && knows(*runtime, "RED")) << "the tenants are unchanged";
    EXPECT_THAT(ask(*runtime, "PUT", "/pail/b", "b", "BLUE", "s").body, HasSubstr("QuotaExceeded"))
        << "existing objects are counted at the start";
  }
  options.tenants = std::vector<Tenant>{{"RED", "s", "red", "red", 0}};
  const auto runtime = opened();
  EXPECT_FALSE(knows(*runtime, "BLUE"));
  EXPECT_TRUE(knows(*runtime, "RED"));
  EXPECT_EQ(ask(*runtime, "GET", "/own/a").status, 200) << "the first tenant stays";
}

TEST_F(RuntimeTest, an_encrypted_store_is_not_opened_without_its_key) {
  const auto ring = [](const std::vector<std::string>& names) {
    KeyRing made{.current = names.empty() ? "" : names.front()};
    for (const std::string& name : names) made.keys[name] = std::string(32, name.front());
    return made;
  };
  options.keys = ring({"one"});
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
    ask(*runtime, "PUT", "/pail");
    EXPECT_EQ(ask(*runtime, "PUT", "/pail/k", "in cipher").status, 200);
  }
  const auto bytes_of_all = [&] {
    std::map<std::string, std::string> all;
    for (const auto& at : std::filesystem::recursive_directory_iterator(folder)) {
      if (at.is_regular_file()) all[at.path()] = *drives::read_file(at.path().string());
    }
    return all;
  };
  const auto before = bytes_of_all();
  for (const auto& keys : {ring({}), ring({"two"})}) {
    options.keys = keys;
    const auto refused_open = Runtime::open(options);
    ASSERT_FALSE(refused_open);
    EXPECT_EQ(refused_open.error().front().code, "store.key");
    EXPECT_THAT(refused_open.error().front().what, HasSubstr("the key one,"));
    EXPECT_TRUE(bytes_of_all() == before) << "a refused start changes nothing";
  }
  options.keeps_house = false;
  EXPECT_TRUE(Runtime::open(options)) << "a check needs no key";
  options.keeps_house = true;
  options.keys = ring({"two", "one"});
  {
    const auto runtime = opened();
    EXPECT_EQ(ask(*runtime, "GET", "/pail/k").body, "in cipher");
  }
  options.keys = ring({"one"});
  EXPECT_FALSE(Runtime::open(options)) << "the store has since been written with two keys";
}

TEST_F(RuntimeTest, status_and_metrics_are_for_this_machine_only) {
  options.load = std::make_shared<net::ServerLoad>();
  auto runtime = opened();
  for (const char* far : {"10.0.0.1", "::2", "12.7.0.1", ""}) {
    EXPECT_EQ(page(*runtime, "/-/health", far).body, "good\n") << far;
    EXPECT_EQ(page(*runtime, "/-/metrics", far).status, 403) << far;
    EXPECT_EQ(page(*runtime, "/-/status", far).status, 403) << far;
  }
  for (const char* near : {"127.0.0.1", "127.1.2.3", "::1"}) {
    const net::Response metrics = page(*runtime, "/-/metrics?x", near);
    EXPECT_EQ(metrics.status, 200) << near;
    EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_THAT(metrics.body, HasSubstr("orrery_store_drive_up{drive="));
    EXPECT_THAT(metrics.body, HasSubstr("orrery_store_queue_depth 0\n"));
    EXPECT_THAT(metrics.body, HasSubstr("orrery_store_moves_waiting"));
    const net::Response status = page(*runtime, "/-/status", near);
    EXPECT_EQ(status.content_type, "application/json");
    EXPECT_THAT(status.body, HasSubstr("\"store\": \"" + runtime->folder().id + '"'));
    EXPECT_EQ(page(*runtime, "/-/other", near).status, 404);
  }
  EXPECT_EQ(page(*runtime, "/pail", "127.0.0.1").status, 404) << "a bucket";
  EXPECT_EQ(runtime->status().tiers.size(), 2u);
  EXPECT_EQ(runtime->status().tiers.front().drives_away, 0);
  runtime.reset();
  options.metrics_for_all = true;
  options.gateway.puts_off = true;
  options.moves.on = false;
  runtime = opened();
  const net::Request request{.target = "/-/metrics", .peer = "10.0.0.1"};
  EXPECT_TRUE(runtime->service().answer(request).later) << "it checks drives";
  EXPECT_EQ(page(*runtime, "/-/metrics", "10.0.0.1").status, 200);
  EXPECT_EQ(runtime->moves(), nullptr);
}

TEST_F(RuntimeTest, small_objects_are_held_in_rows_and_garbage_is_collected) {
  const auto runtime = opened();
  ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
  ask(*runtime, "PUT", "/pail");
  ask(*runtime, "PUT", "/pail/small", std::string(8 << 10, 's'));
  EXPECT_EQ(files("hot"), 0u);
  ask(*runtime, "PUT", "/pail/large", std::string((8 << 10) + 1, 'l'));
  EXPECT_EQ(files("hot"), 1u);
  ask(*runtime, "PUT", "/pail/cold", "c", "AK", "secret", {{"x-amz-storage-class", "GLACIER"}});
  EXPECT_EQ(files("cold"), 1u) << "small objects of slower tiers are files";
  EXPECT_EQ(ask(*runtime, "DELETE", "/pail/large").status, 204);
  ASSERT_TRUE(soon([&] { return files("hot") == 0; }));
}

TEST_F(RuntimeTest, a_run_sweeps_after_runs_that_died) {
  {
    const auto runtime = opened();
    BlobWriter writer = runtime->store().writer("hot");
    ASSERT_TRUE(writer.append(std::string(20'000, 'x')));
    ASSERT_TRUE(writer.finish());  // and no commit names it
  }
  ASSERT_EQ(files("hot"), 1u);
  // The sweep would keep and report complete objects of a run that ended cleanly.
  for (const auto& at : std::filesystem::recursive_directory_iterator(folder + "/hot/data")) {
    if (at.is_regular_file()) std::filesystem::resize_file(at.path(), 10);
  }
  const auto runtime = opened();
  ASSERT_TRUE(soon([&] { return files("hot") == 0; }));
  ASSERT_TRUE(soon([&] {
    return heard().find("1 files of a crashed run belong to no object and were set aside") !=
           said.npos;
  })) << heard();
}

TEST_F(RuntimeTest, a_store_opened_for_checks_changes_nothing) {
  {
    const auto runtime = opened();
    BlobWriter writer = runtime->store().writer("hot");
    ASSERT_TRUE(writer.append(std::string(20'000, 'x')));
    ASSERT_TRUE(writer.finish());
  }
  options.keeps_house = false;
  const auto runtime = opened();
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(files("hot"), 1u);
  EXPECT_EQ(runtime->moves(), nullptr);
}

TEST_F(RuntimeTest, damage_is_found_and_mended) {
  options.tiers = {{.name = "hot", .plan = {1, 1}, .folders = {folder + "/a", folder + "/b"}}};
  options.held_bytes_max = 0;
  const auto runtime = opened();
  ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
  ask(*runtime, "PUT", "/pail");
  ask(*runtime, "PUT", "/pail/k", std::string(5000, 'k'));
  bool flipped = false;
  for (const auto& at : std::filesystem::recursive_directory_iterator(folder + "/a")) {
    if (!at.is_regular_file() || at.file_size() < 5000) continue;
    FILE* file = std::fopen(at.path().c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, 100, SEEK_SET);
    std::fputc('x', file);
    std::fclose(file);
    flipped = true;
  }
  ASSERT_TRUE(flipped);
  ASSERT_TRUE(soon([&] { return runtime->status().scrub.damaged == 1; }));
  ASSERT_TRUE(soon([&] { return runtime->status().scrub.mended == 1; }));
  ASSERT_TRUE(soon([&] {
    return heard().find("scrubbing found 1 damaged shards and rebuilt 1 of them") !=
           std::string::npos;
  })) << heard();
}

TEST_F(RuntimeTest, lifecycle_rules_are_carried_out) {
  options.gateway.day_ms = 300;
  const auto runtime = opened();
  ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
  ask(*runtime, "PUT", "/pail");
  const std::string rules =
      "<LifecycleConfiguration><Rule><ID>e</ID><Prefix>old</Prefix><Status>Enabled</Status>"
      "<Expiration><Days>1</Days></Expiration></Rule><Rule><ID>m</ID><Prefix>move</Prefix>"
      "<Status>Enabled</Status><Transition><Days>1</Days><StorageClass>GLACIER</StorageClass>"
      "</Transition></Rule></LifecycleConfiguration>";
  ASSERT_EQ(ask(*runtime, "PUT", "/pail?lifecycle", rules).status, 200);
  ask(*runtime, "PUT", "/pail/old", "x");
  ask(*runtime, "PUT", "/pail/stays", "x");
  ask(*runtime, "PUT", "/pail/move", std::string(10'000, 'm'));
  ASSERT_TRUE(soon([&] { return ask(*runtime, "GET", "/pail/old").status == 404; }));
  ASSERT_TRUE(soon([&] { return runtime->moves()->removed == 1; }));
  EXPECT_EQ(files("cold"), 1u);
  EXPECT_EQ(runtime->moves()->copies, 1u);
  EXPECT_GE(runtime->moves()->verified, 1u);
  EXPECT_EQ(runtime->moves()->bytes, 10'000u);
  EXPECT_EQ(ask(*runtime, "GET", "/pail/move").body, std::string(10'000, 'm'));
  EXPECT_EQ(ask(*runtime, "GET", "/pail/stays").status, 200);
  ASSERT_TRUE(soon([&] { return files("hot") == 0; })) << "the old bytes are collected";
}

// Neither the rules of a bucket nor those of the tiers count days that did not pass.
TEST_F(RuntimeTest, a_clock_set_forward_removes_no_object) {
  std::atomic<TimeMs> ahead_ms = 0;
  options.wall_clock = [&] { return wall_clock_ms() + ahead_ms; };
  options.gateway.day_ms = 5000;  // rules pause for this long when the clock is in doubt
  storage::KeepPlace hot{.name = "hot"};
  hot.keep.window = days(7);
  options.moves.places = {hot};
  const auto runtime = opened();
  ASSERT_TRUE(runtime->first_tenant("AK", "secret"));
  ask(*runtime, "PUT", "/pail");
  const std::string rules =
      "<LifecycleConfiguration><Rule><Prefix>ruled</Prefix><Status>Enabled</Status>"
      "<Expiration><Days>100</Days></Expiration></Rule></LifecycleConfiguration>";
  ASSERT_EQ(ask(*runtime, "PUT", "/pail?lifecycle", rules).status, 200);
  ask(*runtime, "PUT", "/pail/ruled", "x");
  for (const char* step : {"1", "2"}) {
    ask(*runtime, "PUT", std::string("/pail/step-") + step, "x", "AK", "secret",
        {{"x-amz-tagging", std::string("orrery-run=r&orrery-step=") + step}});
    std::this_thread::sleep_for(5ms);
  }
  const auto is_there = [&](const char* key) {
    return runtime->store().find("pail", key, std::nullopt).has_value();
  };
  // Both are read, so that the newer is known to be good.
  ASSERT_TRUE(soon([&] { return runtime->moves()->verified >= 2; }));
  ahead_ms = 8 * 24 * 3600 * TimeMs{1000};
  ASSERT_TRUE(soon([&] { return heard().find("clock of this machine was set forward") != said.npos; }))
      << heard();
  const auto rounds = runtime->moves()->rounds.load();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(is_there("ruled"));
  EXPECT_TRUE(is_there("step-1"));
  EXPECT_LE(runtime->moves()->rounds, rounds + 1) << "nothing is moved by a clock in doubt";
  ahead_ms = 0;
  ASSERT_TRUE(soon([&] { return heard().find("was set back") != said.npos; }));
  EXPECT_TRUE(soon([&] { return runtime->moves()->rounds > rounds + 1; })) << "and then it goes on";
  EXPECT_TRUE(is_there("step-1"));
}

TEST(RandomBytes, have_the_requested_length_and_never_repeat) {
  EXPECT_EQ(random_bytes(0).size(), 0u);
  EXPECT_EQ(random_bytes(33).size(), 33u);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

class RuntimeRows : public testing::Test {
 protected:
  RuntimeRows()
      : folder(testing::TempDir() + "orrery-runtime-rows." + std::to_string(::getpid()) + '.' +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    options.folder = folder;
    options.keeps_house = false;
    options.log = [](const std::string& line) { ADD_FAILURE() << line; };
    // An existing store whose drive has none of its 256 folders, so that nothing is written to it.
    std::filesystem::create_directories(folder + "/hot/data");
    std::ofstream(folder + "/hot/drive") << drives::mark_text({"id", "hot-0"});
    std::ofstream(folder + "/store") << upkeep::store_text("id", {{.name = "hot"}});
    EXPECT_TRUE(rows::open_rocks_metadata(folder + "/metadata"));
  }
  ~RuntimeRows() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<Runtime> opened() {
    auto runtime = Runtime::open(options);
    EXPECT_TRUE(runtime) << to_text(runtime.error());
    return runtime ? std::move(*runtime) : nullptr;
  }
  static bool has(Runtime& runtime, const std::string& key) {
    return runtime.store().metadata().get(key).value().has_value();
  }

  std::string folder;
  RuntimeOptions options;
};

TEST_F(RuntimeRows, an_upload_is_not_taken_for_a_tenant) {
  std::string upload;
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->store().make_bucket({.name = "pail", .owner = "main"}));
    upload = runtime->store().begin_upload({.id = {}, .bucket = "pail", .key = "k"}).value();
    const auto made = runtime->first_tenant("", "");
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->made) << "there was no run before";
    EXPECT_EQ(made->access_key.size(), 20u);
    EXPECT_EQ(made->secret_key.size(), 40u);
    EXPECT_TRUE(has(*runtime, rows::row::tenant(made->access_key)));
  }
  options.tenants = std::vector<Tenant>{{"KEY", "secret", "blue", "blue", 77}};
  const auto runtime = opened();
  EXPECT_TRUE(has(*runtime, rows::row::upload("pail", "k", upload)));
  EXPECT_TRUE(has(*runtime, rows::row::tenant("KEY")));
}

TEST_F(RuntimeRows, removed_tenants_lose_their_keys_and_the_first_stays) {
  options.tenants = std::vector<Tenant>{{"BLUE", "s", "blue", "blue", 5}};
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->first_tenant("FIRST", "s"));
    ASSERT_TRUE(runtime->store().metadata().commit(
        {.changes = {{rows::row::tenant("RUBBISH"), "rubbish"}}}));
  }
  options.tenants = std::vector<Tenant>{};
  {
    const auto runtime = opened();
    EXPECT_FALSE(has(*runtime, rows::row::tenant("BLUE")));
    EXPECT_TRUE(has(*runtime, rows::row::tenant("FIRST")));
    EXPECT_TRUE(has(*runtime, rows::row::tenant("RUBBISH"))) << "the row cannot be read";
  }
  options.tenants.reset();
  const auto runtime = opened();
  EXPECT_TRUE(has(*runtime, rows::row::tenant("FIRST")));
}

// A run that ends cleanly leaves no row; the number of the next run is one higher.
TEST_F(RuntimeRows, a_run_removes_its_row_when_it_ends) {
  std::uint64_t run = 0;
  {
    const auto runtime = opened();
    run = runtime->store().epoch();
    EXPECT_TRUE(has(*runtime, rows::row::epoch(run)));
  }
  const auto runtime = opened();
  EXPECT_EQ(runtime->store().epoch(), run + 1);
  EXPECT_FALSE(has(*runtime, rows::row::epoch(run)));
}

}  // namespace
}  // namespace orrery::s3server::runtime_tests
