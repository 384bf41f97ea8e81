#include "live/agent/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

namespace fs = std::filesystem;

class JournalFile : public testing::Test {
 protected:
  // Any line but "bad" is one.
  static JournalForm form() {
    return {.header = "header of a journal",
            .older = {"old:"},
            .check = [](std::string_view text) -> Result<void> {
              if (text.find("bad") == std::string_view::npos) return {};
              return fail({.code = "journal.line", .what = "bad"});
            }};
  }
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
    auto journal = Journal::open(path_, form());
    ASSERT_TRUE(journal);
    EXPECT_EQ(journal->text(), "");
    ASSERT_TRUE(journal->append({"a", "b"}));
    ASSERT_TRUE(journal->append({"c"}));
    EXPECT_EQ(journal->size(), 26u);
  }
  const auto again = Journal::open(path_, form());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), "header of a journal\na\nb\nc\n");
}

// Cut at every byte: whole lines stay, the torn one goes, and the next append begins a line.
TEST_F(JournalFile, a_torn_end_is_cut_off) {
  const std::string whole = "header of a journal\nsecond\nthird\n";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    put(whole.substr(0, length));
    auto journal = Journal::open(path_, form());
    ASSERT_TRUE(journal);
    const std::size_t end = whole.substr(0, length).rfind('\n');
    const std::size_t kept = end == std::string::npos ? 0 : end + 1;
    EXPECT_EQ(journal->text(), whole.substr(0, kept));
    EXPECT_EQ(journal->torn_bytes(), length - kept);
    ASSERT_TRUE(journal->append({"next"}));
    const std::string stays = kept == 0 ? "header of a journal\n" : whole.substr(0, kept);
    EXPECT_EQ(on_disk(), stays + "next\n");
  }
}

TEST_F(JournalFile, only_one_may_write) {
  auto first = Journal::open(path_, form());
  ASSERT_TRUE(first);
  const auto second = Journal::open(path_, form());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "journal.unusable");
  first = Journal::open(folder_.at("other"), form());  // the lock goes with its holder
  ASSERT_TRUE(first);
  EXPECT_TRUE(Journal::open(path_, form()));
}

TEST_F(JournalFile, a_rewrite_is_whole_and_goes_on) {
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append({"a", "b"}));
  ASSERT_TRUE(journal->rewrite({"memory"}));
  ASSERT_TRUE(journal->append({"c"}));
  EXPECT_EQ(on_disk(), "header of a journal\nmemory\nc\n");
  EXPECT_EQ(journal->size(), 29u);
  EXPECT_FALSE(fs::exists(path_ + ".next"));
  ASSERT_TRUE(journal->rewrite({"header of a journal", "memory"}));
  EXPECT_EQ(on_disk(), "header of a journal\nmemory\n") << "its own first line stands once";
}

// A file of another's keeps every byte, and nothing is made beside it.
TEST_F(JournalFile, what_is_no_journal_is_refused_and_left_as_it_was) {
  const std::string minified = "{\"one\":" + std::string(100'000, '7') + "}";
  for (const std::string& text :
       {minified, std::string("a diary\nof many lines\nand a torn one"), std::string("{}\n"),
        std::string("header of a journal\ngood\nbad\ntorn"), std::string("old: 1\nbad\n"),
        std::string("header of a journey"), std::string(1, '\0')}) {
    put(text);
    EXPECT_FALSE(Journal::open(path_, form())) << text.substr(0, 20);
    EXPECT_FALSE(Journal::read(path_, form())) << text.substr(0, 20);
    EXPECT_EQ(on_disk(), text);
    EXPECT_FALSE(fs::exists(path_ + ".lock"));
  }
  put("old: 1\ngood\nto");
  const auto older = Journal::open(path_, form());
  ASSERT_TRUE(older);
  EXPECT_EQ(older->text(), "old: 1\ngood\n");
}

TEST_F(JournalFile, to_read_it_changes_nothing) {
  EXPECT_EQ(Journal::read(path_, form()), "");
  EXPECT_FALSE(fs::exists(path_));
  put("header of a journal\na\nto");
  EXPECT_EQ(Journal::read(path_, form()), "header of a journal\na\n");
  EXPECT_EQ(on_disk(), "header of a journal\na\nto");
}

TEST_F(JournalFile, what_is_no_file_is_refused) {
  EXPECT_FALSE(Journal::open(folder_.path(), form()));
  const auto of_folder = Journal::read(folder_.path(), form());
  ASSERT_FALSE(of_folder);
  EXPECT_EQ(of_folder.error().front().what, "no plain file: Invalid argument");
  EXPECT_FALSE(Journal::open(folder_.at("no/such/folder/j"), form()));
  fs::create_symlink("elsewhere", path_);
  EXPECT_FALSE(Journal::open(path_, form()));
}

}  // namespace
}  // namespace orrery::agent
