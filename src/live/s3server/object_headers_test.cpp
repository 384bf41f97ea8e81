// Headers that an object keeps, and tags from documents and queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "live/s3server/call.h"
#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::object_headers_tests {
namespace {

using testing::ElementsAre;

class ObjectHeaders : public GatewayTest {
 protected:
  static std::string tag_set(const std::vector<std::pair<std::string, std::string>>& tags) {
    std::string list;
    for (const auto& [name, value] : tags) {
      list += "<Tag><Key>" + name + "</Key><Value>" + value + "</Value></Tag>";
    }
    return "<Tagging><TagSet>" + list + "</TagSet></Tagging>";
  }
  static std::string tags_of(int count) {
    std::vector<std::pair<std::string, std::string>> tags;
    for (int i = 0; i < count; ++i) tags.emplace_back("k" + std::to_string(i), "v");
    return tag_set(tags);
  }
};

TEST_F(ObjectHeaders, an_object_keeps_its_headers) {
  const net::Response made = put("/pail/k", "x",
                                 {{"Content-Type", "text/css"},
                                  {"Content-Encoding", "aws-chunked, gzip"},
                                  {"Cache-Control", "no-cache"},
                                  {"x-amz-meta-Who", " me "},
                                  {"x-amz-tagging", "a=1&b=x%20y"}});
  ASSERT_EQ(made.status, 200) << made.body;
  const net::Response shown = head("/pail/k");
  EXPECT_EQ(header(shown, "Content-Type"), "text/css");
  EXPECT_EQ(header(shown, "Content-Encoding"), "gzip") << "the transfer encoding is not stored";
  EXPECT_EQ(header(shown, "Cache-Control"), "no-cache");
  EXPECT_EQ(header(shown, "x-amz-meta-who"), "me");
  EXPECT_EQ(header(shown, "x-amz-tagging-count"), "2");
  EXPECT_EQ(header(shown, "x-amz-storage-class"), "");
  EXPECT_EQ(shown.length, 1u);
  EXPECT_EQ(header(head("/pail/k?response-content-type=a%2Fb"), "content-type"), "a/b");
  put("/pail/plain", "x");
  EXPECT_EQ(header(head("/pail/plain"), "Content-Type"), "binary/octet-stream");
  // S3's limits: 2 KB of metadata, ten tags, 128 and 256 bytes.
  const auto refused_as = [&](HeaderList headers) {
    const net::Response answer = put("/pail/l", "x", std::move(headers));
    return answer.status == 200 ? "kept" : code(answer);
  };
  EXPECT_EQ(refused_as({{"x-amz-meta-a", std::string(2047, 'm')}}), "kept");
  EXPECT_EQ(refused_as({{"x-amz-meta-a", std::string(2048, 'm')}}), "MetadataTooLarge");
  const auto tagged = [&](const std::string& query) {
    return refused_as({{"x-amz-tagging", query}});
  };
  EXPECT_EQ(tagged("a=1&a=2"), "InvalidTag");
  EXPECT_EQ(tagged(std::string(128, 'k') + '=' + std::string(256, 'v')), "kept");
  EXPECT_EQ(tagged(std::string(129, 'k') + "=v"), "InvalidTag");
  EXPECT_EQ(tagged("k=" + std::string(257, 'v')), "InvalidTag");
  EXPECT_EQ(tagged("=v"), "InvalidTag");
  EXPECT_EQ(tagged("a%zz=1"), "InvalidArgument");
  std::string eleven = "k0=v";
  for (int i = 1; i < 11; ++i) eleven += "&k" + std::to_string(i) + "=v";
  EXPECT_EQ(tagged(eleven), "InvalidTag");
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "STANDARD_IA"}}), "InvalidStorageClass")
      << "the store has no such tier";
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "GLACIER"}}), "kept");
  EXPECT_EQ(header(head("/pail/l"), "x-amz-storage-class"), "GLACIER");
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "STANDARD"}}), "kept");
  EXPECT_EQ(header(head("/pail/l"), "x-amz-storage-class"), "");
  EXPECT_EQ(refused_as({{"x-amz-acl", "public"}}), "InvalidArgument");
  EXPECT_EQ(refused_as({{"x-amz-grant-read", "id=x"}}), "NotImplemented");
  EXPECT_EQ(refused_as({{"x-amz-server-side-encryption", "AES256"}}), "NotImplemented");
}

