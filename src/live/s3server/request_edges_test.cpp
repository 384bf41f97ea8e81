// Requests at the edges of what they may be: the last that is taken and the first that is not, of
// names, numbers, sizes, ranges and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::request_edges_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class RequestEdges : public RequestsTest {
 protected:
  // What became of it: the code of a refusal, or "taken".
  static std::string fate(const net::Response& of) {
    const std::string said = code(of);
    return of.status < 300 ? "taken" : said;
  }
  static std::string tag_set(const std::vector<std::pair<std::string, std::string>>& tags) {
    std::string list;
    for (const auto& [name, value] : tags) {
      list += "<Tag><Key>" + name + "</Key><Value>" + value + "</Value></Tag>";
    }
    return "<Tagging><TagSet>" + list + "</TagSet></Tagging>";
  }
  static std::string so_many_tags(int count) {
    std::vector<std::pair<std::string, std::string>> tags;
    for (int i = 0; i < count; ++i) tags.emplace_back("k" + std::to_string(i), "v");
    return tag_set(tags);
  }
};

TEST_F(RequestEdges, a_part_is_asked_for_by_a_number_up_to_10000) {
  put("/pail/k", "bytes");
  EXPECT_EQ(get("/pail/k?partNumber=1").status, 200) << "all of it, for it has no parts";
  EXPECT_EQ(get("/pail/k?partNumber=1").body, "bytes");
  EXPECT_EQ(header(get("/pail/k?partNumber=1"), "x-amz-mp-parts-count"), "");
  EXPECT_EQ(code(get("/pail/k?partNumber=2")), "InvalidPart");
  EXPECT_EQ(code(get("/pail/k?partNumber=10000")), "InvalidPart");
  EXPECT_EQ(code(get("/pail/k?partNumber=10001")), "InvalidArgument");
  EXPECT_EQ(code(get("/pail/k?partNumber=x")), "InvalidArgument");
  EXPECT_EQ(code(get("/pail/k?partNumber=0")), "InvalidArgument");
  put("/pail/empty", "");
  ASSERT_EQ(
      ask({.method = "PUT", .target = "/pail/none", .headers = {{"Content-Length", "0"}}}).status,
      200);
  EXPECT_EQ(get("/pail/none?partNumber=1").status, 200);
  EXPECT_EQ(code(get("/pail/none?partNumber=2")), "InvalidPart");
}

TEST_F(RequestEdges, a_part_is_put_and_chosen_by_a_number_up_to_10000) {
  const std::string id = begin_parts("/pail/k");
  const std::string last = header(put_part("/pail/k", id, "10000", "last"), "ETag");
  EXPECT_EQ(code(put_part("/pail/k", id, "10001", "x")), "InvalidArgument");
  EXPECT_EQ(code(put_part("/pail/k", id, "0", "x")), "InvalidArgument");
  EXPECT_EQ(code(complete("/pail/k", id, {{0, last}})), "InvalidPart");
  EXPECT_EQ(code(complete("/pail/k", id, {{10001, last}})), "InvalidPart");
  EXPECT_EQ(complete("/pail/k", id, {{10000, last}}).status, 200);
  EXPECT_EQ(get("/pail/k").body, "last");
  const std::string again = begin_parts("/pail/k2");
  const std::string first = header(put_part("/pail/k2", again, "1", "first"), "ETag");
  EXPECT_EQ(complete("/pail/k2", again, {{1, first}}).status, 200);
}

