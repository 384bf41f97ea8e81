#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <regex>

#include "app/cli/journal_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class LifecycleJournal : public testing::Test {
 protected:
  LifecycleJournal() {
    folder.write("hot/iter_100/x", "abc");
    folder.write("hot/iter_100/done", "abcd");
  }
  VerbAnswer keep(const std::vector<std::string>& more, const Circumstances& given = {},
                  const std::string& interval = "0 s") const {
    std::vector<std::string> words = {"agent",    "lifecycle", "--journal",  folder.at("l.jsonl"),
                                      "--quiet",  "0 s",       "--interval", interval,
                                      "--marker", "done"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  std::string hot(const std::string& rules) const { return "hot=" + folder.at("hot") + rules; }
  std::string cold(const std::string& rules) const { return "cold=" + folder.at("cold") + rules; }
  std::string journal() const { return read_text_file(folder.at("l.jsonl")).value_or(""); }
  agent::TestFolder folder;
};

TEST_F(LifecycleJournal, a_journal_over_16_mib_is_compacted) {
  const std::vector<std::string> once = {"--place", hot(",written,newest=1"), "--once"};
  ASSERT_EQ(keep(once).code, ExitCode::good);
  const std::string kept = journal();
  // The journal is compacted between two ticks.
  folder.write("l.jsonl", padded(kept + R"({"kind":"alerted","key":"k")", "}\n", kCutAbove + 1));
  ASSERT_EQ(keep(once).code, ExitCode::good);
  EXPECT_THAT(
      journal(),
      AllOf(StartsWith(agent::lifecycle_header() + "\n"), HasSubstr("\"item\":\"iter_100\""),
            HasSubstr("{\"kind\":\"alerted\",\"key\":\"k\"}\n"), Not(HasSubstr("   "))));
  EXPECT_EQ(keep(once).out, "");
}

TEST_F(LifecycleJournal, copies_are_made_and_journaled) {
  const VerbAnswer a = keep({"--place", hot(",written,all"), "--place", cold(",all"), "--once"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, MatchesRegex(".*verify iter_100  hot .*\n.*copy iter_100  hot ->  cold .*\n"
                                  ".*verify iter_100  cold .*\n"));
  EXPECT_EQ(read_text_file(folder.at("cold/iter_100/x")).value_or(""), "abc");
  // After an action the next tick comes at once.
  fs::remove(folder.at("l.jsonl"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const VerbAnswer again =
      keep({"--place", cold(",all"), "--once"},
           {.interrupted = [&] { return std::chrono::steady_clock::now() > deadline; }}, "1 h");
  EXPECT_EQ(again.code, ExitCode::good);
  EXPECT_THAT(again.out, HasSubstr("verify iter_100  cold "));
}

// The copy fails because a file is in the way; the agent continues.
TEST_F(LifecycleJournal, failures_are_journaled_with_their_reason) {
  folder.write("cold/iter_100", "in the way");
  const VerbAnswer a =
      keep({"--place", hot(",written,all"), "--place", cold(",all")}, {.stop_at = "failed"});
  EXPECT_EQ(a.code, ExitCode::interrupted);
  EXPECT_THAT(a.out, AllOf(HasSubstr("copy iter_100  hot ->  cold "),
                           HasSubstr("failed: " + folder.at("cold/"))));
}

class LifecycleVerb : public testing::Test {
 protected:
  void item(const std::string& place, const std::string& step) const {
    folder.write(place + "/iter_" + step + "/x", "abc");
    folder.write(place + "/iter_" + step + "/done", "abcd");
  }
  std::string at(const std::string& name, const std::string& words) const {
    return name + "=" + folder.at(name) + words;
  }
  VerbAnswer keep(const std::vector<std::string>& places, const std::vector<std::string>& more,
                  const Circumstances& given = {}) const {
    std::vector<std::string> words = {"agent",    "lifecycle", "--journal",  folder.at("l.jsonl"),
                                      "--quiet",  "0 s",       "--interval", "0 s",
                                      "--marker", "done"};
    for (const std::string& place : places) words.insert(words.end(), {"--place", place});
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  void expect_place(const std::vector<std::string>& places, const std::string& said) const {
    const VerbAnswer a = keep(places, {"--once"});
    EXPECT_EQ(a.code, ExitCode::bad_input) << places.front();
    EXPECT_THAT(a.err, HasSubstr(said));
  }

  agent::TestFolder folder;
};

TEST_F(LifecycleVerb, a_place_needs_a_name_a_location_and_known_options) {
  expect_place({"=/x,all"}, "[usage.place]");
  expect_place({"hot="}, "[usage.place]");
  expect_place({"hot"}, "[usage.place]");
  expect_place({at("hot", ",al")}, "[usage.place]");
  expect_place({at("hot", ",all"), at("hot", ",all")}, "[usage.place]");
}

// Two names of one copy: what the rules of one place keep those of the other would remove.
TEST_F(LifecycleVerb, a_place_is_not_another_and_not_inside_another) {
  item("hot", "100");
  fs::create_directory_symlink(folder.at("hot"), folder.at("link"));
  const std::string same = folder.at("hot");
  for (const std::string& other :
       {same, same + "/", same + "/../hot", same + "/cold", same + "/x/y", folder.at("link"),
        folder.at("link/x"), folder.path()}) {
    expect_place({at("hot", ",written,all"), "cold=" + other + ",newest=1"}, "[usage.place]");
    EXPECT_FALSE(fs::exists(folder.at("l.jsonl"))) << other;
  }
  const Variable access{"AWS_ACCESS_KEY_ID", "k"}, secret{"AWS_SECRET_ACCESS_KEY", "s"};
  for (const char* other :
       {"s3://bucket/run", "s3://bucket/run/", "s3://bucket/run/cold", "s3://bucket"}) {
    expect_place({"hot=s3://bucket/run,all", std::string("cold=") + other + ",newest=1"},
                 "[usage.place]");
  }
  const VerbAnswer beside = keep({at("hot", ",written,all"), at("hotter", ",all")}, {"--dry-run"});
  EXPECT_EQ(beside.code, ExitCode::good) << beside.err;
}

TEST_F(LifecycleVerb, a_single_place_must_keep_something_forever) {
  const std::string said = "[agent.usage]";
  expect_place({at("hot", "")}, said);
  expect_place({at("hot", ",volatile,all")}, said);
  expect_place({at("hot", ",newest=0")}, said);
  expect_place({at("hot", ",window=0 s")}, said);
  Circumstances stopped{.interrupted = [] { return true; }};
  for (const char* words : {",all", ",newest=1", ",window=1 s", ",milestones", ",every=1"}) {
    EXPECT_EQ(keep({at("hot", words)}, {}, stopped).code, ExitCode::interrupted) << words;
  }
  EXPECT_EQ(keep({at("hot", ""), at("cold", "")}, {"--dry-run"}, stopped).code,
            ExitCode::interrupted);
}

TEST_F(LifecycleVerb, a_bucket_needs_a_name_keys_and_an_endpoint) {
  const Variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  const Variable secret("AWS_SECRET_ACCESS_KEY", "s");
  EXPECT_THAT(keep({"hot=s3://b,all"}, {"--once"}).err, HasSubstr("[s3.place]"));
  EXPECT_THAT(keep({"hot=s3://bucket/run,all"}, {"--once"}).err, HasSubstr("[s3.credentials]"));
  const Variable key("AWS_ACCESS_KEY_ID", "k");
  EXPECT_THAT(keep({"hot=s3://bucket/run,all"}, {"--endpoint", "ftp://x"}).err,
              HasSubstr("[s3.endpoint]"));
  EXPECT_EQ(keep({"hot=s3://bucket/run,all"}, {}, {.interrupted = [] { return true; }}).code,
            ExitCode::interrupted);
}

TEST_F(LifecycleVerb, times_have_units) {
  for (const char* option : {"--interval", "--quiet", "--reread", "--grace"}) {
    const VerbAnswer a = spoken({"agent", "lifecycle", "--journal", folder.at("l.jsonl"), "--place",
                                 at("hot", ",all"), option, "7"});
    EXPECT_EQ(a.code, ExitCode::bad_input);
    EXPECT_THAT(a.err, AllOf(HasSubstr(option), HasSubstr("[agent.usage]")));
  }
}

// Both copies exist; the older one in hot may be deleted once both were read.
TEST_F(LifecycleVerb, a_dry_run_moves_and_journals_nothing) {
  for (const char* step : {"100", "200"}) {
    item("hot", step);
    item("cold", step);
  }
  const std::vector<std::string> places = {at("hot", ",written,newest=1"),
                                           at("cold", ",written,all")};
  const VerbAnswer a = keep(places, {"--dry-run"}, {.stop_at = "would"});
  EXPECT_THAT(a.out, HasSubstr("verify iter_100  hot "));
  EXPECT_THAT(a.out, HasSubstr("would remove iter_100  hot "));
  EXPECT_THAT(a.out, Not(HasSubstr("failed")));
  EXPECT_FALSE(read_text_file(folder.at("l.jsonl")));
  EXPECT_TRUE(read_text_file(folder.at("hot/iter_100/x")));
}

// A third place needs a copy too: with --copies 2 it is made before the deletion.
TEST_F(LifecycleVerb, deletion_waits_for_the_required_good_copies) {
  for (const char* step : {"100", "200"}) {
    item("hot", step);
    item("cold", step);
  }
  const std::vector<std::string> places = {at("hot", ",written,newest=1"),
                                           at("cold", ",written,all"), at("deep", ",all")};
  const VerbAnswer one = keep(places, {"--dry-run"}, {.stop_at = "would"});
  EXPECT_THAT(one.out, HasSubstr("  would copy iter_200  "));
  EXPECT_THAT(one.out, HasSubstr(" ->  deep "));
  EXPECT_THAT(one.out, HasSubstr("would remove iter_100  hot"));
  EXPECT_THAT(keep(places, {"--dry-run", "--copies", "2"}, {.stop_at = "would"}).out,
              Not(HasSubstr("would remove")));
}

TEST_F(LifecycleVerb, once_ends_when_nothing_is_left_to_do) {
  item("hot", "100");
  const VerbAnswer a = keep({at("hot", ",written,newest=1")}, {"--once"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, HasSubstr("verify iter_100  hot "));
  const std::string journal = read_text_file(folder.at("l.jsonl")).value_or("");
  EXPECT_THAT(journal, AllOf(HasSubstr("\"kind\":\"lifecycle\""),
                             HasSubstr("\"key\":\"verify/hot/iter_100\",\"good\":true")));
  // Verified copies are remembered: a second run has nothing to do.
  const VerbAnswer again = keep({at("hot", ",written,newest=1")}, {"--once"});
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(again.code, ExitCode::good);
}

TEST_F(LifecycleVerb, json_has_a_line_per_action) {
  item("hot", "100");
  const VerbAnswer a =
      keep({at("hot", ",written,newest=1")}, {"--format", "json"}, {.stop_at = "verify"});
  EXPECT_THAT(a.out,
              StartsWith(R"({"kind":"verify","item":"iter_100","place":"hot","size_bytes":7.0,)"));
  EXPECT_THAT(a.out, EndsWith(R"("good":true})"
                              "\n"));
}

TEST_F(LifecycleVerb, an_unreachable_place_fails_the_run) {
  const VerbAnswer a = keep({"hot=/dev/null,all"}, {"--once"});
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_THAT(a.err, AllOf(HasSubstr("away: hot: /dev/null: "), HasSubstr("Not a directory")));
}

TEST_F(LifecycleVerb, good_copies_are_verified_again_after_the_interval) {
  item("hot", "100");
  const std::vector<std::string> places = {at("hot", ",written,newest=1")};
  keep(places, {"--once"});
  const std::string journal = read_text_file(folder.at("l.jsonl")).value_or("");
  // As if it had been read in 1970.
  folder.write("l.jsonl",
               std::regex_replace(journal, std::regex("(\"(tried|verified)\",\"at_s\":)[0-9.]+"),
                                  "$011000.0"));
  EXPECT_EQ(keep(places, {"--dry-run", "--reread", "0 s"}).out, "");
  EXPECT_THAT(keep(places, {"--once", "--reread", "1 h"}).out, HasSubstr("verify iter_100  hot "));
}

// The only copy is bad, and the rule keeps everything: it stays, the alert names the file and the
// check, and every run that ends this way fails.
TEST_F(LifecycleVerb, a_copy_that_fails_a_check_stays) {
  item("hot", "100");
  item("hot", "300");
  folder.write("hot/iter_200/m.safetensors", std::string("\x09\0\0\0\0\0\0\0{}", 10));
  folder.write("hot/iter_200/done", "abcd");
  const std::vector<std::string> places = {at("hot", ",written,all"), at("cold", ",all")};
  for (const char* run : {"first", "second"}) {
    const VerbAnswer a = keep(places, {"--once", "--grace", "0 s"});
    EXPECT_EQ(a.code, ExitCode::fails_rule) << run;
    EXPECT_THAT(a.out, HasSubstr("alert iter_200")) << run;
    EXPECT_THAT(a.out, AllOf(HasSubstr("m.safetensors: "), HasSubstr("17 bytes"))) << run;
    EXPECT_TRUE(read_text_file(folder.at("hot/iter_200/m.safetensors"))) << run;
    EXPECT_TRUE(read_text_file(folder.at("cold/iter_300/x"))) << run;
  }
}

// The bad copy is not the last one: it is replaced and moved to the trash.
TEST_F(LifecycleVerb, a_bad_copy_is_replaced_if_a_good_one_exists) {
  item("hot", "100");
  const std::vector<std::string> places = {at("hot", ",written,all"), at("cold", ",all")};
  EXPECT_EQ(keep(places, {"--once"}).code, ExitCode::good);
  folder.write("cold/iter_100/x", "aBc");
  EXPECT_EQ(keep(places, {"--once"}).code, ExitCode::good);
  EXPECT_EQ(read_text_file(folder.at("cold/iter_100/x")).value_or(""), "abc");
  std::size_t aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.at("cold/.orrery-trash"))) {
    EXPECT_EQ(read_text_file((entry.path() / "x").string()).value_or(""), "aBc");
    ++aside;
  }
  EXPECT_EQ(aside, 1U);
}

TEST_F(LifecycleVerb, removed_items_can_be_restored_from_the_trash) {
  item("hot", "100");
  item("hot", "200");
  const std::vector<std::string> places = {at("hot", ",written,newest=1"), at("cold", ",all")};
  const VerbAnswer a = keep(places, {"--once"});
  EXPECT_EQ(a.code, ExitCode::good) << a.out << a.err;
  EXPECT_FALSE(read_text_file(folder.at("hot/iter_100/x")));
  const std::filesystem::path trash = folder.at("hot/.orrery-trash");
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(trash), {}), 1);
  const auto aside = std::filesystem::directory_iterator(trash)->path();
  EXPECT_THAT(aside.filename().string(), testing::StartsWith("iter_100.20"));
  EXPECT_TRUE(read_text_file((aside / "x").string()));
  // Its replacement is gone: the item stays in the trash, and an alert is raised.
  std::filesystem::rename(folder.at("cold/iter_100"), folder.at("elsewhere"));
  const VerbAnswer gone = keep(places, {"--once", "--grace", "0 s"});
  EXPECT_EQ(gone.code, ExitCode::fails_rule);
  EXPECT_THAT(gone.out, HasSubstr("alert iter_100"));
  EXPECT_TRUE(read_text_file((aside / "x").string()));
  std::filesystem::rename(folder.at("elsewhere"), folder.at("cold/iter_100"));
  EXPECT_EQ(keep(places, {"--once", "--grace", "0 s"}).code, ExitCode::good);
  EXPECT_FALSE(read_text_file((aside / "x").string()));
  EXPECT_TRUE(read_text_file(folder.at("cold/iter_100/x")));
}

// Items that another journal, or a user, put into the trash are not removed.
TEST_F(LifecycleVerb, only_journaled_items_leave_the_trash) {
  item("hot", "200");
  item("hot/.orrery-trash", "100.20260101T000000Z");
  const VerbAnswer a = keep({at("hot", ",written,newest=1")}, {"--once", "--grace", "0 s"});
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_TRUE(read_text_file(folder.at("hot/.orrery-trash/iter_100.20260101T000000Z/x")));
}

// A manifest is text from outside: paths in it must not leave the folder.
TEST_F(LifecycleVerb, a_manifest_with_an_outside_path_raises_an_alert) {
  item("hot", "100");
  folder.write("mine.txt", "mine");
  folder.write("cold/iter_100/.orrery-copy.json",
               R"({"orrery_copy":1,"item":"iter_100","made_s":5,"digest":"d",)"
               R"("files":[{"path":"../../mine.txt","bytes":4,"sha256":"s"}]})");
  const VerbAnswer a = keep({at("hot", ",written,all"), at("cold", ",all")}, {"--once"});
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_THAT(a.out, HasSubstr("'../../mine.txt'"));
  EXPECT_EQ(read_text_file(folder.at("mine.txt")).value_or(""), "mine");
}

TEST_F(LifecycleVerb, a_foreign_journal_is_refused) {
  folder.write("l.jsonl", "{\"kind\":\"journal\",\"of\":\"something\"}\n");
  for (const char* how : {"--once", "--dry-run"}) {
    const VerbAnswer a = keep({at("hot", ",all")}, {how});
    EXPECT_EQ(a.code, ExitCode::bad_input);
    EXPECT_THAT(a.err, HasSubstr("[journal.other-file]"));
  }
}

}  // namespace
}  // namespace orrery::cli