TEST_F(ObjectHeaders, user_metadata_have_up_to_2048_bytes) {
  const auto with = [&](std::size_t bytes) {
    return fate(put("/pail/k", "x", {{"x-amz-meta-ab", std::string(bytes - 2, 'v')}}));
  };
  EXPECT_EQ(with(2048), "taken");
  EXPECT_EQ(with(2049), "MetadataTooLarge");
  EXPECT_EQ(fate(put("/pail/k", "x",
                     {{"x-amz-meta-a", std::string(1023, 'v')},
                      {"x-amz-meta-b", std::string(1023, 'v')}})),
            "taken")
      << "1 + 1,023 bytes, twice";
  EXPECT_EQ(fate(put("/pail/k", "x",
                     {{"x-amz-meta-a", std::string(1023, 'v')},
                      {"x-amz-meta-b", std::string(1024, 'v')}})),
            "MetadataTooLarge");
}

TEST_F(ObjectHeaders, an_object_has_up_to_10_tags_and_a_bucket_50) {
  put("/pail/k", "x");
  EXPECT_EQ(fate(put("/pail/k?tagging", tags_of(10))), "taken");
  EXPECT_EQ(fate(put("/pail/k?tagging", tags_of(11))), "InvalidTag");
  EXPECT_EQ(fate(put("/pail?tagging", tags_of(50))), "taken");
  EXPECT_EQ(fate(put("/pail?tagging", tags_of(51))), "InvalidTag");
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

TEST(Tags, are_read_from_a_document_or_a_query) {
  const auto xml = [](const std::string& text) {
    const auto tags = tags_of_xml(text, 2);
    return tags ? std::to_string(tags->size()) : tags.error().code;
  };
  const auto tag = [](const std::string& key) {
    return "<Tag><Key>" + key + "</Key><Value>v</Value></Tag>";
  };
  const auto doc = [](const std::string& inner) {
    return "<Tagging><TagSet>" + inner + "</TagSet></Tagging>";
  };
  EXPECT_EQ(xml(doc(tag("a") + tag("b"))), "2");
  EXPECT_EQ(xml(doc("")), "0");
  EXPECT_EQ(xml(doc(tag("a") + tag("b") + tag("c"))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag("a") + tag("a"))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag(""))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag(std::string(128, 'k')))), "1");
  EXPECT_EQ(xml(doc(tag(std::string(129, 'k')))), "InvalidTag");
  EXPECT_EQ(xml("<Other><TagSet/></Other>"), "MalformedXML");
  EXPECT_EQ(xml("<Tagging/>"), "MalformedXML");
  EXPECT_EQ(xml("no"), "MalformedXML");
  EXPECT_EQ(xml(doc("<Label><Key>a</Key></Label>")), "MalformedXML");
  EXPECT_EQ(xml(doc("<Tag><Value>a</Value></Tag>")), "MalformedXML");
  const auto query = tags_of_query("b=2+3&&a%20=x&c");
  ASSERT_TRUE(query);
  EXPECT_THAT(*query, ElementsAre(std::pair("a ", "x"), std::pair("b", "2 3"), std::pair("c", "")));
  EXPECT_EQ(tags_of_query("a=" + std::string(256, 'v'))->size(), 1u);
  EXPECT_EQ(tags_of_query("a=" + std::string(257, 'v')).error().code, "InvalidTag");
  EXPECT_EQ(tags_of_query("a=%zz").error().code, "InvalidArgument");
}

}  // namespace
}  // namespace orrery::s3server::object_headers_tests
