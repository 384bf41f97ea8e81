// A store whose metadata is missing, empty, damaged, old or belongs to another store is refused
// with the reason, and a refused start changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "live/drives/file_text.h"
#include "live/rows/records.h"
#include "live/rows/rocks_metadata.h"
#include "live/store/blob.h"
#include "live/store/store.h"
#include "live/upkeep/store_folder.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep::store_folder_identity_tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() {
    const fs::path parent = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    base = (parent / "orrery-identity-XXXXXX").string();
    EXPECT_NE(::mkdtemp(base.data()), nullptr);
    folder = base + "/s";
    run(3);
  }
  ~IdentityTest() override { fs::remove_all(base); }

  static store::StoreSetting setting_of(const OpenedFolder& of) {
    return {.metadata = *of.metadata,
            .drives = of.drive_set(),
            .tiers = of.tiers,
            .now_ms = [] { return rows::TimeMs{1'700'000'000'000}; },
            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); },
            .run_after = of.run_after};
  }
  // One run of a store that puts this many objects, of two sizes, and optionally dies.
  void run(int objects, bool dies = false, const std::string& where = {},
           const std::string& id = "id-1") {
    auto opened = open_store_folder(where.empty() ? folder : where, {{.name = "hot"}}, id);
    ASSERT_TRUE(opened) << to_text(opened.error());
    auto store = std::make_unique<store::Store>(setting_of(*opened));
    ASSERT_TRUE(store->open());
    ASSERT_TRUE(opened->witnesses->begin(store->epoch()));
    (void)store->make_bucket({.name = "pail", .owner = "main"});
    for (int i = 0; i < objects; ++i) {
      store::BlobWriter writer = store->writer("hot");
      ASSERT_TRUE(writer.append(std::string(i % 2 == 0 ? 20'000 : 100, 'x')));
      const rows::Blob blob = *writer.finish();
      rows::Version version{.size = blob.size};
      version.extents = {{blob.id, blob.size, "e", ""}};
      ASSERT_TRUE(store->put("pail", "k" + std::to_string(i), version, {blob}));
    }
    if (dies) return;
    ASSERT_TRUE(end_run(*store));
    store.reset();
    seal_store_folder(*opened);
  }
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> files;
    for (const auto& at : fs::recursive_directory_iterator(folder)) {
      files[at.path().string()] =
          at.is_regular_file() ? *drives::read_file(at.path().string()) : "folder";
    }
    return files;
  }
  // The refusal of a start. It is tried twice, because services restart by themselves; nothing may
  // change.
  Diagnostic refusal(const FolderWish& wish = {}) {
    const auto before = all();
    Diagnostic why;
    for (int start = 0; start < 2; ++start) {
      const auto opened = open_store_folder(folder, {}, "other", false, {}, wish);
      EXPECT_FALSE(opened);
      if (opened) return {};
      why = opened.error().front();
      EXPECT_TRUE(all() == before) << "a refused start changes nothing";
    }
    EXPECT_EQ(why.code, "store.metadata") << to_text({why});
    return why;
  }
  std::string file_ending(const std::string& ending) const {
    for (const auto& at : fs::directory_iterator(folder + "/metadata")) {
      const std::string name = at.path().filename().string();
      if (name.ends_with(ending) || name.starts_with(ending)) return at.path().string();
    }
    return {};
  }
  void flip(const std::string& path, std::size_t at) const {
    std::string text = *drives::read_file(path);
    text[at % text.size()] = static_cast<char>(text[at % text.size()] ^ 0x20);
    std::ofstream(path, std::ios::binary) << text;
  }

  std::string base;
  std::string folder;
};

TEST_F(IdentityTest, a_store_opens_again_after_a_stop_or_a_crash) {
  run(2);
  run(2, true);
  run(1);
}

TEST_F(IdentityTest, a_lost_current_file_is_named) {
  fs::remove(folder + "/metadata/CURRENT");
  EXPECT_THAT(refusal().what, HasSubstr("metadata/CURRENT is missing"));
  run(0, true, base + "/killed");
  fs::remove(base + "/killed/metadata/CURRENT");
  folder = base + "/killed";
  EXPECT_THAT(refusal().what, HasSubstr("metadata/CURRENT is missing")) << "after a crash too";
}

TEST_F(IdentityTest, missing_metadata_are_not_created_again) {
  fs::remove_all(folder + "/metadata");
  EXPECT_THAT(refusal().what, HasSubstr("metadata/CURRENT is missing"));
  fs::create_directories(folder + "/metadata");
  EXPECT_THAT(refusal().what, HasSubstr("metadata/CURRENT is missing"));
  EXPECT_TRUE(fs::is_empty(folder + "/metadata"));
}

TEST_F(IdentityTest, the_metadata_of_another_store_are_refused) {
  run(30, false, base + "/other", "id-2");
  const std::string sealed = *drives::read_file(folder + "/sealed");
  fs::remove(folder + "/sealed");
  fs::remove_all(folder + "/metadata");
  fs::copy(base + "/other/metadata", folder + "/metadata", fs::copy_options::recursive);
  EXPECT_THAT(refusal().what, AllOf(HasSubstr("id-2"), HasSubstr("id-1")));
  ASSERT_TRUE(drives::write_durably(folder + "/sealed", sealed));
  EXPECT_THAT(refusal().what, HasSubstr("id-2")) << "that is the reason, not the bytes of a file";
  fs::remove(folder + "/sealed");
  fs::remove_all(folder + "/metadata");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/metadata"));
  EXPECT_THAT(refusal().what, HasSubstr("has no store id")) << "empty metadata";
}

TEST_F(IdentityTest, old_metadata_are_refused_unless_the_loss_is_accepted) {
  fs::copy(folder + "/metadata", base + "/before", fs::copy_options::recursive);
  run(4, true);
  fs::remove_all(folder + "/metadata");
  fs::copy(base + "/before", folder + "/metadata", fs::copy_options::recursive);
  const Diagnostic why = refusal();
  EXPECT_THAT(why.what, HasSubstr("newest part of the metadata is missing"));
  EXPECT_THAT(why.fix, HasSubstr("repair"));
  auto opened = open_store_folder(folder, {}, "x", false, {}, {.accepts_loss = true});
  ASSERT_TRUE(opened) << to_text(opened.error());
  EXPECT_TRUE(opened->behind);
  store::Store store(setting_of(*opened));
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.epoch(), 3u) << "not the number of the run that is lost";
}

