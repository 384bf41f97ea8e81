// For tests of the emitters: the review of a design's text or of a template.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "output/emit/file.h"
#include "plan/verdict/verdict.h"

namespace orrery::emit {

struct ReviewedExample {
  design::Design design;
  std::unique_ptr<review::Review> review;
  EmitSource source;
};

inline std::unique_ptr<ReviewedExample> reviewed(design::Design design) {
  auto r = std::make_unique<ReviewedExample>();
  r->design = std::move(design);
  r->review = std::make_unique<review::Review>(review::run_stages(r->design, machine::known()));
  r->source = {r->design.name, r->design.version, design_text::design_digest(r->design)};
  return r;
}

inline design::Design read_text(std::string_view text) {
  auto design = design_text::read_design(text, machine::known().catalog(), {.file = "test.yaml"});
  EXPECT_TRUE(design.has_value()) << (design ? "" : to_text(design.error()));
  return design ? *std::move(design) : design::Design{};
}

inline design::Design read_template(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? read_text(found->text) : design::Design{};
}

inline std::string text_of(const EmittedFiles& files, std::string_view path) {
  for (const EmittedFile& f : files) {
    if (f.path == path) return f.text;
  }
  return "no file " + std::string(path);
}

// Returns "CODE NAME" per diagnostic: the name that its message quotes, if any.
inline std::string codes_of(const Diagnostics& all) {
  std::string out;
  for (const Diagnostic& d : all) {
    const std::size_t at = d.what.find('"');
    const std::size_t end = at == std::string::npos ? at : d.what.find('"', at + 1);
    out += d.code + (end == std::string::npos ? "" : " " + d.what.substr(at, end + 1 - at)) + '\n';
  }
  return out;
}

}  // namespace orrery::emit
