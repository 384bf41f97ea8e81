// The pure parts of the transport: names of headers, targets, sources, chunks.
#include "live/net/message.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "live/net/body_pump.h"

namespace orrery::net {
namespace {

TEST(Message, headers_are_found_whatever_their_case_and_the_first_counts) {
  const HeaderList headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X-[^", "c"}};
  EXPECT_EQ(header_of(headers, "CONTENT-TYPE"), "a");
  EXPECT_EQ(header_of(headers, "content-typ"), "");
  EXPECT_EQ(header_of(headers, "x-[^"), "c") << "only letters have a case";
  EXPECT_EQ(header_of(headers, "x-{~"), "");
}

TEST(Message, a_target_is_a_path_and_parameters) {
  const Request request{.target = "/a/b?prefix=x&delimiter=&pre=y&flag&prefix=z"};
  EXPECT_EQ(path_of(request), "/a/b");
  EXPECT_EQ(query_value(request, "prefix"), "x");
  EXPECT_EQ(query_value(request, "pre"), "y") << "a name is whole";
  EXPECT_EQ(query_value(request, "delimiter"), "");
  EXPECT_EQ(query_value(request, "flag"), "");
  EXPECT_EQ(query_value(request, "absent"), "");
  EXPECT_EQ(path_of({.target = "/plain"}), "/plain");
  EXPECT_EQ(query_value({.target = "/plain"}, "plain"), "");
}

TEST(Message, held_bytes_are_given_from_any_offset) {
  const BodySource source = source_of("abcdef");
  char into[4];
  EXPECT_EQ(source(0, into), 4u);
  EXPECT_EQ(std::string_view(into, 4), "abcd");
  EXPECT_EQ(source(4, into), 2u);
  EXPECT_EQ(std::string_view(into, 2), "ef");
  EXPECT_EQ(source(6, into), 0u);
  EXPECT_EQ(source(99, into), 0u);
}

// Pumped to its end, as it goes over the wire; "failed" where the source was at fault.
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

TEST(BodyPump, a_known_length_goes_bare_and_an_unknown_one_in_chunks) {
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
  EXPECT_EQ(pumped(source_of("ab"), 2, false, 0), "ab") << "a piece has a byte at least";
}

TEST(BodyPump, a_source_that_gives_up_gives_too_little_or_too_much_has_failed) {
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
  // One that gives less than there is room for is asked again where it stands.
  const BodySource slow = [](std::uint64_t offset, std::span<char> into) {
    const std::string_view all = "abcdef";
    return std::optional(all.copy(into.data(), 1, std::min<std::size_t>(offset, 6)));
  };
  EXPECT_EQ(pumped(slow, 6, false, 4), "abcdef");
  EXPECT_EQ(pumped(slow, std::nullopt, false, 4), "abcdef");
}

}  // namespace
}  // namespace orrery::net
