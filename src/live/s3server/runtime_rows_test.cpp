// A store that runs, among rows of every kind: tenants are those that have a row of theirs, and
// nothing that stands beside them is taken for one or removed with them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "live/drives/folder_drive.h"
#include "live/rows/rocks_metadata.h"
#include "live/s3server/runtime.h"

namespace orrery::s3server::runtime_rows_tests {
namespace {

class RuntimeRows : public testing::Test {
 protected:
  RuntimeRows()
      : folder(testing::TempDir() + "orrery-runtime-rows." + std::to_string(::getpid()) + '.' +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    options.folder = folder;
    options.keeps_house = false;
    options.log = [](const std::string& line) { ADD_FAILURE() << line; };
    // A store that was made, whose drive has none of its 256 folders: nothing is written to it.
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

TEST_F(RuntimeRows, an_upload_is_no_tenant) {
  std::string upload;
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->store().make_bucket({.name = "pail", .owner = "main"}));
    upload = runtime->store().begin_upload({.id = {}, .bucket = "pail", .key = "k"}).value();
    const auto made = runtime->first_tenant("", "");
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->made) << "there was none";
    EXPECT_EQ(made->access_key.size(), 20u);
    EXPECT_EQ(made->secret_key.size(), 40u);
    EXPECT_TRUE(has(*runtime, rows::row::tenant(made->access_key)));
  }
  options.tenants = std::vector<Tenant>{{"KEY", "secret", "blue", "blue", 77}};
  const auto runtime = opened();
  EXPECT_TRUE(has(*runtime, rows::row::upload("pail", "k", upload)));
  EXPECT_TRUE(has(*runtime, rows::row::tenant("KEY")));
}

TEST_F(RuntimeRows, without_any_row_behind_there_is_no_tenant) {
  const auto runtime = opened();
  const auto made = runtime->first_tenant("", "");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->made);
  const auto again = runtime->first_tenant("", "");
  EXPECT_FALSE(again->made);
  EXPECT_EQ(again->secret_key, made->secret_key);
}

TEST_F(RuntimeRows, those_who_are_named_no_more_lose_their_keys_and_the_first_stays) {
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
    EXPECT_TRUE(has(*runtime, rows::row::tenant("RUBBISH"))) << "it cannot be read";
  }
  options.tenants.reset();
  const auto runtime = opened();
  EXPECT_TRUE(has(*runtime, rows::row::tenant("FIRST")));
}

// In order it leaves no row of itself; the number of the next is one more.
TEST_F(RuntimeRows, a_run_ends_with_its_row) {
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
}  // namespace orrery::s3server::runtime_rows_tests
