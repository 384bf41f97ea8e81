#include "core/base/diagnostic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/estimate.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery {
namespace {

TEST(Diagnostic, prints_place_code_why_and_fix) {
  const Diagnostic d{.code = "unit.missing",
                     .place = {"a.yaml", 3, 7},
                     .what = "no unit",
                     .why = "2 could be kW or MW",
                     .fix = "write 2 MW"};
  EXPECT_EQ(to_text(d),
            "a.yaml:3:7: error: no unit [unit.missing]\n    why: 2 could be kW or MW\n    fix: "
            "write 2 MW\n");
}

TEST(Diagnostic, diagnostics_are_printed_one_after_another) {
  const Diagnostic note{.severity = Severity::warning, .code = "c", .what = "w", .fix = "f"};
  const Diagnostics all = {note, {.code = "d", .what = "x", .why = "y"}};
  EXPECT_EQ(to_text(all), "warning: w [c]\n    fix: f\nerror: x [d]\n    why: y\n");
  EXPECT_TRUE(has_errors(all));
  EXPECT_FALSE(has_errors({note}));
  EXPECT_EQ(significant(1e-9, 3), "0.000000001");
  EXPECT_EQ(significant(9.99e-10, 3), "9.99e-10");
  EXPECT_EQ(significant(1e15, 3), "1e+15");
  EXPECT_EQ(significant(std::nan(""), 3), "nan");
}

TEST(Diagnostic, empty_parts_of_a_diagnostic_are_not_printed) {
  const Diagnostic whole{.code = "c", .place = {"f", 0, 0}, .what = "w"};
  EXPECT_EQ(to_text(whole), "f: error: w [c]\n") << "of the file as a whole";
  EXPECT_EQ(to_text(Diagnostic{
                .severity = Severity::note, .code = "c", .place = {"f", 12, 34}, .what = "w"}),
            "f:12:34: note: w [c]\n");
  EXPECT_EQ(to_text(Diagnostic{.code = "c", .what = "w"}), "error: w [c]\n");
}

}  // namespace
}  // namespace orrery
