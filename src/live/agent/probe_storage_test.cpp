// The probe of a folder: what it refuses, what it measures and leaves behind, and how it is
// interrupted. tests/probe_storage_test.cpp runs the program.
#include "live/agent/probe_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "live/agent/probe_folder.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::probe_storage_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Clock = std::chrono::steady_clock;

// Returns a code, or "measured".
std::string outcome_of(const FolderProbe& probe) {
  const auto report = probe_folder(probe);
  return report ? "measured" : report.error().front().code;
}

FolderProbe quick(const std::string& path, std::vector<ProbePart> parts) {
  return {.path = path,
          .parts = std::move(parts),
          .file_bytes = 300'000,
          .block_bytes = 64 << 10,
          .depth = 3,
          .random_bytes = 2048,
          .random_depth = 5,
          .seconds = 0.05,
          .repeats = 2,
          .threads = 2,
          .cores = 2,
          .files = 40,
          .samples = 12,
          .checkpoint_bytes = 100'000,
          .direct = false,
          .engine = IoEngine::threads,
          .seed = 9};
}

TEST(ProbeStorage, unusable_targets_are_refused_with_their_code) {
  const TestFolder folder;
  EXPECT_EQ(outcome_of({.path = folder.at("nowhere")}), "probe.place");
  FolderProbe huge = quick(folder.path(), {ProbePart::sequential});
  huge.file_bytes = std::uint64_t{1} << 62;
  EXPECT_EQ(outcome_of(huge), "probe.space");
  huge.parts = {ProbePart::decode};
  EXPECT_EQ(outcome_of(huge), "measured") << "decoding writes nothing";
  folder.write("short", "less than a block");
  EXPECT_EQ(outcome_of(quick(folder.at("short"), {ProbePart::sequential})), "probe.short");
  EXPECT_EQ(file_system_of(folder.at("nowhere")).error().front().code, "probe.system");
  EXPECT_EQ(probe_folder(huge)->figures.size(), 2u);
}

TEST(ProbeStorage, free_space_must_hold_the_file_and_the_largest_part) {
  const TestFolder folder;
  const auto free = file_system_of(folder.path());
  ASSERT_TRUE(free);
  const auto outcome = [&](std::uint64_t file, std::uint64_t checkpoint,
                           std::vector<ProbePart> parts) {
    FolderProbe probe = quick(folder.path(), std::move(parts));
    probe.file_bytes = file;
    probe.checkpoint_bytes = checkpoint;
    probe.stop = [] { return true; };  // before anything is written
    return outcome_of(probe);
  };
  const std::uint64_t most = free->free_bytes * 3 / 5;
  EXPECT_EQ(outcome(0, most, {ProbePart::checkpoint}), "measured");
  EXPECT_EQ(outcome(most, 1, {ProbePart::checkpoint}), "measured") << "no part needs the file";
  EXPECT_EQ(outcome(most, most, {ProbePart::sequential, ProbePart::checkpoint}), "probe.space");
  EXPECT_EQ(outcome(most, most, {ProbePart::random, ProbePart::checkpoint}), "probe.space");
  EXPECT_EQ(outcome(0, 2 * free->free_bytes, {ProbePart::checkpoint}), "probe.space");
  FolderProbe samples = quick(folder.path(), {ProbePart::samples});
  samples.samples = 2'000'000'000;  // 220 TB
  EXPECT_EQ(outcome_of(samples), "probe.space");
}

