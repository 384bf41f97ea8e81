// Lifecycle rules in detail: each action with and without what it needs, the name of a rule that
// has none, whom sizes and tags leave out, and which of several rules counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3/hash.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep::rule_details_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string rules_text(const std::string& rules) {
  return "<LifecycleConfiguration>" + rules + "</LifecycleConfiguration>";
}
std::string rule_text(const std::string& inner) {
  return rules_text("<Rule><ID>r</ID><Prefix/><Status>Enabled</Status>" + inner + "</Rule>");
}
std::string code_of(const std::string& inner) {
  const auto read = lifecycle_of(rule_text(inner));
  return read ? "taken" : read.error().code;
}
LifecycleRule rule_with(const std::string& inner) {
  const auto read = lifecycle_of(rule_text(inner));
  EXPECT_TRUE(read) << inner;
  return read ? read->rules.at(0) : LifecycleRule{};
}

TEST(RuleDetails, an_expiration_has_days_or_a_date_or_is_of_markers) {
  const LifecycleRule days = rule_with("<Expiration><Days>1</Days></Expiration>");
  EXPECT_EQ(days.expire_days, 1);
  EXPECT_FALSE(days.expire_at);
  EXPECT_FALSE(days.expire_lone_markers);
  EXPECT_TRUE(days.enabled);
  EXPECT_EQ(days.larger_than, 0u);
  EXPECT_FALSE(days.smaller_than);
  EXPECT_FALSE(days.noncurrent_days || days.abort_days);
  const LifecycleRule date = rule_with("<Expiration><Date>1970-01-03</Date></Expiration>");
  EXPECT_EQ(date.expire_at, 2 * store::kDayMs);
  EXPECT_FALSE(date.expire_days);
  const LifecycleRule lone = rule_with(
      "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>");
  EXPECT_TRUE(lone.expire_lone_markers);
  EXPECT_FALSE(lone.expire_days || lone.expire_at);
  const std::string marks = "<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>";
  const std::string dated = "<Date>1970-01-03</Date>";
  for (const std::string& two :
       {"<Days>1</Days>" + dated, "<Days>1</Days>" + marks, dated + marks,
        "<Days>1</Days>" + dated + marks,
        std::string("<ExpiredObjectDeleteMarker>false</ExpiredObjectDeleteMarker>")}) {
    EXPECT_EQ(code_of("<Expiration>" + two + "</Expiration>"), "MalformedXML") << two;
  }
  EXPECT_EQ(code_of("<Expiration><Date>tomorrow</Date></Expiration>"), "MalformedXML");
  EXPECT_EQ(code_of("<Expiration><Days/></Expiration>"), "MalformedXML");
}

TEST(RuleDetails, versions_before_the_newest_need_their_days) {
  const auto code = [](const std::string& inner) {
    return code_of("<NoncurrentVersionExpiration>" + inner + "</NoncurrentVersionExpiration>");
  };
  const auto days = [](const std::string& text) {
    return "<NoncurrentDays>" + text + "</NoncurrentDays>";
  };
  const auto newer = [](const std::string& text) {
    return "<NewerNoncurrentVersions>" + text + "</NewerNoncurrentVersions>";
  };
  EXPECT_EQ(code(""), "MalformedXML");
  EXPECT_EQ(code(newer("1")), "MalformedXML");
  EXPECT_EQ(code(days("x")), "MalformedXML");
  EXPECT_EQ(code(days("0")), "InvalidArgument");
  EXPECT_EQ(code(days("1") + newer("0")), "InvalidArgument");
  EXPECT_EQ(code(days("1") + newer("few")), "MalformedXML");
  const LifecycleRule rule =
      rule_with("<NoncurrentVersionExpiration>" + days("1") + "</NoncurrentVersionExpiration>");
  EXPECT_EQ(rule.noncurrent_days, 1);
  EXPECT_EQ(rule.noncurrent_kept, 0u);
}

TEST(RuleDetails, uploads_that_are_left_open_need_their_days) {
  const auto code = [](const std::string& inner) {
    return code_of("<AbortIncompleteMultipartUpload>" + inner +
                   "</AbortIncompleteMultipartUpload>");
  };
  EXPECT_EQ(code(""), "MalformedXML");
  EXPECT_EQ(code("<DaysAfterInitiation>x</DaysAfterInitiation>"), "MalformedXML");
  EXPECT_EQ(code("<DaysAfterInitiation>0</DaysAfterInitiation>"), "InvalidArgument");
  EXPECT_EQ(code("<DaysAfterInitiation>1</DaysAfterInitiation>"), "taken");
  const std::string ends = "<Expiration><Days>1</Days></Expiration>";
  EXPECT_EQ(code_of(ends + "<AbortIncompleteMultipartUpload/>"), "MalformedXML");
  EXPECT_EQ(code_of(ends + "<NoncurrentVersionExpiration/>"), "MalformedXML");
  EXPECT_EQ(code_of(ends + "<Expiration/>"), "MalformedXML");
  EXPECT_EQ(code_of(ends + "<Transition/>"), "MalformedXML");
  EXPECT_EQ(code_of(ends + "<Comment/>"), "MalformedXML")
      << "it could be a filter whose name is misspelt";
}

