#include "app/server/review_shelf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "app/server/job_board.h"
#include "app/server/metrics.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {
namespace {

design::Design shelf_design(int count, const std::string& name = "small") {
  return design_text::read_design("orrery: 1\nname: " + name +
                                      "\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, "
                                      "count: " +
                                      std::to_string(count) + " }]\n",
                                  machine::known().catalog())
      .value();
}

// A review has the requested name and goals even if its parts were reused.
TEST(ReviewShelf, a_review_answers_with_the_requested_name_and_goals) {
  ReviewShelf shelf(machine::known());
  EXPECT_EQ(shelf.stages(shelf_design(2))->machine->design().name, "small");
  design::Design other = shelf_design(2, "other");
  other.economics.power_price = usd_per_kwh(0.5);
  const auto again = shelf.stages(other);
  EXPECT_EQ(again->machine->design().name, "other");
  EXPECT_EQ(again->machine->design().economics.power_price, usd_per_kwh(0.5));
  EXPECT_EQ(again->machine->design().fleet[0].count, 2);
  EXPECT_EQ(shelf.stages(shelf_design(3))->machine->design().fleet[0].count, 3);
}

// Every template gets the same verdict again after changes of names, money, goals, machines or work
// as it gets alone. Without ORRERY_FULL, every third template is tested.
TEST(ReviewShelf, a_cached_review_equals_a_new_one) {
  ReviewShelf shelf(machine::known());
  const std::size_t step = std::getenv("ORRERY_FULL") != nullptr ? 1 : 3;
  const std::vector<design_text::Template> all = design_text::templates();
  for (std::size_t i = 0; i < all.size(); i += step) {
    const design_text::Template& t = all[i];
    const design::Design plain =
        design_text::read_design(t.text, machine::known().catalog()).value();
    std::vector<design::Design> asked(6, plain);
    asked[1].name = "another";
    asked[1].economics.power_price = usd_per_kwh(0.31);
    asked[2].economics.horizon = years(3);
    asked[2].goals.clear();
    asked[3].fleet[0].count += 1;
    if (!asked[4].workloads.empty()) asked[4].workloads.pop_back();
    for (const design::Design& d : asked) {
      EXPECT_EQ(report::json_of(shelf.review(d)),
                report::json_of(verdict::verdict_of(d, machine::known())))
          << t.name;
    }
  }
}

}  // namespace
}  // namespace orrery::server
