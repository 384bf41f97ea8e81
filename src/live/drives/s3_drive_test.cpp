// A drive in another object store, simulated by a server with scripted answers: what the drive
// requests and how it signs, how it interprets each answer, and which places it refuses.
#include "live/drives/s3_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "live/net/running_server_fixture.h"
#include "live/s3/receiver.h"

namespace orrery::drives::s3_drive_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const DriveMark kOwnMark{"0123456789abcdef", "cold-0"};
constexpr const char* kOwnMarkText = "orrery-drive 1\nstore 0123456789abcdef\ndrive cold-0\n";

// Objects by key, two per page. The answers in `says` are given first, one per request.
class OtherStore {
 public:
  struct Says {
    int status = 200;
    std::string code = {};
    net::HeaderList headers = {};
  };

  net::Response answer(const net::Request& request) {
    std::unique_lock lock(mutex);
    const std::string path(net::path_of(request));
    std::string line = request.method + ' ' + path;
    if (!request.header("range").empty()) line += ' ' + std::string(request.header("range"));
    if (!net::query_value(request, "continuation-token").empty()) {
      line += " after " + std::string(net::query_value(request, "continuation-token"));
    }
    asked.push_back(line);
    signed_by = request.header("authorization");
    if (request.method == "PUT") writers.insert(std::string(request.header(s3::kWriterHeader)));
    if (together > 0) {
      --together;
      turn.notify_all();
      turn.wait_for(lock, std::chrono::seconds(10), [this] { return together == 0; });
    }
    if (!says.empty()) {
      const Says now = says.front();
      says.pop_front();
      return {.status = now.status,
              .body = now.code.empty() ? ""
                                       : "<Error><Code>" + now.code +
                                             "</Code><Message>scripted</Message></Error>",
              .headers = now.headers};
    }
    return acted(request, path);
  }

  std::mutex mutex;
  std::condition_variable turn;
  int together = 0;  // requests that are held until this many have arrived
  std::map<std::string, std::string> objects;
  std::deque<Says> says;
  std::vector<std::string> asked;
  std::set<std::string> writers;
  std::string signed_by;

 private:
  net::Response acted(const net::Request& request, const std::string& path) {
    if (path == "/pail") return listed(request);
    const std::string key = path.substr(std::string("/pail/").size());
    if (request.method == "PUT") {
      objects[key] = request.body;
      return {};
    }
    const auto at = objects.find(key);
    if (at == objects.end())
      return {.status = 404, .body = "<Error><Code>NoSuchKey</Code></Error>"};
    if (request.method == "DELETE") return objects.erase(at), net::Response{.status = 204};
    if (request.method == "HEAD") return {.length = at->second.size()};
    if (request.header("range").empty()) return {.body = at->second};
    std::size_t from = 0, last = 0;
    std::sscanf(std::string(request.header("range")).c_str(), "bytes=%zu-%zu", &from, &last);
    const std::string some = at->second.substr(from, last - from + 1);
    return {.status = 206,
            .body = some,
            .headers = {{"Content-Range", "bytes " + std::to_string(from) + '-' +
                                              std::to_string(from + some.size() - 1) + '/' +
                                              std::to_string(at->second.size())}}};
  }
  net::Response listed(const net::Request& request) {
    const std::string after(net::query_value(request, "continuation-token"));
    std::string body = "<ListBucketResult>", last;
    int count = 0;
    bool more = false;
    for (const auto& [key, bytes] : objects) {
      if (!key.starts_with("tier/") || (!after.empty() && key.substr(5) <= after)) continue;
      more = ++count > 2;
      if (more) break;
      body += "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>";
      last = key.substr(5);
    }
    if (more) {
      body += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last +
              "</NextContinuationToken>";
    }
    return {.body = body + "</ListBucketResult>"};
  }
};

class S3DriveTest : public testing::Test {
 protected:
  S3DriveTest() {
    spool = (std::filesystem::temp_directory_path() / "orrery-spooled-XXXXXX").string();
    EXPECT_NE(::mkdtemp(spool.data()), nullptr);
    access.keys[""] = {"ANY", "secret", ""};
    access.retry = {.attempts_max = 1, .base_s = 0.001, .cap_s = 0.001};
    place.endpoint = server.url("");
  }
  ~S3DriveTest() override { std::filesystem::remove_all(spool); }