TEST(ProbeStorage, folder_gives_every_figure_of_its_parts_and_is_left_empty) {
  const TestFolder folder;
  FolderProbe probe =
      quick(folder.path(), {ProbePart::sequential, ProbePart::random, ProbePart::metadata,
                            ProbePart::samples, ProbePart::checkpoint});
  probe.seconds = 0.2;  // enough for every part on a busy machine
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << report.error().front().what;
  for (const char* id : {"sequential_read", "sequential_write", "random_read", "random_write",
                         "first_byte", "creates", "stats", "unlinks", "commits", "small_file_read",
                         "shard_read", "small_file_write", "shard_write", "checkpoint_stall_end",
                         "checkpoint_safe", "checkpoint_rate"}) {
    const ProbeFigure* figure = report->figure(id);
    ASSERT_NE(figure, nullptr) << id;
    EXPECT_EQ(figure->samples.size(), 2u) << id;
    EXPECT_GT(figure->value(), 0) << id;
  }
  EXPECT_LE(report->figure("checkpoint_stall_end")->value(),
            report->figure("checkpoint_safe")->value() * 1.5);
  const ProbeFigure* rate = report->figure("checkpoint_rate");
  EXPECT_NEAR(rate->samples[0] * report->figure("checkpoint_safe")->samples[0], 100'000, 1);
  EXPECT_NEAR(report->figure("small_file_penalty")->value(),
              report->figure("shard_read")->value() / report->figure("small_file_read")->value(),
              1e-9);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(report->kind, "folder");
  EXPECT_FALSE(report->interrupted);
}

TEST(ProbeStorage, figures_and_conditions_say_how_it_was_measured) {
  const TestFolder folder;
  const auto report = probe_folder(quick(folder.path(), all_probe_parts()));
  ASSERT_TRUE(report) << to_text(report.error());
  const auto figure = [&](const char* id) {
    const ProbeFigure* found = report->figure(id);
    return found ? *found : ProbeFigure{};
  };
  for (const auto& [id, sizes] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"sequential_read", {"64 KiB", "3 in flight"}},
           {"sequential_write", {"64 KiB", "3 in flight"}},
           {"random_read", {"2 KiB", "5 in flight"}},
           {"random_write", {"2 KiB", "5 in flight"}},
           {"creates", {"2 threads"}},
           {"small_file_read", {"110 kB"}},
           {"checkpoint_safe", {"97.66 KiB", "2 writers"}},
           {"decode_all", {"2 cores"}}}) {
    for (const char* size : sizes) EXPECT_THAT(figure(id).label, HasSubstr(size)) << id;
  }
  for (const char* id : {"random_read", "random_write", "creates", "commits"}) {
    EXPECT_EQ(figure(id).unit, ProbeUnit::per_s) << id;
  }
  for (const char* id : {"random_read_p99", "first_byte", "checkpoint_safe"}) {
    EXPECT_EQ(figure(id).unit, ProbeUnit::seconds) << id;
  }
  EXPECT_EQ(figure("sequential_read").unit, ProbeUnit::bytes_per_s);
  EXPECT_EQ(figure("sequential_read_cores").unit, ProbeUnit::factor);
  EXPECT_EQ(report->target, folder.path());
  EXPECT_THAT(report->conditions, Contains(Pair("file", "256 KiB"))) << "whole blocks";
  EXPECT_THAT(report->conditions, Contains(Pair("caching", "page cache")));
  EXPECT_THAT(report->conditions, Contains(Pair("engine", "threads")));
  EXPECT_THAT(report->conditions, Contains(Pair("seed", "9")));
  EXPECT_THAT(report->notices, Contains(HasSubstr("without O_DIRECT")));
}

TEST(ProbeStorage, repeats_go_round_the_parts_asked_for) {
  const TestFolder folder;
  FolderProbe probe = quick(folder.path(), {ProbePart::sequential, ProbePart::decode});
  std::vector<std::pair<std::string, double>> steps;
  probe.progress = [&](std::string_view what, double done) { steps.emplace_back(what, done); };
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report);
  EXPECT_THAT(steps, ElementsAre(testing::_, Pair("sequential", 0), Pair("decode", 0.25),
                                 Pair("sequential", 0.5), Pair("decode", 0.75)))
      << "the file is written first";
  EXPECT_EQ(report->figure("checkpoint_safe"), nullptr);
  EXPECT_EQ(report->figure("small_file_penalty"), nullptr);
  EXPECT_EQ(report->figure("decode_core")->samples.size(), 2u);
}

