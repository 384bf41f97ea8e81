// What a probe says: its texts whole and by value, its figures' labels, units and conditions, and
// the sizes that hold where nobody sets any.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "live/agent/io_ring.h"
#include "live/agent/probe_folder.h"
#include "live/agent/probe_s3.h"
#include "live/agent/probe_storage.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::probe_words_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

ProbeReport small_report() {
  ProbeReport report{.target = "/mnt/x", .kind = "folder"};
  report.conditions = {{"engine", "threads"}, {"seed", "7"}};
  for (const double v : {1e9, 2e9, 3e9}) report.add({"read", "reading", ProbeUnit::bytes_per_s}, v);
  report.add({"rate", "files", ProbeUnit::per_s}, 1234.5);
  report.add({"wait", "waiting", ProbeUnit::seconds}, 0.0025);
  report.add({"size", "bytes", ProbeUnit::bytes}, 4e6);
  report.add({"more", "faster by", ProbeUnit::factor}, 2.5);
  report.notices = {"mind this"};
  return report;
}

// A line of the table: the label, the median at the right, the rest behind it.
std::string line(const std::string& label, const std::string& median, const std::string& rest) {
  return "  " + label + std::string(54 - label.size(), ' ') + ' ' +
         std::string(12 - median.size(), ' ') + median + "   " + rest + '\n';
}

TEST(ProbeWords, a_report_as_text) {
  ProbeReport report = small_report();
  EXPECT_EQ(probe_text(report),
            "storage probe of /mnt/x (folder)\n  engine: threads\n  seed: 7\n\n" +
                line("figure", "median", "low .. high") +
                line("reading", "2 GB/s", "1.2 GB/s .. 2.8 GB/s") +
                line("files", "1230 /s", "1230 /s .. 1230 /s") +
                line("waiting", "2.5 ms", "2.5 ms .. 2.5 ms") +
                line("bytes", "4 MB", "4 MB .. 4 MB") + line("faster by", "2.5x", "2.5x .. 2.5x") +
                "\n  note: mind this\n");
  report.interrupted = true;
  EXPECT_THAT(probe_text(report), HasSubstr("\n  interrupted: what was measured so far\n"));
  const ProbeReport none{.target = "t", .kind = "file"};
  EXPECT_EQ(probe_text(none), "storage probe of t (file)\n") << "no head without figures";
}

TEST(ProbeWords, a_report_as_a_table) {
  EXPECT_EQ(probe_csv(small_report()),
            "id,unit,value,low,high,repeats,label\n"
            "read,bytes_per_s,2e+09,1.2e+09,2.8e+09,3,reading\n"
            "rate,per_s,1234.5,1234.5,1234.5,1,files\n"
            "wait,s,0.0025,0.0025,0.0025,1,waiting\n"
            "size,bytes,4e+06,4e+06,4e+06,1,bytes\n"
            "more,factor,2.5,2.5,2.5,1,faster by\n");
}

TEST(ProbeWords, a_report_as_json) {
  const auto json = nlohmann::json::parse(
      probe_json(small_report(), [](JsonWriter& more) { more.field("tier", "hot"); }));
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("kind"), "storage-probe");
  EXPECT_EQ(json.at("target"), "/mnt/x");
  EXPECT_EQ(json.at("target_kind"), "folder");
  EXPECT_EQ(json.at("conditions").at("engine"), "threads");
  EXPECT_EQ(json.at("conditions").at("seed"), "7");
  ASSERT_EQ(json.at("figures").size(), 5u);
  const auto& read = json.at("figures").at(0);
  EXPECT_EQ(read.at("id"), "read");
  EXPECT_EQ(read.at("label"), "reading");
  EXPECT_EQ(read.at("repeats"), 3);
  EXPECT_EQ(read.at("value_bytes_per_s"), 2e9);
  EXPECT_EQ(read.at("low_bytes_per_s"), 1.2e9);
  EXPECT_EQ(read.at("high_bytes_per_s"), 2.8e9);
  EXPECT_EQ(json.at("figures").at(1).at("value_per_s"), 1234.5);
  EXPECT_EQ(json.at("figures").at(2).at("value_s"), 0.0025);
  EXPECT_EQ(json.at("figures").at(3).at("value_bytes"), 4e6);
  EXPECT_EQ(json.at("figures").at(4).at("value_factor"), 2.5);
  EXPECT_EQ(json.at("notices").at(0), "mind this");
  EXPECT_EQ(json.at("interrupted"), false);
  EXPECT_EQ(json.at("tier"), "hot");
}

TEST(ProbeWords, parts_have_names) {
  for (const ProbePart part : all_probe_parts()) {
    EXPECT_EQ(probe_part(to_text(part)), part) << to_text(part);
  }
  EXPECT_EQ(to_text(ProbePart::sequential), "sequential");
  EXPECT_EQ(to_text(ProbePart::checkpoint), "checkpoint");
  EXPECT_EQ(all_probe_parts().size(), 6u);
  EXPECT_FALSE(probe_part("other"));
}

