// A RADOS pool as a tier, on a small real cluster: the promises of the port, and `orrery store`
// with its hot tier there, while the store is killed, the cluster's disk is stopped, and the disk
// is killed.
//
// Skipped if Ceph is not installed. Without ORRERY_FULL=1 only the promises of the port are tested,
// because waiting for a cluster takes long.
#include <chrono>
#include <thread>

#include "ceph_cluster.h"
#include "live/agent/test_folder.h"
#include "live/drives/ceph_pool.h"
#include "live/drives/rados_drive.h"
#include "store_process.h"

namespace orrery {
namespace {

using drives::PoolFault;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }

std::string bytes_of(std::size_t count, std::uint32_t seed) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return bytes;
}

class RadosLive : public testing::Test {
 protected:
  void SetUp() override {
    if (!CephCluster::is_installed()) {
      GTEST_SKIP() << "Ceph is not installed (ceph-mon, ceph-mgr, ceph-osd, ceph-common)";
    }
    cluster = std::make_unique<CephCluster>(folder.at("ceph"));
    ASSERT_TRUE(cluster->runs());
    ASSERT_TRUE(cluster->make_pool("hot"));
    keyring = cluster->make_user("orrery", "hot", "ours");
    ASSERT_FALSE(keyring.empty());
  }
  std::string place(const std::string& space = "ours") const {
    return "rados:hot/" + space + "?conf=" + cluster->conf() + "&keyring=" + keyring;
  }
  std::unique_ptr<drives::Pool> pool(const std::string& space = "ours") const {
    return drives::open_ceph_pool(*drives::pool_place_of(place(space)));
  }

  const agent::TestFolder folder{agent::folder_on_disk()};
  std::unique_ptr<CephCluster> cluster;
  std::string keyring;
};

TEST_F(RadosLive, keeps_the_promises_of_the_port) {
  const auto ours = pool();
  const auto unit = ours->append_unit();
  ASSERT_TRUE(unit) << unit.error().what;
  EXPECT_EQ(*unit % 4096, 0u);
  EXPECT_EQ(ours->append("a", "x", false)->wait().error().kind, PoolFault::absent);
  const auto first = ours->append("a", "one ", true);
  const auto second = ours->append("a", "two", false);
  ASSERT_TRUE(first->wait()) << first->wait().error().what;
  ASSERT_TRUE(second->wait());
  EXPECT_EQ(ours->append("a", "x", true)->wait().error().kind, PoolFault::taken);
  EXPECT_EQ(*ours->read("a", 0, 100), "one two");
  EXPECT_EQ(*ours->read("a", 4, 2), "tw");
  EXPECT_EQ(*ours->read("a", 100, 2), "");
  EXPECT_EQ(*ours->size("a"), 7u);
  EXPECT_TRUE(ours->append("empty", "", true)->wait());
  EXPECT_THAT(*ours->list(), UnorderedElementsAre("a", "empty"));
  EXPECT_TRUE(ours->remove("a"));
  EXPECT_EQ(ours->remove("a").error().kind, PoolFault::absent);
  EXPECT_EQ(ours->read("a", 0, 1).error().kind, PoolFault::absent);
  EXPECT_EQ(ours->size("a").error().kind, PoolFault::absent);
  // Another user's namespace, and a pool and a configuration that do not exist.
  EXPECT_EQ(pool("theirs")->read("a", 0, 1).error().kind, PoolFault::refused);
  EXPECT_EQ(pool("theirs")->append("a", "x", true)->wait().error().kind, PoolFault::refused);
  auto nowhere = *drives::pool_place_of(place());
  nowhere.pool = "none";
  EXPECT_EQ(drives::open_ceph_pool(nowhere)->list().error().kind, PoolFault::refused);
  nowhere = *drives::pool_place_of(place());
  nowhere.conf = "/nowhere";
  EXPECT_THAT(drives::open_ceph_pool(nowhere)->list().error().what, HasSubstr("/nowhere"));
  // The manager reports the free space only after it has counted.
  drives::PoolSpace space;
  for (int i = 0; i < 600 && space.total_bytes == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto now = pool()->space();
    ASSERT_TRUE(now) << now.error().what;
    space = *now;
  }
  EXPECT_GT(space.total_bytes, std::uint64_t{1} << 30);
  EXPECT_LE(space.free_bytes, space.total_bytes);
}

