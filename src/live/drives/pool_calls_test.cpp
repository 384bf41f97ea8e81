// What a drive in a pool asks of it, call by call: how bytes are cut into appends and pieces, how
// many are under way, in which order pieces go, and when nobody is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "live/drives/rados_drive.h"

namespace orrery::drives::pool_calls_tests {
namespace {

using drives::PoolFault;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kPieceOf = std::uint64_t{16} << 20;
const DriveMark kOurMark{"s", "d"};

// Sizes of objects, and what was asked; it has no bytes but those of the mark.
struct ToldPool {
  std::map<std::string, std::uint64_t> objects = {};
  std::size_t unit = 4096;
  std::vector<std::string> asked = {};
  int under_way = 0;
  int most_under_way = 0;
  std::map<std::string, PoolFault> fails = {};  // by the call's name
  std::string mark = mark_text(kOurMark);
};

class ToldCalls final : public drives::Pool {
 public:
  explicit ToldCalls(ToldPool& of) : of_(of) {}

  std::unique_ptr<drives::Append> append(const std::string& object, std::string_view bytes,
                                         bool fresh) override {
    of_.asked.push_back("append " + object + ' ' + std::to_string(bytes.size()) +
                        (fresh ? " fresh" : ""));
    of_.objects[object] += bytes.size();
    of_.most_under_way = std::max(of_.most_under_way, ++of_.under_way);
    return std::make_unique<Sent>(of_);
  }
  drives::Said<std::size_t> append_unit() override {
    if (auto no = fault_of("unit")) return std::unexpected(*no);
    return of_.unit;
  }
  drives::Said<std::string> read(const std::string& object, std::uint64_t offset,
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
    if (at == of_.objects.end()) return drives::pool_error(PoolFault::absent, "none");
    const std::uint64_t left = at->second - std::min(at->second, offset);
    return std::string(std::min<std::uint64_t>(left, count), 'x');
  }
  drives::Said<std::uint64_t> size(const std::string& object) override {
    if (auto no = fault_of("size")) return std::unexpected(*no);
    const auto at = of_.objects.find(object);
    if (at == of_.objects.end()) return drives::pool_error(PoolFault::absent, "none");
    return at->second;
  }
  drives::Said<void> remove(const std::string& object) override {
    of_.asked.push_back("remove " + object);
    if (auto no = fault_of("remove")) return std::unexpected(*no);
    if (of_.objects.erase(object) == 0) return drives::pool_error(PoolFault::absent, "none");
    return {};
  }
  drives::Said<std::vector<std::string>> list() override {
    of_.asked.push_back("list");
    if (auto no = fault_of("list")) return std::unexpected(*no);
    std::vector<std::string> names = {"drive"};
    for (const auto& [name, size] : of_.objects) names.push_back(name);
    return names;
  }
  drives::Said<drives::PoolSpace> space() override { return drives::PoolSpace{70, 30}; }

 private:
  class Sent final : public drives::Append {
   public:
    explicit Sent(ToldPool& of) : of_(of) {}
    drives::Said<void> wait() override {
      --of_.under_way;
      const auto at = of_.fails.find("wait");
      if (at == of_.fails.end()) return {};
      return drives::pool_error(at->second, "no");
    }

   private:
    ToldPool& of_;
  };
  std::optional<drives::PoolError> fault_of(const std::string& call) {
    const auto at = of_.fails.find(call);
    if (at == of_.fails.end()) return std::nullopt;
    return drives::PoolError{at->second, "no"};
  }
  ToldPool& of_;
};

class PoolCallsTest : public testing::Test {
 protected:
  std::unique_ptr<Drive> opened() {
    auto drive = open_rados_drive(std::make_unique<ToldCalls>(pool), "rados:p/n", kOurMark, false);
    EXPECT_TRUE(drive);
    pool.asked.clear();
    return drive ? std::move(*drive) : nullptr;
  }
  static Outcome<void> add(DriveFile& file, std::uint64_t bytes) {
    const std::string all(bytes, 'x');
    const std::string_view pieces[] = {all};
    return file.append(pieces);
  }
  // What is sent of so many bytes, and then when they are synced.
  std::vector<std::string> sent(std::size_t unit, std::uint64_t bytes) {
    pool.unit = unit;
    const auto drive = opened();
    auto file = drive->create("f");
    EXPECT_TRUE(add(**file, bytes));
    pool.asked.emplace_back("sync");
    EXPECT_TRUE((*file)->sync());
    return std::exchange(pool.asked, {});
  }