TEST_F(RequestEdges, each_part_is_a_stretch_of_its_object) {
  open_gateway({.part_bytes_min = 3});
  const std::string id = begin_parts("/pail/k");
  std::vector<std::pair<int, std::string>> parts;
  for (const auto& [number, bytes] :
       std::vector<std::pair<int, std::string>>{{1, "abc"}, {3, "defgh"}, {7, "i"}}) {
    parts.emplace_back(number,
                       header(put_part("/pail/k", id, std::to_string(number), bytes), "ETag"));
  }
  ASSERT_EQ(complete("/pail/k", id, parts).status, 200);
  const auto part = [&](int number) {
    const net::Response of = get("/pail/k?partNumber=" + std::to_string(number));
    EXPECT_EQ(of.status, 206);
    EXPECT_EQ(header(of, "x-amz-mp-parts-count"), "3");
    return of.body + ' ' + header(of, "Content-Range");
  };
  EXPECT_EQ(part(1), "abc bytes 0-2/9");
  EXPECT_EQ(part(2), "defgh bytes 3-7/9");
  EXPECT_EQ(part(3), "i bytes 8-8/9");
  EXPECT_EQ(code(get("/pail/k?partNumber=4")), "InvalidPart");
  const std::string small = begin_parts("/pail/s");
  const std::string two = header(put_part("/pail/s", small, "1", "ab"), "ETag");
  const std::string three = header(put_part("/pail/s", small, "2", "abc"), "ETag");
  EXPECT_EQ(code(complete("/pail/s", small, {{1, two}, {2, three}})), "EntityTooSmall");
  EXPECT_EQ(complete("/pail/s", small, {{1, two}}).status, 200) << "the last may be small";
}

