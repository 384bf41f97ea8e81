// Single values of a design file and what is said of them: every sentence with its reason and its
// remedy, and each figure on both sides of what a building can have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/units.h"
#include "model/design/catalog_fixture.h"
#include "model/design_text/value_reader.h"

namespace orrery::design_text::value_words_tests {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

YamlNode given(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .mark = {7, 9}, .text = std::move(text)};
}

// What the reader complains of, as one line; "good" where nothing.
template <class Read>
std::string told(Read read) {
  Diagnostics faults;
  const std::string file = "f.yaml";
  ValueReader reader(design::catalog(), file, faults);
  read(reader);
  if (faults.empty()) return "good";
  EXPECT_EQ(faults.size(), 1u);
  const Diagnostic& d = faults.front();
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_EQ(d.place, (Place{"f.yaml", 7, 9}));
  return d.code + ": " + d.what + " | " + d.why + " | " + d.fix;
}

std::string power(const std::string& text, design::Range range = design::Range::positive) {
  const design::Field field{.doc = "what the hall takes", .unit = "kW", .range = range};
  return told(
      [&](ValueReader& r) { r.quantity(given(text), "power", field, DimensionOf<Watts>::value); });
}

TEST(ValueWords, a_quantity_has_a_number_and_a_unit_of_its_kind) {
  EXPECT_EQ(power("44 kW"), "good");
  EXPECT_EQ(power("44"),
            "design.unit-missing: `power` has no unit | 44 could be in kW or MW | write 44 kW or "
            "44 MW");
  EXPECT_EQ(power("44 kw"),
            "design.unit-unknown: the unit of `44 kw` in `power` is not known | capitals count: m "
            "is a thousandth, M a million | did you mean `44 kW`?");
  EXPECT_EQ(power("44 mx"),
            "design.unit-unknown: the unit of `44 mx` in `power` is not known | power is given in "
            "units such as kW | write it in kW");
  EXPECT_EQ(power("44 gb"),
            "design.unit-unknown: the unit of `44 gb` in `power` is not known | power is given in "
            "units such as kW | write it in kW")
      << "44 GB would be no power";
  EXPECT_EQ(power("44 GB"),
            "design.unit-wrong: `44 GB` has the wrong kind of unit for `power` | power is given in "
            "units such as kW | write it in kW");
  EXPECT_EQ(power("many"),
            "design.type: `many` is no quantity for `power` | what the hall takes | write a number "
            "and a unit: 1 kW");
  EXPECT_EQ(power("1e308 GW"),
            "design.type: `1e308 GW` is no quantity for `power` | what the hall takes | write a "
            "number and a unit: 1 kW");
  const std::string shown(40, '7');
  EXPECT_EQ(power(shown), "design.unit-missing: `power` has no unit | " + shown +
                              " could be in kW or MW | write " + shown + " kW or " + shown + " MW");
  EXPECT_EQ(power(shown + "7"),
            "design.unit-missing: `power` has no unit | (a long text) could be in kW or MW | write "
            "(a long text) kW or (a long text) MW");
}

TEST(ValueWords, a_leading_nought_is_a_code) {
  const std::string coded =
      " is no quantity for `power` | what the hall takes | write a number and a unit: 1 kW";
  for (const char* bad : {"044 kW", "-044 kW", "+044 kW", "00 kW", "0x1f kW"}) {
    EXPECT_EQ(power(bad, design::Range::any), "design.type: `" + std::string(bad) + '`' + coded);
  }
  for (const char* good : {"0 kW", "0.5 kW", "0e3 kW", "0E3 kW", "+0.5 kW", "-0.5 kW", "10 kW"}) {
    EXPECT_EQ(power(good, design::Range::any), "good") << good;
  }
}