TEST(RuleDetails, a_move_has_a_class_and_days_from_none_on_or_a_date) {
  const std::string cold = "<StorageClass>GLACIER</StorageClass>";
  const auto code = [](const std::string& inner) {
    return code_of("<Transition>" + inner + "</Transition>");
  };
  EXPECT_EQ(code("<Days>soon</Days>" + cold), "MalformedXML");
  EXPECT_EQ(code("<Date>soon</Date>" + cold), "MalformedXML");
  EXPECT_EQ(code("<Days>0</Days><StorageClass/>"), "InvalidStorageClass");
  const LifecycleRule at_once = rule_with("<Transition><Days>0</Days>" + cold + "</Transition>");
  ASSERT_EQ(at_once.transitions.size(), 1u);
  EXPECT_EQ(at_once.transitions[0].days, 0);
  EXPECT_FALSE(at_once.transitions[0].at);
  EXPECT_EQ(at_once.transitions[0].storage_class, "GLACIER");
  EXPECT_THAT(at_once.noncurrent_transitions, IsEmpty());
  const LifecycleRule old =
      rule_with("<NoncurrentVersionTransition><NoncurrentDays>4</NoncurrentDays>" + cold +
                "</NoncurrentVersionTransition>");
  ASSERT_EQ(old.noncurrent_transitions.size(), 1u);
  EXPECT_EQ(old.noncurrent_transitions[0].days, 4);
  EXPECT_THAT(old.transitions, IsEmpty());
}

// The first 24 digits of the MD5 of the rule as it came, without an empty name.
TEST(RuleDetails, a_rule_without_a_name_is_named_by_its_text) {
  const std::string inner =
      "<Prefix>p</Prefix><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>";
  for (const std::string& empty : {std::string(), std::string("<ID/>"), std::string("<ID></ID>")}) {
    const auto read = lifecycle_of(rules_text("<Rule>" + empty + inner + "</Rule>"));
    ASSERT_TRUE(read);
    const s3::XmlElement& rule = read->document.children.at(0);
    ASSERT_EQ(rule.children.size(), 4u);
    EXPECT_EQ(rule.children[0].name, "ID");
    EXPECT_EQ(rule.children[0].text, read->rules[0].id);
    const auto bare = s3::read_xml("<Rule>" + inner + "</Rule>");
    ASSERT_TRUE(bare);
    EXPECT_EQ(read->rules[0].id, to_hex(s3::md5(s3::write_xml(*bare))).substr(0, 24));
    EXPECT_EQ(read->rules[0].prefix, "p");
  }
  const auto named = lifecycle_of(rules_text("<Rule><ID>mine</ID>" + inner + "</Rule>"));
  EXPECT_EQ(named->rules[0].id, "mine");
  EXPECT_EQ(named->document.children[0].children.size(), 4u);
}

TEST(RuleDetails, a_filter_names_one_thing_or_several) {
  const auto rule = [](const std::string& filter) {
    const auto read = lifecycle_of(rules_text("<Rule><Filter>" + filter +
                                              "</Filter><Status>Enabled</Status><Expiration><Days>1"
                                              "</Days></Expiration></Rule>"));
    EXPECT_TRUE(read) << filter;
    return read ? read->rules[0] : LifecycleRule{};
  };
  EXPECT_EQ(rule("").prefix, "");
  EXPECT_EQ(rule("<Prefix>p</Prefix>").prefix, "p");
  EXPECT_EQ(rule("<ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>").larger_than, 5u);
  EXPECT_EQ(rule("<ObjectSizeLessThan>5</ObjectSizeLessThan>").smaller_than, 5u);
  EXPECT_FALSE(rule("<ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>").smaller_than);
  EXPECT_EQ(rule("<ObjectSizeLessThan>5</ObjectSizeLessThan>").larger_than, 0u);
  EXPECT_THAT(rule("<Tag><Key>a</Key><Value>1</Value></Tag>").tags,
              ElementsAre(std::pair<std::string, std::string>{"a", "1"}));
  EXPECT_EQ(rule("<And><Prefix>p</Prefix><Tag><Key>a</Key></Tag><Tag><Key>b</Key></Tag></And>")
                .tags.size(),
            2u);
}

// A marker has no size: only what is smaller than something may leave it out.
TEST(RuleDetails, sizes_leave_out_objects_and_tags_all_that_lack_one) {
  const rows::Version empty{.size = 0};
  const rows::Version marker{.marker = true};
  EXPECT_TRUE(applies({.id = "r"}, "k", empty));
  EXPECT_FALSE(applies({.id = "r", .larger_than = 1}, "k", empty));
  EXPECT_FALSE(applies({.id = "r", .larger_than = 1}, "k", {.size = 1}));
  EXPECT_TRUE(applies({.id = "r", .larger_than = 1}, "k", {.size = 2}));
  EXPECT_TRUE(applies({.id = "r", .larger_than = 1}, "k", marker));
  EXPECT_TRUE(applies({.id = "r", .smaller_than = 1}, "k", marker));
  EXPECT_FALSE(applies({.id = "r", .smaller_than = 0}, "k", marker));
  EXPECT_FALSE(applies({.id = "r", .tags = {{"a", "1"}}}, "k", marker));
  EXPECT_FALSE(applies({.id = "r", .prefix = "kk"}, "k", empty));
  EXPECT_TRUE(applies({.id = "r", .prefix = "k"}, "k", empty));
}

