#include "live/net/body_pump.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace orrery::net::body_pump_tests {
namespace {

// Pumps to the end and returns the bytes for the connection, or "failed" if the source failed.
std::string pumped(BodySource source, std::optional<std::uint64_t> length, bool chunked,
                   std::size_t piece) {
  BodyPump pump(std::move(source), length, chunked, piece);
  std::string wire;
  for (int i = 0; i < 100; ++i) {
    pump.make();
    if (pump.failed()) return "failed";
    pump.turn();
    wire += pump.piece();
    if (pump.last()) return wire;
  }
  return "endless";
}

TEST(BodyPump, known_length_is_sent_plain_and_unknown_length_in_chunks) {
  for (const std::size_t piece : {1u, 2u, 3u, 6u, 100u}) {
    EXPECT_EQ(pumped(source_of("abcdef"), 6, false, piece), "abcdef") << piece;
    EXPECT_EQ(pumped(source_of("abcdef"), 4, false, piece), "abcd") << "no more than announced";
    EXPECT_EQ(pumped(source_of("abcdef"), std::nullopt, false, piece), "abcdef");
  }
  EXPECT_EQ(pumped(source_of("abcdef"), std::nullopt, true, 4),
            "00000004\r\nabcd\r\n00000002\r\nef\r\n0\r\n\r\n");
  const std::string large(0x12345, 'l');
  EXPECT_EQ(pumped(source_of(large), std::nullopt, true, 0x20000),
            "00012345\r\n" + large + "\r\n0\r\n\r\n");
  EXPECT_EQ(pumped(source_of(""), 0, false, 4), "");
  EXPECT_EQ(pumped(source_of(""), std::nullopt, true, 4), "0\r\n\r\n");
  EXPECT_EQ(pumped(source_of("ab"), 2, false, 0), "ab") << "a piece has at least one byte";
}

TEST(BodyPump, source_that_ends_early_fails_throws_or_overflows_is_reported) {
  EXPECT_EQ(pumped(source_of("abc"), 4, false, 2), "failed");
  EXPECT_EQ(pumped([](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); }, 4,
                   false, 2),
            "failed");
  EXPECT_EQ(pumped([](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(9); }, 4,
                   false, 2),
            "failed");
  EXPECT_EQ(pumped([](std::uint64_t, std::span<char>)
                       -> std::optional<std::size_t> { throw std::runtime_error("disk"); },
                   4, false, 2),
            "failed");
  // A short read is continued at its offset.
  const BodySource slow = [](std::uint64_t offset, std::span<char> into) {
    const std::string_view all = "abcdef";
    return std::optional(all.copy(into.data(), 1, std::min<std::size_t>(offset, 6)));
  };
  EXPECT_EQ(pumped(slow, 6, false, 4), "abcdef");
  EXPECT_EQ(pumped(slow, std::nullopt, false, 4), "abcdef");
}

TEST(BodyPump, empty_body_does_not_ask_its_source) {
  int asked = 0;
  BodyPump pump(
      [&](std::uint64_t, std::span<char>) {
        ++asked;
        return std::optional<std::size_t>(0);
      },
      0, false, 10);
  pump.make();
  pump.turn();
  EXPECT_TRUE(pump.last());
  EXPECT_FALSE(pump.failed());
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace orrery::net::body_pump_tests