TEST(ValueWords, the_case_of_up_to_eight_letters_is_tried) {
  const design::Field rate{.doc = "d", .unit = "GB/s"};
  const auto read = [&](const std::string& text) {
    return told([&](ValueReader& r) {
      r.quantity(given(text), "read", rate, DimensionOf<BytesPerSecond>::value);
    });
  };
  EXPECT_EQ(read("40 gB/S"),
            "design.unit-unknown: the unit of `40 gB/S` in `read` is not known | capitals count: m "
            "is a thousandth, M a million | did you mean `40 GB/s`?");
  const design::Field money{.doc = "d", .unit = "USD/month"};
  const auto paid = [&](const std::string& text) {
    return told([&](ValueReader& r) {
      r.quantity(given(text), "rent", money, DimensionOf<UsdPerSecond>::value);
    });
  };
  EXPECT_EQ(paid("5 usd/month"),
            "design.unit-unknown: the unit of `5 usd/month` in `rent` is not known | capitals "
            "count: m is a thousandth, M a million | did you mean `5 USD/month`?")
      << "eight letters";
  EXPECT_EQ(
      paid("5 kusd/month"),
      "design.unit-unknown: the unit of `5 kusd/month` in `rent` is not known | rent is given "
      "in units such as USD/month | write it in USD/month")
      << "nine";
}

TEST(ValueWords, ranges_say_what_they_want) {
  const auto number = [](const std::string& text, design::Range range) {
    return told([&](ValueReader& r) {
      r.number(given(text), "k", {.doc = "its meaning", .range = range});
    });
  };
  EXPECT_EQ(number("-1", design::Range::not_negative),
            "design.range: `k` cannot be -1 | its meaning | write 0 or more");
  EXPECT_EQ(number("0", design::Range::positive),
            "design.range: `k` cannot be 0 | its meaning | write more than 0");
  EXPECT_EQ(number("1.5", design::Range::fraction),
            "design.range: `k` cannot be 1.5 | its meaning | write a share between 0 and 1");
  EXPECT_EQ(number("150 %", design::Range::positive_fraction),
            "design.range: `k` cannot be 150 % | its meaning | write a share above 0, up to 1");
  EXPECT_EQ(number("0.5", design::Range::at_least_one),
            "design.range: `k` cannot be 0.5 | its meaning | write 1 or more");
  EXPECT_EQ(number("2e30", design::Range::any),
            "design.range: `k` cannot be 2e30 | its meaning | write a smaller figure");
  EXPECT_EQ(number("x", design::Range::any),
            "design.type: `x` is no number for `k` | its meaning | write a plain number such as "
            "1024 or 2T");
  EXPECT_EQ(number("010", design::Range::any),
            "design.type: `010` is no number for `k` | its meaning | write a plain number such as "
            "1024 or 2T");
  for (const design::Range share : {design::Range::fraction, design::Range::positive_fraction}) {
    EXPECT_EQ(number("x %", share),
              "design.type: `x %` is no number for `k` | its meaning | write a share such as 0.9");
    EXPECT_EQ(number("90 %", share), "good");
    EXPECT_EQ(number(" 0.9 ", share), "good");
  }
}

TEST(ValueWords, degrees_carry_their_sign) {
  const design::Field degrees{.doc = "of the air", .unit = "C", .range = design::Range::any};
  Diagnostics faults;
  const std::string file;
  ValueReader reader(design::catalog(), file, faults);
  EXPECT_EQ(reader.number(given("27.5 C"), "supply", degrees), 27.5);
  EXPECT_EQ(reader.number(given("-3C"), "supply", degrees), -3);
  EXPECT_TRUE(faults.empty());
  const auto read = [&](const std::string& text) {
    return told([&](ValueReader& r) { r.number(given(text), "supply", degrees); });
  };
  EXPECT_EQ(read("27"),
            "design.unit-missing: `supply` has no unit | 27 could be in degrees of more than one "
            "kind | write 27 degrees of more than one kind");
  EXPECT_EQ(read("80 F"),
            "design.unit-unknown: the unit of `80 F` in `supply` is not known | supply is given in "
            "units such as C | write it in C");
}

