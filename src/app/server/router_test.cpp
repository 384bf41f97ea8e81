#include "app/server/router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/server/console.h"
#include "app/server/console_fixture.h"

namespace orrery::server {
namespace {

using RouterRoute = RouteTest;

TEST_F(RouterRoute, a_path_parameter_is_one_plain_word) {
  const RequestRouter router({{"GET", "/a/{x}", [](const Request&, const PathValues& values) {
                                 return Response{.body = values[0]};
                               }}});
  const auto answered = [&](const std::string& target) {
    const auto a = router.answer({.target = target});
    return a.response.status == 200 ? a.response.body : std::to_string(a.response.status);
  };
  EXPECT_EQ(answered("/a/dgx-h100_1.2"), "dgx-h100_1.2");
  for (const char* none : {"/a/", "/a", "/a/b/c", "/a/..", "/a/b..c", "/a/%2e", "/a/b%00", "/a/b c",
                           "/a/b\\c", "/a/\xc3\xa4", "/b/x"}) {
    EXPECT_EQ(answered(none), "404") << none;
  }
}

}  // namespace
}  // namespace orrery::server
