// A drive in a RADOS pool: its promises on a simulated pool with every fault of the port, and the
// calls that it makes.
#include "live/drives/rados_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "live/drives/folder_drive.h"
#include "live/drives/simulated_pool_fixture.h"

namespace orrery::drives::rados_drive_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using When = SimulatedPool::When;

const DriveMark kMark{"0123456789abcdef", "hot-0"};
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20;

class RadosDriveTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Drive>> open_drive(bool make, const DriveMark& mark = kMark) {
    return open_rados_drive(std::make_unique<SharedPool>(pool), "rados:p/s", mark, make);
  }
  std::unique_ptr<Drive> made() {
    auto drive = open_drive(true);
    EXPECT_TRUE(drive);
    return drive ? std::move(*drive) : nullptr;
  }
  static Outcome<void> write(Drive& drive, const std::string& name, const std::string& bytes) {
    auto file = drive.create(name);
    if (!file) return std::unexpected(file.error());
    const std::string_view pieces[] = {bytes};
    if (auto done = (*file)->append(pieces); !done) return done;
    return (*file)->sync();
  }
  static Outcome<std::string> read(Drive& drive, const std::string& name, std::size_t most) {
    auto file = drive.open(name);
    if (!file) return std::unexpected(file.error());
    std::string bytes(most, '\0');
    const auto got = (*file)->read(0, bytes);
    if (!got) return std::unexpected(got.error());
    return bytes.substr(0, *got);
  }
  // Bytes that all differ from their neighbours.
  static std::string some_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::uint32_t state = 1;
    for (char& c : bytes) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    return bytes;
  }
  static void await_the_end_of_silence() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  }

  SimulatedPool pool;
};

