// The object store's request path: requests of any shape, signed for it or not, one after another
// on a store in memory; then its rules move the objects. It never crashes, never answers 500,
// accepts no wrong signature, and is sound afterwards.
//
// An input is requests with "\n---\n" between them: "METHOD TARGET", one header per line, an empty
// line, the body. The harness adds everything that a random edit would never get right, so that
// edits reach the code behind it:
//   # WORDS        a first line of the input configures the store: `parity` (2+1 over three
//                  drives), `key` (encrypted), `held` (small objects in the metadata), `puts-off`
//                  (answers that have to wait are deferred)
//   ?METHOD ...    signed in the URL; !METHOD unsigned, ~METHOD with a wrong signature, @METHOD
//                  signed by another tenant; otherwise signed in the header by the owner of "pail"
//   +frame N       in place of a header: the body is sent in chunks of N bytes, signed if its
//                  x-amz-content-sha256 says so, with the checksum that x-amz-trailer names
//   +sum KIND, +md5   the right checksum or digest of the body, as a header
//   +fill N        the body has N bytes
//   $U $V $E $F    anywhere: the last upload's id, version's id, ETag, and the ETag before it
//   WAIT N         in place of a request: N days pass, and the rules are applied
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/s3/sigv4.h"
#include "live/s3server/gateway.h"
#include "live/store/moment.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/tier_places.h"

// libFuzzer's own mutations; absent when the corpus is replayed without it.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t most);

namespace {

using namespace orrery;
using namespace orrery::s3server;

constexpr TimeMs kBegin = 1'700'000'000'000;
constexpr TimeMs kWaitDayMs = 86'400'000;
constexpr std::size_t kFillMost = (std::size_t{4} << 20) + 1;  // large enough that other threads
                                                               // compute the digests
constexpr std::size_t kChunksMost = 64;
constexpr std::string_view kBetween = "\n---\n";

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string_view cut(std::string_view& text, std::string_view at) {
  const auto end = std::min(text.find(at), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + at.size(), text.size()));
  return head;
}

std::string between(std::string_view text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == text.npos) return "";
  text.remove_prefix(at + from.size());
  return std::string(cut(text, to));
}

// Values from earlier answers that later requests use.
struct Heard {
  std::string upload = "none";
  std::string version = "none";
  std::string etag = "none";
  std::string etag_before = "none";

  void note(const net::Response& response) {
    if (auto id = between(response.body, "<UploadId>", "<"); !id.empty()) upload = std::move(id);
    const std::string_view named = net::header_of(response.headers, "x-amz-version-id");
    if (!named.empty()) version = named;
    std::string tag(net::header_of(response.headers, "ETag"));
    if (tag.empty()) tag = between(response.body, "<ETag>", "</ETag>");  // the ETag of a copy
    if (tag.empty() || tag == etag) return;
    etag_before = std::exchange(etag, std::move(tag));
  }

  std::string filled(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      const auto at = std::min(text.find('$'), text.size());
      out += text.substr(0, at);
      text.remove_prefix(at);
      if (text.empty()) break;
      const char which = text.size() > 1 ? text[1] : '\0';
      const std::string* value = which == 'U'   ? &upload
                                 : which == 'V' ? &version
                                 : which == 'E' ? &etag
                                 : which == 'F' ? &etag_before
                                                : nullptr;
      out += value ? std::string_view(*value) : text.substr(0, 1);
      text.remove_prefix(value ? 2 : 1);
    }
    return out;
  }
};

// A request as the input describes it.
struct Worded {
  net::Request request = {};
  std::string body = {};
  char how = ' ';  // a blank: it is signed
  std::size_t chunk = 0;
};

void take_word(std::string_view line, Worded& worded) {
  const std::string_view word = cut(line, " ");
  const auto number = static_cast<std::size_t>(
      std::clamp<std::int64_t>(parse_integer(line).value_or(1), 1, kFillMost));
  if (word == "frame") worded.chunk = number;
  if (word == "fill") worded.body.assign(number, 'f');
  if (word == "md5") {
    worded.request.headers.emplace_back("Content-MD5", to_base64(s3::md5(worded.body)));
  }
  if (const auto kind = sum_kind_of(line); word == "sum" && kind) {
    Summer sum(*kind);
    sum.add(worded.body);
    worded.request.headers.emplace_back(header_name_of(*kind), to_base64(sum.finish()));
  }
}

