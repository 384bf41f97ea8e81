#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb_fixture.h"
#include "core/base/digest.h"
#include "core/catalog/embedded.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

TEST(Version, version_has_build_and_catalog) {
  std::string all;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files()) {
    all += std::string(file.path) + ' ' + std::to_string(file.text.size()) + '\n';
    all += file.text;
  }
  const Json v = json_said({"version"});
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["catalog_sha256"], sha256_hex(all));
  const VerbAnswer text = spoken({"version"});
  EXPECT_EQ(text.out, "orrery " + v["version"].get<std::string>() + "\nbuild    " +
                          v["build"].get<std::string>() + "\ncompiler " +
                          v["compiler"].get<std::string>() + "\ncatalog  sha256 " +
                          v["catalog_sha256"].get<std::string>() + '\n');
  EXPECT_EQ(spoken({"--version"}).out, "orrery " + v["version"].get<std::string>() + '\n');
}

}  // namespace
}  // namespace orrery::cli
