// Requests, bursts and journals at their edges: what follows a request that failed, how busy a core
// was, and journals of nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "live/agent/checkpoint_format.h"
#include "live/agent/io_ring.h"
#include "live/agent/journal.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::io_edges_tests {
namespace {

constexpr std::size_t kBlock = 4096;

std::vector<IoEngine> engines_here() {
  std::string why;
  std::vector<IoEngine> engines = {IoEngine::threads};
  if (io_uring_works(why)) engines.push_back(IoEngine::io_uring);
  return engines;
}

// A file of whole blocks that is open for reading and writing.
class BlockFile {
 public:
  explicit BlockFile(std::size_t blocks) {
    folder_.write("f", std::string(blocks * kBlock, 'x'));
    file_ = ::open(folder_.at("f").c_str(), O_RDWR | O_CLOEXEC);
  }
  ~BlockFile() { ::close(file_); }
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  int get() const { return file_; }

 private:
  TestFolder folder_;
  int file_ = -1;
};

std::size_t descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

double used_cpu_s() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto s = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return s(use.ru_utime) + s(use.ru_stime);
}

TEST(IoEdges, a_reason_is_given_exactly_where_the_ring_does_not_work) {
  std::string why;
  EXPECT_EQ(io_uring_works(why), why.empty()) << why;
}

// Eight blocks of a span of nine: the ninth read gives nothing and ends the run, but for what was
// under way beside it.
TEST(IoEdges, after_a_request_that_failed_none_is_sent) {
  const BlockFile file(8);
  for (const IoEngine engine : engines_here()) {
    const IoRun run = run_io({.file = file.get(),
                              .block_bytes = kBlock,
                              .depth = 2,
                              .span_bytes = 9 * kBlock,
                              .seconds_max = 5},
                             engine);
    EXPECT_EQ(run.fault, "a read at byte 32768 gave 0 of 4096 bytes") << to_text(engine);
    EXPECT_GE(run.operations, 7U);
    EXPECT_LE(run.operations, 9U) << to_text(engine);
    EXPECT_EQ(run.bytes, run.operations * kBlock);
  }
}

TEST(IoEdges, a_bad_file_is_told_with_the_verb_and_the_place) {
  for (const IoEngine engine : engines_here()) {
    IoPlan plan{.file = -1, .block_bytes = kBlock, .depth = 1, .span_bytes = kBlock};
    EXPECT_EQ(run_io(plan, engine).fault, "a read at byte 0: Bad file descriptor");
    plan.write = true;
    EXPECT_EQ(run_io(plan, engine).fault, "a write at byte 0: Bad file descriptor");
    EXPECT_EQ(run_io(plan, engine).operations, 0U);
  }
}

// Less than the whole process used meanwhile, and most of it: it did nothing else.
TEST(IoEdges, a_core_is_busy_by_its_time_over_the_clock) {
  const BlockFile file(16);
  for (const IoEngine engine : engines_here()) {
    const double before = used_cpu_s();
    const IoRun run = run_io({.file = file.get(),
                              .block_bytes = kBlock,
                              .depth = 1,
                              .span_bytes = 16 * kBlock,
                              .seconds_max = 0.1},
                             engine);
    const double used = used_cpu_s() - before;
    EXPECT_EQ(run.fault, "");
    EXPECT_LE(run.cpu_share * run.seconds, used * 1.001) << to_text(engine);
    EXPECT_GE(run.cpu_share * run.seconds, used * 0.5) << to_text(engine);
    EXPECT_LE(run.latency_p50_s, run.latency_p99_s);
    EXPECT_LE(run.latency_p99_s, run.seconds);
    EXPECT_GE(run.seconds, 0.1);
  }
}

TEST(IoEdges, a_run_gives_back_what_it_opened) {
  const BlockFile file(2);
  for (const IoEngine engine : engines_here()) {
    const std::size_t before = descriptors();
    for (int i = 0; i < 3; ++i) {
      const IoRun run = run_io({.file = file.get(),
                                .block_bytes = kBlock,
                                .depth = 2,
                                .span_bytes = 2 * kBlock,
                                .bytes_max = 4 * kBlock},
                               engine);
      EXPECT_EQ(run.operations, 4U);
      EXPECT_EQ(run.bytes, 4 * kBlock);
    }
    EXPECT_EQ(descriptors(), before) << to_text(engine);
  }
}

KeptItem item_named(const std::string& id, const std::vector<std::string>& files) {
  KeptItem item{.id = id};
  for (const std::string& file : files) item.files.push_back({.path = file});
  return item;
}

TEST(CheckpointEdges, a_tracker_speaks_of_iterations_alone) {
  EXPECT_FALSE(is_finished(item_named("step-5", {"weights.bin"}), 10, ""));
  EXPECT_TRUE(is_finished(item_named("iter_0000005", {"weights.bin"}), 10, ""));
  EXPECT_TRUE(is_finished(item_named("step-5", {".metadata"}), 1, ""))
      << "its own file ends it, whatever the tracker says";
  EXPECT_FALSE(is_finished(item_named("iter_0000005", {".metadata"}), 4, ""))
      << "and of an iteration the tracker has the word";
  EXPECT_TRUE(is_finished(item_named("iter_0000005", {".metadata"}), std::nullopt, ""));
  EXPECT_FALSE(is_finished(item_named("iter_0000005", {"x"}), 10, "done")) << "a marker goes first";
}

JournalForm edge_form() {
  return {
      .header = "head", .older = {}, .check = [](std::string_view) -> Result<void> { return {}; }};
}

TEST(JournalEdges, a_rewrite_of_nothing_leaves_the_header) {
  const TestFolder folder;
  auto journal = Journal::open(folder.at("j"), edge_form());
  ASSERT_TRUE(journal && journal->append({"one", "two"}));
  EXPECT_EQ(journal->size(), 13U) << "head, one, two and their ends";
  ASSERT_TRUE(journal->rewrite({}));
  EXPECT_EQ(journal->size(), 5U);
  EXPECT_EQ(Journal::read(folder.at("j"), edge_form()).value(), "head\n");
  ASSERT_TRUE(journal->append({"three"}));
  EXPECT_EQ(Journal::read(folder.at("j"), edge_form()).value(), "head\nthree\n");
}

}  // namespace
}  // namespace orrery::agent::io_edges_tests