TEST_F(RequestEdges, ranges_begin_and_end_inside) {
  put("/pail/k", "0123456789");
  const auto range = [&](const std::string& text) {
    const net::Response of = get("/pail/k", {{"Range", text}});
    return std::to_string(of.status) + ' ' + (of.status < 300 ? of.body : code(of)) + ' ' +
           header(of, "Content-Range");
  };
  EXPECT_EQ(range("bytes=0-0"), "206 0 bytes 0-0/10");
  EXPECT_EQ(range("bytes=9-9"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=9-"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=9-10"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=8-9"), "206 89 bytes 8-9/10");
  EXPECT_EQ(range("bytes=8-100"), "206 89 bytes 8-9/10");
  EXPECT_EQ(range("bytes=10-"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes=10-11"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes=-1"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=-10"), "206 0123456789 bytes 0-9/10");
  EXPECT_EQ(range("bytes=-11"), "206 0123456789 bytes 0-9/10");
  EXPECT_EQ(range("bytes=-0"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes= 3 - 4 "), "206 34 bytes 3-4/10");
  for (const char* none : {"bytes=4-3", "bytes=-", "bytes=", "bytes=1-2-3", "bytes=x-2",
                           "bytes=2-x", "bytes=-x", "bytes=x-", "bytes=0-1,3-4", "lines=0-1"}) {
    EXPECT_EQ(range(none), "200 0123456789 ") << none;
  }
  EXPECT_EQ(range("bytes=3-3"), "206 3 bytes 3-3/10");
}

// An answer up to 64 KiB is one piece; a longer one is read as it is sent.
TEST_F(RequestEdges, an_answer_of_64_kib_is_one_piece) {
  const std::string most(65'536, 'm');
  put("/pail/most", most);
  put("/pail/more", most + "r");
  const net::Response one = get("/pail/most");
  EXPECT_EQ(one.body, most);
  EXPECT_FALSE(one.length || one.source);
  const net::Response two = get("/pail/more");
  EXPECT_EQ(two.length, 65'537u);
  EXPECT_TRUE(two.body.empty());
  ASSERT_TRUE(two.source);
  std::string got(10, '?');
  EXPECT_EQ(two.source(65'530, got), 7u);
  EXPECT_EQ(got.substr(0, 7), "mmmmmmr");
  EXPECT_EQ(two.source(65'537, got), 0u);
  EXPECT_EQ(two.source(70'000, got), 0u);
  const net::Response middle = get("/pail/more", {{"Range", "bytes=0-65535"}});
  EXPECT_EQ(middle.body, most) << "of a stretch it is the stretch that counts";
  put("/pail/long", std::string(30, 'a') + std::string(70'000, 'b') + "cc");
  const net::Response stretch = get("/pail/long", {{"Range", "bytes=29-70029"}});
  EXPECT_EQ(stretch.length, 70'001u);
  ASSERT_TRUE(stretch.source);
  EXPECT_EQ(stretch.source(0, got), 10u);
  EXPECT_EQ(got, "abbbbbbbbb");
  EXPECT_EQ(stretch.source(69'999, got), 2u) << "it ends before the object does";
  EXPECT_EQ(got.substr(0, 2), "bb");
}

TEST_F(RequestEdges, names_and_values_that_a_client_adds_have_2048_bytes) {
  const auto with = [&](std::size_t bytes) {
    return fate(put("/pail/k", "x", {{"x-amz-meta-ab", std::string(bytes - 2, 'v')}}));
  };
  EXPECT_EQ(with(2048), "taken");
  EXPECT_EQ(with(2049), "MetadataTooLarge");
  EXPECT_EQ(fate(put("/pail/k", "x",
                     {{"x-amz-meta-a", std::string(1023, 'v')},
                      {"x-amz-meta-b", std::string(1023, 'v')}})),
            "taken")
      << "1 + 1,023 twice";
  EXPECT_EQ(fate(put("/pail/k", "x",
                     {{"x-amz-meta-a", std::string(1023, 'v')},
                      {"x-amz-meta-b", std::string(1024, 'v')}})),
            "MetadataTooLarge");
}

TEST_F(RequestEdges, an_object_has_ten_tags_and_a_bucket_fifty) {
  put("/pail/k", "x");
  EXPECT_EQ(fate(put("/pail/k?tagging", so_many_tags(10))), "taken");
  EXPECT_EQ(fate(put("/pail/k?tagging", so_many_tags(11))), "InvalidTag");
  EXPECT_EQ(fate(put("/pail?tagging", so_many_tags(50))), "taken");
  EXPECT_EQ(fate(put("/pail?tagging", so_many_tags(51))), "InvalidTag");
  std::string query;
  for (int i = 0; i < 10; ++i) query += "k" + std::to_string(i) + "=v&";
  EXPECT_EQ(fate(put("/pail/k", "x", {{"x-amz-tagging", query}})), "taken");
  EXPECT_EQ(fate(put("/pail/k", "x", {{"x-amz-tagging", query + "l=v"}})), "InvalidTag");
  const auto tag = [&](std::size_t name, std::size_t value) {
    return fate(
        put("/pail/k?tagging", tag_set({{std::string(name, 'n'), std::string(value, 'v')}})));
  };
  EXPECT_EQ(tag(1, 0), "taken");
  EXPECT_EQ(tag(0, 1), "InvalidTag");
  EXPECT_EQ(tag(128, 256), "taken");
  EXPECT_EQ(tag(129, 256), "InvalidTag");
  EXPECT_EQ(tag(128, 257), "InvalidTag");
  EXPECT_EQ(fate(put("/pail/k?tagging", tag_set({{"b", "1"}, {"a", "1"}, {"b", "2"}}))),
            "InvalidTag");
}

TEST_F(RequestEdges, a_key_has_1024_bytes_and_a_bucket_3_to_63) {
  EXPECT_EQ(fate(put("/pail/" + std::string(1024, 'k'), "x")), "taken");
  EXPECT_EQ(fate(put("/pail/" + std::string(1025, 'k'), "x")), "KeyTooLongError");
  for (const std::size_t bytes : {2u, 3u, 63u, 64u}) {
    EXPECT_EQ(fate(put('/' + std::string(bytes, 'b'), "")),
              bytes == 2 || bytes == 64 ? "InvalidBucketName" : "taken")
        << bytes;
  }
}

TEST_F(RequestEdges, a_page_has_up_to_a_thousand_and_says_how_many) {
  const auto shown = [&](const std::string& query) {
    const net::Response of = get("/pail?" + query);
    return of.status == 200 ? between(of.body, "<MaxKeys>", "</MaxKeys>") : code(of);
  };
  EXPECT_EQ(shown(""), "1000");
  EXPECT_EQ(shown("max-keys=0"), "0");
  EXPECT_EQ(shown("max-keys=1"), "1");
  EXPECT_EQ(shown("max-keys=1000"), "1000");
  EXPECT_EQ(shown("max-keys=1001"), "1000");
  EXPECT_EQ(shown("max-keys=2147483647"), "1000");
  EXPECT_EQ(shown("max-keys=2147483648"), "InvalidArgument");
  EXPECT_EQ(shown("max-keys=-1"), "InvalidArgument");
  EXPECT_EQ(shown("max-keys=x"), "InvalidArgument");
  EXPECT_EQ(shown("versions&max-keys=7"), "7");
  EXPECT_EQ(shown("versions&max-keys=-7"), "InvalidArgument");
  EXPECT_EQ(code(get("/pail?uploads&max-uploads=x")), "InvalidArgument");
  EXPECT_THAT(get("/pail?uploads&max-uploads=5").body, HasSubstr("<MaxUploads>5</MaxUploads>"));
}

TEST_F(RequestEdges, a_thousand_are_removed_at_once_and_no_more) {
  const auto removal = [&](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += "<Object><Key>" + std::to_string(i) + "</Key></Object>";
    }
    return ask({.method = "POST",
                .target = "/pail?delete",
                .body = "<Delete><Quiet>true</Quiet>" + list + "</Delete>"});
  };
  EXPECT_EQ(fate(removal(0)), "MalformedXML");
  EXPECT_EQ(fate(removal(1)), "taken");
  const net::Response most = removal(1000);
  EXPECT_EQ(fate(most), "taken");
  EXPECT_THAT(most.body, Not(HasSubstr("<Deleted>"))) << "quiet";
  EXPECT_EQ(fate(removal(1001)), "MalformedXML");
}

TEST_F(RequestEdges, a_bucket_keeps_its_objects_for_36500_of_a_unit) {
  ASSERT_EQ(ask({.method = "PUT",
                 .target = "/safe",
                 .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}})
                .status,
            200);
  const auto lock = [&](const std::string& inner) {
    return fate(put("/safe?object-lock",
                    "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>"
                    "<DefaultRetention><Mode>GOVERNANCE</Mode>" +
                        inner + "</DefaultRetention></Rule></ObjectLockConfiguration>"));
  };
  EXPECT_EQ(lock("<Days>36501</Days>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Days>0</Days>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Years>x</Years>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Days>1</Days><Years>1</Years>"), "MalformedXML");
  EXPECT_EQ(lock(""), "MalformedXML");
  EXPECT_EQ(lock("<Days>36500</Days>"), "taken");
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Days>36500</Days>"));
  EXPECT_THAT(get("/safe?object-lock").body, Not(HasSubstr("<Years>")));
  EXPECT_EQ(lock("<Years>1</Years>"), "taken");
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Years>1</Years>"));
  EXPECT_THAT(get("/safe?object-lock").body, Not(HasSubstr("<Days>")));
  put("/safe/k", "x");
  // The clock goes on by a millisecond at each look: it is 365 days of 86,400,000 ms from then.
  const TimeMs until =
      *store::moment_of_iso(header(head("/safe/k"), "x-amz-object-lock-retain-until-date"));
  const TimeMs made = store->find("safe", "k", std::nullopt).value().modified_ms;
  EXPECT_GE(until, made + 365LL * 86'400'000 - 20);
  EXPECT_LT(until, made + 365LL * 86'400'000);
  EXPECT_EQ(lock("<Days>2</Days>"), "taken");
  put("/safe/d", "x");
  const TimeMs days =
      *store::moment_of_iso(header(head("/safe/d"), "x-amz-object-lock-retain-until-date"));
  EXPECT_NEAR(static_cast<double>(days), static_cast<double>(now + 2LL * 86'400'000), 50);
}

TEST_F(RequestEdges, a_restore_is_for_1_to_3650_days) {
  put("/pail/k", "x", {{"x-amz-storage-class", "GLACIER"}});
  const auto restore = [&](const std::string& days) {
    const net::Response of =
        ask({.method = "POST",
             .target = "/pail/k?restore",
             .body = "<RestoreRequest><Days>" + days + "</Days></RestoreRequest>"});
    return std::to_string(of.status);
  };
  EXPECT_EQ(restore("0"), "400");
  EXPECT_EQ(restore("3651"), "400");
  EXPECT_EQ(restore("x"), "400");
  EXPECT_EQ(restore("1"), "202");
  EXPECT_EQ(restore("3650"), "200") << "it was asked for already";
  const TimeMs until = store->find("pail", "k", std::nullopt).value().restored_until_ms;
  EXPECT_NEAR(static_cast<double>(until), static_cast<double>(now + 3650LL * 86'400'000), 50);
  put("/pail/hot", "x");
  EXPECT_EQ(code(ask({.method = "POST",
                      .target = "/pail/hot?restore",
                      .body = "<RestoreRequest><Days>1</Days></RestoreRequest>"})),
            "InvalidObjectState");
}

}  // namespace
}  // namespace orrery::s3server::request_edges_tests
