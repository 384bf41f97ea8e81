// What a probe of a folder says beside its numbers: its target, what it hears of its progress, the
// room that it needs, and the label of each figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "live/agent/io_ring.h"
#include "live/agent/probe_folder.h"
#include "live/agent/probe_storage.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

FolderProbe short_probe(const std::string& path, std::vector<ProbePart> parts) {
  return {.path = path,
          .parts = std::move(parts),
          .file_bytes = 1 << 18,
          .block_bytes = 64 << 10,
          .depth = 3,
          .random_depth = 5,
          .seconds = 0.01,
          .repeats = 1,
          .threads = 2,
          .files = 10,
          .samples = 3,
          .checkpoint_bytes = 1 << 16,
          .direct = false,
          .engine = IoEngine::threads};
}

TEST(ProbeDetails, progress_is_told_before_each_part) {
  const TestFolder folder;
  FolderProbe probe =
      short_probe(folder.path(), {ProbePart::sequential, ProbePart::random, ProbePart::checkpoint});
  probe.repeats = 2;
  std::vector<std::pair<std::string, double>> told;
  probe.progress = [&](std::string_view what, double done) {
    told.emplace_back(std::string(what), done);
  };
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(report->target, folder.path());
  ASSERT_EQ(told.size(), 7U);
  EXPECT_EQ(told[0], (std::pair<std::string, double>("writing the file", 0)));
  const char* parts[] = {"sequential", "random", "checkpoint"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(told[i + 1].first, parts[i % 3]);
    EXPECT_NEAR(told[i + 1].second, static_cast<double>(i) / 6, 1e-12);
  }
}

TEST(ProbeDetails, figures_say_what_was_measured_and_how) {
  const TestFolder folder;
  const auto report = probe_folder(
      short_probe(folder.path(), {ProbePart::sequential, ProbePart::random, ProbePart::metadata,
                                  ProbePart::samples, ProbePart::checkpoint}));
  ASSERT_TRUE(report) << to_text(report.error());
  const auto label = [&](const char* id) {
    const ProbeFigure* f = report->figure(id);
    return f != nullptr ? f->label : std::string("none");
  };
  EXPECT_EQ(label("sequential_read"), "sequential read, 64 KiB blocks, 3 in flight");
  EXPECT_EQ(label("sequential_write"), "sequential write, 64 KiB blocks, 3 in flight");
  EXPECT_EQ(label("sequential_read_cores"), "cores busy meanwhile");
  EXPECT_EQ(report->figure("sequential_read_cores")->unit, ProbeUnit::factor);
  EXPECT_EQ(label("random_read"), "random read, 4 KiB blocks, 5 in flight");
  EXPECT_EQ(label("random_read_p99"), "slowest hundredth of them");
  EXPECT_EQ(label("first_byte"), "one random read alone, half are faster");
  EXPECT_EQ(label("random_write"), "random write, 4 KiB blocks, 5 in flight");
  EXPECT_EQ(label("creates"), "empty files made, 2 threads");
  EXPECT_EQ(label("stats"), "files looked up, 2 threads");
  EXPECT_EQ(label("unlinks"), "files removed, 2 threads");
  EXPECT_EQ(label("commits"), "small files made safe: fsync, rename, fsync");
  EXPECT_EQ(label("small_file_read"), "read as files of 110 kB, cold");
  EXPECT_EQ(label("small_file_write"), "written as files of 110 kB, flushed");
  EXPECT_EQ(label("shard_read"), "read as shards of the same bytes");
  EXPECT_EQ(label("shard_write"), "written as shards, flushed");
  EXPECT_EQ(label("checkpoint_stall_end"), "checkpoint of 64 KiB, 2 writers: stall end");
  EXPECT_EQ(label("checkpoint_safe"), "checkpoint of 64 KiB, 2 writers: safe");
  EXPECT_EQ(label("checkpoint_rate"), "checkpoint bytes made safe");
  for (const char* each : {"random_read", "random_write", "creates", "commits"}) {
    EXPECT_EQ(report->figure(each)->unit, ProbeUnit::per_s) << each;
  }
  for (const char* wait : {"random_read_p99", "first_byte", "checkpoint_safe"}) {
    EXPECT_EQ(report->figure(wait)->unit, ProbeUnit::seconds) << wait;
  }
  EXPECT_THAT(report->notices, testing::Contains(StartsWith("without O_DIRECT:")));
  EXPECT_THAT(report->conditions, testing::Contains(testing::Pair("caching", "page cache")));
  EXPECT_THAT(report->conditions, testing::Contains(testing::Pair("file", "256 KiB")));
}

// Of samples and a checkpoint the larger needs its room, beside that of the file.
TEST(ProbeDetails, each_part_needs_its_own_room) {
  const TestFolder folder;
  const auto code = [&](FolderProbe probe) {
    const auto report = probe_folder(probe);
    return report ? std::string("measured") : report.error().front().code;
  };
  FolderProbe samples = short_probe(folder.path(), {ProbePart::samples});
  samples.samples = 2'000'000'000;  // 220 TB
  EXPECT_EQ(code(samples), "probe.space");
  FolderProbe saves = short_probe(folder.path(), {ProbePart::checkpoint});
  saves.checkpoint_bytes = std::uint64_t{1} << 60;
  EXPECT_EQ(code(saves), "probe.space");
  saves.parts = {ProbePart::metadata};
  EXPECT_EQ(code(saves), "measured");
}

// What no device compresses away: no word of it is nothing, and none stands twice.
TEST(ProbeDetails, what_is_written_has_no_word_twice) {
  const TestFolder folder;
  const auto made = ProbeFolder::make(folder.path(), 0);
  ASSERT_TRUE(made) << to_text(made.error());
  const auto file = open_nameless(*made, false);
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_FALSE(file->direct);
  EXPECT_TRUE(std::filesystem::is_empty(made->path())) << "it has no name";
  const IoRun run = run_io({.file = file->file.get(),
                            .write = true,
                            .block_bytes = 8192,
                            .depth = 1,
                            .span_bytes = 8192,
                            .bytes_max = 8192},
                           IoEngine::threads);
  ASSERT_EQ(run.fault, "");
  ASSERT_EQ(run.bytes, 8192U);
  std::vector<std::uint64_t> words(1024);
  ASSERT_EQ(::pread(file->file.get(), words.data(), 8192, 0), 8192);
  std::set<std::uint64_t> distinct(words.begin(), words.end());
  EXPECT_FALSE(distinct.contains(0));
  EXPECT_EQ(distinct.size(), 1024U);
}

TEST(ProbeDetails, a_file_that_is_not_told_otherwise_is_cached) {
  EXPECT_FALSE((NamelessFile{.file = OpenFile()}).direct);
}

TEST(ProbeDetails, parts_have_words) {
  std::vector<std::string> words;
  for (const ProbePart part : all_probe_parts()) {
    words.emplace_back(to_text(part));
    EXPECT_EQ(probe_part(words.back()), part);
  }
  EXPECT_THAT(words,
              ElementsAre("sequential", "random", "metadata", "samples", "decode", "checkpoint"));
  EXPECT_FALSE(probe_part("everything"));
}

}  // namespace
}  // namespace orrery::agent
