// Every range and bound of a single value, on the bound and a little beyond it.
#include "model/design_text/value_reader.h"

#include <gtest/gtest.h>

#include "core/base/units.h"
#include "model/design/catalog_fixture.h"

namespace orrery::design_text {
namespace {

YamlNode scalar(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .text = std::move(text)};
}

// "" if the value is accepted, else the code of the complaint.
template <class Read>
std::string code_of(Read read) {
  Diagnostics faults;
  const std::string file = "f.yaml";
  ValueReader reader(design::catalog(), file, faults);
  const bool taken = read(reader).has_value();
  EXPECT_EQ(taken, faults.empty());
  return faults.empty() ? "" : faults.front().code;
}

std::string number(design::Range range, const std::string& text) {
  return code_of([&](ValueReader& r) { return r.number(scalar(text), "k", {.range = range}); });
}

constexpr const char* kOut = "design.range";

TEST(ValueReader, ranges_hold_on_the_bound_and_not_beyond) {
  EXPECT_EQ(number(design::Range::any, "-5"), "");
  EXPECT_EQ(number(design::Range::not_negative, "0"), "");
  EXPECT_EQ(number(design::Range::not_negative, "-0.001"), kOut);
  EXPECT_EQ(number(design::Range::positive, "0.001"), "");
  EXPECT_EQ(number(design::Range::positive, "0"), kOut);
  EXPECT_EQ(number(design::Range::fraction, "0"), "");
  EXPECT_EQ(number(design::Range::fraction, "1"), "");
  EXPECT_EQ(number(design::Range::fraction, "1.001"), kOut);
  EXPECT_EQ(number(design::Range::fraction, "-0.001"), kOut);
  EXPECT_EQ(number(design::Range::positive_fraction, "1"), "");
  EXPECT_EQ(number(design::Range::positive_fraction, "0"), kOut);
  EXPECT_EQ(number(design::Range::positive_fraction, "1.001"), kOut);
  EXPECT_EQ(number(design::Range::at_least_one, "1"), "");
  EXPECT_EQ(number(design::Range::at_least_one, "0.999"), kOut);
  EXPECT_EQ(number(design::Range::not_negative, "1e30"), "");
  EXPECT_EQ(number(design::Range::not_negative, "1.1e30"), kOut);
  EXPECT_EQ(number(design::Range::any, "-1.1e30"), kOut);
}

TEST(ValueReader, shares_may_be_in_percent_and_others_may_not) {
  Diagnostics faults;
  const std::string file;
  ValueReader reader(design::catalog(), file, faults);
  EXPECT_DOUBLE_EQ(*reader.number(scalar("25 %"), "k", {.range = design::Range::fraction}), 0.25);
  EXPECT_DOUBLE_EQ(*reader.number(scalar("2T"), "k", {.range = design::Range::positive}), 2e12);
  EXPECT_EQ(number(design::Range::fraction, "100 %"), "");
  EXPECT_EQ(number(design::Range::fraction, "101 %"), kOut);
  EXPECT_EQ(number(design::Range::positive, "25 %"), "design.type");
}

std::string integer(design::Range range, const std::string& text) {
  return code_of([&](ValueReader& r) { return r.integer(scalar(text), "k", {.range = range}); });
}

TEST(ValueReader, whole_numbers_end_at_ten_million_and_are_decimal) {
  EXPECT_EQ(integer(design::Range::not_negative, "10000000"), "");
  EXPECT_EQ(integer(design::Range::not_negative, "10000001"), kOut);
  EXPECT_EQ(integer(design::Range::any, "-10000000"), "");
  EXPECT_EQ(integer(design::Range::any, "-10000001"), kOut);
  EXPECT_EQ(integer(design::Range::not_negative, "1.5"), "design.type");
  EXPECT_EQ(integer(design::Range::not_negative, "010"), "design.type");
  EXPECT_EQ(integer(design::Range::not_negative, "0"), "");
}

YamlNode given(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .mark = {7, 9}, .text = std::move(text)};
}

// What the reader complains of, as one line; "good" if nothing.
template <class Read>
std::string code_said(Read read) {
  Diagnostics faults;
  const std::string file = "f.yaml";
  ValueReader reader(design::catalog(), file, faults);
  read(reader);
  if (faults.empty()) return "good";
  EXPECT_EQ(faults.size(), 1u);
  const Diagnostic& d = faults.front();
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_EQ(d.place, (Place{"f.yaml", 7, 9}));
  return d.code;
}

std::string power_said(const std::string& text, design::Range range = design::Range::positive) {
  const design::Field field{.doc = "what the hall takes", .unit = "kW", .range = range};
  return code_said(
      [&](ValueReader& r) { r.quantity(given(text), "power", field, DimensionOf<Watts>::value); });
}