TEST_F(RadosDriveTest, keeps_the_promises_of_a_drive) {
  for (const std::size_t unit : {std::size_t{4096}, std::size_t{24576}}) {
    pool.objects().clear();
    pool.unit = unit;
    const auto drive = made();
    const std::string large = some_bytes(2 * kPiece + 5'000'001);
    const std::string whole = some_bytes(kPiece);
    ASSERT_TRUE(write(*drive, "a.00.0", "some bytes"));
    ASSERT_TRUE(write(*drive, "b.00.0", large));
    ASSERT_TRUE(write(*drive, "c.00.0", whole));
    ASSERT_TRUE(write(*drive, "d.00.0", ""));
    EXPECT_EQ(read(*drive, "a.00.0", 100), "some bytes");
    EXPECT_TRUE(read(*drive, "b.00.0", large.size() + 10) == large);
    EXPECT_TRUE(read(*drive, "c.00.0", kPiece + 10) == whole);
    EXPECT_EQ(read(*drive, "d.00.0", 10), "");
    EXPECT_THAT(*drive->list(), UnorderedElementsAre("a.00.0", "b.00.0", "c.00.0", "d.00.0"));
    EXPECT_EQ(pool.objects().size(), 7u);  // the marker, and three pieces of b
    for (const auto& [name, object] : pool.objects()) {
      EXPECT_EQ(object.acked, object.bytes.size()) << name;
    }
    // Reads may begin at any offset.
    auto file = drive->open("b.00.0");
    ASSERT_TRUE(file);
    std::string part(300'000, '\0');
    EXPECT_EQ((*file)->read(kPiece - 1000, part), part.size());
    EXPECT_TRUE(part == large.substr(kPiece - 1000, part.size()));
    for (const char* name : {"a.00.0", "b.00.0", "c.00.0", "d.00.0", "e.00.0"}) {
      EXPECT_TRUE(drive->remove(name)) << name;
    }
    EXPECT_EQ(pool.objects().size(), 1u);
    EXPECT_EQ(drive->open("a.00.0").error().kind, PortFault::missing);
  }
}

TEST_F(RadosDriveTest, opens_only_under_its_own_mark) {
  EXPECT_FALSE(open_drive(false));  // the namespace is empty
  made();
  EXPECT_TRUE(open_drive(false));
  EXPECT_FALSE(open_drive(false, {"another", "hot-0"}));
  EXPECT_FALSE(open_drive(true, {"another", "hot-0"}));
  pool.inject(PoolFault::refused, 1);
  EXPECT_THAT(open_drive(true).error().front().what, HasSubstr("cannot be reached"));
}

TEST_F(RadosDriveTest, a_crash_keeps_synced_files_and_prefixes_of_others) {
  const auto drive = made();
  const std::string kept = some_bytes(kPiece + 700'000);
  ASSERT_TRUE(write(*drive, "kept.00.0", kept));
  auto begun = drive->create("begun.00.0");
  const std::string_view pieces[] = {kept};
  ASSERT_TRUE((*begun)->append(pieces));
  int which = 0;
  pool.crash([&](const SimulatedPool::Object& object) -> std::optional<std::size_t> {
    if (++which % 2 == 0) return std::nullopt;
    return (object.bytes.size() - object.acked) / 2;
  });
  EXPECT_TRUE(read(*drive, "kept.00.0", kept.size()) == kept);
  const auto front = read(*drive, "begun.00.0", kept.size());
  ASSERT_TRUE(front);
  EXPECT_TRUE(kept.starts_with(*front));
  EXPECT_TRUE(drive->remove("begun.00.0"));
  EXPECT_THAT(*drive->list(), UnorderedElementsAre("kept.00.0"));
}

TEST_F(RadosDriveTest, a_write_without_an_answer_is_not_acknowledged) {
  const std::string bytes = some_bytes(3'000'000);
  for (const When when : {When::before, When::after}) {
    for (std::size_t call = 0; call < 12; ++call) {
      pool.objects().clear();
      const auto drive = made();
      auto file = drive->create("x.00.0");
      // The append with this number.
      const std::string_view first[] = {std::string_view(bytes).substr(0, call * 262'144)};
      ASSERT_TRUE((*file)->append(first));
      pool.inject(PoolFault::silent, 1, "append", when);
      const std::string_view rest[] = {std::string_view(bytes).substr(first[0].size())};
      auto done = (*file)->append(rest);
      if (done) done = (*file)->sync();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().kind, PortFault::busy);
      EXPECT_FALSE((*file)->sync());  // and it stays failed
      EXPECT_EQ(pool.faults_left(), 0u);
    }
  }
}

TEST_F(RadosDriveTest, a_removal_cut_short_can_be_finished) {
  const auto drive = made();
  ASSERT_TRUE(write(*drive, "a.00.0", some_bytes(2 * kPiece + 10)));
  // Pieces are removed from the last one on, so the front exists until the end.
  pool.inject(PoolFault::broken, 1, "remove");
  EXPECT_FALSE(drive->remove("a.00.0"));
  EXPECT_EQ(pool.objects().size(), 4u);
  EXPECT_TRUE(drive->remove("a.00.0"));
  EXPECT_EQ(pool.objects().size(), 1u);
  // A piece that arrived after its file was removed.
  pool.objects()["late.00.0@3"].bytes = "late";
  EXPECT_THAT(*drive->list(), UnorderedElementsAre("late.00.0"));
  EXPECT_TRUE(drive->remove("late.00.0"));
  EXPECT_THAT(*drive->list(), testing::IsEmpty());
}

TEST_F(RadosDriveTest, faults_of_the_cluster_are_busy_full_or_failed) {
  const auto drive = made();
  ASSERT_TRUE(write(*drive, "a.00.0", "some bytes"));
  pool.inject(PoolFault::refused, 1);
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, PortFault::busy);
  EXPECT_EQ(read(*drive, "a.00.0", 10), "some bytes");
  pool.capacity = 1000;
  EXPECT_EQ(write(*drive, "b.00.0", std::string(2000, 'b')).error().kind, PortFault::full);
  pool.inject(PoolFault::broken, 1);
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, PortFault::failed);
  // After a silence the cluster gets no calls for two seconds.
  pool.inject(PoolFault::silent, 1);
  EXPECT_EQ(drive->list().error().kind, PortFault::busy);
  const int asked = pool.calls();
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, PortFault::busy);
  EXPECT_EQ(write(*drive, "c.00.0", "c").error().kind, PortFault::busy);
  EXPECT_EQ(drive->space().error().kind, PortFault::busy);
  EXPECT_EQ(pool.calls(), asked);
  await_the_end_of_silence();
  EXPECT_EQ(read(*drive, "a.00.0", 10), "some bytes");
}