  Result<std::unique_ptr<Drive>> opened(bool make) {
    return open_s3_drive(place, kOwnMark, access, spool, make);
  }
  // Returns the reason for refusing the drive.
  std::string refusal(bool make) {
    const auto drive = opened(make);
    if (drive) return "opened";
    const Diagnostic& first = drive.error().front();
    EXPECT_EQ(first.code, "store.s3");
    EXPECT_EQ(first.place.file, place.endpoint + "/pail/tier/");
    EXPECT_FALSE(first.fix.empty());
    return first.what;
  }
  std::unique_ptr<Drive> made() {
    auto drive = opened(true);
    if (!drive) throw std::runtime_error(to_text(drive.error()));
    other.asked.clear();
    return std::move(*drive);
  }
  template <class T>
  static std::string kind_of(const Outcome<T>& outcome) {
    constexpr const char* kKinds[] = {"missing", "full", "failed", "busy", "corrupt"};
    return outcome ? "good" : kKinds[static_cast<std::size_t>(outcome.error().kind)];
  }

  OtherStore other;
  net::RunningServer server{[this](const net::Request& r) { return other.answer(r); }};
  S3Place place{.endpoint = {}, .bucket = "pail", .prefix = "tier/"};
  S3Access access;
  std::string spool;
};

std::string place_text(const std::string& text) {
  const auto place = s3_place_of(text);
  if (place) {
    return place->endpoint + ' ' + place->bucket + " '" + place->prefix + "' " + place->region;
  }
  const Diagnostic& first = place.error().front();
  EXPECT_EQ(first.code, "store.s3");
  EXPECT_EQ(first.place.file, text);
  return "refused";
}

TEST(S3Place, is_parsed_or_refused) {
  EXPECT_EQ(place_text("s3+https://host:9000/pail"), "https://host:9000 pail '' us-east-1");
  EXPECT_EQ(place_text("s3+http://host/pail/a/b"), "http://host pail 'a/b/' us-east-1");
  EXPECT_EQ(place_text("s3+http://host/pail?region=eu-west-1"), "http://host pail '' eu-west-1");
  EXPECT_EQ(place_text("s3+http://host/pail/p?region=z9"), "http://host pail 'p/' z9");
  for (const char* bad :
       {"s3+http://host", "s3+http:/host/pail", "http://host/pail", "s3+",
        "s3+http://host?region=a/b", "s3+http://host/pail?region=", "s3+http://host/pail?regio",
        "s3+http://host/pail?", "s3+http://host/pail?Region=a", "s3+http://host/pail?region=EU",
        "s3+http://host/pail?region=a&b=c"}) {
    EXPECT_EQ(place_text(bad), "refused") << bad;
  }
  EXPECT_TRUE(is_s3_place("s3+x"));
  EXPECT_FALSE(is_s3_place("s3:x"));
}

TEST_F(S3DriveTest, a_place_is_marked_once_with_the_id_of_its_drive) {
  ASSERT_TRUE(opened(true));
  EXPECT_EQ(other.objects.at("tier/drive"), kOwnMarkText);
  EXPECT_THAT(other.asked,
              ElementsAre("GET /pail/tier/drive", "PUT /pail/tier/drive", "GET /pail/tier/drive"));
  EXPECT_THAT(other.writers, ElementsAre("0123456789abcdef-cold-0"));
  EXPECT_THAT(other.signed_by, HasSubstr("Credential=ANY/"));
  EXPECT_THAT(other.signed_by, HasSubstr("/us-east-1/s3/"));
  other.asked.clear();
  access.keys["pail"] = {"ITS", "secret", ""};
  access.keys["tub"] = {"TUB", "secret", ""};
  place.region = "eu-west-1";
  const auto again = opened(true);
  ASSERT_TRUE(again);
  EXPECT_THAT(other.asked, ElementsAre("GET /pail/tier/drive"));
  EXPECT_THAT(other.signed_by, HasSubstr("Credential=ITS/")) << "the bucket's own keys go first";
  EXPECT_THAT(other.signed_by, HasSubstr("/eu-west-1/s3/"));
  EXPECT_TRUE((*again)->is_remote());
  const auto space = (*again)->space();
  ASSERT_TRUE(space);
  EXPECT_EQ(space->total_bytes + space->free_bytes, 0u) << "the free space is unknown";
}

