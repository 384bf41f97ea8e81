#include "live/agent/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "live/agent/test_folder.h"

namespace orrery::agent::journal_tests {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  // Every line is valid except "bad".
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
  static std::size_t open_files() {
    const auto all = fs::directory_iterator("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777U;
  }
  void put(const std::string& text) const { folder_.write("j.jsonl", text); }

  TestFolder folder_;
  std::string path_ = folder_.at("j.jsonl");
};

TEST_F(JournalTest, appended_lines_are_there_when_it_is_opened_again) {
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

TEST_F(JournalTest, torn_end_is_cut_off_at_every_byte) {
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

TEST_F(JournalTest, second_writer_is_refused_until_the_first_ends) {
  auto first = Journal::open(path_, form());
  ASSERT_TRUE(first);
  const auto second = Journal::open(path_, form());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "journal.unusable");
  first = Journal::open(folder_.at("other"), form());  // the lock ends with its holder
  ASSERT_TRUE(first);
  EXPECT_TRUE(Journal::open(path_, form()));
}

TEST_F(JournalTest, rewrite_replaces_everything_in_one_step) {
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append({"a", "b"}));
  ASSERT_TRUE(journal->rewrite({"memory"}));
  ASSERT_TRUE(journal->append({"c"}));
  EXPECT_EQ(on_disk(), "header of a journal\nmemory\nc\n");
  EXPECT_EQ(journal->size(), 29u);
  EXPECT_FALSE(fs::exists(path_ + ".next"));
  ASSERT_TRUE(journal->rewrite({"header of a journal", "memory"}));
  EXPECT_EQ(on_disk(), "header of a journal\nmemory\n") << "there is only one header";
}

TEST_F(JournalTest, rewrite_without_lines_keeps_the_header) {
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal && journal->append({"one", "two"}));
  ASSERT_TRUE(journal->rewrite({}));
  EXPECT_EQ(on_disk(), "header of a journal\n");
  EXPECT_EQ(journal->size(), 20U);
  ASSERT_TRUE(journal->append({"three"}));
  EXPECT_EQ(on_disk(), "header of a journal\nthree\n");
}

TEST_F(JournalTest, appending_nothing_writes_nothing) {
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal && journal->append({}));
  EXPECT_EQ(on_disk(), "");
  EXPECT_EQ(journal->size(), 0U);
}

// Nothing is created beside it either.
TEST_F(JournalTest, foreign_file_is_refused_and_left_unchanged) {
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

TEST_F(JournalTest, older_journal_keeps_its_first_line) {
  put("old: of 2024\nline\n");
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal && journal->append({"next"}));
  EXPECT_EQ(on_disk(), "old: of 2024\nline\nnext\n");
}

TEST_F(JournalTest, reading_changes_nothing) {
  EXPECT_EQ(Journal::read(path_, form()), "");
  EXPECT_FALSE(fs::exists(path_));
  put("header of a journal\na\nto");
  EXPECT_EQ(Journal::read(path_, form()), "header of a journal\na\n");
  EXPECT_EQ(on_disk(), "header of a journal\na\nto");
}

TEST_F(JournalTest, folder_or_link_is_refused) {
  EXPECT_FALSE(Journal::open(folder_.path(), form()));
  const auto of_folder = Journal::read(folder_.path(), form());
  ASSERT_FALSE(of_folder);
  EXPECT_EQ(of_folder.error().front().code, "journal.unusable");
  EXPECT_NE(of_folder.error().front().what.find("Invalid argument"), std::string::npos);
  EXPECT_FALSE(Journal::open(folder_.at("no/such/folder/j"), form()));
  fs::create_symlink("elsewhere", path_);
  EXPECT_FALSE(Journal::open(path_, form()));
}

TEST_F(JournalTest, files_are_private_to_the_agent) {
  auto journal = Journal::open(path_, form());
  ASSERT_TRUE(journal);
  EXPECT_EQ(mode_of(path_), 0600U);
  EXPECT_EQ(mode_of(path_ + ".lock"), 0600U);
  ASSERT_TRUE(journal->rewrite({"a"}));
  EXPECT_EQ(mode_of(path_), 0600U);
}

TEST_F(JournalTest, moved_journal_goes_on_and_every_file_is_closed) {
  put("header of a journal\nfirst\ntorn");
  const std::size_t before = open_files();
  {
    auto journal = Journal::open(path_, form());
    auto other = Journal::open(folder_.at("other"), form());
    ASSERT_TRUE(journal && other && journal->rewrite({"shorter"}));
    EXPECT_EQ(open_files(), before + 4) << "two files and their locks";
    *other = std::move(*journal);
    EXPECT_EQ(other->text(), "header of a journal\nfirst\n");
    EXPECT_EQ(other->torn_bytes(), 4U);
    ASSERT_TRUE(other->append({"more"}));
    EXPECT_EQ(on_disk(), "header of a journal\nshorter\nmore\n");
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace orrery::agent::journal_tests
