// For tests of reviews: a template's review, computed once, to copy and change; or a design in a
// few lines.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {

inline design::Design lab_design(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

inline const Review& lab_review(const std::string& name) {
  static auto* const kAll = new std::map<std::string, Review>;
  auto found = kAll->find(name);
  if (found == kAll->end()) {
    found = kAll->emplace(name, run_stages(lab_design(name), machine::known())).first;
  }
  return found->second;
}

inline Review reviewed(design::Design design) {
  return run_stages(std::move(design), machine::known());
}

// A template with some lines of its file changed, as an author would.
inline Review edited_review(std::string_view name,
                            const std::vector<design_text::Change>& changes) {
  std::string text(design_text::find_template(name)->text);
  for (const design_text::Change& c : changes) {
    auto edited = design_text::edit_text(text, c, machine::known().catalog());
    EXPECT_TRUE(edited) << c.path << " = " << c.value << '\n'
                        << (edited ? "" : to_text(edited.error()));
    if (edited) text = std::move(edited->text);
  }
  const auto design = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(design) << (design ? "" : to_text(design.error()));
  return run_stages(design ? *design : design::Design{}, machine::known());
}

// A small design written by hand: its text without the first lines, reviewed.
inline Review hand_review(const std::string& text) {
  const auto d =
      design_text::read_design("orrery: 1\nname: a\n" + text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

// A pod of eight nodes with one service, whose parts a test may replace.
struct Pod {
  std::string site = "region: usa";
  std::string fleet = "name: f, node: dgx-h100, count: 8";
  std::string compute = "topology: fat-tree, switch: qm9700";
  std::string tier =
      "name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB";
  std::string workloads =
      "serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, arrivals: { "
      "rate: 8 /s, input_tokens: 800, output_tokens: 100 } }";

  Review review() const {
    return hand_review("site: { " + site + " }\nfleet: [{ " + fleet + " }]\nfabric: { compute: { " +
                       compute + " } }\nstorage: [{ " + tier + " }]\nworkloads: [{ " + workloads +
                       " }]\n");
  }
};

}  // namespace orrery::review