TEST(ValueReader, quantity_has_a_number_and_a_unit_of_its_kind) {
  EXPECT_EQ(power_said("44 kW"), "good");
  EXPECT_EQ(power_said("44"), "design.unit-missing");
  EXPECT_EQ(power_said("44 kw"), "design.unit-unknown");
  EXPECT_EQ(power_said("44 mx"), "design.unit-unknown");
  EXPECT_EQ(power_said("44 gb"), "design.unit-unknown") << "44 GB would be no power";
  EXPECT_EQ(power_said("44 GB"), "design.unit-wrong");
  EXPECT_EQ(power_said("many"), "design.type");
  EXPECT_EQ(power_said("1e308 GW"), "design.type");
  const std::string shown(40, '7');
  EXPECT_EQ(power_said(shown), "design.unit-missing");
  EXPECT_EQ(power_said(shown + "7"), "design.unit-missing");
}

TEST(ValueReader, leading_zero_is_refused) {
  for (const char* bad : {"044 kW", "-044 kW", "+044 kW", "00 kW", "0x1f kW"}) {
    EXPECT_EQ(power_said(bad, design::Range::any), "design.type");
  }
  for (const char* good : {"0 kW", "0.5 kW", "0e3 kW", "0E3 kW", "+0.5 kW", "-0.5 kW", "10 kW"}) {
    EXPECT_EQ(power_said(good, design::Range::any), "good") << good;
  }
}

TEST(ValueReader, degrees_carry_a_unit) {
  const design::Field degrees{.doc = "of the air", .unit = "C", .range = design::Range::any};
  Diagnostics faults;
  const std::string file;
  ValueReader reader(design::catalog(), file, faults);
  EXPECT_EQ(reader.number(given("27.5 C"), "supply", degrees), 27.5);
  EXPECT_EQ(reader.number(given("-3C"), "supply", degrees), -3);
  EXPECT_TRUE(faults.empty());
  const auto read = [&](const std::string& text) {
    return code_said([&](ValueReader& r) { r.number(given(text), "supply", degrees); });
  };
  EXPECT_EQ(read("27"), "design.unit-missing");
  EXPECT_EQ(read("80 F"), "design.unit-unknown");
}

// The smallest and the largest value of each kind, and values slightly outside.
TEST(ValueReader, impossible_figures_are_refused_by_dimension) {
  struct Row {
    Dimension dimension;
    const char* unit;
    const char* least;
    const char* below;
    const char* most;
    const char* above;
  };
  const Row rows[] = {
      {DimensionOf<Bytes>::value, "GB", "1 B", "0.97 B", "1e24 B", "1.03e24 B"},
      {DimensionOf<BytesPerSecond>::value, "GB/s", "1 kB/s", "0.97 kB/s", "1e18 B/s",
       "1.03e18 B/s"},
      {DimensionOf<Seconds>::value, "s", "1 ns", "0.97 ns", "3.2e11 s", "3.3e11 s"},
      {DimensionOf<Watts>::value, "kW", "1 mW", "0.97 mW", "1e12 W", "1.03e12 W"},
      {DimensionOf<Usd>::value, "USD", "1e-6 USD", "0.97e-6 USD", "1e15 USD", "1.03e15 USD"},
      {DimensionOf<PerSecond>::value, "/s", "1e-12 /s", "0.97e-12 /s", "1e15 /s", "1.03e15 /s"},
      {DimensionOf<Flops>::value, "FLOP", "1 FLOP", "0.97 FLOP", "1e30 FLOP", "1.03e30 FLOP"},
  };
  for (const Row& row : rows) {
    const auto read = [&](const std::string& text) {
      const design::Field field{.doc = "d", .unit = row.unit, .range = design::Range::any};
      return code_said([&](ValueReader& r) { r.quantity(given(text), "k", field, row.dimension); });
    };
    EXPECT_EQ(read(row.least), "good");
    EXPECT_EQ(read(std::string("-") + row.least), "good") << "by its size";
    EXPECT_EQ(read(row.most), "good");
    EXPECT_EQ(read(row.below), "design.range");
    if (std::string_view(row.unit) != "FLOP") {
      EXPECT_EQ(read(row.above), "design.range");
    }
  }
  EXPECT_EQ(power_said("0 kW", design::Range::not_negative), "good") << "nothing at all is no slip";
}

