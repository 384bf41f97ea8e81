// Whatever design the reader accepts, the verdict keeps what plan/invariants.h promises.
//
// A few hundred draws here; `./test --full` draws ten thousand and asks that every field, every
// word and every part of the catalog was used at least twenty times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "design/shape.h"
#include "design/templates.h"
#include "design/write_design.h"
#include "machine/known_fixture.h"
#include "plan/invariants.h"
#include "plan/review.h"
#include "random_design.h"

namespace orrery {
namespace {

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

struct Drawn {
  UseCounts uses;  // in the designs that were reviewed
  int accepted = 0;
  std::set<std::string> refusals;
};

Drawn draw_and_check(int designs) {
  const machine::Models& models = machine::known();
  Drawn drawn;
  int shown = 0;
  for (int seed = 1; seed <= designs && shown < 10; ++seed) {
    RandomDesign random(static_cast<std::uint64_t>(seed), models.catalog());
    const std::string text = write_design(random.draw());
    const auto design = design::read_design(text, models.catalog());
    if (!design) {
      drawn.refusals.insert(design.error().front().code + ": " + design.error().front().what);
      continue;
    }
    ++drawn.accepted;
    for (const auto& [what, n] : random.uses()) drawn.uses[what] += n;
    const plan::Review review = plan::run_stages(*design, models);
    const auto broken =
        broken_invariants(review, verdict_of(review, {.spends = seed % 8 == 0, .insist = false}));
    if (broken.empty()) continue;
    ++shown;
    ADD_FAILURE() << "seed " << seed << ": " << broken.front() << " (of " << broken.size() << ")\n"
                  << text;
  }
  return drawn;
}

TEST(Templates, keep_every_invariant) {
  for (const design::Template& t : design::templates()) {
    const auto design = design::read_design(t.text, machine::known().catalog());
    ASSERT_TRUE(design) << t.name;
    const plan::Review review = plan::run_stages(*design, machine::known());
    for (const std::string& broken :
         broken_invariants(review, verdict_of(review, {.insist = false}))) {
      ADD_FAILURE() << t.name << ": " << broken;
    }
  }
}

TEST(RandomDesigns, keep_every_invariant) {
  const int designs = full() ? 10'000 : 200;
  const Drawn drawn = draw_and_check(designs);
  EXPECT_GT(drawn.accepted, designs / 2) << (drawn.refusals.empty() ? "" : *drawn.refusals.begin());
  if (!full()) return;
  std::string rare;
  for (const auto& [what, n] : drawn.uses) {
    if (n < 20) rare += what + " " + std::to_string(n) + "\n";
  }
  EXPECT_EQ(rare, "");
}

// What can be drawn is the whole table: no field of the file, no word of it, no part of the catalog
// is out of reach.
TEST(RandomDesigns, reach_every_field_word_and_part) {
  UseCounts uses;
  const int designs = full() ? 10'000 : 2'500;
  for (int seed = 1; seed <= designs; ++seed) {
    RandomDesign random(static_cast<std::uint64_t>(seed), machine::known().catalog());
    random.draw();
    for (const auto& [what, n] : random.uses()) uses[what] += n;
  }
  std::string missing;
  const std::set<std::string> kLabels = {"orrery", "site", "sites", "goals", "workloads"};
  for (const design::SectionShape& section : design::design_shape()) {
    for (const design::FieldShape& f : section.fields) {
      if (kLabels.contains(f.key) || !f.field.not_yet.empty()) continue;
      const bool found = std::ranges::any_of(
          uses, [&](const auto& use) { return use.first.ends_with("." + f.key); });
      if (!found) missing += section.name + "." + f.key + "\n";
      for (const std::string_view word : f.words) {
        const bool drawn = std::ranges::any_of(uses, [&](const auto& use) {
          return use.first.ends_with("." + f.key + "=" + std::string(word));
        });
        if (!drawn) missing += section.name + "." + f.key + "=" + std::string(word) + "\n";
      }
      for (const std::string& id : part_ids(machine::known().catalog(), f.field.part)) {
        if (!uses.contains("part:" + id)) missing += "part " + id + "\n";
      }
    }
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace orrery
