// Routes to the status of an object store that runs elsewhere. Its answer is read field by field
// and written again in the shape of the contract, so that the page sees no other shape.
#include <algorithm>
#include <array>

#include "app/server/console.h"
#include "app/server/json_body.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"

namespace orrery::server {
namespace {

constexpr std::size_t kRowsMax = 1'000'000;  // limit of drives and buckets read
constexpr std::size_t kBucketsShown = 200;   // the largest are shown
constexpr std::size_t kPlaceBytes = 4096;
constexpr NumberRange kCount{0, 9e15};
constexpr NumberRange kFewOrLess{-255, 255};
constexpr std::array kStoreRequests = {"get", "put", "list", "delete", "other"};

std::int64_t count_of(JsonBody& body, std::string_view name) {
  return body.optional_integer(name, kCount).value_or(0);
}

void tell_counts(JsonWriter& to, JsonBody& body, std::span<const char* const> names) {
  for (const char* name : names) to.field(name, count_of(body, name));
}

void tell_tiers(JsonWriter& to, JsonBody& status) {
  to.key("tiers").begin_array();
  status.objects("tiers", 0, kRowsMax, [&](JsonBody& tier) {
    to.begin_object().field("name", tier.text("name", kNameBytes));
    for (const char* name : {"data", "parity", "drives_away", "redundancy_left"}) {
      to.field(name, tier.integer(name, kFewOrLess));
    }
    tell_counts(to, tier, std::array{"reads", "read_bytes"});
    to.end_object();
  });
  to.end_array();
}

void tell_drives(JsonWriter& to, JsonBody& status) {
  to.key("drives").begin_array();
  status.objects("drives", 0, kRowsMax, [&](JsonBody& drive) {
    to.begin_object().field("name", drive.text("name", kNameBytes));
    to.field("tier", drive.text("tier", kNameBytes));
    to.field("place", drive.optional_text("place", kPlaceBytes).value_or(""));
    to.field("there", drive.optional_flag("there").value_or(false));
    tell_counts(to, drive, std::array{"total_bytes", "free_bytes"});
    to.end_object();
  });
  to.end_array();
}

// Writes the largest buckets, and the total of the others.
void tell_buckets(JsonWriter& to, JsonBody& status) {
  struct Bucket {
    std::string name;
    std::int64_t objects = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Bucket> buckets;
  std::int64_t objects = 0;
  std::int64_t bytes = 0;
  status.objects("buckets", 0, kRowsMax, [&](JsonBody& bucket) {
    buckets.push_back(
        {bucket.text("name", kNameBytes), count_of(bucket, "objects"), count_of(bucket, "bytes")});
    objects += buckets.back().objects;
    bytes += buckets.back().bytes;
  });
  std::ranges::stable_sort(buckets, std::greater(), &Bucket::bytes);
  to.field("bucket_count", buckets.size()).field("objects", objects).field("bytes", bytes);
  to.key("buckets").begin_array();
  for (std::size_t i = 0; i < std::min(buckets.size(), kBucketsShown); ++i) {
    to.begin_object().field("name", buckets[i].name).field("objects", buckets[i].objects);
    to.field("bytes", buckets[i].bytes).end_object();
  }
  to.end_array();
}

void tell_object(JsonWriter& to, JsonBody& status, const char* key,
                 std::span<const char* const> names) {
  std::vector<std::int64_t> counts(names.size());  // none if the status has no counts
  status.object(key, [&](JsonBody& body) {
    std::ranges::transform(names, counts.begin(), [&](auto name) { return count_of(body, name); });
  });
  to.key(key).begin_object();
  for (std::size_t i = 0; i < names.size(); ++i) to.field(names[i], counts[i]);
  to.end_object();
}

Response store_said(JsonWriter& to, const std::string& id, JsonBody& status) {
  to.field("state", "answers").field("fault", "");
  to.key("status").begin_object().field("store", id);
  tell_tiers(to, status);
  tell_drives(to, status);
  tell_buckets(to, status);
  tell_object(to, status, "requests", kStoreRequests);
  tell_object(to, status, "scrub",
              std::array{"rounds", "bytes", "shards_damaged", "shards_rebuilt", "blobs_lost"});
  tell_object(to, status, "moves",
              std::array{"waiting", "copies", "verified", "removed", "failed", "bytes"});
  tell_counts(to, status, std::array{"drives_slow"});
  to.end_object().end_object();
  return json_response(to.text() + '\n');
}

Response store_state(const ConsoleSetting& setting) {
  JsonWriter to;
  to.begin_object().field("schema_version", 1).field("kind", "store");
  to.field("address", setting.store);
  const auto without = [&to](const char* state, const std::string& fault) {
    to.field("state", state).field("fault", fault).key("status").null().end_object();
    return json_response(to.text() + '\n');
  };
  if (setting.store.empty() || !setting.store_status) return without("none", "");
  const Result<std::string> said = setting.store_status();
  if (!said) return without("silent", said.error().front().what);
  Result<JsonBody> status = JsonBody::parse(*said);
  const std::string id = status ? status->text("store", kNameBytes) : "";
  if (id.empty()) return without("silent", "the server at this address is not a store");
  return store_said(to, id, *status);
}

}  // namespace

std::vector<Route> store_routes(const Console& console) {
  const ConsoleSetting& setting = console.setting();
  return {{"GET", "/api/v1/store",
           [&setting](const Request&, const PathValues&) { return store_state(setting); }}};
}

}  // namespace orrery::server
