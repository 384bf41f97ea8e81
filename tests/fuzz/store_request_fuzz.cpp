// The object store's request path: requests of any shape, signed for it or not, one after another
// on a store in memory; then its objects move as its rules say. It never crashes, never answers
// 500, and is sound afterwards.
//
// An input is requests with "\n---\n" between them: "METHOD TARGET", headers a line, an empty line,
// the body. A request whose first line begins with "!" goes unsigned.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "s3/hash.h"
#include "s3/sigv4.h"
#include "s3server/gateway.h"
#include "storage/lifecycle_driver.h"
#include "store/mend.h"
#include "store/moment.h"
#include "store/simulated_drive_fixture.h"
#include "store/sweep.h"
#include "store/tier_places.h"

namespace {

using namespace orrery;
using namespace orrery::s3server;

constexpr TimeMs kNow = 1'700'000'000'000;

std::string_view cut(std::string_view& text, std::string_view at) {
  const auto end = std::min(text.find(at), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + at.size(), text.size()));
  return head;
}

net::Request request_of(std::string_view text, std::string& body) {
  std::string_view first = cut(text, "\n");
  const bool plain = first.starts_with('!');
  if (plain) first.remove_prefix(1);
  net::Request request;
  request.method = cut(first, " ");
  request.target = first.empty() ? "/" : std::string(first);
  while (!text.empty()) {
    std::string_view line = cut(text, "\n");
    if (line.empty()) break;
    const std::string name(cut(line, ":"));
    request.headers.emplace_back(name, std::string(line));
  }
  body = text;
  if (plain) return request;
  std::string payload(request.header("x-amz-content-sha256"));
  if (payload.empty()) {
    payload = s3::sha256_hex(body);
    request.headers.emplace_back("x-amz-content-sha256", payload);
  }
  request.headers.emplace_back("Host", "localhost");
  request.headers.emplace_back("x-amz-date", amz_time(kNow));
  const auto parsed = s3_request_of(request, "localhost");
  s3::SignatureInput input{.method = request.method,
                           .path = parsed ? s3::uri_encoded(parsed->path, true) : "/",
                           .query = parsed ? parsed->query : HeaderList{},
                           .headers = {},
                           .payload = payload,
                           .time = amz_time(kNow),
                           .region = "us-east-1"};
  input.headers = request.headers;
  request.headers.emplace_back("Authorization", s3::authorization(input, {"AK", "secret", ""}));
  return request;
}

net::Response send(Gateway& gateway, net::Request& request, const std::string& body) {
  if (body.empty()) return gateway.answer(request);
  net::BodyPlan plan = gateway.plan(request);
  if (auto* refusal = std::get_if<net::Response>(&plan)) return std::move(*refusal);
  if (auto* sink = std::get_if<std::unique_ptr<net::BodySink>>(&plan)) {
    for (std::size_t at = 0; at < body.size(); at += 37) {
      if (auto refusal = (*sink)->take(std::string_view(body).substr(at, 37))) return *refusal;
    }
    return (*sink)->finish();
  }
  request.body = body;
  return gateway.answer(request);
}

// What the rules of its buckets move, if any.
void move_all(Store& store) {
  TierPlaces places(store, {.day_ms = 1, .keeps_checkpoints = true});
  storage::LifecyclePolicy policy{.places = places_of(store.setting().tiers)};
  policy.places.front().keep.newest = 1;
  storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                  std::move(policy), {});
  for (int round = 0; round < 6; ++round) (void)driver.tick();
}

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryMetadata metadata;
  SimulatedDrive drive;
  SimulatedDrive slow;
  unsigned drawn = 0;
  Store store({.metadata = metadata,
               .drives = {{"d", &drive}, {"s", &slow}},
               .tiers = {{"hot", {1, 0}, {"d"}}, {"cold", {1, 0}, {"s"}}},
               .now_ms = [] { return kNow; },
               .random_bytes =
                   [&drawn](std::size_t n) {
                     std::string bytes(n, '\0');
                     for (std::size_t i = 0; i < n && i < 4; ++i) {
                       bytes[i] = static_cast<char>(++drawn);
                     }
                     return bytes;
                   }});
  must(store.open().has_value(), "the store does not open");
  must(
      metadata
          .commit({.changes = {{row::tenant("AK"), encode(Tenant{"AK", "secret", "me", "me", 0})}}})
          .has_value(),
      "no tenant");
  must(store.make_bucket({.name = "pail", .owner = "me"}).has_value(), "no bucket");
  Gateway gateway(store, {}, [](const std::string&) {});
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    std::string body;
    net::Request request = request_of(cut(text, "\n---\n"), body);
    const net::Response response = send(gateway, request, body);
    must(response.status != 500, response.body.c_str());
    if (response.source) {
      std::string piece(4096, '\0');
      (void)response.source(0, piece);
    }
  }
  move_all(store);
  must(run_lifecycle(store, 1, [] { return false; }).has_value(), "the lifecycle run fails");
  must(store.collect().has_value(), "garbage cannot be collected");
  must(check_store(store, true)->clean(), "the store is not sound");
  return 0;
}
