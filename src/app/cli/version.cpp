// `orrery version`: prints the version, the build and the digest of the catalog, which changes with
// every fact.
#include <fmt/core.h>

#include <memory>

#include "app/cli/build_info.h"
#include "app/cli/verb.h"
#include "core/base/digest.h"
#include "core/base/json_writer.h"
#include "core/catalog/embedded.h"

namespace orrery::cli {
namespace {

struct VersionOptions {
  Format format = Format::text;
};

// Returns the digest of all embedded files. Path and length come before each text, so that two
// different sets of files never have the same input.
std::string catalog_digest() {
  std::string all;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files()) {
    all += fmt::format("{} {}\n", file.path, file.text.size());
    all += file.text;
  }
  return sha256_hex(all);
}

ExitCode run_version(const VersionOptions& options, Terminal& terminal) {
  if (options.format == Format::json) {
    JsonWriter json;
    json.begin_object()
        .field("schema_version", 1)
        .field("version", kVersion)
        .field("build", kBuildType)
        .field("compiler", kCompiler)
        .field("catalog_sha256", catalog_digest())
        .end_object();
    terminal.out << json.text() << '\n';
    return ExitCode::good;
  }
  terminal.out << fmt::format("orrery {}\nbuild    {}\ncompiler {}\ncatalog  sha256 {}\n", kVersion,
                              kBuildType, kCompiler, catalog_digest());
  return ExitCode::good;
}

}  // namespace

Verb version_verb() {
  return {.name = "version",
          .summary = "Show the version, the build and the digest of the catalog",
          .examples = {"orrery version", "orrery version --format json"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<VersionOptions>();
            arguments.format(options->format);
            return [options](Terminal& terminal) { return run_version(*options, terminal); };
          }};
}

}  // namespace orrery::cli
