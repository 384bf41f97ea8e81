// What a store that was stopped or killed does if one file of its metadata or drives is lost or
// damaged, or if its metadata is a mixture of old and new files. It refuses to start and says what
// is wrong, or it serves. It never returns wrong bytes for an object, and never removes an object
// whose bytes exist.
//
// Each case damages one file, starts the store twice, lets a week of healthy time pass each time so
// that files waiting for removal are removed, restores the file, and reads everything.
// ORRERY_FULL=1 tries 2,100 cases; ORRERY_SEED draws others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "live/drives/file_text.h"
#include "live/s3/hash.h"
#include "live/upkeep/check.h"
#include "live/upkeep/store_folder.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEightDaysMs = 8ull * 24 * 3600 * 1000;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }
int cases_of_a_layout() { return is_full() ? 700 : 40; }
unsigned seed() {
  const char* said = std::getenv("ORRERY_SEED");
  return said != nullptr ? static_cast<unsigned>(std::strtoul(said, nullptr, 10)) : 1;
}

std::string bytes_of(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// An acknowledged object.
struct Kept {
  std::string bucket;
  std::string key;
  std::string version;
  std::string bytes;
};

// A store in a folder, opened as `orrery store` does it, without its threads.
class Started {
 public:
  explicit Started(const std::string& folder, const std::vector<TierPlan>& tiers = {}) {
    auto opened = open_store_folder(folder, tiers, "0123456789abcdef");
    if (!opened) {
      refusal = opened.error().front();
      return;
    }
    folder_ = std::move(*opened);
    store::StoreSetting setting{
        .metadata = *folder_.metadata,
        .drives = folder_.drive_set(),
        .tiers = folder_.tiers,
        .now_ms = [this] { return now_ms_ += 1000; },
        .random_bytes = [this](std::size_t n) { return bytes_of(random_, n); }};
    setting.tiers.front().held_bytes_max = 8 << 10;
    setting.run_after = folder_.run_after;
    setting.agrees = [this] {
      const auto facts = store::facts_of(*folder_.metadata);
      return facts && folder_.witnesses->agrees(*facts);
    };
    store = std::make_unique<store::Store>(std::move(setting));
    auto good = store->measure();
    if (good) good = store->open();
    if (!good) {
      refusal = Diagnostic{.code = "store.open"};
      refusal->what = good.error().code + ' ' + good.error().message;
      store.reset();
      return;
    }
    EXPECT_TRUE(folder_.witnesses->begin(store->epoch()));
  }
  // Ends cleanly, unless the case is a crash.
  ~Started() {
    if (!store || dies) return;
    if (!end_run(*store)) return;
    store.reset();
    seal_store_folder(folder_);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // Does the upkeep until nothing is left to do; faults are not failures here.
  void keep_house() {
    (void)sweep_orphans(*store);
    (void)tend_aside(*store);
    Scrubber scrubber(*store);
    for (int i = 0; i < 100; ++i) {
      const auto more = scrubber.step(std::uint64_t{64} << 20);
      if (!more || !*more) break;
    }
    (void)store->collect();
    (void)add_well(*store, kEightDaysMs);
    (void)tend_aside(*store);
  }

  rows::Blob written(const std::string& bytes) {
    store::BlobWriter writer = store->writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return blob ? *blob : rows::Blob{};
  }
  Kept put(const std::string& bucket, const std::string& key, const std::string& bytes) {
    const rows::Blob blob = written(bytes);
    rows::Version version{.size = bytes.size(), .etag = "e"};
    version.extents = {{blob.id, bytes.size(), to_hex(s3::md5(bytes)), ""}};
    const auto done = store->put(bucket, key, version, {blob});
    EXPECT_TRUE(done);
    return {bucket, key, done ? done->id : "", bytes};
  }
  // Returns "right", "wrong", "not there", or the code and the reason.
  std::string read(const Kept& kept) {
    const auto object =
        store->open_object(kept.bucket, kept.key, kept.version,
                           [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) {
      const store::Refused& why = object.error();
      return why.code.starts_with("NoSuch") ? "not there" : why.code + ' ' + why.message;
    }
    std::string bytes(kept.bytes.size(), '\0');
    const auto got = object->reader->read(0, bytes);
    if (!got) return store::refusal_of(got.error()).code + ' ' + got.error().what;
    return object->version.size == bytes.size() && bytes == kept.bytes ? "right" : "wrong";
  }

  std::unique_ptr<store::Store> store;
  std::optional<Diagnostic> refusal;
  bool dies = false;

 private:
  OpenedFolder folder_;
  rows::TimeMs now_ms_ = 1'700'000'000'000;
  std::mt19937 random_{std::random_device{}()};
};

using Files = std::map<std::string, std::string>;  // by path below the folder

Files files_below(const std::string& folder) {
  Files files;
  for (const auto& at : fs::recursive_directory_iterator(folder)) {
    if (at.is_regular_file())
      files[fs::relative(at.path(), folder).string()] = *drives::read_file(at.path().string());
  }
  return files;
}

struct Layout {
  const char* name;
  const char* tier;
};

class StoreLoss : public testing::TestWithParam<Layout> {
 protected:
  // Three runs, one of which dies, with objects in rows and in files, replaced and removed ones.
  void make(const std::string& folder) {
    std::mt19937 random(7);
    const std::size_t sizes[] = {20, 3000, 20'000, 70'000, 300'000};
    const auto tier = tier_plan_of(GetParam().tier);
    ASSERT_TRUE(tier);
    for (int run = 0; run < 4; ++run) {
      Started started(folder, {*tier});
      ASSERT_TRUE(started.store) << started.refusal->what;
      if (run == 0) {
        ASSERT_TRUE(started.store->make_bucket(
            {.name = "many", .owner = "main", .versioning = rows::Versioning::on}));
        ASSERT_TRUE(started.store->make_bucket({.name = "one", .owner = "main"}));
      }
      for (std::size_t i = 0; i < 8; ++i) {
        const std::string bytes = bytes_of(random, sizes[(i + static_cast<std::size_t>(run)) % 5]);
        kept.push_back(started.put("many", "k" + std::to_string(i % 4), bytes));
        if (i >= 3) continue;
        const std::string key = "k" + std::to_string(i);
        std::erase_if(kept, [&](const Kept& k) { return k.bucket == "one" && k.key == key; });
        kept.push_back(started.put("one", key, bytes));
      }
      ASSERT_TRUE(started.store->remove("one", "k2", {}));
      std::erase_if(kept, [](const Kept& k) { return k.bucket == "one" && k.key == "k2"; });
      if (run == 2) started.written(bytes_of(random, 20'000));  // without a commit
      started.dies = run == 2;
      if (!started.dies) {
        ASSERT_TRUE(started.store->collect());
      }
      if (run == 3) started.keep_house();
    }
  }

  std::vector<Kept> kept;
};

// What a case does to one file.
enum class Harm { remove, cut, empty, older, flip, all_gone, all_older, list_older };
constexpr const char* kHarms[] = {"remove", "cut",      "empty",     "older",
                                  "flip",   "all gone", "all older", "list older"};

// A store as a case finds it, with its earlier states.
struct Base {
  std::string folder;
  bool killed = false;  // in its last run
  std::vector<Files> older = {};
  std::vector<Kept> kept = {};
  Files now = {};
};

struct Case {
  std::string file;
  Harm harm = Harm::flip;
  std::string before;
  std::optional<std::string> after;
  Files all = {};  // files of metadata/, if the case affects more than one file

  bool is_whole() const { return harm == Harm::all_gone || harm == Harm::all_older; }
};

// Damage to the whole metadata: not mounted, or an older copy; or only RocksDB's list of files is
// older.
Case whole_folder_case(const std::vector<Files>& older, std::mt19937& random) {
  Case chosen{.file = "metadata/CURRENT", .harm = Harm::all_gone};
  const auto kind = random() % 3;
  if (kind == 0) return chosen;
  chosen.harm = kind == 1 ? Harm::all_older : Harm::list_older;
  chosen.file = "metadata";
  for (const auto& [name, text] : older[random() % older.size()]) {
    const bool is_list = name == "metadata/CURRENT" || name.starts_with("metadata/MANIFEST-");
    if (name.starts_with("metadata/") && (kind == 1 || is_list)) chosen.all[name] = text;
  }
  return chosen;
}

Case case_of(const Files& now, const std::vector<Files>& older, std::mt19937& random) {
  if (random() % 20 == 0) return whole_folder_case(older, random);
  std::vector<std::string> metadata;
  std::vector<std::string> drives;
  for (const auto& [name, text] : now) {
    if (name == "metadata/reserve") continue;  // contains only zeros, no data
    if (name.starts_with("metadata/")) metadata.push_back(name);
    if (name.find("/data/") != name.npos || name.ends_with("/drive") || name.ends_with("/seen"))
      drives.push_back(name);
  }
  const auto& among = random() % 2 == 0 ? metadata : drives;
  Case chosen{.file = among[random() % among.size()]};
  chosen.before = now.at(chosen.file);
  chosen.after = chosen.before;
  chosen.harm = static_cast<Harm>(random() % 5);  // kinds of damage to a single file
  const Files& past = older[random() % older.size()];
  const bool has_past = past.contains(chosen.file) && past.at(chosen.file) != chosen.before;
  if (chosen.harm == Harm::older && !has_past) chosen.harm = Harm::cut;
  if (chosen.before.empty()) chosen.harm = Harm::remove;
  switch (chosen.harm) {
    case Harm::remove:
      chosen.after.reset();
      break;
    case Harm::cut:
      chosen.after->resize(random() % chosen.before.size());
      break;
    case Harm::empty:
      chosen.after->clear();
      break;
    case Harm::older:
      chosen.after = past.at(chosen.file);
      break;
    case Harm::all_gone:
    case Harm::all_older:
    case Harm::list_older:
      break;
    case Harm::flip:
      for (unsigned i = 0; i <= random() % 8; ++i) {
        (*chosen.after)[random() % chosen.after->size()] ^= static_cast<char>(1 + random() % 255);
      }
      break;
  }
  return chosen;
}

void write(const std::string& path, const std::optional<std::string>& bytes) {
  if (!bytes) {
    fs::remove(path);
    return;
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << *bytes;
}

void do_harm(const std::string& folder, const Case& chosen) {
  if (!chosen.is_whole() && chosen.all.empty())
    return write(folder + '/' + chosen.file, chosen.after);
  if (chosen.is_whole()) fs::remove_all(folder + "/metadata");
  fs::create_directories(folder + "/metadata");
  for (const auto& [name, text] : chosen.all) write(folder + '/' + name, text);
}

void undo_harm(const std::string& folder, const std::string& pristine, const Case& chosen) {
  if (!chosen.is_whole() && chosen.all.empty())
    return write(folder + '/' + chosen.file, chosen.before);
  fs::remove_all(folder + "/metadata");
  fs::copy(pristine + "/metadata", folder + "/metadata", fs::copy_options::recursive);
}

struct Tally {
  int refused = 0;
  int served = 0;
  int partly = 0;  // served, with objects that could not be read
  std::map<std::string, int> by_harm = {};
};

// Returns whether a refusal says what is wrong: it names the file, or its drive.
bool says_what(const Diagnostic& why, const Case& chosen, bool killed) {
  const std::string all = why.place.file + ' ' + why.what + ' ' + why.why;
  // After a kill there is no list of the files: a log that lost its end is detected by its commits.
  if (killed && chosen.file.ends_with(".log") && why.code == "store.metadata") return true;
  if (chosen.file.starts_with("metadata/"))
    return all.find(chosen.file.substr(chosen.file.find('/') + 1)) != all.npos;
  if (!chosen.all.empty()) return why.code == "store.metadata";
  return why.what == "none of the store's drives is available";
}

// Starts the store once with the damage in place.
void start_with_damage(const std::string& folder, const Case& chosen, const Base& base,
                       Tally& tally) {
  const Files before = files_below(folder);
  Started started(folder);
  if (started.refusal && started.refusal->code != "store.open") {
    ++tally.refused;
    EXPECT_TRUE(says_what(*started.refusal, chosen, base.killed)) << to_text({*started.refusal});
    EXPECT_TRUE(files_below(folder) == before) << "a refused start must change nothing";
    return;
  }
  if (!started.store) {
    ++tally.refused;
    EXPECT_TRUE(says_what(*started.refusal, chosen, base.killed)) << started.refusal->what;
    return;
  }
  started.keep_house();
  bool all_right = true;
  for (const Kept& object : base.kept) {
    const std::string said = started.read(object);
    all_right = all_right && said == "right";
    EXPECT_NE(said, "wrong") << object.bucket << '/' << object.key;
    EXPECT_NE(said, "not there") << object.bucket << '/' << object.key;
  }
  ++(all_right ? tally.served : tally.partly);
}

class Campaign : public StoreLoss {
 protected:
  // An older file must differ from the present one, so the states before further runs are the older
  // ones.
  Base stopped_base(const std::string& at) {
    make(at);
    Base base{.folder = at};
    base.older = {files_below(at)};
    for (int run = 0; run < 2; ++run) {
      Started started(at);
      EXPECT_TRUE(started.store);
      kept.push_back(started.put("many", "late" + std::to_string(run), std::string(30'000, 'l')));
      kept.push_back(started.put("many", "small" + std::to_string(run), std::string(300, 's')));
      started.keep_house();
      if (run == 0) base.older.push_back(files_below(at));
    }
    base.now = files_below(at);
    base.kept = kept;
    return base;
  }
  // The same after one more run, which wrote tables and died.
  Base killed_base(const Base& from, const std::string& at) {
    fs::copy(from.folder, at, fs::copy_options::recursive);
    Base base{.folder = at, .killed = true, .older = from.older, .kept = from.kept};
    base.older.push_back(from.now);
    {
      Started started(at);
      EXPECT_TRUE(started.store);
      started.dies = true;
      for (int i = 0; i < 6; ++i) {
        const std::string bytes(i % 2 == 0 ? 300 : 30'000, static_cast<char>('a' + i));
        base.kept.push_back(started.put("many", "last" + std::to_string(i), bytes));
        if (i == 1) base.older.push_back(files_below(at));
        if (i == 2) {
          EXPECT_TRUE(started.store->metadata().forget_before("x"));
        }
      }
    }
    base.now = files_below(at);
    return base;
  }
  void try_case(const Base& base, const Case& chosen, const std::string& broken, Tally& tally) {
    fs::remove_all(broken);
    fs::copy(base.folder, broken, fs::copy_options::recursive);
    do_harm(broken, chosen);
    ++tally.by_harm[kHarms[static_cast<int>(chosen.harm)]];
    start_with_damage(broken, chosen, base, tally);
    start_with_damage(broken, chosen, base, tally);
    undo_harm(broken, base.folder, chosen);
    Started again(broken);
    ASSERT_TRUE(again.store) << to_text({*again.refusal});
    again.keep_house();
    for (const Kept& object : base.kept) {
      ASSERT_EQ(again.read(object), "right") << object.bucket << '/' << object.key;
    }
  }
};

TEST_P(Campaign, nothing_acknowledged_is_lost_to_damaged_files) {
  const agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  const Base stopped = stopped_base(folder.at("stopped"));
  ASSERT_FALSE(HasFailure());
  const Base killed = killed_base(stopped, folder.at("killed"));
  ASSERT_FALSE(HasFailure());
  ASSERT_GT(kept.size(), 30u);
  std::mt19937 random(seed() * 31 + static_cast<unsigned>(GetParam().tier[4]));
  Tally tally;
  for (int i = 0; i < cases_of_a_layout(); ++i) {
    const Base& base = i % 3 == 2 ? killed : stopped;
    const Case chosen = case_of(base.now, base.older, random);
    SCOPED_TRACE(std::string(GetParam().name) + " case " + std::to_string(i) +
                 (base.killed ? " (killed): " : " (stopped): ") +
                 kHarms[static_cast<int>(chosen.harm)] + ' ' + chosen.file);
    try_case(base, chosen, folder.at("case"), tally);
    if (HasFailure()) break;
  }
  std::cout << GetParam().name << ": " << cases_of_a_layout() << " cases, starts refused "
            << tally.refused << ", served whole " << tally.served << ", served in part "
            << tally.partly << '\n';
  for (const auto& [harm, count] : tally.by_harm) std::cout << "  " << harm << ' ' << count << '\n';
}

INSTANTIATE_TEST_SUITE_P(layouts, Campaign,
                         testing::Values(Layout{"4+2", "hot=4+2"}, Layout{"one copy", "hot=1x"},
                                         Layout{"two copies", "hot=2x"}),
                         [](const auto& of) {
                           return std::string(of.param.tier).substr(4, 1) == "4"   ? "code_4_2"
                                  : std::string(of.param.tier).substr(4, 1) == "1" ? "one_copy"
                                                                                   : "two_copies";
                         });

}  // namespace
}  // namespace orrery::upkeep
