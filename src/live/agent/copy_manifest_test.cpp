#include "live/agent/copy_manifest.h"

#include <gtest/gtest.h>

#include <optional>

#include "live/s3/hash.h"

namespace orrery::agent::copy_manifest_tests {
namespace {

CopyManifest manifest_of(const std::map<std::string, CopyFile>& files) {
  return {.item = "step-1", .made = seconds(5), .digest = digest_of(files), .files = files};
}

const std::map<std::string, CopyFile> kFiles = {{"a", {.bytes = 1, .sha256 = "x"}},
                                                {"b/c", {.bytes = 2, .sha256 = "y"}}};

TEST(CopyManifest, text_reads_back) {
  const auto back = read_manifest(text_of(manifest_of(kFiles)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->item, "step-1");
  EXPECT_EQ(back->made, seconds(5));
  EXPECT_EQ(back->files, kFiles);
  EXPECT_EQ(back->digest, s3::sha256_hex("a\n1\nx\nb/c\n2\ny\n"));
}

TEST(CopyManifest, other_text_is_no_manifest) {
  for (const char* text :
       {"[1]", "7", "\"x\"", "{", "", R"({"orrery_copy":2,"made_s":5,"files":[]})",
        R"({"orrery_copy":1,"files":[7]})", R"({"orrery_copy":1,"files":[{"path":"a"}]})"}) {
    EXPECT_FALSE(read_manifest(text)) << text;
  }
}

TEST(CopyManifest, path_that_leads_out_of_the_item_is_a_fault) {
  EXPECT_EQ(manifest_path_fault(manifest_of(kFiles)), "");
  for (const char* path : {"../a", "/a", "a/../../b", ""}) {
    EXPECT_NE(manifest_path_fault(manifest_of({{path, {}}})), "") << path;
  }
}

TEST(CopyManifest, difference_names_the_first_file_that_differs) {
  const CopyManifest manifest = manifest_of(kFiles);
  EXPECT_EQ(difference(manifest, kFiles), "");
  const auto named = [&](auto change) {
    auto read = kFiles;
    change(read);
    const std::string text = difference(manifest, read);
    return text.substr(0, text.find(':'));
  };
  EXPECT_EQ(named([](auto& read) { read.erase("b/c"); }), "b/c");
  EXPECT_EQ(named([](auto& read) { read["b/c"].bytes = 3; }), "b/c");
  EXPECT_EQ(named([](auto& read) { read["a"].sha256 = "z"; }), "a");
  EXPECT_EQ(named([](auto& read) { read["more"] = {}; }), "more");
}

}  // namespace
}  // namespace orrery::agent::copy_manifest_tests