TEST_F(RadosDriveTest, the_mark_is_checked_later_if_the_cluster_is_silent_at_first) {
  made();
  pool.inject(PoolFault::silent, 1);
  auto ours = open_drive(false);
  ASSERT_TRUE(ours);
  EXPECT_TRUE(write(**ours, "a.00.0", "some bytes"));
  pool.inject(PoolFault::silent, 1);
  auto theirs = open_drive(false, {"another", "hot-0"});
  ASSERT_TRUE(theirs);
  EXPECT_EQ(read(**theirs, "a.00.0", 10).error().kind, PortFault::busy);
  EXPECT_EQ(write(**theirs, "b.00.0", "b").error().kind, PortFault::busy);
  EXPECT_FALSE(pool.objects().contains("b.00.0"));
}

// Records sizes of objects and calls; it holds no bytes except those of the marker.
struct RecordedPool {
  std::map<std::string, std::uint64_t> objects = {};
  std::size_t unit = 4096;
  std::vector<std::string> asked = {};
  int under_way = 0;
  int most_under_way = 0;
  std::map<std::string, PoolFault> fails = {};  // by the name of the call
  std::string mark = mark_text(kMark);
};

class RecordingPool final : public Pool {
 public:
  explicit RecordingPool(RecordedPool& of) : of_(of) {}

  std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                 bool fresh) override {
    of_.asked.push_back("append " + object + ' ' + std::to_string(bytes.size()) +
                        (fresh ? " fresh" : ""));
    of_.objects[object] += bytes.size();
    of_.most_under_way = std::max(of_.most_under_way, ++of_.under_way);
    return std::make_unique<Sent>(of_);
  }
  Said<std::size_t> append_unit() override {
    if (auto no = fault_of("unit")) return std::unexpected(*no);
    return of_.unit;
  }
  Said<std::string> read(const std::string& object, std::uint64_t offset,
                         std::size_t count) override {
    if (object == "drive") {
      of_.asked.push_back("mark " + std::to_string(count));
      if (auto no = fault_of("mark")) return std::unexpected(*no);
      return of_.mark.substr(offset, count);
    }
    of_.asked.push_back("read " + object + ' ' + std::to_string(offset) + '+' +
                        std::to_string(count));
    if (auto no = fault_of("read")) return std::unexpected(*no);
    const auto at = of_.objects.find(object);
    if (at == of_.objects.end()) return pool_error(PoolFault::absent, "none");
    const std::uint64_t left = at->second - std::min(at->second, offset);
    return std::string(std::min<std::uint64_t>(left, count), 'x');
  }
  Said<std::uint64_t> size(const std::string& object) override {
    if (auto no = fault_of("size")) return std::unexpected(*no);
    const auto at = of_.objects.find(object);
    if (at == of_.objects.end()) return pool_error(PoolFault::absent, "none");
    return at->second;
  }
  Said<void> remove(const std::string& object) override {
    of_.asked.push_back("remove " + object);
    if (auto no = fault_of("remove")) return std::unexpected(*no);
    if (of_.objects.erase(object) == 0) return pool_error(PoolFault::absent, "none");
    return {};
  }
  Said<std::vector<std::string>> list() override {
    of_.asked.push_back("list");
    if (auto no = fault_of("list")) return std::unexpected(*no);
    std::vector<std::string> names = {"drive"};
    for (const auto& [name, size] : of_.objects) names.push_back(name);
    return names;
  }
  Said<PoolSpace> space() override { return PoolSpace{70, 30}; }

 private:
  class Sent final : public Append {
   public:
    explicit Sent(RecordedPool& of) : of_(of) {}
    Said<void> wait() override {
      --of_.under_way;
      const auto at = of_.fails.find("wait");
      if (at == of_.fails.end()) return {};
      return pool_error(at->second, "no");
    }

   private:
    RecordedPool& of_;
  };
  std::optional<PoolError> fault_of(const std::string& call) {
    const auto at = of_.fails.find(call);
    if (at == of_.fails.end()) return std::nullopt;
    return PoolError{at->second, "no"};
  }
  RecordedPool& of_;
};