TEST_F(IdentityTest, a_truncated_log_is_found_after_a_crash) {
  for (const double part : {0.0, 0.5, 0.99}) {
    folder = base + "/s" + std::to_string(part);
    run(3);
    run(20, true);
    const std::string log = file_ending(".log");
    ASSERT_NE(log, "");
    fs::resize_file(log,
                    static_cast<std::uintmax_t>(part * static_cast<double>(fs::file_size(log))));
    EXPECT_THAT(refusal().what, HasSubstr("newest part of the metadata is missing")) << part;
    fs::remove(log);
    EXPECT_THAT(refusal().what, HasSubstr("newest part of the metadata is missing"));
  }
}

// The list of tables lost its end, or is an older copy, although the newest log still counts all
// commits.
TEST_F(IdentityTest, an_older_list_of_tables_is_detected_after_a_crash) {
  run(2);  // the id is in a table now
  const std::string list = file_ending("MANIFEST-");
  const std::string before = *drives::read_file(list);
  const std::string current = *drives::read_file(folder + "/metadata/CURRENT");
  run(4, true);
  run(4, true);
  fs::copy(folder, base + "/whole", fs::copy_options::recursive);
  const std::string now = file_ending("MANIFEST-");
  for (const std::uintmax_t cut : {1, 30, 60}) {
    fs::resize_file(now, fs::file_size(now) - cut);
    EXPECT_THAT(refusal().what,
                AllOf(HasSubstr(fs::path(now).filename().string()), HasSubstr("had at least")))
        << cut;
  }
  fs::remove_all(folder);
  fs::copy(base + "/whole", folder, fs::copy_options::recursive);
  flip(now, 20);
  EXPECT_THAT(refusal().what, HasSubstr("contents have changed"));
  fs::remove_all(folder);
  fs::copy(base + "/whole", folder, fs::copy_options::recursive);
  std::ofstream(list, std::ios::binary) << before;
  std::ofstream(folder + "/metadata/CURRENT", std::ios::binary) << current;
  EXPECT_THAT(refusal().what, AllOf(HasSubstr("CURRENT names"), HasSubstr("already been in use")));
  auto opened = open_store_folder(folder, {}, "x", false, {}, {.accepts_loss = true});
  ASSERT_TRUE(opened) << to_text(opened.error());
  EXPECT_TRUE(opened->behind) << "a confirmed repair may continue with it";
}

