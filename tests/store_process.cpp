#include "store_process.h"

#include <algorithm>
#include <ctime>

#include "live/net/client.h"
#include "live/s3/hash.h"
#include "live/s3/sigv4.h"

namespace orrery {
namespace {

std::string content(const std::string& key, int number, std::size_t bytes) {
  std::string text = key + ' ' + std::to_string(number) + ' ';
  while (text.size() < bytes) text += text.substr(0, bytes - text.size());
  return text.substr(0, bytes);
}

}  // namespace

void write_until_dead(const std::string& address, int who, int round, KnownKeys& mine) {
  std::mt19937 random(static_cast<unsigned>(who * 7919 + round));
  s3::Client client = client_of(address);
  for (int i = 0;; ++i) {
    const std::string key = "w" + std::to_string(who) + "/k" + std::to_string(random() % 6);
    KnownKey& known = mine[key];
    const auto what = static_cast<unsigned>(random() % 10);
    if (what == 0) {
      known.may.push_back(std::nullopt);
      if (!client.remove(key)) return;
      known = {std::nullopt, {}};
      continue;
    }
    // Sizes that are stored in a row, in one block and in a few stripes; then files whose space is
    // allocated ahead and which are partly written to disk before the rest arrives.
    const std::size_t sizes[] = {10, 1000, 70'000, 300'000, 1'300'000, 5'000'000};
    const std::string bytes = content(key, round * 100'000 + i, sizes[what % std::size(sizes)]);
    known.may.push_back(bytes);
    if (!client.put(key, s3::Body::of(bytes))) return;
    known = {bytes, {}};
  }
}

void check_all(const std::string& address, KnownKeys& all, int round) {
  s3::Client client = client_of(address);
  for (auto& [key, known] : all) {
    const auto object = client.get(key);
    ASSERT_TRUE(object || object.error().fault == s3::Fault::absent)
        << key << " round " << round << ": " << object.error().detail;
    const std::optional<std::string> now = object ? std::optional(object->bytes) : std::nullopt;
    const bool right = now == known.kept || std::ranges::find(known.may, now) != known.may.end();
    ASSERT_TRUE(right) << key << " round " << round << " has "
                       << (now ? now->substr(0, 40) : "nothing") << ", kept "
                       << (known.kept ? known.kept->substr(0, 40) : "nothing");
    known = {now, {}};
  }
}

net::Reply ask_signed(const std::string& address, const std::string& method,
                      const std::string& path, const s3::HeaderList& query,
                      const std::string& body) {
  const std::time_t now = std::time(nullptr);
  char time[32];
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &parts);
  s3::SignatureInput input{.method = method,
                           .path = s3::uri_encoded(path, true),
                           .query = query,
                           .headers = {},
                           .payload = s3::sha256_hex(body),
                           .time = time,
                           .region = "us-east-1"};
  input.headers = {{"Host", address.substr(address.find("//") + 2)},
                   {"x-amz-content-sha256", input.payload},
                   {"x-amz-date", input.time}};
  net::Question question{.method = method, .url = address + input.path, .headers = input.headers};
  if (!query.empty()) question.url += '?' + s3::canonical_query(query);
  question.headers.emplace_back("Authorization", s3::authorization(input, {"test", "secret", ""}));
  question.body = body;
  net::Client client;
  return client.ask(question);
}

bool set_move_rule(const std::string& address) {
  const std::string rules =
      "<LifecycleConfiguration><Rule><Prefix>w1/</Prefix><Status>Enabled</Status><Transition>"
      "<Days>0</Days><StorageClass>GLACIER</StorageClass></Transition></Rule>"
      "</LifecycleConfiguration>";
  return ask_signed(address, "PUT", "/bucket", {{"lifecycle", ""}}, rules).status == 200;
}

}  // namespace orrery