TEST_F(S3DriveTest, a_place_that_cannot_be_used_is_refused_with_the_reason) {
  EXPECT_THAT(refusal(false), HasSubstr("404 NoSuchKey"));
  other.says = {{.status = 403, .code = "AccessDenied"}};
  EXPECT_THAT(refusal(true), HasSubstr("GET pail/tier/drive: 403 AccessDenied"));
  other.says = {{.status = 404, .code = "NoSuchKey"}, {.status = 403, .code = "ReadOnly"}};
  EXPECT_THAT(refusal(true), HasSubstr("PUT pail/tier/drive: 403 ReadOnly"));
  other.objects["tier/drive"] = "orrery-drive 1\nstore 0123456789abcdef\ndrive cold-1\n";
  for (const bool make : {false, true}) {
    EXPECT_THAT(refusal(make), HasSubstr("belongs to another store")) << make;
  }
  access.keys.clear();
  access.keys["tub"] = {"TUB", "secret", ""};
  other.asked.clear();
  EXPECT_THAT(refusal(true), HasSubstr("no access keys"));
  EXPECT_THAT(other.asked, IsEmpty());
}

// If the marker could not be read when the drive was opened, the first call reads it.
TEST_F(S3DriveTest, an_unread_mark_is_read_before_anything_else) {
  other.says = {{.status = 404, .code = "NoSuchBucket"}};
  const auto drive = opened(false);
  ASSERT_TRUE(drive) << "it may come back";
  other.asked.clear();
  EXPECT_EQ(kind_of((*drive)->list()), "busy");
  other.objects["tier/drive"] = "another's";
  EXPECT_EQ(kind_of((*drive)->remove("a.00.0")), "busy");
  other.objects["tier/drive"] = kOwnMarkText;
  EXPECT_EQ(kind_of((*drive)->remove("a.00.0")), "good");
  EXPECT_EQ(kind_of((*drive)->remove("b.00.0")), "good");
  EXPECT_THAT(other.asked,
              ElementsAre("GET /pail/tier/drive", "GET /pail/tier/drive", "GET /pail/tier/drive",
                          "DELETE /pail/tier/a.00.0", "DELETE /pail/tier/b.00.0"));
}

TEST_F(S3DriveTest, each_answer_maps_to_a_kind_of_fault) {
  const auto drive = made();
  const auto after = [&](int status, const std::string& code, net::HeaderList headers = {}) {
    other.says = {{.status = status, .code = code, .headers = std::move(headers)}};
    return kind_of(drive->remove("x"));
  };
  EXPECT_EQ(after(507, "NoRoom"), "full");
  EXPECT_EQ(after(508, "NoRoom"), "busy");
  EXPECT_EQ(after(403, "QuotaExceeded"), "full");
  EXPECT_EQ(after(403, "AccessDenied"), "busy");
  EXPECT_EQ(after(404, "NoSuchBucket"), "busy");
  EXPECT_EQ(after(500, "InternalError"), "busy");
  EXPECT_EQ(after(404, "NoSuchKey"), "good");
  EXPECT_EQ(kind_of(drive->open("x")), "missing");
  auto file = drive->create("x");
  ASSERT_TRUE(file);
  other.says = {{.headers = {{"ETag", '"' + std::string(32, '0') + '"'}}}};
  EXPECT_EQ(kind_of((*file)->sync()), "corrupt");
}

TEST_F(S3DriveTest, a_file_is_sent_whole_and_once_when_it_is_synced) {
  const auto drive = made();
  auto file = drive->create("a.00.0");
  ASSERT_TRUE(file);
  const std::string_view pieces[] = {"one ", "", "two "};
  ASSERT_TRUE((*file)->append(pieces));
  const std::string_view last[] = {"three"};
  ASSERT_TRUE((*file)->append(last));
  EXPECT_THAT(other.asked, IsEmpty());
  std::string bytes(3, '?');
  EXPECT_EQ(kind_of((*file)->read(0, bytes)), "failed");
  ASSERT_TRUE((*file)->sync());
  ASSERT_TRUE((*file)->sync());
  EXPECT_THAT(other.asked, ElementsAre("PUT /pail/tier/a.00.0"));
  EXPECT_EQ(other.objects.at("tier/a.00.0"), "one two three");
  EXPECT_TRUE(std::filesystem::is_empty(spool)) << "the spooled file has no name";
}

