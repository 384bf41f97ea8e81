// Reads around a slow drive: which drives are read, how often, and whose answer is used. The drives
// wait at a gate, not for a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "live/drives/drive.h"
#include "live/drives/hedge.h"
#include "live/drives/hedger.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/store/blob.h"

namespace orrery::store::blob_hedged_reads_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

// Its reads wait while the gate is shut.
class GatedDrive final : public drives::Drive {
 public:
  drives::SimulatedDrive under;
  std::atomic<int> reads = 0;
  std::atomic<int> opens = 0;

  void shut() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  void unshut() {
    {
      const std::scoped_lock lock(mutex_);
      open_ = true;
    }
    turn_.notify_all();
  }
  void wait_for_reads(int count, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    turn_.wait_for(lock, most, [&] { return reads >= count; });
  }
  drives::Outcome<std::unique_ptr<drives::DriveFile>> create(const std::string& name) override {
    return under.create(name);
  }
  drives::Outcome<std::unique_ptr<drives::DriveFile>> open(const std::string& name) override {
    ++opens;
    auto file = under.open(name);
    if (!file) return file;
    return std::make_unique<File>(*this, std::move(*file));
  }
  drives::Outcome<void> remove(const std::string& name) override { return under.remove(name); }
  drives::Outcome<std::vector<std::string>> list() override { return under.list(); }
  drives::Outcome<drives::DriveSpace> space() override { return under.space(); }

 private:
  class File final : public drives::DriveFile {
   public:
    File(GatedDrive& of, std::unique_ptr<drives::DriveFile> file)
        : of_(of), file_(std::move(file)) {}
    drives::Outcome<void> append(std::span<const std::string_view> pieces) override {
      return file_->append(pieces);
    }
    drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      of_.pass();
      return file_->read(offset, into);
    }
    drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into,
                                      std::span<char> behind) override {
      of_.pass();
      return file_->read(offset, into, behind);
    }
    drives::Outcome<void> sync() override { return file_->sync(); }

   private:
    GatedDrive& of_;
    std::unique_ptr<drives::DriveFile> file_;
  };
  void pass() {
    std::unique_lock lock(mutex_);
    ++reads;
    turn_.notify_all();
    turn_.wait_for(lock, 10s, [this] { return open_; });
  }

  std::mutex mutex_;
  std::condition_variable turn_;
  bool open_ = true;
};

// Only drives that a test suspects are slow, however busy this machine is.

// Slow only if a test says so: even on a busy machine no drive exceeds these times.
constexpr drives::HedgeRule kPatient{.delay_min = 10s, .slow_min = 20s};

constexpr drives::HedgeRule kHasty{.delay_min = 0s, .slow_min = 20s};

struct GatedShelf {
  std::vector<std::unique_ptr<GatedDrive>> drives;
  DriveSet set;
  Tier tier{"hot", {}, {}};
  KeyRing keys = {};
  std::string bytes;
  drives::Hedger hedger;  // last, because it may still be reading

  GatedShelf(drives::ShardPlan plan, drives::HedgeRule rule) : hedger(rule) {
    tier.plan = plan;
    for (int i = 0; i < plan.total(); ++i) {
      drives.push_back(std::make_unique<GatedDrive>());
      tier.drives.push_back("d" + std::to_string(i));
      set[tier.drives.back()] = drives.back().get();
    }
  }
  ~GatedShelf() {
    for (const auto& drive : drives) drive->unshut();
  }
  GatedShelf(const GatedShelf&) = delete;
  GatedShelf& operator=(const GatedShelf&) = delete;

