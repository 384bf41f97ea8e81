#include "catalog/embedded_table.h"

#include "catalog/embedded.h"

namespace orrery {
namespace {

std::unexpected<Diagnostics> missing(std::string_view path) {
  return fail({.code = "data.missing",
               .place = {.file = std::string(path)},
               .what = "this build lacks a file of data/",
               .why = "the build puts all of them into the binary",
               .fix = "build again"});
}

}  // namespace

Result<std::string> embedded_text(std::string_view path) {
  if (const auto text = embedded_file(path)) return std::string(*text);
  return missing(path);
}

Result<CsvTable> embedded_table(std::string_view path) {
  if (const auto text = embedded_file(path)) return CsvTable::parse(*text, std::string(path));
  return missing(path);
}

}  // namespace orrery