TEST_F(IdentityTest, a_copy_of_a_store_does_not_start_on_drives_that_are_in_use) {
  std::string text = *drives::read_file(folder + "/store");
  text.replace(text.find("drive hot-0 hot"), 15, "drive hot-0 " + folder + "/hot");
  ASSERT_TRUE(drives::write_durably(folder + "/store", text));
  fs::copy(folder, base + "/copy", fs::copy_options::recursive);
  {
    const auto first = open_store_folder(folder, {}, "x");
    ASSERT_TRUE(first) << to_text(first.error());
    const auto second = open_store_folder(base + "/copy", {}, "x");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().front().code, "store.running");
    EXPECT_THAT(second.error().front().place.file, HasSubstr("/hot"));
  }
  EXPECT_TRUE(open_store_folder(folder, {}, "x")) << "and continues when the other program has "
                                                     "ended";
}

TEST_F(IdentityTest, each_damaged_file_is_named) {
  run(6);
  fs::copy(folder, base + "/whole", fs::copy_options::recursive);
  for (const char* kind : {".log", "MANIFEST-", "CURRENT", ".sst"}) {
    const std::string file = file_ending(kind);
    ASSERT_NE(file, "") << kind;
    const auto restored = [&] {
      fs::remove_all(folder);
      fs::copy(base + "/whole", folder, fs::copy_options::recursive);
    };
    const std::string name = fs::path(file).filename().string();
    fs::remove(file);
    EXPECT_THAT(refusal().what, AllOf(HasSubstr(name), HasSubstr("missing")));
    restored();
    if (fs::file_size(file) > 0) {
      fs::resize_file(file, fs::file_size(file) - 1);
      EXPECT_THAT(refusal().what, AllOf(HasSubstr(name), HasSubstr(" bytes, but had ")));
      restored();
    }
    if (fs::file_size(file) > 0 && std::string(kind) != ".sst") {
      flip(file, 11);
      EXPECT_THAT(refusal().what, AllOf(HasSubstr(name), HasSubstr("has changed since")));
      restored();
    }
  }
  run(1);
}

// After a crash there is no list of the files to compare.
TEST_F(IdentityTest, each_damaged_file_is_named_after_a_crash) {
  run(3, true);
  const std::string log = file_ending(".log");
  const std::string current = folder + "/metadata/CURRENT";
  ASSERT_GT(fs::file_size(log), 100u);
  const std::string whole = *drives::read_file(log);
  flip(log, 11);
  EXPECT_THAT(refusal().what, HasSubstr(fs::path(log).filename().string()));
  std::ofstream(log, std::ios::binary) << whole;
  std::ofstream(current) << "MANIFEST-000001\n";
  EXPECT_THAT(refusal().what, AllOf(HasSubstr("CURRENT"), HasSubstr("MANIFEST-000001")));
}

TEST_F(IdentityTest, an_older_program_may_have_run_since_the_seal) {
  const std::string sealed = *drives::read_file(folder + "/sealed");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/metadata", rows::RocksOpening::use));
  EXPECT_EQ(drives::read_file(folder + "/sealed"), sealed) << "it does not know the list";
  run(1);
}