TEST_F(S3DriveTest, a_file_is_read_by_ranges_within_its_size) {
  const auto drive = made();
  other.objects["tier/a.00.0"] = "0123456789";
  const auto file = drive->open("a.00.0");
  ASSERT_TRUE(file);
  std::string bytes(3, '?');
  EXPECT_EQ((*file)->read(4, bytes), 3u);
  EXPECT_EQ(bytes, "456");
  bytes.assign(20, '?');
  EXPECT_EQ((*file)->read(8, bytes), 2u);
  EXPECT_EQ(bytes.substr(0, 2), "89");
  EXPECT_EQ((*file)->read(10, bytes), 0u);
  EXPECT_EQ((*file)->read(0, std::span(bytes).first(1)), 1u);
  EXPECT_THAT(other.asked, ElementsAre("HEAD /pail/tier/a.00.0", "GET /pail/tier/a.00.0 bytes=4-9",
                                       "GET /pail/tier/a.00.0 bytes=0-9"));
  const auto other_range = drive->open("a.00.0");
  ASSERT_TRUE(other_range);
  other.says = {{.status = 206, .code = "x", .headers = {{"Content-Range", "bytes 5-9/10"}}}};
  EXPECT_EQ(kind_of((*other_range)->read(2, bytes)), "corrupt");
}

TEST_F(S3DriveTest, all_pages_of_a_list_are_read_below_the_prefix) {
  const auto drive = made();
  for (const char* name : {"a.00.0", "b.00.0", "c.00.0", "e.00.0"}) {
    other.objects[std::string("tier/") + name] = "x";
  }
  other.objects["elsewhere/d.00.0"] = "x";
  const auto names = drive->list();
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("a.00.0", "b.00.0", "c.00.0", "e.00.0"))
      << "the marker is not listed";
  EXPECT_THAT(other.asked,
              ElementsAre("GET /pail", "GET /pail after b.00.0", "GET /pail after drive"));
}

TEST_F(S3DriveTest, concurrent_calls_use_separate_clients) {
  const auto drive = made();
  auto a = drive->create("a.00.0");
  auto b = drive->create("b.00.0");
  ASSERT_TRUE(a && b);
  other.writers.clear();
  other.together = 2;
  std::thread beside([&] { EXPECT_TRUE((*a)->sync()); });
  EXPECT_TRUE((*b)->sync());
  beside.join();
  EXPECT_THAT(other.writers,
              UnorderedElementsAre("0123456789abcdef-cold-0-1", "0123456789abcdef-cold-0-2"));
  other.writers.clear();
  auto c = drive->create("c.00.0");
  ASSERT_TRUE(c && (*c)->sync());
  EXPECT_EQ(other.writers.size(), 1u);
  EXPECT_THAT(*other.writers.begin(), StartsWith("0123456789abcdef-cold-0-"));
  EXPECT_NE(*other.writers.begin(), "0123456789abcdef-cold-0-3") << "a free client is reused";
}

TEST_F(S3DriveTest, a_store_that_did_not_answer_is_left_alone_for_a_moment) {
  place.endpoint = "http://127.0.0.1:1";  // no server listens there
  const auto drive = opened(false);
  ASSERT_TRUE(drive);
  EXPECT_EQ(kind_of((*drive)->list()), "busy");
  EXPECT_EQ(kind_of((*drive)->list()), "busy");
  EXPECT_EQ(kind_of((*drive)->remove("x")), "busy");
}

TEST_F(S3DriveTest, a_full_or_missing_spool_is_a_fault) {
  const auto drive = made();
  auto file = drive->create("a.00.0");
  ASSERT_TRUE(file);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit was{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &was), 0);
  const rlimit less{.rlim_cur = 100, .rlim_max = was.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const std::string bytes(101, 'x');
  const std::string_view pieces[] = {bytes};
  const auto done = (*file)->append(pieces);
  ::setrlimit(RLIMIT_FSIZE, &was);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(kind_of(done), "failed");
  std::filesystem::remove_all(spool);
  EXPECT_EQ(kind_of(drive->create("b.00.0")), "failed");
}

}  // namespace
}  // namespace orrery::drives::s3_drive_tests
