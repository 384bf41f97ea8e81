// What a store that was stopped or killed does if one file of its metadata or drives is lost or
// damaged, or if its metadata is a mixture of old and new files. It refuses to start and says what
// is wrong, or it serves. It never returns wrong bytes for an object, and never removes an object
// whose bytes exist.
//
// Each case damages one file, starts the store twice, lets a week of healthy time pass each time so
// that files waiting for removal are removed, restores the file, and reads everything.
// ORRERY_FULL=1 tries 2,100 cases; ORRERY_SEED draws others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "live/agent/test_folder.h"
#include "live/drives/file_text.h"
#include "started_store.h"

namespace orrery::upkeep {
namespace {

namespace fs = std::filesystem;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }
int cases_of_a_layout() { return is_full() ? 700 : 40; }
unsigned seed() {
  const char* said = std::getenv("ORRERY_SEED");
  return said != nullptr ? static_cast<unsigned>(std::strtoul(said, nullptr, 10)) : 1;
}

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

// What a case does to one file, to a folder, or to RocksDB's list of its files.
enum class Harm { remove, cut, empty, older, flip, all_gone, all_older, list_older };
constexpr const char* kHarms[] = {"remove", "cut",      "empty",     "older",
                                  "flip",   "all gone", "all older", "list older"};
// Files of the store beside its metadata and drives.
constexpr const char* kOwnFiles[] = {"store", "sealed", "manifest"};

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
  std::string folder = {};  // where the case is more than one file
  Files all = {};           // of it

  bool is_whole() const { return harm == Harm::all_gone || harm == Harm::all_older; }
  bool is_of_drive() const { return !folder.empty() && folder != "metadata"; }
};

// The metadata or a drive as a whole: not mounted, or from before; or only RocksDB's list of its
// files.
Case whole_folder_case(const Files& now, const std::vector<Files>& older, std::mt19937& random) {
  Case chosen{.file = "metadata/CURRENT", .harm = Harm::all_gone, .folder = "metadata"};
  const bool of_drive = random() % 2 == 0;
  if (of_drive) {
    std::vector<std::string> drives;
    for (const auto& [name, text] : now) {
      if (name.ends_with("/drive")) drives.push_back(name.substr(0, name.find('/')));
    }
    chosen.folder = chosen.file = drives[random() % drives.size()];
  }
  const auto kind = random() % (of_drive ? 2 : 3);
  if (kind == 0) return chosen;
  chosen.harm = kind == 1 ? Harm::all_older : Harm::list_older;
  chosen.file = chosen.folder;
  for (const auto& [name, text] : older[random() % older.size()]) {
    const bool is_list = name == "metadata/CURRENT" || name.starts_with("metadata/MANIFEST-");
    if (name.starts_with(chosen.folder + '/') && (kind == 1 || is_list)) chosen.all[name] = text;
  }
  return chosen;
}

Case case_of(const Files& now, const std::vector<Files>& older, std::mt19937& random) {
  if (random() % 12 == 0) return whole_folder_case(now, older, random);
  std::vector<std::string> metadata;
  std::vector<std::string> drives;
  std::vector<std::string> own;
  for (const auto& [name, text] : now) {
    if (std::ranges::find(kOwnFiles, name) != std::end(kOwnFiles)) own.push_back(name);
    if (name == "metadata/reserve") continue;  // zeros, and no data
    if (name.starts_with("metadata/")) metadata.push_back(name);
    if (name.find("/data/") != name.npos || name.ends_with("/drive") || name.ends_with("/seen"))
      drives.push_back(name);
  }
  const auto kind = random() % 10;
  const auto& among = kind == 0 ? own : kind < 6 ? metadata : drives;
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
  if (chosen.is_whole()) fs::remove_all(folder + '/' + chosen.folder);
  fs::create_directories(folder + '/' + chosen.folder);
  for (int i = 0; chosen.is_of_drive() && !chosen.all.empty() && i < 256; ++i) {
    fs::create_directories(fmt::format("{}/{}/data/{:02x}", folder, chosen.folder, i));
  }
  for (const auto& [name, text] : chosen.all) write(folder + '/' + name, text);
}

void undo_harm(const std::string& folder, const std::string& pristine, const Case& chosen) {
  if (!chosen.is_whole() && chosen.all.empty())
    return write(folder + '/' + chosen.file, chosen.before);
  fs::remove_all(folder + '/' + chosen.folder);
  fs::copy(pristine + '/' + chosen.folder, folder + '/' + chosen.folder,
           fs::copy_options::recursive);
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
  const bool has_no_drive = why.code == "store.drive";
  if (std::ranges::find(kOwnFiles, chosen.file) != std::end(kOwnFiles))
    return has_no_drive || why.place.file.ends_with('/' + chosen.file);
  if (chosen.file.starts_with("metadata/"))
    return all.find(chosen.file.substr(chosen.file.find('/') + 1)) != all.npos;
  if (!chosen.all.empty() && !chosen.is_of_drive()) return why.code == "store.metadata";
  return has_no_drive;
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