TEST_F(RadosLive, a_pool_that_is_full_says_so_at_once) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to test a full cluster";
  ASSERT_TRUE(cluster->run("timeout 60 ceph osd pool set-quota hot max_bytes 100000"));
  const auto ours = pool();
  bool full = false;
  for (int i = 0; i < 300 && !full; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    const auto done = ours->append("o" + std::to_string(i), std::string(50'000, 'x'), true)->wait();
    full = !done && done.error().kind == PoolFault::full;
    if (full) {
      EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_TRUE(full);
  EXPECT_TRUE(ours->remove("o0"));  // objects can be removed from a full pool
}

TEST(RadosCode, a_drive_on_a_pool_with_an_erasure_code) {
  if (!CephCluster::is_installed()) GTEST_SKIP() << "Ceph is not installed";
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to test a cluster of three disks";
  const agent::TestFolder folder{agent::folder_on_disk()};
  CephCluster cluster(folder.at("ceph"), 3);
  ASSERT_TRUE(cluster.runs());
  ASSERT_TRUE(cluster.make_code_pool("code"));
  const auto place = *drives::pool_place_of("rados:code/ours?user=admin&conf=" + cluster.conf());
  const std::string bytes = bytes_of(20'000'001, 5);
  EXPECT_EQ(*drives::open_ceph_pool(place)->append_unit(), 24576u);
  const auto drive = drives::open_rados_drive(drives::open_ceph_pool(place), "", {"s", "d"}, true);
  ASSERT_TRUE(drive) << drive.error().front().what;
  auto file = (*drive)->create("a.00.0");
  for (std::size_t at = 0; at < bytes.size(); at += 65'600) {
    const std::string_view piece[] = {std::string_view(bytes).substr(at, 65'600)};
    ASSERT_TRUE((*file)->append(piece));
  }
  const auto done = (*file)->sync();
  ASSERT_TRUE(done) << done.error().what;
  std::string got(bytes.size() + 1, '\0');
  file = (*drive)->open("a.00.0");
  EXPECT_EQ(*(*file)->read(0, got), bytes.size());
  EXPECT_TRUE(got.starts_with(bytes));
  EXPECT_TRUE((*drive)->remove("a.00.0"));
  EXPECT_THAT(*(*drive)->list(), testing::IsEmpty());
}

// The acknowledged objects, and a check that the store still has them.
class KeptObjects {
 public:
  void put(const std::string& address, const std::string& key, std::size_t size) {
    auto client = client_of(address);
    const std::string bytes = bytes_of(size, ++seed_);
    const auto done = client.put(key, s3::Body::of(bytes));
    if (done) kept_[key] = bytes;
    last_status = done ? 200 : done.error().status;
  }
  void check(const std::string& address) const {
    auto client = client_of(address);
    for (const auto& [key, bytes] : kept_) {
      const auto got = client.get(key);
      ASSERT_TRUE(got) << key << ' ' << got.error().status << ' ' << got.error().detail;
      EXPECT_TRUE(got->bytes == bytes) << key;
    }
  }
  std::size_t count() const { return kept_.size(); }
  int last_status = 0;

 private:
  std::map<std::string, std::string> kept_;
  std::uint32_t seed_ = 0;
};

TEST_F(RadosLive, a_store_on_a_pool_keeps_acknowledged_objects) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to test crashes of a store and of a cluster";
  const std::vector<std::string> words = {folder.at("store"), "--port", "0", "--tier",
                                          "hot=1x:" + place()};
  auto store = std::make_unique<StoreProcess>(words);
  ASSERT_FALSE(store->address().empty()) << store->said();
  ASSERT_EQ(ask_signed(store->address(), "PUT", "/bucket", {}, "").status, 200);
  KeptObjects objects;
  for (int i = 0; i < 40; ++i) {
    objects.put(store->address(), "small-" + std::to_string(i), 20'000 + 7'000u * i);
  }
  objects.put(store->address(), "large", std::size_t{40} << 20);
  ASSERT_EQ(objects.count(), 41u);
  objects.check(store->address());
  // The store dies in the middle of a large put.
  {
    std::jthread writer([&, address = store->address()] {
      KeptObjects lost;
      lost.put(address, "torn", std::size_t{200} << 20);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    store->end(SIGKILL);
  }
  store = std::make_unique<StoreProcess>(words);
  objects.check(store->address());
  EXPECT_EQ(client_of(store->address()).get("torn").error().status, 404);
  // The disk is stopped: requests that need it are answered so within their time limit.
  cluster->signal_disk(SIGSTOP);
  objects.put(store->address(), "unsure", 100'000);
  EXPECT_EQ(objects.last_status, 503);
  EXPECT_EQ(client_of(store->address()).get("small-39").error().status, 503);
  EXPECT_EQ(ask_signed(store->address(), "GET", "/bucket", {}, "").status, 200);
  cluster->signal_disk(SIGCONT);
  for (int i = 0; i < 100 && objects.last_status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    objects.put(store->address(), "again", 100'000);
  }
  EXPECT_EQ(objects.last_status, 200);
  objects.check(store->address());
  // The disk dies and comes back: it still has what it had acknowledged.
  ASSERT_TRUE(cluster->crash_and_restart_disk());
  objects.last_status = 0;
  for (int i = 0; i < 200 && objects.last_status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    objects.put(store->address(), "after", 100'000);
  }
  EXPECT_EQ(objects.last_status, 200) << store->said();
  objects.check(store->address());
  EXPECT_EQ(store->end(SIGTERM), 0);
  // Nothing is left of the torn put, of the put without an answer or of what was replaced.
  EXPECT_EQ(StoreProcess({"repair", folder.at("store"), "--apply"}).wait(), 0);
  StoreProcess check({"fsck", folder.at("store")});
  EXPECT_EQ(check.wait(), 0) << check.address() << check.said();
  std::size_t large = 0;
  const auto names = *pool()->list();
  for (const std::string& name : names) large += name.find('@') != name.npos ? 1 : 0;
  EXPECT_EQ(large, 2u);                           // 40 MiB in pieces of 16
  EXPECT_EQ(names.size(), objects.count() + 3u);  // and the marker
}

}  // namespace
}  // namespace orrery