Worded worded_of(std::string_view text) {
  Worded worded;
  std::string_view first = cut(text, "\n");
  if (!first.empty() && std::string_view("!?~@").contains(first.front())) {
    worded.how = first.front();
    first.remove_prefix(1);
  }
  worded.request.method = cut(first, " ");
  worded.request.target = first.empty() ? "/" : std::string(first);
  const auto end = text.starts_with('\n') ? 0 : text.find("\n\n");
  std::string_view head = text.substr(0, end);
  if (end != text.npos) worded.body = text.substr(end + (end == 0 ? 1 : 2));
  while (!head.empty()) {
    std::string_view line = cut(head, "\n");
    if (line.starts_with('+')) {
      take_word(line.substr(1), worded);
      continue;
    }
    const std::string name(cut(line, ":"));
    worded.request.headers.emplace_back(name, std::string(line));
  }
  return worded;
}

struct Signing {
  std::string key;
  std::string scope;
  std::string time;
  std::string signature;
};

s3::SignatureInput input_of(const net::Request& request, const std::string& payload,
                            const std::string& time) {
  const auto parsed = s3_request_of(request, "localhost");
  return {.method = request.method,
          .path = parsed ? s3::uri_encoded(parsed->path, true) : "/",
          .query = parsed ? parsed->query : HeaderList{},
          .headers = request.headers,
          .payload = payload,
          .time = time,
          .region = "us-east-1"};
}

// Adds the headers that describe the body, and signs the request.
Signing sign(Worded& worded, TimeMs now) {
  net::Request& request = worded.request;
  std::string payload(request.header("x-amz-content-sha256"));
  const bool streams = payload.starts_with("STREAMING-");
  if (payload.empty()) {
    payload = s3::sha256_hex(worded.body);
    request.headers.emplace_back("x-amz-content-sha256", payload);
  }
  const std::string_view length = streams ? "x-amz-decoded-content-length" : "Content-Length";
  if (request.header(length).empty() && (worded.chunk > 0 || !streams) && !worded.body.empty()) {
    request.headers.emplace_back(length, std::to_string(worded.body.size()));
  }
  if (request.header("Host").empty()) request.headers.emplace_back("Host", "localhost");
  const std::string who = worded.how == '@' ? "OTHER" : "AK";
  Signing signing{.scope = amz_time(now).substr(0, 8) + "/us-east-1/s3/aws4_request",
                  .time = amz_time(now)};
  signing.key = s3::signing_key("secret", signing.time.substr(0, 8), "us-east-1");
  if (worded.how == '?') {
    std::string names;
    for (const auto& [name, value] : request.headers) {
      names += (names.empty() ? "" : ";") + lowered(name);
    }
    request.target += request.target.contains('?') ? "&" : "?";
    request.target += "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" +
                      s3::uri_encoded(who + '/' + signing.scope, false) +
                      "&X-Amz-Date=" + signing.time +
                      "&X-Amz-Expires=900&X-Amz-SignedHeaders=" + s3::uri_encoded(names, false);
    signing.signature =
        s3::signature(input_of(request, "UNSIGNED-PAYLOAD", signing.time), signing.key);
    request.target += "&X-Amz-Signature=" + signing.signature;
    return signing;
  }
  request.headers.emplace_back("x-amz-date", signing.time);
  std::string authorization =
      s3::authorization(input_of(request, payload, signing.time), {who, "secret", ""});
  signing.signature = authorization.substr(authorization.size() - 64);
  if (worded.how == '~') authorization.back() = authorization.back() == '0' ? '1' : '0';
  request.headers.emplace_back("Authorization", authorization);
  return signing;
}

std::string chunk_signature(Signing& signing, std::string_view kind, const std::string& digests) {
  const std::string text = "AWS4-HMAC-SHA256-" + std::string(kind) + '\n' + signing.time + '\n' +
                           signing.scope + '\n' + signing.signature + '\n' + digests;
  return signing.signature = to_hex(s3::hmac_sha256(signing.key, text));
}