class RadosDriveCalls : public testing::Test {
 protected:
  std::unique_ptr<Drive> opened() {
    auto drive = open_rados_drive(std::make_unique<RecordingPool>(pool), "rados:p/n", kMark, false);
    EXPECT_TRUE(drive);
    pool.asked.clear();
    return drive ? std::move(*drive) : nullptr;
  }
  static Outcome<void> add(DriveFile& file, std::uint64_t bytes) {
    const std::string all(bytes, 'x');
    const std::string_view pieces[] = {all};
    return file.append(pieces);
  }
  // Returns the calls for a file of `bytes` bytes, with "sync" before those of the sync.
  std::vector<std::string> sent(std::size_t unit, std::uint64_t bytes) {
    pool.unit = unit;
    const auto drive = opened();
    auto file = drive->create("f");
    EXPECT_TRUE(add(**file, bytes));
    pool.asked.emplace_back("sync");
    EXPECT_TRUE((*file)->sync());
    return std::exchange(pool.asked, {});
  }

  RecordedPool pool;
};

// A quarter of a mebibyte at a time, in whole units.
TEST_F(RadosDriveCalls, bytes_are_appended_in_whole_units) {
  EXPECT_THAT(sent(4096, 300'000), ElementsAre("append f 262144 fresh", "sync", "append f 37856"));
  EXPECT_THAT(sent(100'000, 300'000),
              ElementsAre("append f 200000 fresh", "sync", "append f 100000"));
  EXPECT_THAT(sent(300'000, 300'000), ElementsAre("append f 300000 fresh", "sync"));
  EXPECT_THAT(sent(4096, 262'144), ElementsAre("append f 262144 fresh", "sync"));
  EXPECT_THAT(sent(4096, 262'143), ElementsAre("sync", "append f 262143 fresh"));
  EXPECT_THAT(sent(4096, 0), ElementsAre("sync", "append f 0 fresh"));
}

// Four appends are in flight when a fifth is sent; a piece begins when the one before it is
// complete.
TEST_F(RadosDriveCalls, at_most_four_appends_are_in_flight) {
  const auto drive = opened();
  auto file = drive->create("f");
  ASSERT_TRUE(add(**file, 4 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  ASSERT_TRUE(add(**file, 4 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  EXPECT_EQ(pool.most_under_way, 5);
  ASSERT_TRUE(add(**file, kPiece - 8 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  EXPECT_EQ(pool.asked.size(), 64u);
  ASSERT_TRUE(add(**file, 262'144));
  EXPECT_EQ(pool.under_way, 1) << "all appends of the previous piece were waited for";
  EXPECT_EQ(pool.asked.back(), "append f@1 262144 fresh");
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(pool.under_way, 0);
  EXPECT_EQ(pool.objects["f"], kPiece);
  EXPECT_EQ(pool.objects["f@1"], 262'144u);
}

TEST_F(RadosDriveCalls, a_failed_file_stays_failed) {
  const auto drive = opened();
  auto file = drive->create("f");
  ASSERT_TRUE(add(**file, 262'144));
  pool.fails["wait"] = PoolFault::full;
  EXPECT_EQ((*file)->sync().error().kind, PortFault::full);
  pool.fails.clear();
  pool.asked.clear();
  EXPECT_EQ((*file)->sync().error().kind, PortFault::full);
  EXPECT_EQ(add(**file, 1).error().kind, PortFault::full);
  EXPECT_THAT(pool.asked, IsEmpty());
  pool.fails["unit"] = PoolFault::broken;
  auto other = drive->create("g");
  EXPECT_EQ(add(**other, 1).error().kind, PortFault::failed);
  pool.fails.clear();
  EXPECT_EQ((*other)->sync().error().kind, PortFault::failed);
}

TEST_F(RadosDriveCalls, faults_of_the_pool_map_to_faults_of_a_drive) {
  pool.objects["f"] = 1;
  for (const auto& [said, kind] :
       std::map<PoolFault, PortFault>{{PoolFault::absent, PortFault::missing},
                                      {PoolFault::full, PortFault::full},
                                      {PoolFault::refused, PortFault::busy},
                                      {PoolFault::taken, PortFault::failed},
                                      {PoolFault::broken, PortFault::failed},
                                      {PoolFault::silent, PortFault::busy}}) {
    const auto drive = opened();
    pool.fails["read"] = said;
    const auto file = drive->open("f");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, kind);
  }
}

TEST_F(RadosDriveCalls, pieces_are_removed_from_the_last_to_the_first) {
  const auto drive = opened();
  pool.objects = {{"f", kPiece}, {"f@1", kPiece}, {"f@2", 7}, {"g", 1}};
  ASSERT_TRUE(drive->remove("f"));
  EXPECT_THAT(pool.asked, ElementsAre("remove f@2", "remove f@1", "remove f"));
  EXPECT_EQ(pool.objects.size(), 1u);
  pool.asked.clear();
  pool.objects = {{"f", kPiece - 1}};
  ASSERT_TRUE(drive->remove("f"));
  EXPECT_THAT(pool.asked, ElementsAre("remove f"));
  ASSERT_TRUE(drive->remove("f")) << "removing a missing file succeeds";
  pool.fails["size"] = PoolFault::refused;
  const auto unknown = drive->remove("f");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, PortFault::busy);
  pool.fails = {{"remove", PoolFault::broken}};
  const auto stays = drive->remove("f");
  ASSERT_FALSE(stays);
  EXPECT_EQ(stays.error().kind, PortFault::failed);
}

// A piece without the pieces before it is listed as its file, and removed with it.
TEST_F(RadosDriveCalls, a_piece_without_its_file_is_listed_and_removed_as_that_file) {
  const auto drive = opened();
  pool.objects = {{"a", 1},   {"b", kPiece}, {"b@1", 1}, {"c@3", 1},
                  {"d@x", 1}, {"e@-1", 1},   {"h", 1},   {"h@2", 1}};
  EXPECT_THAT(drive->list().value(), ElementsAre("a", "b", "c", "h"));
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("c"));
  EXPECT_THAT(pool.asked, ElementsAre("remove c@3", "remove c"));
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("c"));
  EXPECT_THAT(pool.asked, ElementsAre("remove c")) << "the gap is not remembered";
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("h"));
  EXPECT_THAT(pool.asked, ElementsAre("remove h", "remove h@2", "remove h"));
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("b"));
  EXPECT_THAT(pool.asked, ElementsAre("remove b@1", "remove b"));
  pool.fails["list"] = PoolFault::refused;
  EXPECT_EQ(drive->list().error().kind, PortFault::busy);
  const DriveSpace space = drive->space().value();
  EXPECT_EQ(space.total_bytes, 70u);
  EXPECT_EQ(space.free_bytes, 30u);
}

TEST_F(RadosDriveCalls, the_mark_is_read_until_it_is_confirmed) {
  pool.fails["mark"] = PoolFault::refused;
  const auto drive = opened();
  ASSERT_NE(drive, nullptr);
  pool.objects["f"] = 1;
  EXPECT_EQ(drive->open("f").error().kind, PortFault::busy);
  EXPECT_THAT(pool.asked, ElementsAre("mark " + std::to_string(pool.mark.size() + 1)));
  pool.fails["mark"] = PoolFault::absent;
  EXPECT_EQ(drive->open("f").error().kind, PortFault::busy) << "it may come back";
  pool.fails.clear();
  pool.mark += "x";
  EXPECT_EQ(drive->open("f").error().kind, PortFault::busy);
  pool.mark.pop_back();
  pool.asked.clear();
  EXPECT_TRUE(drive->open("f"));
  EXPECT_TRUE(drive->open("f"));
  EXPECT_EQ(pool.asked.size(), 3u) << "the marker is read once";
}

}  // namespace
}  // namespace orrery::drives::rados_drive_tests
