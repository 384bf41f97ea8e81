// Lifecycle rules: how they are read, what is refused, what they apply to, and on which day.
#include "live/upkeep/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/hash.h"
#include "live/store/moment.h"

namespace orrery::upkeep::lifecycle_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string configured(const std::string& rules) {
  return "<LifecycleConfiguration>" + rules + "</LifecycleConfiguration>";
}
std::string one_rule(const std::string& action, const std::string& filter = "<Prefix/>",
                     const std::string& status = "Enabled") {
  return configured("<Rule><Filter>" + filter + "</Filter><Status>" + status + "</Status>" +
                    action + "</Rule>");
}
const std::string kExpires = "<Expiration><Days>1</Days></Expiration>";

LifecycleRule the_rule(const std::string& text) {
  const auto read = lifecycle_of(text);
  EXPECT_TRUE(read) << text;
  return read && !read->rules.empty() ? read->rules.front() : LifecycleRule{};
}

std::string why_not(const std::string& text) {
  const auto read = lifecycle_of(text);
  return read ? "taken" : read.error().code;
}

TEST(LifecycleRules, are_read_with_every_field) {
  const LifecycleRule r = the_rule(configured(
      "<Rule><ID>r</ID><Filter><And><Prefix>logs/</Prefix><Tag><Key>a</Key><Value>1</Value></Tag>"
      "<ObjectSizeGreaterThan>10</ObjectSizeGreaterThan>"
      "<ObjectSizeLessThan>1000</ObjectSizeLessThan></And></Filter><Status>Disabled</Status>"
      "<NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays>"
      "<NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>"
      "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>"
      "</AbortIncompleteMultipartUpload>"
      "<Transition><Date>2030-01-02</Date><StorageClass>GLACIER</StorageClass></Transition>"
      "<NoncurrentVersionTransition><NoncurrentDays>0</NoncurrentDays>"
      "<StorageClass>STANDARD_IA</StorageClass></NoncurrentVersionTransition></Rule>"));
  EXPECT_EQ(r.id, "r");
  EXPECT_FALSE(r.enabled);
  EXPECT_EQ(r.prefix, "logs/");
  EXPECT_EQ(r.tags, (rows::HeaderList{{"a", "1"}}));
  EXPECT_EQ(r.larger_than, 10u);
  EXPECT_EQ(r.smaller_than, 1000u);
  EXPECT_EQ(r.noncurrent_days, 3);
  EXPECT_EQ(r.noncurrent_kept, 2u);
  EXPECT_EQ(r.abort_days, 7);
  ASSERT_EQ(r.transitions.size(), 1u);
  EXPECT_EQ(r.transitions[0].at, store::moment_of_iso("2030-01-02"));
  ASSERT_EQ(r.noncurrent_transitions.size(), 1u);
  EXPECT_EQ(r.noncurrent_transitions[0].days, 0);
  // The prefix may be outside a filter, as before filters existed.
  EXPECT_EQ(the_rule(configured("<Rule><Prefix>p/</Prefix><Status>Enabled</Status>" + kExpires +
                                "</Rule>"))
                .prefix,
            "p/");
  // A rule without an id gets one, always the same; two rules may not have the same id.
  const std::string nameless = one_rule(kExpires);
  EXPECT_FALSE(the_rule(nameless).id.empty());
  EXPECT_EQ(the_rule(nameless).id, the_rule(nameless).id);
}

