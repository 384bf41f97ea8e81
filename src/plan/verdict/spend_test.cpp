// The spends of a review: what they say is what was tried.
#include "plan/rules/spend.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {
namespace {

// Saves that stall, a fixed interval, nodes that fail often and wait long for repair: most changes
// pay here.
design::Design neglected() {
  design::Design d = design_text::read_design(design_text::find_template("superpod-h100")->text,
                                              machine::known().catalog())
                         .value();
  auto& checkpoint = std::get<design::Train>(d.workloads[0].task).checkpoint;
  checkpoint->mode = design::CheckpointMode::sync;
  checkpoint->every = hours(4);
  d.workloads.resize(1);
  d.workloads[0].terms.nodes = d.fleet[0].count;
  d.fleet[0].spares = 0;
  d.fleet[0].failures.node_mtbf = days(30);
  d.fleet[0].failures.repair = days(3);
  return d;
}

// Each offered change, put into the text of the design and reviewed, gives the price that the spend
// promised.
TEST(spends, are_changes_of_the_file) {
  int tried = 0;
  std::vector<design::Design> designs = {neglected()};
  for (const design_text::Template& t : design_text::templates()) {
    designs.push_back(design_text::read_design(t.text, machine::known().catalog()).value());
  }
  for (const design::Design& design : designs) {
    const std::string text = design_text::write_design(design);
    for (const rules::Spend& s : verdict_of(design, machine::known()).spends) {
      // A reader sees that it changes something.
      const bool price_differs =
          significant(s.unit_cost_before_usd, 3) != significant(s.unit_cost_after_usd, 3);
      EXPECT_TRUE(price_differs || show(s.goodput_before, figures::Unit::ratio) !=
                                       show(s.goodput_after, figures::Unit::ratio))
          << design.name << ": " << s.what;
      const auto edited = design_text::edit_text(text, s.change, machine::known().catalog());
      ASSERT_TRUE(edited) << design.name << ": " << s.what;
      const auto changed = design_text::read_design(edited->text, machine::known().catalog());
      ASSERT_TRUE(changed) << design.name << ": " << s.what << '\n' << to_text(changed.error());
      const review::Review after = review::run_stages(*changed, machine::known());
      EXPECT_NEAR(after.cost.per_useful_hour.base() * 3600, s.unit_cost_after_usd,
                  1e-9 * s.unit_cost_after_usd)
          << design.name << ": " << s.what;
      ++tried;
    }
  }
  EXPECT_GE(tried, 5);
}

// A spare is bought for the fleet that trains, wherever it stands in the file.
TEST(spends, a_spare_goes_to_the_fleet_that_trains) {
  design::Design d = neglected();
  design::Fleet other = d.fleet.front();
  other.name = "other";
  other.count = 1;
  d.workloads[0].terms.fleet = d.fleet.front().name;
  d.fleet.insert(d.fleet.begin(), other);
  const Verdict v = verdict_of(d, machine::known());
  const auto spare = std::ranges::find(v.spends, "one more spare node", &rules::Spend::what);
  ASSERT_NE(spare, v.spends.end());
  EXPECT_EQ(spare->change.path, "fleet[1].spares");
  EXPECT_GT(spare->goodput_after, spare->goodput_before);
}

// A review shares its machine: a copy stands when the original and its design are gone.
TEST(reviews, a_copy_outlives_what_it_was_made_from) {
  std::optional<review::Review> copy;
  std::string before;
  {
    const design::Design d =
        design_text::read_design(design_text::find_template("chatbot-zones")->text,
                                 machine::known().catalog())
            .value();
    const review::Review first = review::run_stages(d, machine::known());
    // Services are taken over from an equal design; they must then be told of their own.
    const review::Review second = review::run_stages(d, machine::known(), &first);
    before = verdict_of(second).summary;
    copy = second;
  }
  EXPECT_EQ(verdict_of(*copy).summary, before);
  for (const review::ServeView& s : copy->serves) {
    EXPECT_GE(s.workload, copy->design().workloads.data());
    EXPECT_LT(s.workload, copy->design().workloads.data() + copy->design().workloads.size());
    EXPECT_EQ(s.fleet, &copy->fleets()[s.fleet->index]);
  }
}

}  // namespace
}  // namespace orrery::verdict
