// The documents of the protocol, and those that an attacker would send.
#include "live/s3/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::s3 {
namespace {

TEST(Xml, elements_are_read_with_their_entities) {
  const auto root = read_xml(
      "<?xml version=\"1.0\"?>\n<a xmlns=\"http://x\"><Key>x&amp;&lt;&#xD;&#10;y</Key>"
      "<s3:Size>7</s3:Size><Key>second</Key><Blank>  </Blank></a>");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "a");
  EXPECT_EQ(root->text_of("Key"), "x&<\r\ny");
  EXPECT_EQ(root->text_of("Size"), "7");
  EXPECT_EQ(root->text_of("Blank"), "  ");
  EXPECT_EQ(root->text_of("Absent"), "");
  EXPECT_EQ(root->child("Absent"), nullptr);
  EXPECT_EQ(root->children.size(), 4u);
}

TEST(Xml, written_document_reads_back) {
  const XmlElement root{.name = "List",
                        .children = {{.name = "Key", .text = "<\"ü & '\n\r\t\x01>"},
                                     {.name = "Empty"},
                                     {.name = "Inner", .children = {{.name = "N", .text = "1"}}}}};
  const auto back = read_xml(write_xml(root));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text_of("Key"), "<\"ü & '\n\r\t\x01>");
  ASSERT_NE(back->child("Inner"), nullptr);
  EXPECT_EQ(back->child("Inner")->text_of("N"), "1");
}

// Line breaks between elements are layout.
TEST(Xml, element_with_children_has_no_text) {
  const auto laid_out = read_xml("<a>\n  words <b>1</b>\n</a>");
  ASSERT_TRUE(laid_out);
  EXPECT_EQ(laid_out->text, "");
  EXPECT_EQ(laid_out->text_of("b"), "1");
}

TEST(Xml, broken_or_hostile_documents_are_refused) {
  for (const char* bad : {"", "x", "<a>", "<a><Key>x</a>", "<a></b>", "{\"json\": 1}"}) {
    EXPECT_FALSE(read_xml(bad)) << bad;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_FALSE(read_xml(deep));
  std::string closed = deep;
  for (int i = 0; i < 100'000; ++i) closed += "</a>";
  ASSERT_FALSE(read_xml(closed));
  EXPECT_EQ(read_xml(closed).error().front().code, "xml.limit");
  EXPECT_TRUE(read_xml("<a></a>", {.bytes_max = 7}));
  EXPECT_EQ(read_xml(std::string(100, ' '), {.bytes_max = 99}).error().front().code, "xml.limit");
  const auto nested = [](int depth) {
    std::string text = "x";
    for (int i = 0; i < depth; ++i) text = "<a>" + text + "</a>";
    return text;
  };
  EXPECT_TRUE(read_xml(nested(16)));
  EXPECT_FALSE(read_xml(nested(17)));
  EXPECT_TRUE(read_xml(nested(1), {.depth_max = 1}));
  EXPECT_FALSE(read_xml(nested(2), {.depth_max = 1}));
  // Entities are not expanded.
  const auto bomb = read_xml(
      "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><a><Key>&c;&c;</Key></a>");
  if (bomb) {
    EXPECT_EQ(bomb->text_of("Key"), "&c;&c;");
  }
}

}  // namespace
}  // namespace orrery::s3