TEST(ProbeWords, the_sizes_that_hold_where_nobody_sets_any) {
  const FolderProbe folder;
  EXPECT_EQ(folder.parts, all_probe_parts());
  EXPECT_EQ(folder.file_bytes, 1'073'741'824u);
  EXPECT_EQ(folder.block_bytes, 1'048'576u);
  EXPECT_EQ(folder.depth, 8);
  EXPECT_EQ(folder.random_bytes, 4096u);
  EXPECT_EQ(folder.random_depth, 32);
  EXPECT_EQ(folder.seconds, 3);
  EXPECT_EQ(folder.repeats, 5);
  EXPECT_EQ(folder.threads, 4);
  EXPECT_EQ(folder.cores, 1);
  EXPECT_EQ(folder.files, 2000);
  EXPECT_EQ(folder.samples, 500);
  EXPECT_EQ(folder.checkpoint_bytes, 536'870'912u);
  EXPECT_TRUE(folder.direct);
  EXPECT_FALSE(folder.engine);
  EXPECT_EQ(folder.seed, 1u);
  const BucketProbe bucket;
  EXPECT_EQ(bucket.streams, 4);
  EXPECT_EQ(bucket.small_objects, 200);
  EXPECT_EQ(bucket.small_bytes, 4096u);
  EXPECT_EQ(bucket.large_objects, 8);
  EXPECT_EQ(bucket.part_bytes, 8'388'608u);
  EXPECT_EQ(bucket.seconds, 10);
  EXPECT_EQ(bucket.repeats, 5);
  EXPECT_FALSE(bucket.create_bucket);
}

FolderProbe quick(const std::string& path, std::vector<ProbePart> parts) {
  return {.path = path,
          .parts = std::move(parts),
          .file_bytes = 300'000,
          .block_bytes = 64 << 10,
          .depth = 3,
          .random_bytes = 2048,
          .random_depth = 5,
          .seconds = 0.02,
          .repeats = 1,
          .threads = 2,
          .cores = 2,
          .files = 10,
          .samples = 4,
          .checkpoint_bytes = 100'000,
          .direct = false,
          .engine = IoEngine::threads,
          .seed = 9};
}

TEST(ProbeWords, a_folders_figures_say_how_they_were_measured) {
  const TestFolder folder;
  const auto report = probe_folder(quick(folder.path(), all_probe_parts()));
  ASSERT_TRUE(report) << to_text(report.error());
  const auto label = [&](const char* id) {
    const ProbeFigure* figure = report->figure(id);
    return figure ? figure->label : std::string("none");
  };
  EXPECT_EQ(label("sequential_read"), "sequential read, 64 KiB blocks, 3 in flight");
  EXPECT_EQ(label("sequential_write"), "sequential write, 64 KiB blocks, 3 in flight");
  EXPECT_EQ(label("random_read"), "random read, 2 KiB blocks, 5 in flight");
  EXPECT_EQ(label("random_write"), "random write, 2 KiB blocks, 5 in flight");
  EXPECT_EQ(label("creates"), "empty files made, 2 threads");
  EXPECT_EQ(label("unlinks"), "files removed, 2 threads");
  EXPECT_EQ(label("checkpoint_safe"), "checkpoint of 97.66 KiB, 2 writers: safe");
  EXPECT_EQ(label("checkpoint_stall_end"), "checkpoint of 97.66 KiB, 2 writers: stall end");
  EXPECT_EQ(label("decode_all"), "JPEGs, all 2 cores");
  EXPECT_EQ(report->figure("random_read")->unit, ProbeUnit::per_s);
  EXPECT_EQ(report->figure("sequential_read")->unit, ProbeUnit::bytes_per_s);
  EXPECT_EQ(report->figure("first_byte")->unit, ProbeUnit::seconds);
  // Whole blocks of what was asked for: four of 64 KiB.
  EXPECT_THAT(report->conditions, Contains(Pair("file", "256 KiB")));
  EXPECT_THAT(report->conditions, Contains(Pair("caching", "page cache")));
  EXPECT_THAT(report->conditions, Contains(Pair("engine", "threads")));
  EXPECT_THAT(report->conditions, Contains(Pair("seed", "9")));
  EXPECT_THAT(report->notices, Contains(HasSubstr("without O_DIRECT")));
}

TEST(ProbeWords, only_what_is_asked_for_is_measured_and_in_turn) {
  const TestFolder folder;
  FolderProbe probe = quick(folder.path(), {ProbePart::metadata, ProbePart::decode});
  probe.repeats = 2;
  std::vector<std::pair<std::string, double>> steps;
  probe.progress = [&](std::string_view what, double done) { steps.emplace_back(what, done); };
  const auto report = probe_folder(probe);
  ASSERT_TRUE(report);
  EXPECT_THAT(steps, ElementsAre(Pair("metadata", 0), Pair("decode", 0.25), Pair("metadata", 0.5),
                                 Pair("decode", 0.75)));
  EXPECT_EQ(report->figure("sequential_read"), nullptr);
  EXPECT_EQ(report->figure("checkpoint_safe"), nullptr);
  EXPECT_EQ(report->figure("small_file_penalty"), nullptr);
  EXPECT_EQ(report->figure("decode_core")->samples.size(), 2u);
}

// Room is asked for what will be written at once, and not for more.
TEST(ProbeWords, room_is_needed_for_the_file_and_the_larger_of_what_comes_beside_it) {
  const TestFolder folder;
  const auto free = file_system_of(folder.path());
  ASSERT_TRUE(free);
  const auto measures = [&](std::uint64_t file, std::uint64_t checkpoint,
                            std::vector<ProbePart> parts) {
    FolderProbe probe = quick(folder.path(), std::move(parts));
    probe.file_bytes = file;
    probe.checkpoint_bytes = checkpoint;
    probe.stop = [] { return true; };  // before anything is written
    const auto report = probe_folder(probe);
    return report ? std::string("yes") : report.error().front().code;
  };
  const std::uint64_t more = free->free_bytes * 3 / 5;
  EXPECT_EQ(measures(0, more, {ProbePart::checkpoint}), "yes");
  EXPECT_EQ(measures(more, 1, {ProbePart::checkpoint}), "yes") << "no blocks are wanted";
  EXPECT_EQ(measures(more, more, {ProbePart::sequential, ProbePart::checkpoint}), "probe.space");
  EXPECT_EQ(measures(more, more, {ProbePart::random, ProbePart::checkpoint}), "probe.space");
  EXPECT_EQ(measures(0, 2 * free->free_bytes, {ProbePart::checkpoint}), "probe.space");
}

TEST(ProbeWords, a_fault_of_the_storage_says_where_and_what) {
  const TestFolder folder;
  folder.write("data", std::string(200'000, 'x'));
  FolderProbe probe = quick(folder.at("data"), {ProbePart::sequential});
  probe.progress = [&](std::string_view, double) {
    std::filesystem::resize_file(folder.at("data"), 10);
  };
  const auto report = probe_folder(probe);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().front().what,
              testing::StartsWith("a measurement failed: a read at byte "));
  EXPECT_EQ(report.error().front().place.file, folder.at("data"));
}

TEST(Engines, the_threads_are_others_and_the_ring_is_the_callers) {
  const TestFolder folder;
  folder.write("data", std::string(64 << 10, 'x'));
  const OpenFile file(::open(folder.at("data").c_str(), O_RDONLY | O_CLOEXEC));
  for (const IoEngine engine : {IoEngine::threads, IoEngine::io_uring}) {
    std::string why;
    if (engine == IoEngine::io_uring && !io_uring_works(why)) continue;
    std::atomic<int> mine = 0;
    std::atomic<int> asked = 0;
    IoPlan plan{.file = file.get(),
                .block_bytes = 4096,
                .depth = 2,
                .span_bytes = 64 << 10,
                .seconds_max = 30,
                .bytes_max = 0};
    plan.stop = [&, caller = std::this_thread::get_id()] {
      mine += std::this_thread::get_id() == caller;
      return ++asked >= 2;
    };
    const IoRun run = run_io(plan, engine);
    EXPECT_EQ(run.fault, "");
    EXPECT_EQ(mine > 0, engine == IoEngine::io_uring) << to_text(engine);
    // Asked at every sixteenth request: the second time it ends.
    EXPECT_GE(run.operations, 32u) << to_text(engine);
    EXPECT_EQ(run.bytes, run.operations * 4096) << to_text(engine);
    EXPECT_GT(run.seconds, 0);
    EXPECT_NEAR(run.bytes_per_s(), static_cast<double>(run.bytes) / run.seconds, 1e-3);
    EXPECT_NEAR(run.per_s(), static_cast<double>(run.operations) / run.seconds, 1e-6);
  }
  EXPECT_STREQ(to_text(IoEngine::threads), "threads");
  EXPECT_STREQ(to_text(IoEngine::io_uring), "io_uring");
}

// Bytes and time each end a run; a pass beyond the span begins again at its first block.
TEST(Engines, end_by_bytes_or_by_time_and_go_round) {
  const TestFolder folder;
  for (const IoEngine engine : {IoEngine::threads, IoEngine::io_uring}) {
    std::string why;
    if (engine == IoEngine::io_uring && !io_uring_works(why)) continue;
    const std::string path = folder.at(to_text(engine));
    const OpenFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    IoPlan plan{.file = file.get(),
                .write = true,
                .block_bytes = 4096,
                .depth = 1,
                .span_bytes = 8 * 4096 + 100,
                .seconds_max = 30,
                .bytes_max = 21 * 4096 + 4095};
    EXPECT_EQ(run_io(plan, engine).operations, 21u) << to_text(engine);
    EXPECT_EQ(std::filesystem::file_size(path), 8u * 4096) << to_text(engine);
    plan.bytes_max = 0;
    plan.seconds_max = 0;
    EXPECT_LE(run_io(plan, engine).operations, 1u) << "the first answer is too late";
    plan.seconds_max = 30;
    plan.bytes_max = 1;
    EXPECT_EQ(run_io(plan, engine).operations, 1u) << "one at least";
    plan.file = -1;
    EXPECT_THAT(run_io(plan, engine).fault, testing::StartsWith("a write at byte 0: "));
  }
}

}  // namespace
}  // namespace orrery::agent::probe_words_tests
