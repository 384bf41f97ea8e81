// For tests of places: a store that forwards every call, a bucket in memory, and items written as
// the agent copies them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/digest.h"
#include "live/agent/keep_store.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"

namespace orrery::agent {

class PassingStore : public KeepStore {
 public:
  explicit PassingStore(std::unique_ptr<KeepStore> store) : store_(std::move(store)) {}

  Result<void> hold() override { return store_->hold(); }
  void release() override { store_->release(); }
  Result<KeptListing> list() override { return store_->list(); }
  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    return store_->read(id, file);
  }
  Result<void> begin(const std::string& id, unsigned mode) override {
    return store_->begin(id, mode);
  }
  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    return store_->write(id, path, bytes, source);
  }
  Result<void> finish(const std::string& id) override { return store_->finish(id); }
  void give_up(const std::string& id) override { store_->give_up(id); }
  Result<void> set_aside(const KeptItem& item, const std::string& name) override {
    return store_->set_aside(item, name);
  }
  Result<void> purge(const KeptAside& aside) override { return store_->purge(aside); }

 private:
  std::unique_ptr<KeepStore> store_;
};

// The bucket "pail" at http://store, answered without a network.
struct MemoryBucket {
  std::map<std::string, std::string> objects;  // by key
  int parts = 0;                               // number of parts uploaded
  bool ignores_conditions = false;             // ignores If-None-Match
  bool is_away = false;                        // answers 503

  std::shared_ptr<s3::Client> client(const std::string& writer = "one") {
    return client_of([this](const net::Question& q) { return answer(q); }, writer);
  }
  // Returns a client without retries; a function answers its requests.
  static std::shared_ptr<s3::Client> client_of(net::Ask ask, const std::string& writer = "one") {
    return std::make_shared<s3::Client>(
        s3::Config{.endpoint = "http://store",
                   .bucket = "pail",
                   .credentials = {"a", "s", ""},
                   .retry = {.attempts_max = 1},
                   .writer = writer},
        std::move(ask), [](double) {}, [] { return std::string("20130524T000000Z"); });
  }

 private:
  net::Reply answer(const net::Question& q) {
    net::Reply reply;
    reply.status = is_away ? 503 : 200;
    if (is_away) return reply;
    const std::string base = "http://store/pail/";
    const std::string rest = q.url.substr(std::min(q.url.size(), base.size()));
    const std::string key = rest.substr(0, rest.find('?'));
    if (q.method == "PUT") {
      put(q, key, reply);
    } else if (q.method == "DELETE") {
      objects.erase(key);
    } else if (q.method == "POST") {
      reply.body = q.url.ends_with("uploads=")
                       ? "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                         "</InitiateMultipartUploadResult>"
                       : "<CompleteMultipartUploadResult/>";
    } else if (q.url.find("list-type=2") != q.url.npos) {
      list(reply);
    } else if (!objects.contains(key)) {
      reply.status = 404;
    } else {
      get(q, objects.at(key), reply);
    }
    return reply;
  }
  void put(const net::Question& q, const std::string& key, net::Reply& reply) {
    std::string body, piece(1 << 20, '\0');
    while (q.source) {
      const auto got = q.source(body.size(), piece);
      if (!got || *got == 0) break;
      body.append(piece, 0, *got);
    }
    const bool is_new = net::header_of(q.headers, "If-None-Match") == "*";
    if (is_new && !ignores_conditions && objects.contains(key)) {
      reply.status = 412;
      return;
    }
    if (q.url.find("partNumber") != q.url.npos) ++parts;
    if (q.url.find('?') == q.url.npos) objects[key] = body;
    reply.headers = {{"etag", to_hex(s3::md5(body))}};
  }
  void list(net::Reply& reply) const {
    reply.body = "<ListBucketResult>";
    for (const auto& [name, bytes] : objects) {
      reply.body += "<Contents><Key>" + name + "</Key><Size>" + std::to_string(bytes.size()) +
                    "</Size><ETag>" + to_hex(s3::md5(bytes)) + "</ETag></Contents>";
    }
    reply.body += "</ListBucketResult>";
  }
  static void get(const net::Question& q, std::string bytes, net::Reply& reply) {
    const std::string range(net::header_of(q.headers, "Range"));
    if (range.empty()) {
      reply.headers = {{"etag", to_hex(s3::md5(bytes))},
                       {"content-length", std::to_string(bytes.size())}};
    } else {
      const std::uint64_t from = std::stoull(range.substr(6));
      const std::uint64_t last = std::stoull(range.substr(range.find('-') + 1));
      const std::string whole = std::to_string(bytes.size());
      bytes = bytes.substr(from, last - from + 1);
      reply.status = 206;
      reply.headers = {{"content-range", "bytes " + std::to_string(from) + '-' +
                                             std::to_string(from + bytes.size() - 1) + '/' +
                                             whole}};
    }
    if (q.method == "HEAD") return;
    if (q.take) q.take(reply, bytes);
    if (!q.take) reply.body = bytes;
  }
};

inline Result<void> put_file(KeepStore& store, const std::string& id, const std::string& path,
                             const std::string& text) {
  return store.write(id, path, text.size(), net::source_of(text));
}

inline Result<void> put_item(KeepStore& store, const std::string& id,
                             const std::map<std::string, std::string>& files) {
  if (auto begun = store.begin(id, 0755); !begun) return begun;
  for (const auto& [path, text] : files) {
    if (auto wrote = put_file(store, id, path, text); !wrote) return wrote;
  }
  return store.finish(id);
}

// Returns the text of a file, or a word that says why there is none.
inline std::string read_back(KeepStore& store, const std::string& id, const std::string& path) {
  const auto listing = store.list();
  if (!listing) return "unlisted";
  for (const KeptItem& item : listing->items) {
    const KeptFile* file = item.id == id ? item.file(path) : nullptr;
    if (!file) continue;
    const auto source = store.read(id, *file);
    if (!source) return "unreadable";
    std::string text;
    char piece[7];
    while (const auto got = (*source)(text.size(), piece)) {
      if (*got == 0) return text;
      text.append(piece, *got);
    }
    return "gave up";
  }
  return "absent";
}

// Returns "ITEM:PATH" for every file, then the files next to the items.
inline std::vector<std::string> names_in(KeepStore& store) {
  std::vector<std::string> names;
  const auto listing = store.list();
  if (!listing) return {"unlisted"};
  for (const KeptItem& item : listing->items) {
    for (const KeptFile& file : item.files) names.push_back(item.id + ':' + file.path);
  }
  for (const KeptFile& file : listing->beside) names.push_back(file.path);
  return names;
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "good" : result.error().front().code;
}

}  // namespace orrery::agent