// The least and the most of each kind, and a little beyond either.
TEST(ValueWords, figures_that_no_building_has_are_slips) {
  struct Row {
    Dimension dimension;
    const char* unit;
    const char* least;
    const char* below;
    const char* most;
    const char* above;
    const char* between;
  };
  const Row rows[] = {
      {DimensionOf<Bytes>::value, "GB", "1 B", "0.97 B", "1e24 B", "1.03e24 B", "1 B and 1e+06 EB"},
      {DimensionOf<BytesPerSecond>::value, "GB/s", "1 kB/s", "0.97 kB/s", "1e18 B/s", "1.03e18 B/s",
       "1 kB/s and 1000 PB/s"},
      {DimensionOf<Seconds>::value, "s", "1 ns", "0.97 ns", "3.2e11 s", "3.3e11 s",
       "1 ns and 10147.133434804668 y"},
      {DimensionOf<Watts>::value, "kW", "1 mW", "0.97 mW", "1e12 W", "1.03e12 W",
       "0.001 W and 1000 GW"},
      {DimensionOf<Usd>::value, "USD", "1e-6 USD", "0.97e-6 USD", "1e15 USD", "1.03e15 USD",
       "1e-06 USD and 1e+06 GUSD"},
      {DimensionOf<PerSecond>::value, "/s", "1e-12 /s", "0.97e-12 /s", "1e15 /s", "1.03e15 /s",
       "1e-12 /s and 1e+12 /ms"},
      {DimensionOf<Flops>::value, "FLOP", "1 FLOP", "0.97 FLOP", "1e30 FLOP", "1.03e30 FLOP",
       "1 FLOP and 1e+12 EFLOP"},
  };
  for (const Row& row : rows) {
    const auto read = [&](const std::string& text) {
      const design::Field field{.doc = "d", .unit = row.unit, .range = design::Range::any};
      return told([&](ValueReader& r) { r.quantity(given(text), "k", field, row.dimension); });
    };
    EXPECT_EQ(read(row.least), "good");
    EXPECT_EQ(read(std::string("-") + row.least), "good") << "by its size";
    EXPECT_EQ(read(row.most), "good");
    const std::string slip = " | d | write a figure between " + std::string(row.between);
    EXPECT_EQ(read(row.below), "design.range: `k` cannot be " + std::string(row.below) + slip);
    if (std::string_view(row.unit) != "FLOP") {
      EXPECT_EQ(read(row.above), "design.range: `k` cannot be " + std::string(row.above) + slip);
    }
  }
  EXPECT_EQ(power("0 kW", design::Range::not_negative), "good") << "nothing at all is no slip";
}

TEST(ValueWords, whole_numbers_are_decimal_and_end_at_ten_million) {
  const auto integer = [](const std::string& text) {
    return told([&](ValueReader& r) {
      r.integer(given(text), "count", {.doc = "how many", .range = design::Range::any});
    });
  };
  EXPECT_EQ(integer("12"), "good");
  EXPECT_EQ(integer("12.5"),
            "design.type: `12.5` is no whole number for `count` | how many | write decimal digits, "
            "as in 127");
  EXPECT_EQ(integer("012"),
            "design.type: `012` is no whole number for `count` | a leading 0 may be meant as octal "
            "or hexadecimal | write decimal digits, as in 127");
  EXPECT_EQ(integer("10000001"),
            "design.range: `count` cannot be 10000001 | counts end at 10 million | write a smaller "
            "number");
}

TEST(ValueWords, words_flags_and_texts) {
  const std::string_view words[] = {"none", "selective", "full"};
  const auto word = [&](const std::string& text) {
    return told([&](ValueReader& r) { r.word(given(text), "recompute", words); });
  };
  EXPECT_EQ(word("selective"), "good");
  EXPECT_EQ(word("ful"),
            "design.unknown-word: `recompute` cannot be `ful` | it is one of none, selective, full "
            "| did you mean `full`?");
  EXPECT_EQ(word("everything"),
            "design.unknown-word: `recompute` cannot be `everything` | it is one of none, "
            "selective, full | write one of these words");
  EXPECT_EQ(told([](ValueReader& r) { r.boolean(given("yes"), "sharp"); }),
            "design.type: `sharp` must be true or false, not `yes` |  | write true or false");
  EXPECT_EQ(
      told([](ValueReader& r) { r.text(given(std::string(4097, 'x')), "name", {.doc = ""}); }),
      "design.range: `name` is longer than 4096 bytes |  | shorten it");
}

