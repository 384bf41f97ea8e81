// The probe's own parts: what it refuses, what it leaves behind, and that its figures are of what
// it did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statfs.h>

#include <map>
#include <mutex>

#include "core/base/csv.h"
#include "live/agent/probe_files.h"
#include "live/agent/probe_folder.h"
#include "live/agent/probe_report.h"
#include "live/agent/probe_storage.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using testing::HasSubstr;

std::string code_of(const FolderProbe& probe) {
  const auto report = probe_folder(probe);
  return report ? "measured" : report.error().front().code;
}

FolderProbe small_probe(const std::string& path, std::vector<ProbePart> parts) {
  return {.path = path,
          .parts = std::move(parts),
          .file_bytes = 1 << 20,
          .block_bytes = 64 << 10,
          .depth = 2,
          .random_depth = 2,
          .seconds = 0.05,
          .repeats = 2,
          .threads = 2,
          .files = 40,
          .samples = 12,
          .checkpoint_bytes = 1 << 20,
          .direct = false,
          .engine = IoEngine::threads};
}

TEST(Probe, what_cannot_be_measured_is_refused_with_its_code) {
  const TestFolder folder;
  EXPECT_EQ(code_of({.path = folder.at("nowhere")}), "probe.place");
  FolderProbe huge = small_probe(folder.path(), {ProbePart::sequential});
  huge.file_bytes = std::uint64_t{1} << 62;
  EXPECT_EQ(code_of(huge), "probe.space");
  huge.parts = {ProbePart::decode};
  EXPECT_EQ(code_of(huge), "measured") << "what is not asked for needs no room";
  folder.write("short", "less than a block");
  EXPECT_EQ(code_of(small_probe(folder.at("short"), {ProbePart::sequential})), "probe.short");
  EXPECT_EQ(file_system_of(folder.at("nowhere")).error().front().code, "probe.system");
  EXPECT_EQ(probe_folder(huge)->figures.size(), 2u);
}

// 2 % of the file system stays free.
TEST(Probe, free_space_is_what_the_file_system_says_less_a_reserve) {
  const TestFolder folder;
  struct statfs facts{};
  ASSERT_EQ(::statfs(folder.path().c_str(), &facts), 0);
  const auto system = file_system_of(folder.path());
  ASSERT_TRUE(system);
  const double block = static_cast<double>(facts.f_bsize);
  const double free = static_cast<double>(facts.f_bavail) * block -
                      0.02 * static_cast<double>(facts.f_blocks) * block;
  EXPECT_NEAR(static_cast<double>(system->free_bytes), std::max(0.0, free), 2e9);
  EXPECT_FALSE(system->name.empty());
  EXPECT_EQ(system->in_memory, system->name == "tmpfs");
  const auto memory = file_system_of("/dev/shm");
  if (memory && memory->name == "tmpfs") {
    EXPECT_TRUE(memory->in_memory);
  }
}

TEST(Probe, a_folder_gives_every_figure_of_its_parts_and_is_left_empty) {
  const TestFolder folder;
  const auto report = probe_folder(
      small_probe(folder.path(), {ProbePart::sequential, ProbePart::random, ProbePart::metadata,
                                  ProbePart::samples, ProbePart::checkpoint}));
  ASSERT_TRUE(report) << report.error().front().what;
  for (const char* id : {"sequential_read", "sequential_write", "random_read", "random_write",
                         "first_byte", "creates", "stats", "unlinks", "commits", "small_file_read",
                         "shard_read", "small_file_write", "shard_write", "checkpoint_stall_end",
                         "checkpoint_safe", "checkpoint_rate"}) {
    const ProbeFigure* figure = report->figure(id);
    ASSERT_NE(figure, nullptr) << id;
    EXPECT_EQ(figure->samples.size(), 2u) << id << ": one a round";
    EXPECT_GT(figure->value(), 0) << id;
  }
  EXPECT_LE(report->figure("checkpoint_stall_end")->value(),
            report->figure("checkpoint_safe")->value() * 1.5);
  const ProbeFigure* rate = report->figure("checkpoint_rate");
  EXPECT_NEAR(rate->samples[0] * report->figure("checkpoint_safe")->samples[0], 1 << 20, 1)
      << "bytes made safe over the time until they were";
  EXPECT_NEAR(report->figure("small_file_penalty")->value(),
              report->figure("shard_read")->value() / report->figure("small_file_read")->value(),
              1e-9);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(report->kind, "folder");
  EXPECT_FALSE(report->interrupted);
}