  // Writes this many stripes, the last of them shorter.
  rows::Blob write(std::size_t stripes) {
    bytes.resize(stripes * kBlockBytes * static_cast<std::size_t>(tier.plan.data) - 12'345);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    BlobWriter writer(set, tier, "0000000100000000000000aa", 0, keys);
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return blob.value_or(rows::Blob{});
  }
  void suspect(const std::string& drive) { hedger.note(drive, 30s); }
  // Reads stripe by stripe; returns the shards that were found damaged.
  std::set<int> read(const rows::Blob& blob) {
    BlobReader reader(set, blob, keys, &hedger);
    std::string got(bytes.size(), '\0');
    const auto done = reader.read(0, got);
    EXPECT_TRUE(done && *done == bytes.size());
    EXPECT_TRUE(got == bytes);
    return reader.damaged();
  }
  std::vector<int> reads() const {
    std::vector<int> all;
    for (const auto& drive : drives) all.push_back(drive->reads);
    return all;
  }
};

TEST(HedgedReads, a_suspect_drive_that_answers_in_time_is_used) {
  for (const bool enciphered : {false, true}) {
    GatedShelf shelf({2, 1}, kPatient);
    if (enciphered) shelf.keys = {"one", {{"one", std::string(32, 'k')}}};
    const rows::Blob blob = shelf.write(3);
    shelf.suspect("d0");
    EXPECT_THAT(shelf.read(blob), IsEmpty());
    EXPECT_THAT(shelf.reads(), ElementsAre(3, 3, 0)) << "a stripe needs one read per drive";
    EXPECT_EQ(shelf.drives[0]->opens, 1) << "the other thread returns its file";
    EXPECT_EQ(shelf.hedger.counts().asked, 0u);
    EXPECT_EQ(shelf.hedger.counts().suspects, 1);
  }
}

TEST(HedgedReads, eight_quick_reads_end_the_suspicion) {
  for (const drives::ShardPlan plan : {drives::ShardPlan{1, 1}, drives::ShardPlan{1, 0}}) {
    GatedShelf shelf(plan, kPatient);
    const rows::Blob seven = shelf.write(7);
    shelf.suspect("d0");
    shelf.read(seven);
    EXPECT_EQ(shelf.hedger.counts().suspects, 1) << plan.parity;
    shelf.read(seven);
    EXPECT_EQ(shelf.hedger.counts().suspects, 0) << plan.parity;
    EXPECT_EQ(shelf.hedger.counts().asked, 0u) << plan.parity;
  }
}

TEST(HedgedReads, other_drives_are_read_while_a_suspect_one_waits) {
  for (const bool enciphered : {false, true}) {
    GatedShelf shelf({2, 1}, kHasty);
    if (enciphered) shelf.keys = {"one", {{"one", std::string(32, 'k')}}};
    const rows::Blob blob = shelf.write(3);
    shelf.suspect("d0");
    shelf.drives[0]->shut();
    EXPECT_THAT(shelf.read(blob), IsEmpty()) << "slow is not damaged";
    EXPECT_EQ(shelf.hedger.counts().asked, 3u);
    EXPECT_EQ(shelf.hedger.counts().won, 3u);
    // The second drive is read for its own blocks and for those of the first drive, the parity only
    // for the latter.
    EXPECT_EQ(shelf.drives[1]->reads, 6);
    EXPECT_EQ(shelf.drives[2]->reads, 3);
    EXPECT_LE(shelf.drives[0]->reads, 1) << "it is read once, and not again while it is busy";
  }
}

TEST(HedgedReads, another_suspect_drive_is_not_used_instead) {
  GatedShelf shelf({1, 2}, kHasty);
  const rows::Blob blob = shelf.write(1);
  shelf.suspect("d0");
  shelf.suspect("d1");
  shelf.drives[0]->shut();
  EXPECT_THAT(shelf.read(blob), IsEmpty());
  EXPECT_EQ(shelf.drives[1]->reads, 0);
  EXPECT_EQ(shelf.drives[2]->reads, 1);
  EXPECT_EQ(shelf.hedger.counts().won, 1u);
}

TEST(HedgedReads, the_slow_drive_is_waited_for_if_the_others_have_nothing) {
  GatedShelf shelf({1, 1}, kHasty);
  const rows::Blob blob = shelf.write(1);
  shelf.suspect("d0");
  shelf.drives[0]->shut();
  shelf.drives[1]->under.files().clear();
  std::thread later([&] {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (shelf.hedger.counts().asked == 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    shelf.drives[0]->unshut();
  });
  EXPECT_THAT(shelf.read(blob), ElementsAre(1)) << "the copy that is missing";
  later.join();
  EXPECT_EQ(shelf.hedger.counts().asked, 1u);
  EXPECT_EQ(shelf.hedger.counts().won, 0u);
  EXPECT_EQ(shelf.drives[0]->reads, 1);
}

TEST(HedgedReads, other_drives_are_not_read_before_the_delay_is_over) {
  GatedShelf shelf({1, 1}, kPatient);
  const rows::Blob blob = shelf.write(1);
  shelf.suspect("d0");
  shelf.drives[0]->shut();
  std::thread later([&] {
    shelf.drives[0]->wait_for_reads(1, 10s);
    shelf.drives[1]->wait_for_reads(1, 20ms);
    shelf.drives[0]->unshut();
  });
  EXPECT_THAT(shelf.read(blob), IsEmpty());
  later.join();
  EXPECT_EQ(shelf.drives[1]->reads, 0);
  EXPECT_EQ(shelf.hedger.counts().asked, 0u);
}

TEST(HedgedReads, without_parity_no_other_drive_is_read) {
  GatedShelf shelf({2, 0}, kHasty);
  const rows::Blob blob = shelf.write(2);
  shelf.suspect("d0");
  EXPECT_THAT(shelf.read(blob), IsEmpty());
  EXPECT_THAT(shelf.reads(), ElementsAre(2, 2));
  EXPECT_EQ(shelf.hedger.counts().asked, 0u);
}

TEST(HedgedReads, a_missing_suspect_drive_is_read_around) {
  for (const bool known : {false, true}) {
    GatedShelf shelf({2, 1}, kHasty);
    const rows::Blob blob = shelf.write(2);
    shelf.suspect("d0");
    shelf.set.erase("d0");
    if (known) shelf.set["d0"] = nullptr;
    EXPECT_THAT(shelf.read(blob), ElementsAre(0));
    EXPECT_EQ(shelf.hedger.counts().asked, 0u);
    EXPECT_THAT(shelf.reads(), ElementsAre(0, 4, 2));
  }
}

TEST(HedgedReads, a_suspect_drive_with_a_lost_or_damaged_file_is_read_around) {
  for (const char* how : {"gone", "short", "flipped"}) {
    GatedShelf shelf({2, 1}, kPatient);
    const rows::Blob blob = shelf.write(1);
    shelf.suspect("d0");
    auto& files = shelf.drives[0]->under.files();
    if (std::string_view(how) == "gone") {
      files.clear();
    } else if (std::string_view(how) == "short") {
      files.begin()->second->bytes.pop_back();
    } else {
      files.begin()->second->bytes[100] ^= 1;
    }
    EXPECT_THAT(shelf.read(blob), ElementsAre(0));
    EXPECT_EQ(shelf.drives[2]->reads, 1);
    EXPECT_EQ(shelf.hedger.counts().asked, 0u) << how;
  }
}

TEST(HedgedReads, a_file_that_is_cut_or_fails_during_a_read_is_read_around) {
  GatedShelf shelf({2, 1}, kPatient);
  const rows::Blob blob = shelf.write(3);
  BlobReader reader(shelf.set, blob);
  std::string got(shelf.bytes.size(), '\0');
  const std::size_t stripe = 2 * kBlockBytes;
  EXPECT_EQ(reader.read(0, std::span(got).first(stripe)), stripe);
  EXPECT_THAT(reader.damaged(), IsEmpty());
  shelf.drives[0]->under.files().begin()->second->bytes.resize(2 * kBlockBytes);
  EXPECT_EQ(reader.read(stripe, std::span(got).subspan(stripe, stripe)), stripe);
  EXPECT_THAT(reader.damaged(), ElementsAre(0));
  shelf.drives[0]->under.broken = true;
  const std::size_t last = got.size() - 2 * stripe;
  EXPECT_EQ(reader.read(2 * stripe, std::span(got).last(last)), last);
  EXPECT_TRUE(got == shelf.bytes);
  EXPECT_EQ(reader.read(got.size(), got), 0u) << "there are no bytes after the end";
}

// With real times: a drive that becomes slow delays one read, and later reads avoid it.
TEST(HedgedReads, a_drive_that_becomes_slow_is_detected_and_avoided) {
  GatedShelf shelf({1, 1}, {.slow_min = 150ms});
  const rows::Blob blob = shelf.write(1);
  for (int i = 0; i < 20; ++i) shelf.read(blob);
  EXPECT_EQ(shelf.hedger.counts().suspects, 0);
  shelf.drives[0]->under.slow_ms = 400;
  shelf.read(blob);
  EXPECT_EQ(shelf.hedger.counts().suspects, 1);
  shelf.read(blob);
  EXPECT_EQ(shelf.hedger.counts().won, 1u);
}

}  // namespace
}  // namespace orrery::store::blob_hedged_reads_tests