  ToldPool pool;
};

// A quarter of a mebibyte at a time, in whole units.
TEST_F(PoolCallsTest, bytes_are_appended_in_whole_units) {
  EXPECT_THAT(sent(4096, 300'000), ElementsAre("append f 262144 fresh", "sync", "append f 37856"));
  EXPECT_THAT(sent(100'000, 300'000),
              ElementsAre("append f 200000 fresh", "sync", "append f 100000"));
  EXPECT_THAT(sent(300'000, 300'000), ElementsAre("append f 300000 fresh", "sync"));
  EXPECT_THAT(sent(4096, 262'144), ElementsAre("append f 262144 fresh", "sync"));
  EXPECT_THAT(sent(4096, 262'143), ElementsAre("sync", "append f 262143 fresh"));
  EXPECT_THAT(sent(4096, 0), ElementsAre("sync", "append f 0 fresh"));
}

TEST_F(PoolCallsTest, a_file_is_sent_once_however_often_it_is_synced) {
  const auto drive = opened();
  auto file = drive->create("f");
  ASSERT_TRUE((*file)->sync() && (*file)->sync());
  EXPECT_THAT(pool.asked, ElementsAre("append f 0 fresh"));
  ASSERT_TRUE(add(**file, 5) && (*file)->sync() && (*file)->sync());
  EXPECT_EQ(pool.objects["f"], 5u);
  EXPECT_EQ(pool.under_way, 0);
  std::string into(1, '?');
  EXPECT_EQ((*file)->read(0, into).error().kind, PortFault::failed);
}

// Four are under way when a fifth is sent; a piece begins when the one before it is there.
TEST_F(PoolCallsTest, four_appends_are_under_way_and_none_at_a_new_piece) {
  const auto drive = opened();
  auto file = drive->create("f");
  ASSERT_TRUE(add(**file, 4 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  ASSERT_TRUE(add(**file, 4 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  EXPECT_EQ(pool.most_under_way, 5);
  ASSERT_TRUE(add(**file, kPieceOf - 8 * 262'144));
  EXPECT_EQ(pool.under_way, 4);
  EXPECT_EQ(pool.asked.size(), 64u);
  ASSERT_TRUE(add(**file, 262'144));
  EXPECT_EQ(pool.under_way, 1) << "all of the piece before were waited for";
  EXPECT_EQ(pool.asked.back(), "append f@1 262144 fresh");
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(pool.under_way, 0);
  EXPECT_EQ(pool.objects["f"], kPieceOf);
  EXPECT_EQ(pool.objects["f@1"], 262'144u);
}

TEST_F(PoolCallsTest, a_piece_is_full_before_the_next_begins_whatever_the_unit) {
  pool.unit = 100'000;  // 200,000 at a time: 83 of them and 177,216 bytes are 16 MiB
  const auto drive = opened();
  auto file = drive->create("f");
  ASSERT_TRUE(add(**file, kPieceOf));
  EXPECT_EQ(pool.asked.size(), 84u);
  EXPECT_EQ(pool.asked.back(), "append f 177216");
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(pool.asked.size(), 84u) << "no empty piece behind a full one";
  ASSERT_TRUE(add(**file, 1) && (*file)->sync());
  EXPECT_EQ(pool.asked.back(), "append f@1 1 fresh");
}

TEST_F(PoolCallsTest, a_file_that_has_failed_once_stays_so) {
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

TEST_F(PoolCallsTest, faults_of_a_pool_are_those_of_a_drive) {
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

TEST_F(PoolCallsTest, pieces_go_from_the_last_to_the_first) {
  const auto drive = opened();
  pool.objects = {{"f", kPieceOf}, {"f@1", kPieceOf}, {"f@2", 7}, {"g", 1}};
  ASSERT_TRUE(drive->remove("f"));
  EXPECT_THAT(pool.asked, ElementsAre("remove f@2", "remove f@1", "remove f"));
  EXPECT_EQ(pool.objects.size(), 1u);
  pool.asked.clear();
  pool.objects = {{"f", kPieceOf - 1}};
  ASSERT_TRUE(drive->remove("f"));
  EXPECT_THAT(pool.asked, ElementsAre("remove f"));
  ASSERT_TRUE(drive->remove("f")) << "good where there is none";
  pool.fails["size"] = PoolFault::refused;
  const auto unknown = drive->remove("f");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, PortFault::busy);
  pool.fails = {{"remove", PoolFault::broken}};
  const auto stays = drive->remove("f");
  ASSERT_FALSE(stays);
  EXPECT_EQ(stays.error().kind, PortFault::failed);
}

// A piece without those before it is listed as its file, and goes with it.
TEST_F(PoolCallsTest, what_is_listed_is_files_and_pieces_alone_go_too) {
  const auto drive = opened();
  pool.objects = {{"a", 1},   {"b", kPieceOf}, {"b@1", 1}, {"c@3", 1},
                  {"d@x", 1}, {"e@-1", 1},     {"h", 1},   {"h@2", 1}};
  EXPECT_THAT(drive->list().value(), ElementsAre("a", "b", "c", "h"));
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("c"));
  EXPECT_THAT(pool.asked, ElementsAre("remove c@3", "remove c"));
  pool.asked.clear();
  ASSERT_TRUE(drive->remove("c"));
  EXPECT_THAT(pool.asked, ElementsAre("remove c")) << "it is not remembered";
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

// The first answer has 72 KiB; windows end with their piece.
TEST_F(PoolCallsTest, a_file_is_read_by_its_front_and_then_by_windows) {
  const auto drive = opened();
  pool.objects = {{"f", kPieceOf}, {"f@1", 100}, {"s", 10}};
  auto file = drive->open("f");
  ASSERT_TRUE(file);
  EXPECT_THAT(pool.asked, ElementsAre("read f 0+73728"));
  std::string into(100, '?');
  EXPECT_EQ((*file)->read(kPieceOf - 50, into).value(), 100u);
  EXPECT_THAT(pool.asked, ElementsAre("read f 0+73728", "read f 16777166+50", "read f@1 0+524288"));
  pool.asked.clear();
  EXPECT_EQ((*file)->read(kPieceOf + 100, into).value(), 0u);
  EXPECT_THAT(pool.asked, ElementsAre("read f@1 100+1048576"));
  EXPECT_EQ((*file)->read(3 * kPieceOf, into).value(), 0u) << "no such piece: the end";
  pool.objects.erase("f");
  const auto none = (*file)->read(0, into);
  ASSERT_FALSE(none) << "without its first it is no file";
  EXPECT_EQ(none.error().kind, PortFault::missing);
}

TEST_F(PoolCallsTest, a_mark_is_read_until_it_is_known_to_be_ours) {
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
  EXPECT_EQ(pool.asked.size(), 3u) << "the mark once";
}

}  // namespace
}  // namespace orrery::drives::pool_calls_tests
