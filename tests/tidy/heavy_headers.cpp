#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "tidy/rules.h"

namespace orrery::tidy {
namespace {

struct HeavyHeader {
  std::string prefix;
  std::set<std::string> homes;  // rooms (only in .cpp files) or single files that may include it
};

const std::vector<HeavyHeader>& heavy_headers() {
  static const std::vector<HeavyHeader> kHeavy = {
      {"yaml-cpp/", {"design_text"}},
      {"nlohmann/", {"catalog", "server", "score", "agent", "s3server", "drives"}},
      {"boost/", {"net", "src/live/net/transport.h"}},
      {"CLI/", {"src/app/cli/arguments.cpp", "src/app/cli/command_line.cpp"}},
      {"sqlite3", {"src/app/server/job_store.cpp"}},
      {"curl/", {"src/live/net/client.cpp"}},
      {"openssl/", {"src/live/s3/hash.cpp", "src/live/s3/cipher.cpp"}},
      {"pugixml", {"src/live/s3/xml.cpp"}},
      {"sys/socket",
       {"net", "src/live/net/test_socket.h", "src/live/rows/simulated_postgres_fixture.h"}},
      {"netinet/", {"net", "src/live/net/test_socket.h"}},
      {"arpa/", {"net"}},
      {"netdb", {"net"}},
      {"sys/un", {"net", "src/live/rows/simulated_postgres_fixture.h"}},
      {"jpeglib", {"src/live/agent/jpeg_decode.cpp"}},
      {"liburing", {"src/live/agent/io_ring.cpp"}},
      {"rocksdb/", {"src/live/rows/rocks_metadata.cpp"}},
      {"libpq-fe.h", {"src/live/rows/postgres_connections.h"}},
      {"rados/", {"src/live/drives/ceph_pool.cpp", "tests/simulated_librados.cpp"}},
      {"isa-l", {"src/live/drives/erasure.cpp", "src/live/s3/checksum.cpp"}}};
  return kHeavy;
}

bool is_of_sockets(const HeavyHeader& heavy) {
  static const std::set<std::string> kSockets = {"boost/", "curl/", "sys/socket", "netinet/",
                                                 "arpa/",  "netdb", "sys/un"};
  return kSockets.contains(heavy.prefix);
}

bool is_for_tests(std::string_view path) {
  return path.ends_with("_test.cpp") || path.ends_with("_fixture.h");
}

}  // namespace

bool includes_heavy(const Source& source) {
  return std::ranges::any_of(heavy_headers(), [&source](const HeavyHeader& heavy) {
    return source.text.find("#include <" + heavy.prefix) != std::string::npos;
  });
}

Complaints check_heavy_headers(const Source& source) {
  Complaints complaints;
  int number = 0;
  for (const std::string_view line : split(source.text, '\n')) {
    ++number;
    for (const HeavyHeader& heavy : heavy_headers()) {
      // Only tests include fixtures and tests, so their compile time does not matter; but network
      // access goes through net/ for them too.
      if (is_for_tests(source.path) && !is_of_sockets(heavy)) continue;
      if (!line.starts_with("#include <" + heavy.prefix)) continue;
      const bool in_room =
          heavy.homes.contains(room_of(source.path)) && !source.path.ends_with(".h");
      if (in_room || heavy.homes.contains(source.path)) continue;
      complaints.push_back(
          {source.path, number, heavy.prefix + " is a heavy header and not at home here"});
    }
  }
  return complaints;
}

}  // namespace orrery::tidy