// Returns the body in chunks, as its x-amz-content-sha256 says.
std::string framed(const Worded& worded, Signing signing) {
  const std::string_view payload = worded.request.header("x-amz-content-sha256");
  const bool is_signed = payload.starts_with("STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
  const std::size_t chunk = std::max(worded.chunk, worded.body.size() / kChunksMost + 1);
  std::string out;
  std::string_view left = worded.body;
  while (true) {
    const std::string_view bytes = left.substr(0, chunk);
    left.remove_prefix(bytes.size());
    char size[24];
    std::snprintf(size, sizeof size, "%zx", bytes.size());
    out += size;
    if (is_signed) {
      out += ";chunk-signature=" +
             chunk_signature(signing, "PAYLOAD",
                             std::string(kEmptySha256) + '\n' + s3::sha256_hex(bytes));
    }
    (out += "\r\n") += bytes;
    if (bytes.empty()) break;
    out += "\r\n";
  }
  std::string_view name = worded.request.header("x-amz-trailer");
  if (!payload.ends_with("-TRAILER") || name.empty()) return out + "\r\n";
  constexpr std::string_view kPrefix = "x-amz-checksum-";
  const auto kind = sum_kind_of(name.substr(std::min(name.size(), kPrefix.size())));
  std::string value = "AAAA";
  if (kind) {
    Summer sum(*kind);
    sum.add(worded.body);
    value = to_base64(sum.finish());
  }
  const std::string trailer = std::string(name) + ':' + value + '\n';
  out += trailer;
  if (is_signed) {
    out +=
        "x-amz-trailer-signature:" + chunk_signature(signing, "TRAILER", s3::sha256_hex(trailer)) +
        "\r\n";
  }
  return out + "\r\n";
}

net::Response answered(Gateway& gateway, const net::Request& request) {
  net::Response response = gateway.answer(request);
  return response.later ? response.later() : std::move(response);
}

net::Response send(Gateway& gateway, net::Request& request, const std::string& body) {
  if (body.empty()) return answered(gateway, request);
  net::BodyPlan plan = gateway.plan(request);
  if (auto* refusal = std::get_if<net::Response>(&plan)) return std::move(*refusal);
  if (auto* sink = std::get_if<std::unique_ptr<net::BodySink>>(&plan)) {
    const std::size_t piece = body.size() < 4096 ? 37 : 70'001;
    for (std::size_t at = 0; at < body.size(); at += piece) {
      if (auto refusal = (*sink)->take(std::string_view(body).substr(at, piece))) return *refusal;
    }
    return (*sink)->finish();
  }
  request.body = body;
  return answered(gateway, request);
}

void ask(Gateway& gateway, std::string_view text, Heard& heard, TimeMs now) {
  Worded worded = worded_of(heard.filled(text));
  Signing signing;
  if (worded.how != '!') signing = sign(worded, now);
  const std::string body = worded.chunk > 0 ? framed(worded, signing) : worded.body;
  const net::Response response = send(gateway, worded.request, body);
  must(response.status != 500, response.body.c_str());
  must(worded.how != '~' || response.status >= 300, "a wrong signature was good");
  heard.note(response);
  if (!response.source) return;
  std::string piece(70'000, '\0');
  std::uint64_t at = 0;
  while (const auto got = response.source(at, piece)) {
    if (*got == 0) break;
    at += *got;
  }
  must(!response.length || at == *response.length, "an object is not as long as was said");
}

// Moves objects as the rules of their buckets say, if there are any.
void move_all(Store& store) {
  TierPlaces places(store, {.day_ms = 1, .keeps_checkpoints = true});
  storage::LifecyclePolicy policy{.places = places_of(store.setting().tiers)};
  policy.places.front().keep.newest = 1;
  storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                  std::move(policy), {});
  for (int round = 0; round < 6; ++round) (void)driver.tick();
}

void keep_house(Store& store) {
  move_all(store);
  must(run_lifecycle(store, 1, [] { return false; }).has_value(), "the lifecycle run fails");
  must(store.collect().has_value(), "garbage cannot be collected");
}

struct Drawn {
  unsigned count = 0;
  std::string operator()(std::size_t n) {
    std::string bytes(n, '\0');
    for (std::size_t i = 0; i < n && i < 4; ++i) bytes[i] = static_cast<char>(++count);
    return bytes;
  }
};

void add_tenants(rows::MemoryMetadata& metadata) {
  for (const char* key : {"AK", "OTHER"}) {
    const std::string id = std::string_view(key) == "AK" ? "me" : "other";
    must(metadata
             .commit(
                 {.changes = {{rows::row::tenant(key), encode(Tenant{key, "secret", id, id, 0})}}})
             .has_value(),
         "no tenant");
  }
}

std::vector<std::string> requests_of(std::string_view text) {
  std::vector<std::string> requests;
  while (!text.empty()) requests.emplace_back(cut(text, kBetween));
  return requests;
}

std::size_t joined(const std::vector<std::string>& requests, std::uint8_t* out, std::size_t most) {
  std::string text;
  for (const std::string& request : requests) {
    if (!text.empty()) text += kBetween;
    text += request;
  }
  const std::size_t size = std::min(most, text.size());
  std::memcpy(out, text.data(), size);
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view words;
  if (text.starts_with("# ")) words = cut(text, "\n");
  rows::MemoryMetadata metadata;
  SimulatedDrive drives[3];
  SimulatedDrive slow;
  TimeMs now = kBegin;
  KeyRing keys;
  if (words.contains("key")) keys = {"k1", {{"k1", std::string(32, 'k')}}};
  Tier hot{"hot", {1, 0}, {"d0", "d1", "d2"}};
  if (words.contains("parity")) hot.plan = {2, 1};
  if (words.contains("held")) hot.held_bytes_max = 8192;
  Store store({.metadata = metadata,
               .drives = {{"d0", &drives[0]}, {"d1", &drives[1]}, {"d2", &drives[2]}, {"s", &slow}},
               .tiers = {hot, {"cold", {1, 0}, {"s"}}},
               .now_ms = [&now] { return now; },
               .random_bytes = Drawn(),
               .keys = keys});
  must(store.open().has_value(), "the store does not open");
  add_tenants(metadata);
  must(store.make_bucket({.name = "pail", .owner = "me"}).has_value(), "no bucket");
  // Small limits, so that inputs reach the code behind them quickly.
  Gateway gateway(
      store,
      {.quick_etag_bytes = 4096, .part_bytes_min = 4096, .puts_off = words.contains("puts-off")},
      [](const std::string&) {});
  Heard heard;
  for (const std::string& request : requests_of(text)) {
    std::string_view wait = request;
    if (cut(wait, " ") == "WAIT") {
      now += kWaitDayMs * std::clamp<std::int64_t>(parse_integer(wait).value_or(1), 0, 999);
      keep_house(store);
      continue;
    }
    ask(gateway, request, heard, now);
  }
  keep_house(store);
  must(check_store(store, true)->clean(), "the store is not sound");
  return 0;
}

// Doubles, drops or reorders requests, or edits one of them.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (!LLVMFuzzerMutate) return size;
  auto requests = requests_of({reinterpret_cast<const char*>(data), size});
  if (requests.empty() || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::size_t at = seed / 64 % requests.size();
  const std::size_t other = seed / 4096 % requests.size();
  const auto place = [&](std::size_t i) {
    return requests.begin() + static_cast<std::ptrdiff_t>(i);
  };
  switch (seed / 8 % 8) {
    case 0:
      requests.insert(place(other), std::string(requests[at]));
      break;
    case 1:
      if (requests.size() > 1) requests.erase(place(at));
      break;
    case 2:
      std::swap(requests[at], requests[other]);
      break;
    default: {
      std::string& one = requests[at];
      const std::size_t length = one.size();
      one.resize(length + 256);
      one.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(one.data()), length, one.size()));
    }
  }
  return joined(requests, data, most);
}

// Takes some requests of one input, then some of the other.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  auto requests = requests_of({reinterpret_cast<const char*>(one), one_size});
  const auto more = requests_of({reinterpret_cast<const char*>(other), other_size});
  if (requests.empty() || more.empty()) return 0;
  requests.resize(seed % requests.size() + 1);
  const std::size_t from = seed / 256 % more.size();
  const std::size_t count = seed / 65536 % (more.size() - from) + 1;
  requests.insert(requests.end(), more.begin() + static_cast<std::ptrdiff_t>(from),
                  more.begin() + static_cast<std::ptrdiff_t>(from + count));
  return joined(requests, out, most);
}