TEST_F(IdentityTest, missing_permission_is_not_reported_as_damage) {
  if (::geteuid() != 0) {
    fs::permissions(folder + "/metadata/CURRENT", fs::perms::none);
    fs::permissions(folder + "/store", fs::perms::none);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto said = rows::missing_right(folder + "/metadata", false);
    const auto opened = open_store_folder(folder, {{.name = "hot"}}, "id-2");
    const bool is_refused =
        !opened && opened.error().front().what.find("cannot be read") != std::string::npos;
    const bool is_said = said && said->what.find("no permission to read") != std::string::npos;
    ::_exit(is_said && is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(IdentityTest, a_store_without_its_file_is_not_created_again) {
  fs::remove(folder + "/store");
  const auto before = all();
  const auto opened = open_store_folder(folder, {{.name = "hot"}}, "x");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().front().place.file, HasSubstr("/store"));
  EXPECT_THAT(opened.error().front().what, HasSubstr("missing"));
  EXPECT_TRUE(all() == before);
}

TEST_F(IdentityTest, one_folder_is_not_two_drives_and_the_refusal_leaves_nothing_behind) {
  const auto made =
      open_store_folder(base + "/new", {{"hot", {1, 1}, {base + "/d", base + "/./d"}}}, "x");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().front().code, "store.tier");
  EXPECT_FALSE(fs::exists(base + "/new"));
  EXPECT_FALSE(fs::exists(base + "/d"));
}

TEST_F(IdentityTest, one_program_at_a_time_and_the_second_changes_nothing) {
  const auto first = open_store_folder(folder, {}, "x");
  ASSERT_TRUE(first);
  for (const bool looks : {false, true}) {
    const auto second = open_store_folder(folder, {}, "x", false, {}, {.looks = looks});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().front().code, "store.running");
  }
}

TEST_F(IdentityTest, looking_writes_nothing_and_makes_no_store) {
  const auto before = all();
  {
    const auto looked = open_store_folder(folder, {}, "x", false, {}, {.looks = true});
    ASSERT_TRUE(looked) << to_text(looked.error());
    EXPECT_FALSE(looked->metadata->commit({.changes = {{"k", "v"}}}));
  }
  EXPECT_TRUE(all() == before);
  EXPECT_FALSE(open_store_folder(base + "/none", {}, "x", false, {}, {.looks = true}));
  EXPECT_FALSE(fs::exists(base + "/none"));
}

// A store without ids, as earlier versions of the program left it.
class OldStore : public IdentityTest {
 protected:
  OldStore() {
    fs::remove(folder + "/sealed");
    fs::remove(folder + "/hot/seen");
    auto rows = rows::open_rocks_metadata(folder + "/metadata", rows::RocksOpening::use);
    EXPECT_TRUE(rows);
    EXPECT_TRUE((*rows)->commit({.changes = {{rows::row::fact("store"), std::nullopt}}}));
  }
};

TEST_F(OldStore, gets_its_id_once_with_a_note) {
  {
    const auto opened = open_store_folder(folder, {}, "x");
    ASSERT_TRUE(opened) << to_text(opened.error());
    ASSERT_EQ(opened->notes.size(), 1u);
    EXPECT_EQ(opened->notes.front().severity, Severity::note);
    EXPECT_EQ(opened->metadata->get(rows::row::fact("store")).value(), "id-1");
  }
  EXPECT_TRUE(open_store_folder(folder, {}, "x")->notes.empty());
}

TEST_F(OldStore, is_refused_if_its_drives_hold_objects_that_its_metadata_do_not_know) {
  fs::remove_all(folder + "/metadata");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/metadata"));
  EXPECT_THAT(refusal().what, HasSubstr("holds objects of run 1"));
}

}  // namespace
}  // namespace orrery::upkeep::store_folder_identity_tests
