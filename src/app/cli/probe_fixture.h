// For tests of probes: a folder to probe, and options for a short probe.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {

class ProbeVerb : public testing::Test {
 protected:
  VerbAnswer storage(const std::vector<std::string>& more, const Circumstances& given = {}) const {
    std::vector<std::string> words = {"probe", "storage", folder.path()};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  // Options for a small file, which is measured quickly.
  std::vector<std::string> small(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"--size", "64 KiB", "--seconds", "0.05", "--buffered"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_value_fault(const std::vector<std::string>& more, const std::string& said) const {
    const VerbAnswer a = storage(more);
    EXPECT_EQ(a.code, ExitCode::bad_input) << more.back();
    EXPECT_THAT(a.err, AllOf(HasSubstr("[usage.value]"), HasSubstr(said))) << more.back();
  }
  // Expects that the unknown part is the only fault.
  void expect_good_value(std::vector<std::string> more) const {
    more.insert(more.end(), {"--only", "nosuch"});
    const VerbAnswer a = storage(more);
    EXPECT_THAT(a.err, HasSubstr("\"nosuch\" is not a part of the probe")) << more.front();
    EXPECT_EQ(std::ranges::count(a.err, '['), 1) << a.err;
  }

  agent::TestFolder folder;
};

}  // namespace orrery::cli
