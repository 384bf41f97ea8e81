// Every range and bound of a single value, on the bound and a little beyond it; names that one part
// of a file gives and another refers to.
#include "model/design_text/value_reader.h"

#include <gtest/gtest.h>

#include "core/base/units.h"
#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design_text/change.h"
#include "model/design_text/read_design.h"

namespace orrery::design_text {
namespace {

YamlNode scalar(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .text = std::move(text)};
}

// "" where the value is taken, else the code of the complaint.
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

std::string integer(design::Range range, const std::string& text) {
  return code_of([&](ValueReader& r) { return r.integer(scalar(text), "k", {.range = range}); });
}

template <class Q>
std::string quantity(const std::string& text, design::Range range = design::Range::not_negative) {
  return code_of([&](ValueReader& r) {
    return r.quantity(scalar(text), "k", {.unit = "s", .range = range}, DimensionOf<Q>::value);
  });
}

constexpr const char* kOut = "design.range";

TEST(ValueReader, RangesHoldOnTheBoundAndNotBeyond) {
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

TEST(ValueReader, SharesMayBeInPerCentAndOthersMayNot) {
  Diagnostics faults;
  const std::string file;
  ValueReader reader(design::catalog(), file, faults);
  EXPECT_DOUBLE_EQ(*reader.number(scalar("25 %"), "k", {.range = design::Range::fraction}), 0.25);
  EXPECT_DOUBLE_EQ(*reader.number(scalar("2T"), "k", {.range = design::Range::positive}), 2e12);
  EXPECT_EQ(number(design::Range::fraction, "100 %"), "");
  EXPECT_EQ(number(design::Range::fraction, "101 %"), kOut);
  EXPECT_EQ(number(design::Range::positive, "25 %"), "design.type");
}

TEST(ValueReader, WholeNumbersEndAtTenMillionAndAreDecimal) {
  EXPECT_EQ(integer(design::Range::not_negative, "10000000"), "");
  EXPECT_EQ(integer(design::Range::not_negative, "10000001"), kOut);
  EXPECT_EQ(integer(design::Range::any, "-10000000"), "");
  EXPECT_EQ(integer(design::Range::any, "-10000001"), kOut);
  EXPECT_EQ(integer(design::Range::not_negative, "1.5"), "design.type");
  EXPECT_EQ(integer(design::Range::not_negative, "010"), "design.type");
  EXPECT_EQ(integer(design::Range::not_negative, "0"), "");
}

TEST(ValueReader, QuantitiesThatNoBuildingHasAreSlips) {
  EXPECT_EQ(quantity<Seconds>("1 ns"), "");
  EXPECT_EQ(quantity<Seconds>("0.9 ns"), kOut);
  EXPECT_EQ(quantity<Seconds>("0 s"), "");
  EXPECT_EQ(quantity<Seconds>("0 s", design::Range::positive), kOut);
  EXPECT_EQ(quantity<Seconds>("3.1e11 s"), "");
  EXPECT_EQ(quantity<Seconds>("3.3e11 s"), kOut);
  EXPECT_EQ(quantity<Bytes>("1e24 B"), "");
  EXPECT_EQ(quantity<Bytes>("1.1e24 B"), kOut);
  EXPECT_EQ(quantity<Watts>("1e12 W"), "");
  EXPECT_EQ(quantity<Watts>("1.1e12 W"), kOut);
  EXPECT_EQ(quantity<Watts>("0.9 mW"), kOut);
  EXPECT_EQ(quantity<Seconds>("5"), "design.unit-missing");
  EXPECT_EQ(quantity<Seconds>("5 fortnights"), "design.unit-unknown");
  EXPECT_EQ(quantity<Seconds>("5 GB"), "design.unit-wrong");
}

TEST(ValueReader, LongTextsAndStrangeWords) {
  const auto text = [](std::size_t size) {
    return code_of([&](ValueReader& r) { return r.text(scalar(std::string(size, 'x')), "k", {}); });
  };
  EXPECT_EQ(text(4096), "");
  EXPECT_EQ(text(4097), kOut);
  const auto flag = [](const std::string& word) {
    return code_of([&](ValueReader& r) { return r.boolean(scalar(word), "k"); });
  };
  EXPECT_EQ(flag("true"), "");
  EXPECT_EQ(flag("false"), "");
  EXPECT_EQ(flag("yes"), "design.type");
}

// An amount of a fix has two digits, is never below what is needed, and not far above it.
TEST(Change, AmountsAreRoundedUp) {
  for (const double wanted : {1.04e6, 1.049e6, 1.05e6, 1.051e6, 9.94e6, 9.96e6, 3.33e9, 12.4e3}) {
    const auto read = parse_quantity<Watts>(rounded_up(wanted, DimensionOf<Watts>::value));
    ASSERT_TRUE(read) << wanted;
    EXPECT_GE(read->base(), wanted);
    EXPECT_LE(read->base(), wanted * 1.1);
  }
  EXPECT_EQ(rounded_up(1.04e6, DimensionOf<Watts>::value), "1.1 MW");
  EXPECT_EQ(rounded_up(1.1e6, DimensionOf<Watts>::value), "1.1 MW");
}

std::string design_code(const std::string& workload, const std::string& head = {}) {
  const auto design =
      read_design("orrery: 1\nname: a\n" + (head.empty() ? "site: { region: usa }\n" : head) +
                      "fleet: [{ name: f, node: dgx-h100, count: 4 }]\n"
                      "storage: [{ tier: hot, kind: nfs }]\nworkloads:\n  - " +
                      workload + "\n",
                  design::catalog());
  return design ? "" : design.error().front().code;
}

TEST(NameCheck, SharesOfZonesAddUpToOne) {
  const auto zones = [](const std::string& a, const std::string& b) {
    return design_code(
        "serve: { model: llama-3-8b, arrivals: { rate: 1 /s }, zones: [{ site: x, "
        "share: " +
            a + " }, { site: y, share: " + b + " }] }",
        "sites: [{ name: x, region: usa }, { name: y, region: usa }]\n");
  };
  EXPECT_EQ(zones("0.5", "0.5"), "");
  EXPECT_EQ(zones("0.5", "0.504"), "");
  EXPECT_EQ(zones("0.5", "0.506"), kOut);
  EXPECT_EQ(zones("0.5", "0.494"), kOut);
}

TEST(NameCheck, JobsHaveAWeightForEachSizeAndComeFromSomewhere) {
  const auto jobs = [](const std::string& rest) { return design_code("jobs: { " + rest + " }"); };
  const std::string flow = "rate: 1 /h, mean_duration: 1 h";
  EXPECT_EQ(jobs(flow + ", sizes: [1, 8], weights: [3, 1]"), "");
  EXPECT_EQ(jobs(flow + ", sizes: [1, 8]"), "");
  EXPECT_EQ(jobs(flow + ", sizes: [1, 8], weights: [3]"), kOut);
  EXPECT_EQ(jobs(flow + ", sizes: [1, 8], weights: [3, 1, 1]"), kOut);
  EXPECT_EQ(jobs("rate: 1 /h"), "design.missing");
  EXPECT_EQ(jobs("mean_duration: 1 h"), "design.missing");
}

TEST(NameCheck, NamesReferToWhatIsThere) {
  const auto train = [](const std::string& rest) {
    return design_code("train: { model: llama-3-8b, tokens: 1T, sequence: 4096, batch: 64, " +
                       rest + " }");
  };
  EXPECT_EQ(train("dataset: { kind: text, size: 1 TB, tier: hot }"), "");
  EXPECT_EQ(train("dataset: { kind: text, size: 1 TB, tier: hut }"), "design.unknown-name");
  EXPECT_EQ(train("checkpoint: { to: [hot] }"), "");
  EXPECT_EQ(train("checkpoint: { to: [hit] }"), "design.unknown-name");
  EXPECT_EQ(train("checkpoint: { to: [hot], keep: { hit: 3 } }"), "design.unknown-name");
  EXPECT_EQ(train("fleet: f"), "");
  EXPECT_EQ(train("fleet: g"), "design.unknown-name");
  EXPECT_EQ(train("residency: deu"), "");
  EXPECT_EQ(train("residency: atlantis"), "design.unknown-part");
}

}  // namespace
}  // namespace orrery::design_text