TEST(RuleDetails, a_later_rule_counts_where_an_earlier_does_nothing) {
  const rows::Version put{.size = 5, .modified_ms = 1000};
  const rows::Version marker{.marker = true, .modified_ms = 1000};
  const LifecycleRule elsewhere{.id = "a", .prefix = "x", .expire_days = 1};
  const LifecycleRule later{.id = "b", .expire_days = 9};
  const LifecycleRule now_due{.id = "c", .expire_days = 2};
  const LifecycleRule old{.id = "d", .noncurrent_days = 2};
  const LifecycleRule dated{.id = "e", .expire_at = 500};
  const auto ending = [](const std::vector<LifecycleRule>& rules, const VersionPlace& place) {
    return ending_of(rules, "k", place, 3000, 1000);
  };
  EXPECT_EQ(ending({elsewhere, later, now_due}, {.version = put}), Ending::expires);
  EXPECT_EQ(ending({elsewhere, later}, {.version = put}), Ending::stays);
  EXPECT_EQ(ending({later, old}, {.version = put}), Ending::stays);
  const VersionPlace before{.version = put, .newest = false, .since_ms = 1000};
  EXPECT_EQ(ending({now_due, old}, before), Ending::removed);
  EXPECT_EQ(ending({now_due, dated}, before), Ending::stays);
  EXPECT_EQ(ending({old, now_due}, {.version = marker, .alone = true}), Ending::removed);
  EXPECT_EQ(ending({dated}, {.version = marker, .alone = true}), Ending::stays);
  EXPECT_EQ(ending({now_due}, {.version = marker, .alone = false}), Ending::stays);
  EXPECT_EQ(ending({old}, {.version = put, .newest = false, .since_ms = 1001}), Ending::stays);
}

TEST(RuleDetails, an_object_is_wanted_in_the_slowest_class_that_is_due) {
  const auto to = [](std::int64_t days, const std::string& name) {
    return Transition{.days = days, .storage_class = name};
  };
  const auto wanted = [](const std::vector<LifecycleRule>& rules, const std::string& has) {
    return class_wanted(rules, "k", {.version = {.modified_ms = 1000, .storage_class = has}}, 3000,
                        1000);
  };
  const LifecycleRule warm{.id = "w", .transitions = {to(1, "WARM")}};
  const LifecycleRule cold{.id = "c", .transitions = {to(2, "COLD")}};
  const LifecycleRule later{.id = "l", .transitions = {to(3, "DEEP_ARCHIVE")}};
  const LifecycleRule other{.id = "o", .prefix = "x", .transitions = {to(1, "GLACIER")}};
  EXPECT_EQ(wanted({warm, cold, later, other}, ""), "COLD");
  EXPECT_EQ(wanted({cold, warm}, ""), "COLD");
  EXPECT_EQ(wanted({warm, later, other}, ""), "WARM");
  EXPECT_EQ(wanted({warm}, "STANDARD_IA"), std::nullopt) << "it lies there under another name";
  EXPECT_EQ(wanted({warm}, "GPU_DIRECT"), "WARM");
  EXPECT_EQ(wanted({cold}, "STANDARD_IA"), "COLD");
  EXPECT_EQ(wanted({{.id = "h", .transitions = {to(1, "HOT")}}}, "GPU_DIRECT"), "HOT");
  EXPECT_EQ(wanted({{.id = "h", .transitions = {to(1, "HOT")}}}, "unknown"), std::nullopt)
      << "what is unknown lies in the first";
  LifecycleRule dated{.id = "d", .transitions = {{.at = 3000, .storage_class = "WARM"}}};
  EXPECT_EQ(wanted({dated}, ""), "WARM");
  dated.transitions[0].at = 3001;
  EXPECT_EQ(wanted({dated}, ""), std::nullopt);
}

TEST(RuleDetails, an_upload_ends_by_a_rule_that_is_on_and_says_so) {
  const rows::Upload upload{.key = "k", .started_ms = 1000};
  EXPECT_TRUE(upload_ends({{.id = "r", .abort_days = 2}}, upload, 3000, 1000));
  EXPECT_FALSE(upload_ends({{.id = "r", .abort_days = 2}}, upload, 2999, 1000));
  EXPECT_FALSE(upload_ends({{.id = "r", .enabled = false, .abort_days = 2}}, upload, 9000, 1000));
  EXPECT_FALSE(upload_ends({{.id = "r", .expire_days = 2}}, upload, 9000, 1000));
  EXPECT_TRUE(upload_ends({{.id = "r", .expire_days = 2}, {.id = "s", .abort_days = 1}}, upload,
                          9000, 1000));
}

}  // namespace
}  // namespace orrery::upkeep::rule_details_tests
