// A client of S3 object stores: the operations that probes, agents and our own store need. Each
// retries by itself, and data is never lost silently.
//
// A body carries its digests: SHA-256 is signed with the request, MD5 is sent as Content-MD5 and
// must come back as the ETag, and CRC-32C is stored in the object's metadata and checked on every
// read of the whole object (the ETag of a multipart upload is not a digest of the content). A
// mismatch counts as a failed attempt. `retries` counts repeated attempts, `reconnects` kept
// connections that turned out to be closed.
//
// Bodies are streamed in both directions. Bytes to send are read from a source that can be read
// again (once for its digests, once per attempt); received bytes go to a writer that can restart.
// Only a multipart upload holds bytes in memory, one part at a time.
//
// A client belongs to one thread and keeps its connection. Bucket addressing is path-style.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "live/net/client.h"
#include "live/s3/retry.h"
#include "live/s3/sigv4.h"

namespace orrery::s3 {

struct Config {
  std::string endpoint;  // "http://127.0.0.1:9000", "https://s3.eu-west-1.amazonaws.com"
  std::string bucket;
  std::string region = "us-east-1";
  Credentials credentials;
  RetryPolicy retry;
  std::uint64_t seed = 1;      // seed for the jitter of retries
  std::string writer = "one";  // unique per client, so that it recognises its own conditional PUT
};

enum class Fault {
  refused,       // 4xx
  absent,        // 404
  precondition,  // 412: another writer's object already exists
  unreachable,   // no answer after all attempts
  server,        // 5xx after all attempts
  corrupt,       // digests did not match in any attempt
  local          // our own source or writer failed
};

struct Error {
  Fault fault = Fault::server;
  std::string operation;  // "PUT bucket/key"
  int status = 0;         // 0: no answer
  std::string code;       // the store's error code, such as "SlowDown"
  std::string detail;
  int attempts = 1;
};
Diagnostic to_diagnostic(const Error& error);

template <class T>
using Outcome = std::expected<T, Error>;

// Bytes to send, with their digests, which are computed once for all attempts. The source may be
// read again from offset 0; if it then gives different bytes, the store refuses them.
struct Body {
  std::uint64_t bytes = 0;
  net::BodySource read;
  std::string sha256_hex;
  std::string md5_raw;
  std::uint32_t crc32c = 0;

  static Body of(std::string bytes);
  // Reads the whole source. Returns nullopt if it fails or ends early.
  static std::optional<Body> of(std::uint64_t bytes, net::BodySource read);
};

// Calls `visit` with all bytes of a source in order. Returns false if the source fails or ends
// early.
bool each_piece(std::uint64_t bytes, const net::BodySource& read,
                const std::function<void(std::string_view)>& visit);

// Receives an object. After an attempt that fails part way, restart() discards the bytes taken so
// far. Returning false from either function ends the request.
struct Writer {
  std::function<bool(std::string_view piece)> take;
  std::function<bool()> restart;
};
// Returns a writer that appends to `into`, which must be empty.
Writer writer_into(std::string& into);

struct Head {
  std::uint64_t bytes = 0;
  std::string etag;    // without its quotes
  std::string crc32c;  // as we stored it; empty if another program wrote the object
  std::string writer;
};
struct Object {
  Head head;
  std::string bytes = {};  // empty if a writer took them
  double first_byte_s = 0;
  bool verified = false;  // checked against a digest; always false for a range
};
struct Entry {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag = {};  // without its quotes
};
struct Page {
  std::vector<Entry> entries;
  std::string next;  // continuation token; empty on the last page
};
struct Part {
  int number = 1;  // from 1
  std::string etag;
};
// What the parts of an upload must add up to.
struct Whole {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

class Receiver;

using Sleep = std::function<void(double seconds)>;

class Client {
 public:
  Client(Config config, net::Ask ask, Sleep sleep, std::function<std::string()> time);
  // Uses the network and the system's clock.
  explicit Client(Config config, net::ClientOptions options = {});

  Outcome<std::string> put(const std::string& key, const Body& body);  // returns the ETag
  // Writes the object if none exists yet (If-None-Match: *). Fails with `precondition` if another
  // writer's object exists.
  Outcome<std::string> put_new(const std::string& key, const Body& body);
  // The bytes passed to the writer are verified only when get() has returned.
  Outcome<Object> get(const std::string& key, const Writer& writer);
  Outcome<Object> get(const std::string& key, std::size_t expected_bytes = 0);
  Outcome<Object> get_range(const std::string& key, std::uint64_t from, std::uint64_t count,
                            const Writer& writer);
  Outcome<Object> get_range(const std::string& key, std::uint64_t from, std::uint64_t count);
  Outcome<Head> head(const std::string& key);
  Outcome<bool> remove(const std::string& key);  // succeeds if the object is absent
  Outcome<Page> list(const std::string& prefix, const std::string& token = "", int keys_max = 1000);
  // Returns the answer to a query about a key (its tags, its lineage), unparsed.
  Outcome<std::string> document(const std::string& key, const HeaderList& query);
  Outcome<bool> create_bucket();  // succeeds if the bucket exists

  Outcome<std::string> create_upload(const std::string& key, const Whole& whole);
  Outcome<std::string> upload_part(const std::string& key, const std::string& upload, int number,
                                   const Body& part);
  Outcome<bool> complete_upload(const std::string& key, const std::string& upload,
                                const std::vector<Part>& parts, const Whole& whole);
  Outcome<bool> abort_upload(const std::string& key, const std::string& upload);
  // Uploads the source in parts of `part_bytes` and aborts if any step fails, or if `stop` returns
  // true between two parts.
  Outcome<bool> put_parts(const std::string& key, std::uint64_t bytes, const net::BodySource& read,
                          std::size_t part_bytes, const std::function<bool()>& stop = {});

  int retries() const { return retries_; }
  int reconnects() const { return reconnects_; }
  const Config& config() const { return config_; }

 private:
  struct Call {
    std::string method;
    std::string key;
    HeaderList query = {};
    HeaderList headers = {};
    const Body* body = nullptr;
    Receiver* receiver = nullptr;
    bool safe = true;
    // Returns what is wrong with a 2xx answer ("ETag differs"), or an empty text.
    std::function<std::string(const net::Reply&)> check = {};
  };
  net::Question signed_question(const Call& call) const;
  Outcome<net::Reply> perform(const Call& call);
  Error error_of(const Call& call, const net::Reply& reply, const std::string& fault,
                 int attempts) const;
  Error local_error(const Call& call, const std::string& detail, int attempts) const;
  void wait(int failures, const net::Reply& reply);
  // Returns whether the stored object is the one that this client meant to write.
  Outcome<bool> is_ours(const std::string& key, const Whole& whole);
  HeaderList own_metadata(std::uint32_t crc) const;

  Config config_;
  net::Ask ask_;
  Sleep sleep_;
  std::function<std::string()> time_;
  RandomStream jitter_;
  std::string base_;  // scheme://host:port
  std::string host_;
  int retries_ = 0;
  int reconnects_ = 0;
};

// Returns "https://HOST[:PORT]" without a trailing slash, or why the text is not an endpoint.
Result<std::string> checked_endpoint(const std::string& text);

// "s3://bucket/prefix"; the prefix may be empty.
struct Location {
  std::string bucket;
  std::string prefix;
};
Result<Location> parse_location(std::string_view text);
// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if set, AWS_SESSION_TOKEN.
Result<Credentials> credentials_of(const std::function<const char*(const char*)>& environment);

}  // namespace orrery::s3