TEST(ValueReader, words_flags_and_texts) {
  const std::string_view words[] = {"none", "selective", "full"};
  const auto word = [&](const std::string& text) {
    return code_said([&](ValueReader& r) { r.word(given(text), "recompute", words); });
  };
  EXPECT_EQ(word("selective"), "good");
  EXPECT_EQ(word("ful"), "design.unknown-word");
  EXPECT_EQ(word("everything"), "design.unknown-word");
  EXPECT_EQ(code_said([](ValueReader& r) { r.boolean(given("yes"), "sharp"); }), "design.type");
  EXPECT_EQ(
      code_said([](ValueReader& r) { r.text(given(std::string(4097, 'x')), "name", {.doc = ""}); }),
      "design.range");
}

TEST(ValueReader, other_kinds_of_values_are_refused) {
  const auto expected = [](YamlNode::Kind is, YamlNode::Kind wanted) {
    return code_said([&](ValueReader& r) {
      EXPECT_EQ(r.expect({.kind = is, .mark = {7, 9}}, wanted, "k"), is == wanted);
    });
  };
  using enum YamlNode::Kind;
  EXPECT_EQ(expected(list, list), "good");
  EXPECT_EQ(expected(null, scalar), "design.type");
  EXPECT_EQ(expected(map, list), "design.type");
  EXPECT_EQ(expected(list, map), "design.type");
}

TEST(ValueReader, unknown_missing_and_unused_keys) {
  const std::vector<std::string> known = {"count", "node"};
  const auto unknown = [&](const std::string& key) {
    return code_said([&](ValueReader& r) { r.unknown_key({key, {7, 9}}, known, "the fleet"); });
  };
  EXPECT_EQ(unknown("cuont"), "design.unknown-key");
  EXPECT_EQ(unknown("colour"), "design.unknown-key");
  EXPECT_EQ(unknown("<<"), "design.unknown-key");
  const auto missing = [](const design::Field& field) {
    return code_said([&](ValueReader& r) { r.missing({7, 9}, "node", "the fleet", field); });
  };
  EXPECT_EQ(missing({.doc = "its machine"}), "design.missing");
  EXPECT_EQ(missing({.doc = "its machine", .example = "dgx-h100"}), "design.missing");
  EXPECT_EQ(code_said([](ValueReader& r) {
              r.not_yet({7, 9}, "colour", {.doc = "d", .not_yet = "nothing is painted"});
            }),
            "design.not-yet");
}

TEST(ValueReader, parts_are_those_of_the_catalog) {
  const auto part = [](const std::string& id, design::Part of) {
    return code_said([&](ValueReader& r) { r.text(given(id), "k", {.doc = "", .part = of}); });
  };
  EXPECT_EQ(part("dgx-h100", design::Part::node), "good");
  EXPECT_EQ(part("", design::Part::node), "good") << "none";
  EXPECT_EQ(part("dgx-h101", design::Part::node), "design.unknown-part");
  EXPECT_EQ(part("zzzzzzzzzzzz", design::Part::node), "design.unknown-part");
  EXPECT_EQ(part("n+9", design::Part::redundancy), "design.unknown-part");
  EXPECT_EQ(part("a stranger", design::Part::provider), "good") << "it is looked at later";
  EXPECT_EQ(part("my/config.json", design::Part::model), "good");
  EXPECT_EQ(part("anything", design::Part::none), "good");
}

// A hundred faults are enough; later ones are not reported.
TEST(ValueReader, the_hundredth_fault_is_the_last) {
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

// The fix names the unit, key or part that was probably meant.
TEST(ValueReader, near_misses_are_suggested) {
  const auto fix = [](auto read) {
    Diagnostics faults;
    const std::string file = "f.yaml";
    ValueReader reader(design::catalog(), file, faults);
    read(reader);
    return faults.empty() ? std::string() : faults.front().fix;
  };
  const design::Field kilowatts{.doc = "d", .unit = "kW", .range = design::Range::positive};
  const auto power = [&](const char* text) {
    return fix([&](ValueReader& r) {
      r.quantity(given(text), "power", kilowatts, DimensionOf<Watts>::value);
    });
  };
  EXPECT_TRUE(power("44 kw").contains("`44 kW`"));
  EXPECT_FALSE(power("44 gb").contains("`44 GB`")) << "GB is no unit of power";
  const std::vector<std::string> known = {"count", "node"};
  const auto key = [&](const char* text) {
    return fix([&](ValueReader& r) { r.unknown_key({text, {7, 9}}, known, "the fleet"); });
  };
  EXPECT_TRUE(key("cuont").contains("`count`"));
  EXPECT_FALSE(key("colour").contains("`count`"));
  EXPECT_TRUE(fix([](ValueReader& r) {
                r.text(given("dgx-h101"), "k", {.doc = "", .part = design::Part::node});
              }).contains("`dgx-h100`"));
}

}  // namespace
}  // namespace orrery::design_text
