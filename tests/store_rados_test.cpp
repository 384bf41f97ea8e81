// A store whose only drive is a RADOS pool, when its metadata or the objects of the pool are lost,
// damaged, another store's or from before: as store_loss_test.cpp has it for folders. The cluster
// is a library in memory (simulated_librados.h). ORRERY_FULL=1 tries 400 cases.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "live/agent/test_folder.h"
#include "live/drives/file_text.h"
#include "simulated_librados.h"
#include "started_store.h"

namespace orrery::upkeep::store_rados_tests {
namespace {

namespace fs = std::filesystem;
using Objects = std::map<std::string, std::string>;

constexpr const char* kTier = "hot=1x:rados:hot/store-1";

rados::SimulatedLibrados& library() {
  void* const loaded = ::dlopen("librados.so.2", RTLD_NOW | RTLD_LOCAL);
  auto* const state = reinterpret_cast<decltype(&orrery_simulated_librados)>(
      loaded == nullptr ? nullptr : ::dlsym(loaded, "orrery_simulated_librados"));
  if (state == nullptr) throw std::runtime_error("the library is not the simulated one");
  return *state();
}

// The pool and a copy of the store's folder at one moment.
struct Moment {
  Objects pool;
  std::string folder;
  std::string metadata() const { return folder + "/metadata"; }
};

class StoreOnRados : public testing::Test {
 protected:
  StoreOnRados() {
    ceph = {};
    std::mt19937 random(3);
    for (int run = 0; run < 3; ++run) {
      Started started(store, {*tier_plan_of(kTier)});
      EXPECT_TRUE(started.store) << to_text({*started.refusal});
      if (!started.store) return;
      if (run == 0) {
        EXPECT_TRUE(started.store->make_bucket(
            {.name = "many", .owner = "main", .versioning = rows::Versioning::on}));
      }
      for (const std::size_t size : {30u, 20'000u, 90'000u}) {
        kept.push_back(started.put("many", "k" + std::to_string(size), bytes_of(random, size)));
      }
      if (run == 1) started.keep_house();
    }
    moments.push_back(moment("before"));
    {
      Started started(store);
      kept.push_back(started.put("many", "late", bytes_of(random, 40'000)));
    }
    now = moment("now");
  }
  Moment moment(const std::string& name) const {
    fs::copy(store, folder.at(name), fs::copy_options::recursive);
    return {ceph.objects, folder.at(name)};
  }
  void put_back_now() {
    ceph.objects = now.pool;
    fs::remove_all(store);
    fs::copy(now.folder, store, fs::copy_options::recursive);
  }
  void set_metadata(const std::string& from) const {
    fs::remove_all(store + "/metadata");
    if (!from.empty()) fs::copy(from, store + "/metadata", fs::copy_options::recursive);
  }
  // A start with what is there: it refuses and changes nothing, or it serves. Returns the refusal.
  std::optional<Diagnostic> start() {
    const Objects before = ceph.objects;
    Started started(store);
    if (!started.store) {
      EXPECT_EQ(ceph.objects, before) << "a start that is refused changes nothing";
      return started.refusal;
    }
    started.keep_house();
    for (const Kept& object : kept) {
      const std::string said = started.read(object);
      EXPECT_NE(said, "wrong") << object.key;
      EXPECT_NE(said, "not there") << object.key;
    }
    return std::nullopt;
  }
  void expect_all() {
    Started started(store);
    ASSERT_TRUE(started.store) << to_text({*started.refusal});
    started.keep_house();
    for (const Kept& object : kept) EXPECT_EQ(started.read(object), "right") << object.key;
  }

  const agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  const std::string store = folder.at("s");
  rados::SimulatedLibrados& ceph = library();
  std::vector<Kept> kept;
  std::vector<Moment> moments;
  Moment now;
};

TEST_F(StoreOnRados, empty_older_or_another_stores_metadata_are_refused) {
  Started(folder.at("other"), {*tier_plan_of("hot=1x")});
  for (const std::string& from :
       {std::string(), moments.front().metadata(), folder.at("other/metadata")}) {
    set_metadata(from);
    for (int i = 0; i < 2; ++i) {
      const auto refusal = start();
      ASSERT_TRUE(refusal) << from;
      EXPECT_EQ(refusal->code, "store.metadata") << to_text({*refusal});
    }
  }
  set_metadata(now.metadata());
  expect_all();
}

TEST_F(StoreOnRados, an_empty_or_another_stores_pool_is_refused) {
  const Objects mine = ceph.objects;
  ceph.objects.clear();
  for (int i = 0; i < 2; ++i) {
    const auto refusal = start();
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code, "store.rados") << to_text({*refusal});
    EXPECT_TRUE(ceph.objects.empty()) << "no mark is made in it";
  }
  for (auto& [name, bytes] : mine) {
    if (name == "drive") ceph.objects[name] = drives::mark_text({"fedcba9876543210", "hot-0"});
  }
  EXPECT_TRUE(start());
  ceph.objects = mine;
  expect_all();
}

TEST_F(StoreOnRados, nothing_acknowledged_is_lost_to_a_damaged_pool_or_metadata) {
  const int cases = std::getenv("ORRERY_FULL") != nullptr ? 400 : 60;
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < cases && !HasFailure(); ++i) {
    put_back_now();
    // The store was stopped in order, and its files say so.
    auto object = std::next(ceph.objects.begin(),
                            static_cast<std::ptrdiff_t>(random() % ceph.objects.size()));
    SCOPED_TRACE("case " + std::to_string(i) + ": " + object->first);
    switch (random() % 5) {
      case 0:
        ceph.objects.erase(object);
        break;
      case 1:
        object->second.resize(random() % (object->second.size() + 1));
        break;
      case 2:
        if (!object->second.empty()) object->second[random() % object->second.size()] ^= 1;
        break;
      case 3:
        ceph.objects = moments.front().pool;
        break;
      default:
        set_metadata(random() % 2 == 0 ? moments.front().metadata() : "");
    }
    refused += start() ? 1 : 0;
    refused += start() ? 1 : 0;
    put_back_now();
    expect_all();
  }
  EXPECT_GT(refused, 0);
  std::cout << cases << " cases, starts refused " << refused << '\n';
}

}  // namespace
}  // namespace orrery::upkeep::store_rados_tests
