// Lifecycle rules: what is refused, what applies to what, and on which day.
#include <gtest/gtest.h>

#include <limits>

#include "live/store/storage_class.h"
#include "live/upkeep/lifecycle.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::upkeep {
namespace {

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

TEST(Rules, are_read_with_all_they_say) {
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
  // The prefix may stand beside the filter's place, as it did before there were filters.
  EXPECT_EQ(the_rule(configured("<Rule><Prefix>p/</Prefix><Status>Enabled</Status>" + kExpires +
                                "</Rule>"))
                .prefix,
            "p/");
  // A rule without a name gets one, the same each time; two may not have one.
  const std::string nameless = one_rule(kExpires);
  EXPECT_FALSE(the_rule(nameless).id.empty());
  EXPECT_EQ(the_rule(nameless).id, the_rule(nameless).id);
}

TEST(Rules, that_cannot_be_kept_are_refused_by_their_code) {
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
  // A number of days that does not fit S3's 32 bits would wrap to a day that is long past.
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
  // What is not understood could only make a rule end more than it was meant to.
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
  EXPECT_EQ(why_not(configured(named + named)), "InvalidArgument") << "two rules of one name";
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

TEST(Rules, apply_by_prefix_size_and_all_of_their_tags) {
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
  EXPECT_FALSE(sized(10));  // greater than, not as great as
  EXPECT_TRUE(sized(11));
  EXPECT_TRUE(sized(19));
  EXPECT_FALSE(sized(20));  // less than, not as much as
  v.size = 15;
  v.tags = {{"a", "1"}};
  EXPECT_FALSE(applies(rule, "p/k", v));
  v.tags = {{"a", "1"}, {"b", "3"}};
  EXPECT_FALSE(applies(rule, "p/k", v));
  v.tags = {{"a", "1"}, {"b", "2"}};
  rule.enabled = false;
  EXPECT_FALSE(applies(rule, "p/k", v));
}

// An end falls on the midnight after so many times 24 hours; a shortened day on the moment.
TEST(Rules, ends_fall_on_midnights) {
  EXPECT_EQ(end_of(0, 1, store::kDayMs), store::kDayMs);
  EXPECT_EQ(end_of(1, 1, store::kDayMs), 2 * store::kDayMs);
  EXPECT_EQ(end_of(store::kDayMs - 1, 2, store::kDayMs), 3 * store::kDayMs);
  EXPECT_EQ(end_of(5, 3, 1000), 3005);
  // Whatever a store was told before there was a limit: never earlier than it began.
  for (const std::int64_t days : {std::int64_t{0x7fffffff}, std::int64_t{922337203685478},
                                  std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_GT(end_of(1'700'000'000'000, days, store::kDayMs),
              1'700'000'000'000 + 0x7fff * store::kDayMs)
        << days;
    EXPECT_GT(end_of(1'700'000'000'000, days, 10'000), 1'700'000'000'000) << days;
  }
}

TEST(Rules, end_versions_markers_and_uploads_in_their_time) {
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
  // A marker goes only where it stands alone, by its own rule or by age.
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

TEST(Rules, that_move_count_from_when_a_version_was_made_or_replaced) {
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
  EXPECT_EQ(wanted({.version = put}, 9000), "GLACIER") << "of several, the slowest";
  const VersionPlace old{.version = put, .newest = false, .since_ms = 7000};
  EXPECT_EQ(wanted(old, 8999), std::nullopt) << "by its own rules, since it was replaced";
  EXPECT_EQ(wanted(old, 9000), "GLACIER");
  EXPECT_EQ(wanted({.version = {.marker = true, .modified_ms = 1}}, 99'000), std::nullopt);
  rows::Version cold = put;
  cold.storage_class = "GLACIER";
  EXPECT_EQ(wanted({.version = cold}, 99'000), std::nullopt) << "never to a faster tier";
}

TEST(StorageClass, names_tiers_in_their_order) {
  EXPECT_LT(store::tier_rank("gpu-direct"), store::tier_rank("hot"));
  EXPECT_LT(store::tier_rank("hot"), store::tier_rank("warm"));
  EXPECT_LT(store::tier_rank("warm"), store::tier_rank("cold"));
  EXPECT_LT(store::tier_rank("cold"), store::tier_rank("none such"));
  EXPECT_EQ(store::tier_rank("gpu-direct"), 0);
  for (const char* tier : {"gpu-direct", "hot", "warm", "cold"}) {
    EXPECT_EQ(store::tier_of_class(store::class_of_tier(tier)), tier) << "shown and read back";
  }
  EXPECT_EQ(store::tier_of_class(""), "hot");
  EXPECT_EQ(store::tier_of_class("DEEP_ARCHIVE"), "cold");
  EXPECT_EQ(store::tier_of_class("MOON"), std::nullopt);
  EXPECT_EQ(store::class_of_tier("moon"), "");
  rows::Version v;
  v.storage_class = "GLACIER";
  EXPECT_EQ(store::tier_of(v), "cold");
  v.tier = "hot";  // it was brought nearer
  EXPECT_EQ(store::tier_of(v), "hot");
}

TEST(QuickEtag, has_the_crc_in_front_and_is_no_other_etag) {
  const std::string etag = quick_etag(0x0123456789abcdef, "00000001000000000000002a");
  EXPECT_EQ(etag.size(), 34u);
  EXPECT_EQ(crc_of_etag(etag), 0x0123456789abcdefu);
  EXPECT_NE(etag, quick_etag(0x0123456789abcdef, "00000001000000000000002b")) << "another blob";
  EXPECT_NE(etag, quick_etag(0x0123456789abcdef, "00000002000000000000002a")) << "another run";
  EXPECT_EQ(quick_etag(0, "b").size(), 34u);
  EXPECT_EQ(crc_of_etag(quick_etag(0, "b")), 0u);
  EXPECT_EQ(crc_of_etag(std::string(32, 'a')), std::nullopt);         // an MD5
  EXPECT_EQ(crc_of_etag(std::string(32, 'a') + "-2"), std::nullopt);  // of two parts
  EXPECT_EQ(crc_of_etag("x" + etag.substr(1)), std::nullopt);
  EXPECT_EQ(crc_of_etag("012345678z" + etag.substr(10)), std::nullopt);
  EXPECT_EQ(crc_of_etag("abc-1"), std::nullopt);
}

TEST(Refusal, has_its_status_and_a_fault_of_a_port_its_code) {
  for (const auto& [code, status] :
       std::vector<std::pair<const char*, int>>{{"AccessDenied", 403},
                                                {"NoSuchKey", 404},
                                                {"NoSuchBucket", 404},
                                                {"BucketNotEmpty", 409},
                                                {"PreconditionFailed", 412},
                                                {"InvalidRange", 416},
                                                {"MissingContentLength", 411},
                                                {"NotImplemented", 501},
                                                {"SlowDown", 503},
                                                {"InsufficientStorage", 507},
                                                {"MethodNotAllowed", 405},
                                                {"NotModified", 304},
                                                {"BadDigest", 400},
                                                {"SignatureDoesNotMatch", 403}}) {
    EXPECT_EQ(store::status_of(code), status) << code;
    EXPECT_FALSE(store::sentence_of(code).empty());
  }
  EXPECT_EQ(store::status_of("SomethingElse"), 500) << "what we do not know is our fault";
  EXPECT_EQ(store::refusal_of({drives::PortFault::full, "x"}).code, "InsufficientStorage");
  EXPECT_EQ(store::refusal_of({drives::PortFault::busy, "x"}).code, "SlowDown");
  for (const drives::PortFault kind :
       {drives::PortFault::missing, drives::PortFault::failed, drives::PortFault::corrupt}) {
    EXPECT_EQ(store::refusal_of({kind, "x"}).code, "InternalError");
  }
}

}  // namespace
}  // namespace orrery::upkeep