TEST(Probe, a_file_is_only_read) {
  const TestFolder folder;
  const std::string before(200'000, 'x');  // three blocks and a rest, which is left out
  folder.write("data", before);
  const auto report =
      probe_folder(small_probe(folder.at("data"), {ProbePart::sequential, ProbePart::random,
                                                   ProbePart::metadata, ProbePart::checkpoint}));
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_EQ(report->kind, "file");
  EXPECT_NE(report->figure("sequential_read"), nullptr);
  EXPECT_EQ(report->figure("sequential_write"), nullptr);
  EXPECT_EQ(report->figure("creates"), nullptr);
  EXPECT_EQ(std::filesystem::file_size(folder.at("data")), before.size());
  EXPECT_THAT(report->conditions,
              testing::Contains(std::pair<std::string, std::string>("file", "192 KiB")));
  EXPECT_THAT(report->conditions,
              testing::Contains(std::pair<std::string, std::string>("engine", "threads")));
}

TEST(Probe, a_person_ends_it_with_what_was_measured) {
  const TestFolder folder;
  FolderProbe probe = small_probe(folder.path(), {ProbePart::sequential});
  probe.stop = [] { return true; };
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->figures.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Rates are of the clock: so many files in so long, not more than the whole took.
TEST(Probe, rates_of_files_are_counts_over_time) {
  const TestFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const MetadataRates rates =
      measure_metadata({.folder = folder.path(), .threads = 3, .files = 60, .seconds_max = 30});
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(rates.fault, "");
  // Three passes over 60 files fill the time between them.
  EXPECT_LE(60 / rates.creates_per_s + 60 / rates.stats_per_s + 60 / rates.unlinks_per_s, all);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 3)
      << "a folder a thread, and nothing in them";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(std::filesystem::is_empty(entry.path()));
  }
  const SamplesPlan plan{
      .files = {.folder = folder.path(), .threads = 2, .files = 10, .seconds_max = 30},
      .sample_bytes = 1000,
      .shard_bytes = 2500};
  const auto then = std::chrono::steady_clock::now();
  const SampleRates samples = measure_samples(plan);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  ASSERT_EQ(samples.fault, "");
  for (const double rate : {samples.file_write_bytes_per_s, samples.file_read_bytes_per_s,
                            samples.shard_write_bytes_per_s, samples.shard_read_bytes_per_s}) {
    EXPECT_GE(rate, 10'000 / took) << "10 kB in less than the whole took";
  }
  EXPECT_LE(10'000 / samples.file_write_bytes_per_s + 10'000 / samples.shard_write_bytes_per_s,
            took);
  // Nothing can be made where a file stands.
  folder.write("blocked", "");
  EXPECT_NE(measure_metadata({.folder = folder.at("blocked")}).fault, "");
  EXPECT_NE(measure_commits({.folder = folder.at("blocked")}).fault, "");
  EXPECT_NE(measure_samples({.files = {.folder = folder.at("blocked")}}).fault, "");
}

// Ten samples of 1,000 B in shards of 2,500 B are four shards; names go round the threads' folders.
TEST(Probe, samples_are_packed_into_shards_and_spread_over_the_folders) {
  const TestFolder folder;
  std::mutex mutex;
  std::map<std::string, std::uintmax_t> seen;
  SamplesPlan plan{.files = {.folder = folder.path(), .threads = 2, .files = 10, .seconds_max = 30},
                   .sample_bytes = 1000,
                   .shard_bytes = 2500};
  plan.files.stop = [&] {
    const std::lock_guard lock(mutex);
    for (const char* below : {"0", "1"}) {
      std::error_code gone;
      for (const auto& e : std::filesystem::directory_iterator(folder.at(below), gone)) {
        const auto bytes = std::filesystem::file_size(e.path(), gone);
        auto& most = seen[std::string(below) + '/' + e.path().filename().string()];
        if (!gone) most = std::max(most, bytes);
      }
    }
    return false;
  };
  ASSERT_EQ(measure_samples(plan).fault, "");
  std::map<std::string, std::uintmax_t> wanted;
  for (int i = 0; i < 10; ++i) {
    wanted[std::to_string(i % 2) + "/sample-" + std::to_string(i)] = 1000;
  }
  for (int i = 0; i < 4; ++i) {
    wanted[std::to_string(i % 2) + "/shard-" + std::to_string(i)] = 2500;
  }
  EXPECT_EQ(seen, wanted);
  // A shard that cannot be written is a fault, though all samples could.
  folder.write("0/shard-0", "in the way");
  EXPECT_THAT(measure_samples(plan).fault, HasSubstr("shard-0"));
}

TEST(Probe, storage_that_fails_while_it_is_measured_is_no_result) {
  const TestFolder folder;
  folder.write("data", std::string(200'000, 'x'));
  FolderProbe probe = small_probe(folder.at("data"), {ProbePart::sequential, ProbePart::random});
  probe.progress = [&](std::string_view what, double) {
    if (what == "random") std::filesystem::resize_file(folder.at("data"), 10);
  };
  EXPECT_EQ(code_of(probe), "probe.io");
}

TEST(Probe, sizes_are_told_in_the_largest_whole_unit) {
  const TestFolder folder;
  folder.write("data", std::string(1010, 'x'));
  FolderProbe probe = small_probe(folder.at("data"), {ProbePart::sequential});
  probe.block_bytes = 505;
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_THAT(report->conditions,
              testing::Contains(std::pair<std::string, std::string>("file", "1010 B")))
      << "a KiB is 1,024";
}

TEST(Probe, memory_is_said_to_be_no_device) {
  const auto memory = file_system_of("/dev/shm");
  if (!memory || memory->name != "tmpfs") GTEST_SKIP() << "no tmpfs at /dev/shm";
  const TestFolder folder("/dev/shm");
  FolderProbe probe = small_probe(folder.path(), {ProbePart::metadata});
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report) << report.error().front().what;
  EXPECT_THAT(report->notices, testing::Contains(HasSubstr("tmpfs is memory")));
}

TEST(ProbeReport, a_figure_is_the_median_between_its_tenths) {
  ProbeReport report{.target = "there", .kind = "folder"};
  for (int i = 0; i <= 10; ++i) {
    report.add({"x", "a figure, with \"quotes\"", ProbeUnit::factor}, (i * 7) % 11);
  }
  ASSERT_EQ(report.figures.size(), 1u) << "one figure, eleven samples";
  const ProbeFigure& f = *report.figure("x");
  EXPECT_EQ(f.value(), 5);
  EXPECT_EQ(f.low(), 1);
  EXPECT_EQ(f.high(), 9);
  EXPECT_EQ(report.figure("y"), nullptr);
  const auto table = CsvTable::parse(probe_csv(report), "p.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows().size(), 1u);
  const CsvRow& row = table->rows().front();
  EXPECT_EQ(table->text(row, "label"), "a figure, with \"quotes\"");
  EXPECT_EQ(table->number(row, "value"), 5);
  EXPECT_EQ(table->number(row, "low"), 1);
  EXPECT_EQ(table->number(row, "high"), 9);
  EXPECT_EQ(table->number(row, "repeats"), 11);
  EXPECT_THAT(probe_text(report), HasSubstr("5x"));
  EXPECT_EQ(show_probe(1500, ProbeUnit::per_s), "1500 /s");
  EXPECT_EQ(show_probe(0.002, ProbeUnit::seconds), "2 ms");
  EXPECT_THAT(probe_json(report), HasSubstr("\"value_factor\": 5"));
}

}  // namespace
}  // namespace orrery::agent
