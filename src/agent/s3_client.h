// A client of S3 object stores: the operations that a probe and a checkpoint agent need, each with
// its retries, and never a silent loss.
//
// A body carries its digests: SHA-256 is signed with the request, MD5 goes as Content-MD5 and must
// come back as the ETag, CRC-32C is kept as the object's own metadata and checked on every whole
// read (an ETag of several parts is no digest of the content). A mismatch counts as a failed
// attempt. Each failure that was mended by asking again is counted in `retries`, each kept
// connection that was found closed in `reconnects`.
//
// One client belongs to one thread; it keeps its connection. Bucket addressing is path-style.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/s3_retry.h"
#include "agent/s3_transport.h"
#include "agent/sigv4.h"
#include "base/diagnostic.h"

namespace orrery {

struct S3Config {
  std::string endpoint;  // "http://127.0.0.1:9000", "https://s3.eu-west-1.amazonaws.com"
  std::string bucket;
  std::string region = "us-east-1";
  S3Credentials credentials;
  RetryPolicy retry;
  std::uint64_t seed = 1;      // of the jitter
  std::string writer = "one";  // tells our own conditional PUT from another's; unique a client
};

enum class S3Fault {
  refused,       // 4xx
  absent,        // 404
  precondition,  // 412: the object is there already, written by another
  unreachable,   // no answer after all attempts
  server,        // 5xx after all attempts
  corrupt        // digests do not agree after all attempts
};

struct S3Error {
  S3Fault fault = S3Fault::server;
  std::string operation;  // "PUT bucket/key"
  int status = 0;         // 0: no answer
  std::string code;       // the store's own: "SlowDown"
  std::string detail;
  int attempts = 1;
};
Diagnostic to_diagnostic(const S3Error& error);

template <class T>
using S3Result = std::expected<T, S3Error>;

// Bytes with their digests, computed once however often they are sent.
struct S3Body {
  std::string bytes;
  std::string sha256_hex;
  std::string md5_raw;
  std::uint32_t crc32c = 0;

  static S3Body of(std::string bytes);
};

struct S3Head {
  std::uint64_t bytes = 0;
  std::string etag;    // without its quotes
  std::string crc32c;  // as we wrote it; empty: written by another
  std::string writer;
};
struct S3Object {
  S3Head head;
  std::string bytes;
  double first_byte_s = 0;
  bool verified = false;  // against a digest; not so for part of an object, or one of several parts
};
struct S3Entry {
  std::string key;
  std::uint64_t bytes = 0;
};
struct S3Page {
  std::vector<S3Entry> entries;
  std::string next;  // continuation token; empty: the last page
};
struct S3Part {
  int number = 1;  // from 1
  std::string etag;
};
// What an upload of several parts must amount to.
struct S3Whole {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

using Sleep = std::function<void(double seconds)>;

class S3Client {
 public:
  S3Client(S3Config config, Transport transport, Sleep sleep, std::function<std::string()> time);
  // Over libcurl, with the system's clock.
  explicit S3Client(S3Config config, HttpLimits limits = {});

  S3Result<std::string> put(const std::string& key, const S3Body& body);  // the ETag
  // Only where there is none yet (If-None-Match: *). Fails with `precondition` where another's is.
  S3Result<std::string> put_new(const std::string& key, const S3Body& body);
  S3Result<S3Object> get(const std::string& key, std::size_t expected_bytes = 0);
  S3Result<S3Object> get_range(const std::string& key, std::uint64_t from, std::uint64_t count);
  S3Result<S3Head> head(const std::string& key);
  S3Result<bool> remove(const std::string& key);  // absent is fine
  S3Result<S3Page> list(const std::string& prefix, const std::string& token = "",
                        int keys_max = 1000);
  S3Result<bool> create_bucket();  // one of our own already is fine

  S3Result<std::string> create_upload(const std::string& key, const S3Whole& whole);
  S3Result<std::string> upload_part(const std::string& key, const std::string& upload, int number,
                                    const S3Body& part);
  S3Result<bool> complete_upload(const std::string& key, const std::string& upload,
                                 const std::vector<S3Part>& parts, const S3Whole& whole);
  S3Result<bool> abort_upload(const std::string& key, const std::string& upload);
  // All of it: parts of `part_bytes`, aborted where any step fails. `stop` ends it between parts.
  S3Result<bool> put_parts(const std::string& key, const std::string& bytes, std::size_t part_bytes,
                           const std::function<bool()>& stop = {});

  int retries() const { return retries_; }
  int reconnects() const { return reconnects_; }
  const S3Config& config() const { return config_; }

 private:
  struct Ask {
    std::string method;
    std::string key;
    HeaderList query = {};
    HeaderList headers = {};
    const S3Body* body = nullptr;
    std::size_t expected_bytes = 0;
    bool safe = true;
    // A fault of a 2xx answer ("ETag differs"), or nothing.
    std::function<std::string(const HttpReply&)> check = {};
  };
  HttpRequest signed_request(const Ask& ask) const;
  S3Result<HttpReply> perform(const Ask& ask);
  S3Error error_of(const Ask& ask, const HttpReply& reply, const std::string& fault,
                   int attempts) const;
  void wait(int failures, const HttpReply& reply);
  // Whether the object there is the one that this client meant to write.
  S3Result<bool> is_ours(const std::string& key, const S3Whole& whole);
  HeaderList own_metadata(std::uint32_t crc) const;

  S3Config config_;
  Transport transport_;
  Sleep sleep_;
  std::function<std::string()> time_;
  RandomStream jitter_;
  std::string base_;  // scheme://host:port
  std::string host_;
  int retries_ = 0;
  int reconnects_ = 0;
};

// "https://HOST[:PORT]" with nothing behind it, else why not.
Result<std::string> checked_endpoint(const std::string& text);

// "s3://bucket/prefix"; the prefix may be empty.
struct S3Place {
  std::string bucket;
  std::string prefix;
};
Result<S3Place> parse_s3_place(std::string_view text);
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN where there is one.
Result<S3Credentials> credentials_of(const std::function<const char*(const char*)>& environment);

}  // namespace orrery
