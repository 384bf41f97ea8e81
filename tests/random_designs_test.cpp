// For every design that the reader accepts, the verdict satisfies verdict/invariants.h.
//
// A few hundred draws here; `./test --full` draws ten thousand and requires that every field, every
// word and every part of the catalog was used at least twenty times.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "model/design_text/read_design.h"
#include "model/design_text/shape.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/invariants.h"
#include "plan/verdict/verdict.h"
#include "random_design.h"

namespace orrery {
namespace {

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

struct Drawn {
  UseCounts uses;  // uses in the designs that were reviewed
  int drawn = 0;
  int accepted = 0;
  std::set<std::string> refusals;
};

Drawn draw_and_check(int designs) {
  const machine::Models& models = machine::known();
  Drawn drawn;
  int shown = 0;
  for (int seed = 1; drawn.accepted < designs && seed <= 2 * designs && shown < 10; ++seed) {
    ++drawn.drawn;
    RandomDesign random(static_cast<std::uint64_t>(seed), models.catalog());
    const std::string text = design_text::write_design(random.draw());
    const auto design =
        design_text::read_design(text, models.catalog(), {.read_file = random_file});
    if (!design) {
      drawn.refusals.insert(design.error().front().code + ": " + design.error().front().what);
      continue;
    }
    ++drawn.accepted;
    for (const auto& [what, n] : random.uses()) drawn.uses[what] += n;
    const review::Review review = review::run_stages(*design, models);
    const auto broken = broken_invariants(
        review, verdict::verdict_of(review, {.spends = seed % 8 == 0, .insist = false}));
    if (broken.empty()) continue;
    ++shown;
    ADD_FAILURE() << "seed " << seed << ": " << broken.front() << " (of " << broken.size() << ")\n"
                  << text;
  }
  return drawn;
}

TEST(Templates, keep_every_invariant) {
  for (const design_text::Template& t : design_text::templates()) {
    const auto design = design_text::read_design(t.text, machine::known().catalog());
    ASSERT_TRUE(design) << t.name;
    const review::Review review = review::run_stages(*design, machine::known());
    for (const std::string& broken :
         broken_invariants(review, verdict::verdict_of(review, {.insist = false}))) {
      ADD_FAILURE() << t.name << ": " << broken;
    }
  }
}

// "key", "key=word" and "part:id": everything in the table of fields and the catalog.
std::set<std::string> all_there_is() {
  std::set<std::string> all;
  // Part of every design, or filled in afterwards.
  const std::set<std::string> kAlways = {"orrery", "site", "sites", "goals", "workloads"};
  for (const design_text::SectionShape& section : design_text::design_shape()) {
    for (const design_text::FieldShape& f : section.fields) {
      if (kAlways.contains(f.key) || !f.field.not_yet.empty()) continue;
      all.insert(f.key);
      for (const std::string_view word : f.words) all.insert(f.key + "=" + std::string(word));
      for (const std::string& id : part_ids(machine::known().catalog(), f.field.part)) {
        all.insert("part:" + id);
      }
    }
  }
  return all;
}

// Returns what was used fewer than `least` times.
std::string used_rarely(const UseCounts& uses, int least) {
  UseCounts by_name;  // without the section
  for (const auto& [what, n] : uses) {
    const std::size_t dot = what.starts_with("part:") ? std::string::npos : what.find('.');
    by_name[dot == std::string::npos ? what : what.substr(dot + 1)] += n;
  }
  std::string rare;
  for (const std::string& what : all_there_is()) {
    const auto found = by_name.find(what);
    const int n = found == by_name.end() ? 0 : found->second;
    if (n < least) rare += what + " " + std::to_string(n) + "\n";
  }
  return rare;
}

TEST(RandomDesigns, keep_every_invariant) {
  const int designs = full() ? 10'000 : 200;
  const Drawn drawn = draw_and_check(designs);
  EXPECT_EQ(drawn.accepted, designs) << (drawn.refusals.empty() ? "" : *drawn.refusals.begin());
  std::printf("%d of %d designs were accepted\n", drawn.accepted, drawn.drawn);
  for (const std::string& refusal : drawn.refusals) std::printf("  %s\n", refusal.c_str());
  if (full()) {
    EXPECT_EQ(used_rarely(drawn.uses, 20), "");
  }
}

// The whole table can be drawn: every field of the file, every word and every part of the catalog.
TEST(RandomDesigns, reach_every_field_word_and_part) {
  UseCounts uses;
  const int designs = full() ? 10'000 : 2'500;
  for (int seed = 1; seed <= designs; ++seed) {
    RandomDesign random(static_cast<std::uint64_t>(seed), machine::known().catalog());
    random.draw();
    for (const auto& [what, n] : random.uses()) uses[what] += n;
  }
  EXPECT_EQ(used_rarely(uses, 1), "");
}

}  // namespace
}  // namespace orrery
