// A remote file read through windows that grow while reads are sequential.
#include "live/drives/windowed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::drives::windowed_file_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// 256 KiB at first and after a jump, then twice as much each time up to 2 MiB.
TEST(WindowedFileTest, windows_grow_while_reads_are_sequential) {
  std::vector<std::string> asked;
  const std::uint64_t size = 9u << 20;
  WindowedFile file(
      [&](std::uint64_t from, std::size_t count) -> Outcome<std::string> {
        asked.push_back(std::to_string(from >> 10) + '+' + std::to_string(count >> 10));
        if (from >= size) return std::string();
        return std::string(std::min<std::uint64_t>(count, size - from),
                           static_cast<char>(from >> 18));
      },
      "front");
  const auto read = [&](std::uint64_t from, std::size_t count) {
    asked.clear();
    std::string bytes(count, '?');
    const auto got = file.read(from, bytes);
    EXPECT_TRUE(got);
    return got ? bytes.substr(0, *got) : "";
  };
  EXPECT_EQ(read(0, 5), "front");
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(read(4, 2).substr(0, 1), "t");
  EXPECT_THAT(asked, ElementsAre("0+256")) << "from the sixth byte on";
  std::uint64_t at = 5 + (256u << 10);
  for (const char* next : {"256+512", "768+1024", "1792+2048", "3840+2048"}) {
    read(at, 1);
    EXPECT_THAT(asked, ElementsAre(next));
    at += std::stoull(std::string(next).substr(std::string(next).find('+') + 1)) << 10;
  }
  read(at - 1, 1);
  EXPECT_THAT(asked, IsEmpty()) << "the last byte received";
  read(1u << 20, 1);
  EXPECT_THAT(asked, ElementsAre("1024+256")) << "before the window";
  read((1u << 20) + (256u << 10), 700u << 10);
  EXPECT_THAT(asked, ElementsAre("1280+700")) << "as much as requested";
  read(8u << 20, 1);
  EXPECT_THAT(asked, ElementsAre("8192+256")) << "after the window";
  EXPECT_EQ(read(size - 2, 10).size(), 2u);
  EXPECT_EQ(read(size + 5, 10).size(), 0u);
  const std::string_view pieces[] = {"x"};
  EXPECT_EQ(file.append(pieces).error().kind, PortFault::failed);
  EXPECT_TRUE(file.sync());
}

TEST(WindowedFileTest, a_fault_of_the_source_is_returned) {
  WindowedFile file([](std::uint64_t, std::size_t) -> Outcome<std::string> {
    return fault(PortFault::busy, "not now");
  });
  std::string bytes(4, '?');
  const auto got = file.read(0, bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, PortFault::busy);
}

}  // namespace
}  // namespace orrery::drives::windowed_file_tests