TEST(LifecycleRules, that_cannot_be_carried_out_are_refused) {
  EXPECT_EQ(why_not(one_rule(kExpires)), "taken");
  EXPECT_EQ(why_not("<Lifecycle/>"), "MalformedXML");
  EXPECT_EQ(why_not(configured("")), "MalformedXML");
  EXPECT_EQ(why_not(configured("<Other/>")), "MalformedXML");
  EXPECT_EQ(why_not(one_rule(kExpires, "<Prefix/>", "On")), "MalformedXML");
  EXPECT_EQ(why_not(one_rule("")), "MalformedXML") << "a rule must do something";
  const auto expires = [](const std::string& inner) {
    return why_not(one_rule("<Expiration>" + inner + "</Expiration>"));
  };
  EXPECT_EQ(expires("<Days>0</Days>"), "InvalidArgument");
  EXPECT_EQ(expires("<Days>-1</Days>"), "InvalidArgument");
  EXPECT_EQ(expires("<Days>soon</Days>"), "MalformedXML");
  EXPECT_EQ(expires("<Days>1</Days><Date>2030-01-01</Date>"), "MalformedXML");
  EXPECT_EQ(expires(""), "MalformedXML");
  EXPECT_EQ(expires("<Date>2030-01-01T12:00:00Z</Date>"), "MalformedXML") << "not a midnight";
  EXPECT_EQ(expires("<Date>2030-01-01T00:00:00Z</Date>"), "taken");
  const auto moves = [](const std::string& inner) {
    return why_not(one_rule("<Transition>" + inner + "</Transition>"));
  };
  EXPECT_EQ(moves("<Days>1</Days><StorageClass>MOON</StorageClass>"), "InvalidStorageClass");
  EXPECT_EQ(moves("<Days>1</Days>"), "InvalidStorageClass");
  EXPECT_EQ(moves("<Days>-1</Days><StorageClass>GLACIER</StorageClass>"), "InvalidArgument");
  EXPECT_EQ(moves("<StorageClass>GLACIER</StorageClass>"), "MalformedXML");
  EXPECT_EQ(moves("<Days>1</Days><Date>2030-01-01</Date><StorageClass>GLACIER</StorageClass>"),
            "MalformedXML");
  // A number of days that exceeds S3's 32 bits would wrap around to a day in the distant past.
  for (const char* days : {"2147483648", "150000000000", "213503982335", "922337203685478",
                           "1844674407370956", "9223372036854775807"}) {
    const std::string number(days);
    EXPECT_EQ(expires("<Days>" + number + "</Days>"), "InvalidArgument") << days;
    EXPECT_EQ(moves("<Days>" + number + "</Days><StorageClass>GLACIER</StorageClass>"),
              "InvalidArgument")
        << days;
    for (const std::string& action :
         {"<NoncurrentVersionExpiration><NoncurrentDays>" + number +
              "</NoncurrentDays></NoncurrentVersionExpiration>",
          "<NoncurrentVersionTransition><NoncurrentDays>" + number +
              "</NoncurrentDays><StorageClass>GLACIER</StorageClass></NoncurrentVersionTransition>",
          "<AbortIncompleteMultipartUpload><DaysAfterInitiation>" + number +
              "</DaysAfterInitiation></AbortIncompleteMultipartUpload>"}) {
      EXPECT_EQ(why_not(one_rule(action)), "InvalidArgument") << action;
    }
  }
  EXPECT_EQ(expires("<Days>2147483647</Days>"), "taken");
  // Ignoring an unknown element could only make a rule apply to more objects than intended.
  EXPECT_EQ(why_not(one_rule(kExpires, "<Filter><Prefiks>p/</Prefiks></Filter>")), "MalformedXML");
  EXPECT_EQ(why_not(one_rule(kExpires, "<Filtre><Prefix>p/</Prefix></Filtre>")), "MalformedXML");
  for (const char* size : {"-1", "large", ""}) {
    const std::string number(size);
    EXPECT_EQ(why_not(one_rule(kExpires, "<Filter><ObjectSizeGreaterThan>" + number +
                                             "</ObjectSizeGreaterThan></Filter>")),
              "MalformedXML")
        << size;
  }
  const std::string named =
      "<Rule><ID>r</ID><Prefix/><Status>Enabled</Status>" + kExpires + "</Rule>";
  EXPECT_EQ(why_not(configured(named + named)), "InvalidArgument") << "two rules with the same id";
  const std::string long_id(256, 'i');
  EXPECT_EQ(why_not(configured("<Rule><ID>" + long_id + "</ID><Prefix/><Status>Enabled</Status>" +
                               kExpires + "</Rule>")),
            "InvalidArgument");
  std::string many;
  for (int i = 0; i < 1001; ++i) {
    many += "<Rule><ID>" + std::to_string(i) + "</ID><Prefix/><Status>Enabled</Status>" + kExpires +
            "</Rule>";
  }
  EXPECT_EQ(why_not(configured(many)), "MalformedXML") << "a thousand rules and no more";
}

TEST(LifecycleRules, apply_by_prefix_size_and_all_of_their_tags) {
  LifecycleRule rule{.id = "r",
                     .prefix = "p/",
                     .tags = {{"a", "1"}, {"b", "2"}},
                     .larger_than = 10,
                     .smaller_than = 20};
  rows::Version v{.size = 15, .tags = {{"a", "1"}, {"b", "2"}, {"c", "3"}}};
  EXPECT_TRUE(applies(rule, "p/k", v));
  EXPECT_FALSE(applies(rule, "q/k", v));
  const auto sized = [&](std::uint64_t size) {
    v.size = size;
    return applies(rule, "p/k", v);
  };
  EXPECT_FALSE(sized(10));  // greater than, not equal to
  EXPECT_TRUE(sized(11));
  EXPECT_TRUE(sized(19));
  EXPECT_FALSE(sized(20));  // less than, not equal to
  v.size = 15;
  v.tags = {{"a", "1"}};
  EXPECT_FALSE(applies(rule, "p/k", v));
  v.tags = {{"a", "1"}, {"b", "3"}};
  EXPECT_FALSE(applies(rule, "p/k", v));
  v.tags = {{"a", "1"}, {"b", "2"}};
  rule.enabled = false;
  EXPECT_FALSE(applies(rule, "p/k", v));
}