TEST(ProbeStorage, file_is_only_read) {
  const TestFolder folder;
  const std::string before(200'000, 'x');  // three blocks, and a remainder that is not read
  folder.write("data", before);
  const auto report =
      probe_folder(quick(folder.at("data"), {ProbePart::sequential, ProbePart::random,
                                             ProbePart::metadata, ProbePart::checkpoint}));
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_EQ(report->kind, "file");
  EXPECT_NE(report->figure("sequential_read"), nullptr);
  EXPECT_EQ(report->figure("sequential_write"), nullptr);
  EXPECT_EQ(report->figure("creates"), nullptr);
  EXPECT_EQ(std::filesystem::file_size(folder.at("data")), before.size());
  EXPECT_THAT(report->conditions, Contains(Pair("file", "192 KiB")));
}

TEST(ProbeStorage, sizes_are_shown_in_the_largest_whole_unit) {
  const TestFolder folder;
  folder.write("data", std::string(1010, 'x'));
  FolderProbe probe = quick(folder.at("data"), {ProbePart::sequential});
  probe.block_bytes = 505;
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_THAT(report->conditions, Contains(Pair("file", "1010 B")));
}

TEST(ProbeStorage, tmpfs_is_reported_as_memory) {
  const auto memory = file_system_of("/dev/shm");
  if (!memory || memory->name != "tmpfs") GTEST_SKIP() << "there is no tmpfs at /dev/shm";
  const TestFolder folder("/dev/shm");
  FolderProbe probe = quick(folder.path(), {ProbePart::metadata});
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_THAT(report->notices, Contains(HasSubstr("tmpfs")));
}

TEST(ProbeStorage, interrupted_probe_reports_what_it_has_measured) {
  const TestFolder folder;
  FolderProbe probe = quick(folder.path(), {ProbePart::sequential});
  probe.stop = [] { return true; };
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->figures.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProbeStorage, storage_that_fails_is_a_fault_with_its_place) {
  const TestFolder folder;
  folder.write("data", std::string(200'000, 'x'));
  for (const char* failing : {"sequential", "random"}) {
    std::filesystem::resize_file(folder.at("data"), 200'000);
    FolderProbe probe = quick(folder.at("data"), {ProbePart::sequential, ProbePart::random});
    probe.progress = [&](std::string_view what, double) {
      if (what == failing) std::filesystem::resize_file(folder.at("data"), 10);
    };
    const auto report = probe_folder(probe);
    ASSERT_FALSE(report) << failing;
    EXPECT_EQ(report.error().front().code, "probe.io");
    EXPECT_EQ(report.error().front().place.file, folder.at("data"));
  }
}

TEST(ProbeStorage, parts_have_names) {
  std::vector<std::string> words;
  for (const ProbePart part : all_probe_parts()) {
    words.emplace_back(to_text(part));
    EXPECT_EQ(probe_part(words.back()), part);
  }
  EXPECT_THAT(words,
              ElementsAre("sequential", "random", "metadata", "samples", "decode", "checkpoint"));
  EXPECT_FALSE(probe_part("everything"));
}

class ProbeDecode : public testing::Test {
 protected:
  Result<ProbeReport> measured(std::function<bool()> stop, ProbeProgress progress = {}) const {
    FolderProbe probe{.path = folder.path(), .parts = {ProbePart::decode}};
    probe.seconds = 0.05;
    probe.repeats = 1;
    probe.stop = std::move(stop);
    if (progress) probe.progress = std::move(progress);
    return probe_folder(probe);
  }
  TestFolder folder;
};

TEST_F(ProbeDecode, probe_stopped_before_the_first_core_reports_nothing) {
  bool begun = false;
  const auto report =
      measured([&] { return begun; }, [&](std::string_view, double) { begun = true; });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->figures.empty());
}

TEST_F(ProbeDecode, probe_stopped_before_the_last_core_does_not_report_all_cores) {
  Clock::time_point end = Clock::time_point::max();
  const auto report = measured(
      [&] { return Clock::now() > end; },
      [&](std::string_view, double) { end = Clock::now() + std::chrono::milliseconds(75); });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_EQ(report->figure("decode_all"), nullptr);
}

}  // namespace
}  // namespace orrery::agent::probe_storage_tests
