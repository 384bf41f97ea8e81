#include "agent/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/test_folder.h"

namespace orrery::agent {
namespace {

namespace fs = std::filesystem;

class JournalFile : public testing::Test {
 protected:
  std::string on_disk() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& text) const { folder_.write("j.jsonl", text); }

  TestFolder folder_;
  std::string path_ = folder_.at("j.jsonl");
};

TEST_F(JournalFile, what_was_appended_is_there_when_it_is_opened_again) {
  {
    auto journal = Journal::open(path_);
    ASSERT_TRUE(journal);
    EXPECT_EQ(journal->text(), "");
    ASSERT_TRUE(journal->append({"a", "b"}));
    ASSERT_TRUE(journal->append({"c"}));
    EXPECT_EQ(journal->size(), 6u);
  }
  const auto again = Journal::open(path_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), "a\nb\nc\n");
}

// Cut at every byte: whole lines stay, the torn one goes, and the next append begins a line.
TEST_F(JournalFile, a_torn_end_is_cut_off) {
  const std::string whole = "first\nsecond\nthird\n";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    put(whole.substr(0, length));
    auto journal = Journal::open(path_);
    ASSERT_TRUE(journal);
    const std::size_t end = whole.substr(0, length).rfind('\n');
    const std::size_t kept = end == std::string::npos ? 0 : end + 1;
    EXPECT_EQ(journal->text(), whole.substr(0, kept));
    EXPECT_EQ(journal->torn_bytes(), length - kept);
    ASSERT_TRUE(journal->append({"next"}));
    EXPECT_EQ(on_disk(), whole.substr(0, kept) + "next\n");
  }
}

TEST_F(JournalFile, only_one_may_write) {
  auto first = Journal::open(path_);
  ASSERT_TRUE(first);
  const auto second = Journal::open(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "journal.unusable");
  first = Journal::open(folder_.at("other"));  // the lock goes with its holder
  ASSERT_TRUE(first);
  EXPECT_TRUE(Journal::open(path_));
}

TEST_F(JournalFile, a_rewrite_is_whole_and_goes_on) {
  auto journal = Journal::open(path_);
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append({"a", "b"}));
  ASSERT_TRUE(journal->rewrite({"memory"}));
  ASSERT_TRUE(journal->append({"c"}));
  EXPECT_EQ(on_disk(), "memory\nc\n");
  EXPECT_EQ(journal->size(), 9u);
  EXPECT_FALSE(fs::exists(path_ + ".next"));
}

TEST_F(JournalFile, what_is_no_file_is_refused) {
  EXPECT_FALSE(Journal::open(folder_.path()));
  EXPECT_FALSE(Journal::open(folder_.at("no/such/folder/j")));
  fs::create_symlink("elsewhere", path_);
  EXPECT_FALSE(Journal::open(path_));
}

}  // namespace
}  // namespace orrery::agent