TEST(ValueWords, another_kind_of_value_is_named) {
  const auto expected = [](YamlNode::Kind is, YamlNode::Kind wanted) {
    return told([&](ValueReader& r) {
      EXPECT_EQ(r.expect({.kind = is, .mark = {7, 9}}, wanted, "k"), is == wanted);
    });
  };
  using enum YamlNode::Kind;
  EXPECT_EQ(expected(list, list), "good");
  EXPECT_EQ(expected(null, scalar),
            "design.type: `k` is nothing, but a single value is wanted |  | write one value after "
            "the colon");
  EXPECT_EQ(expected(map, list),
            "design.type: `k` is a section of keys, but a list is wanted |  | write [a, b], or "
            "lines that begin with `- `");
  EXPECT_EQ(expected(list, map),
            "design.type: `k` is a list, but a section of keys is wanted |  | write { key: value "
            "}, or indented `key: value` lines");
}

TEST(ValueWords, keys_that_are_unknown_missing_or_of_no_use_yet) {
  const std::vector<std::string> known = {"count", "node"};
  const auto unknown = [&](const std::string& key) {
    return told([&](ValueReader& r) { r.unknown_key({key, {7, 9}}, known, "the fleet"); });
  };
  const std::string why = " | a misspelt key would otherwise be passed over in silence | ";
  EXPECT_EQ(unknown("cuont"),
            "design.unknown-key: the fleet has no field `cuont`" + why + "did you mean `count`?");
  EXPECT_EQ(unknown("colour"),
            "design.unknown-key: the fleet has no field `colour`" + why + "remove it");
  EXPECT_EQ(unknown("<<"), "design.unknown-key: the fleet has no field `<<`" + why +
                               "merge keys are not supported: write the fields out");
  const auto missing = [](const design::Field& field) {
    return told([&](ValueReader& r) { r.missing({7, 9}, "node", "the fleet", field); });
  };
  EXPECT_EQ(missing({.doc = "its machine"}),
            "design.missing: the fleet lacks `node` | its machine | add `node:`");
  EXPECT_EQ(missing({.doc = "its machine", .example = "dgx-h100"}),
            "design.missing: the fleet lacks `node` | its machine | add `node: dgx-h100`");
  EXPECT_EQ(
      told([](ValueReader& r) {
        r.not_yet({7, 9}, "colour", {.doc = "d", .not_yet = "nothing is painted"});
      }),
      "design.not-yet: `colour` would change nothing yet | nothing is painted | leave it out");
}

TEST(ValueWords, parts_are_those_of_the_catalog) {
  const auto part = [](const std::string& id, design::Part of) {
    return told([&](ValueReader& r) { r.text(given(id), "k", {.doc = "", .part = of}); });
  };
  EXPECT_EQ(part("dgx-h100", design::Part::node), "good");
  EXPECT_EQ(part("", design::Part::node), "good") << "none";
  EXPECT_EQ(
      part("dgx-h101", design::Part::node),
      "design.unknown-part: the catalog has no node `dgx-h101` |  | did you mean `dgx-h100`?");
  EXPECT_EQ(part("zzzzzzzzzzzz", design::Part::node),
            "design.unknown-part: the catalog has no node `zzzzzzzzzzzz` |  | see `orrery catalog` "
            "for what there is");
  EXPECT_THAT(part("n+9", design::Part::redundancy),
              StartsWith("design.unknown-part: the catalog has no redundancy scheme `n+9` | it is "
                         "one of "));
  EXPECT_EQ(part("a stranger", design::Part::provider), "good") << "it is looked at later";
  EXPECT_EQ(part("my/config.json", design::Part::model), "good");
  EXPECT_EQ(part("anything", design::Part::none), "good");
}

// A hundred faults are enough; what comes then is not said.
TEST(ValueWords, the_hundredth_fault_is_the_last) {
  Diagnostics faults;
  const std::string file = "f";
  ValueReader reader(design::catalog(), file, faults);
  for (int i = 0; i < 99; ++i) reader.complain({1, 1}, {"c", std::to_string(i)});
  EXPECT_FALSE(reader.full());
  reader.complain({1, 1}, {"c", "the last"});
  EXPECT_TRUE(reader.full());
  reader.complain({1, 1}, {"c", "too many"});
  EXPECT_EQ(faults.size(), 100u);
  EXPECT_EQ(faults.back().what, "the last");
}

}  // namespace
}  // namespace orrery::design_text::value_words_tests
