#include "app/server/review_shelf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {
namespace {

// Asked about again with other names, money, goals, machines or work, every template gets the
// verdict that it would have got alone. Without ORRERY_FULL every third one is.
TEST(ReviewShelf, gives_the_verdict_of_a_review_made_anew) {
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