// Due at the midnight after `days` times 24 hours; with a shortened day, at the exact time.
TEST(LifecycleRules, ends_fall_on_midnights) {
  EXPECT_EQ(end_of(0, 1, store::kDayMs), store::kDayMs);
  EXPECT_EQ(end_of(1, 1, store::kDayMs), 2 * store::kDayMs);
  EXPECT_EQ(end_of(store::kDayMs - 1, 2, store::kDayMs), 3 * store::kDayMs);
  EXPECT_EQ(end_of(5, 3, 1000), 3005);
  // Also for values accepted before the limit existed: the result is never before the start.
  for (const std::int64_t days : {std::int64_t{0x7fffffff}, std::int64_t{922337203685478},
                                  std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_GT(end_of(1'700'000'000'000, days, store::kDayMs),
              1'700'000'000'000 + 0x7fff * store::kDayMs)
        << days;
    EXPECT_GT(end_of(1'700'000'000'000, days, 10'000), 1'700'000'000'000) << days;
  }
}

TEST(LifecycleRules, end_versions_markers_and_uploads_in_their_time) {
  const LifecycleRule aged{.id = "r", .expire_days = 2};
  const auto ends = [](const LifecycleRule& rule, const VersionPlace& place, rows::TimeMs now) {
    return ending_of({rule}, "k", place, now, 1000);
  };
  const rows::Version put{.modified_ms = 5000};
  EXPECT_EQ(ends(aged, {.version = put}, 6999), Ending::stays);
  EXPECT_EQ(ends(aged, {.version = put}, 7000), Ending::expires);
  EXPECT_EQ(ends(aged, {.version = put, .newest = false}, 99'000), Ending::stays);
  const LifecycleRule dated{.id = "r", .expire_at = 9000};
  EXPECT_EQ(ends(dated, {.version = put}, 8999), Ending::stays);
  EXPECT_EQ(ends(dated, {.version = put}, 9000), Ending::expires);
  // A delete marker is removed only if it is the only version, by its own rule or because of its
  // age.
  const rows::Version marker{.marker = true, .modified_ms = 5000};
  const LifecycleRule lone{.id = "r", .expire_lone_markers = true};
  EXPECT_EQ(ends(lone, {.version = marker, .alone = true}, 5001), Ending::removed);
  EXPECT_EQ(ends(lone, {.version = marker, .alone = false}, 99'000), Ending::stays);
  EXPECT_EQ(ends(lone, {.version = put, .alone = true}, 99'000), Ending::stays);
  EXPECT_EQ(ends(aged, {.version = marker, .alone = true}, 6999), Ending::stays);
  EXPECT_EQ(ends(aged, {.version = marker, .alone = true}, 7000), Ending::removed);
  const LifecycleRule kept{.id = "r", .noncurrent_days = 1, .noncurrent_kept = 2};
  const auto old = [&](std::size_t newer, rows::TimeMs now) {
    return ends(kept, {.version = put, .newest = false, .since_ms = 6000, .newer = newer}, now);
  };
  EXPECT_EQ(old(1, 99'000), Ending::stays) << "two of them are kept";
  EXPECT_EQ(old(2, 6999), Ending::stays);
  EXPECT_EQ(old(2, 7000), Ending::removed);
  LifecycleRule aborts{.id = "r", .prefix = "p/", .abort_days = 1};
  const rows::Upload upload{.key = "p/k", .started_ms = 5000};
  EXPECT_FALSE(upload_ends({aborts}, upload, 5999, 1000));
  EXPECT_TRUE(upload_ends({aborts}, upload, 6000, 1000));
  EXPECT_FALSE(upload_ends({aborts}, {.key = "q/k", .started_ms = 5000}, 99'000, 1000));
  aborts.tags = {{"a", "1"}};  // an upload has no tags yet
  EXPECT_FALSE(upload_ends({aborts}, upload, 99'000, 1000));
}

TEST(LifecycleRules, count_moves_from_when_a_version_was_made_or_replaced) {
  const LifecycleRule rule{.id = "r",
                           .transitions = {{.days = 1, .storage_class = "STANDARD_IA"},
                                           {.at = 9000, .storage_class = "GLACIER"}},
                           .noncurrent_transitions = {{.days = 2, .storage_class = "GLACIER"}}};
  const auto wanted = [&](const VersionPlace& place, rows::TimeMs now) {
    return class_wanted({rule}, "k", place, now, 1000);
  };
  const rows::Version put{.modified_ms = 5000};
  EXPECT_EQ(wanted({.version = put}, 5999), std::nullopt);
  EXPECT_EQ(wanted({.version = put}, 6000), "STANDARD_IA");
  EXPECT_EQ(wanted({.version = put}, 9000), "GLACIER") << "of several classes, the slowest wins";
  const VersionPlace old{.version = put, .newest = false, .since_ms = 7000};
  EXPECT_EQ(wanted(old, 8999), std::nullopt) << "by its own rules, since it was replaced";
  EXPECT_EQ(wanted(old, 9000), "GLACIER");
  EXPECT_EQ(wanted({.version = {.marker = true, .modified_ms = 1}}, 99'000), std::nullopt);
  rows::Version cold = put;
  cold.storage_class = "GLACIER";
  EXPECT_EQ(wanted({.version = cold}, 99'000), std::nullopt) << "never to a faster tier";
}

std::string code_of(const std::string& action) { return why_not(one_rule(action)); }
LifecycleRule rule_with(const std::string& action) { return the_rule(one_rule(action)); }

TEST(LifecycleRules, an_expiration_has_days_a_date_or_is_for_markers) {
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

TEST(LifecycleRules, noncurrent_expirations_need_days) {
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

TEST(LifecycleRules, upload_aborts_need_days_and_unknown_actions_are_refused) {
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
  EXPECT_EQ(code_of(ends + "<Comment/>"), "MalformedXML") << "it could be a misspelt filter";
}

TEST(LifecycleRules, a_transition_needs_a_class_and_days_or_a_date) {
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

// The first 24 digits of the MD5 of the rule's text, without an empty name.
TEST(LifecycleRules, a_rule_without_an_id_is_named_by_its_text) {
  const std::string inner =
      "<Prefix>p</Prefix><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>";
  for (const std::string& empty : {std::string(), std::string("<ID/>"), std::string("<ID></ID>")}) {
    const auto read = lifecycle_of(configured("<Rule>" + empty + inner + "</Rule>"));
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
  const auto named = lifecycle_of(configured("<Rule><ID>mine</ID>" + inner + "</Rule>"));
  EXPECT_EQ(named->rules[0].id, "mine");
  EXPECT_EQ(named->document.children[0].children.size(), 4u);
}

TEST(LifecycleRules, a_filter_has_one_condition_or_several) {
  const auto rule = [](const std::string& filter) {
    const auto read = lifecycle_of(configured("<Rule><Filter>" + filter +
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

TEST(LifecycleRules, size_filters_ignore_markers_and_tag_filters_exclude_them) {
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

TEST(LifecycleRules, a_later_rule_applies_if_an_earlier_one_does_not) {
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

TEST(LifecycleRules, the_slowest_class_that_is_due_wins) {
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
  EXPECT_EQ(wanted({warm}, "STANDARD_IA"), std::nullopt) << "the same tier under another name";
  EXPECT_EQ(wanted({warm}, "GPU_DIRECT"), "WARM");
  EXPECT_EQ(wanted({cold}, "STANDARD_IA"), "COLD");
  EXPECT_EQ(wanted({{.id = "h", .transitions = {to(1, "HOT")}}}, "GPU_DIRECT"), "HOT");
  EXPECT_EQ(wanted({{.id = "h", .transitions = {to(1, "HOT")}}}, "unknown"), std::nullopt)
      << "an unknown class is in the first tier";
  LifecycleRule dated{.id = "d", .transitions = {{.at = 3000, .storage_class = "WARM"}}};
  EXPECT_EQ(wanted({dated}, ""), "WARM");
  dated.transitions[0].at = 3001;
  EXPECT_EQ(wanted({dated}, ""), std::nullopt);
}

TEST(LifecycleRules, ids_have_up_to_255_bytes) {
  const auto read = [](std::size_t bytes) {
    return lifecycle_of("<LifecycleConfiguration><Rule><ID>" + std::string(bytes, 'i') +
                        "</ID><Prefix/><Status>Enabled</Status><Expiration><Days>1</Days>"
                        "</Expiration></Rule></LifecycleConfiguration>")
        .has_value();
  };
  EXPECT_TRUE(read(255));
  EXPECT_FALSE(read(256));
}

TEST(LifecycleRules, both_names_of_the_document_are_read) {
  const std::string rules =
      "<Rule><ID>a</ID><Prefix/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>"
      "</Rule>";
  for (const std::string name : {"LifecycleConfiguration", "BucketLifecycleConfiguration"}) {
    const auto read = lifecycle_of("<" + name + ">" + rules + "</" + name + ">");
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->document.name, "LifecycleConfiguration");
    EXPECT_EQ(read->rules.size(), 1u);
  }
  EXPECT_FALSE(lifecycle_of("<Lifecycle>" + rules + "</Lifecycle>"));
}

}  // namespace
}  // namespace orrery::upkeep::lifecycle_tests
