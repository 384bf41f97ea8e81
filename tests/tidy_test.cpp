// Reads the sources and keeps the rules of the house; each rule is also shown a bad snippet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tidy/callers.h"
#include "tidy/figure_rules.h"
#include "tidy/mentions.h"
#include "tidy/rules.h"

namespace orrery::tidy {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const fs::path kRoot = ORRERY_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Written by tools and not kept in the repository.
bool is_made(const std::string& path) {
  return path.find("node_modules") != path.npos || path.starts_with("web/dist/");
}

std::vector<Source> sources_below(const std::vector<std::string>& folders,
                                  const std::vector<std::string>& endings) {
  std::vector<Source> sources;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string name = entry.path().filename().string();
      const bool wanted = std::ranges::any_of(
          endings, [&name](const std::string& ending) { return name.ends_with(ending); });
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      if (!entry.is_regular_file() || !wanted || is_made(path)) continue;
      std::string text = read(entry.path());
      // A picture may hold any bytes, among them those of a forbidden word.
      if (text.find('\0') != text.npos) continue;
      sources.push_back({path, std::move(text)});
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

std::vector<Source> code() {
  return sources_below({"src", "tests", "bench", "tools"}, {".h", ".cpp"});
}

template <class Check>
std::string complaints_of(const std::vector<Source>& sources, Check check) {
  Complaints all;
  for (const Source& source : sources) std::ranges::copy(check(source), std::back_inserter(all));
  return to_text(all);
}

const RoomTable& architecture() {
  static const RoomTable kTable = rooms_of_page(read(kRoot / "ARCHITECTURE.md"));
  return kTable;
}

// Headers of a room that the product code of other rooms includes.
std::map<std::string, std::set<std::string>> surfaces() {
  std::map<std::string, std::set<std::string>> found;
  static const std::regex kInclude(R"rx(#include "([a-z_]+/[a-z0-9_]+)/([a-z0-9_]+\.h)")rx");
  for (const Source& source : sources_below({"src"}, {".h", ".cpp"})) {
    if (!is_product(source.path)) continue;
    for (std::sregex_iterator at(source.text.begin(), source.text.end(), kInclude), end; at != end;
         ++at) {
      if (!source.path.starts_with("src/" + (*at)[1].str() + "/")) found[(*at)[1]].insert((*at)[2]);
    }
  }
  return found;
}

TEST(Tidy, finds_the_sources) { EXPECT_GT(code().size(), 30u); }

TEST(Tidy, the_build_has_the_rooms_of_the_architecture) {
  EXPECT_EQ(rooms_of_build(read(kRoot / "src/CMakeLists.txt")), architecture());
}

TEST(Tidy, no_layer_includes_another) {
  const RoomTable rooms = architecture();
  const RoomTable tests = rooms_of_build(read(kRoot / "src/CMakeLists.txt"), "TEST_ROOMS");
  const auto check = [&](const Source& s) { return check_room_order(s, rooms, tests); };
  EXPECT_EQ(complaints_of(code(), check), "");
}

TEST(Tidy, every_room_has_its_namespace) {
  const RoomTable rooms = architecture();
  const auto check = [&](const Source& s) { return check_room_namespace(s, rooms); };
  EXPECT_EQ(complaints_of(code(), check), "");
}

// A room that needs more is probably two; the page says why one is not.
TEST(Tidy, a_room_shows_about_a_dozen_headers_or_says_why) {
  constexpr std::size_t kDozen = 13;
  const std::string page = read(kRoot / "ARCHITECTURE.md");
  for (const auto& [room, headers] : surfaces()) {
    if (headers.size() <= kDozen) continue;
    EXPECT_THAT(page, HasSubstr("\n- " + room + " (")) << headers.size() << " headers";
  }
}

TEST(Tidy, files_are_short) { EXPECT_EQ(complaints_of(code(), check_file_size), ""); }
TEST(Tidy, functions_are_short) { EXPECT_EQ(complaints_of(code(), check_function_size), ""); }

TEST(Tidy, heavy_headers_stay_home) { EXPECT_EQ(complaints_of(code(), check_heavy_headers), ""); }
TEST(Tidy, pure_rooms_are_pure) { EXPECT_EQ(complaints_of(code(), check_pure_room), ""); }
TEST(Tidy, no_position_is_computed_from_an_address) {
  EXPECT_EQ(complaints_of(code(), check_positions), "");
}
TEST(Tidy, loops_walk_what_lives) { EXPECT_EQ(complaints_of(code(), check_range_for), ""); }

TEST(Tidy, tables_are_handed_in) { EXPECT_EQ(complaints_of(code(), check_embedded), ""); }

TEST(Tidy, libm_has_one_caller) { EXPECT_EQ(complaints_of(code(), check_libm), ""); }
TEST(Tidy, headers_say_what_they_are) {
  EXPECT_EQ(complaints_of(code(), check_header_opening), "");
}

TEST(Tidy, a_type_has_a_name_of_its_own) { EXPECT_EQ(to_text(check_type_names(code())), ""); }

TEST(Tidy, an_enumeration_has_one_home) { EXPECT_EQ(to_text(check_enumerations(code())), ""); }
TEST(Tidy, words_are_in_tables) { EXPECT_EQ(complaints_of(code(), check_word_tables), ""); }

TEST(Tidy, figures_are_named_in_their_table) {
  const auto rows = figure_rows(read(kRoot / "src/model/figures/figure_kinds.def"));
  ASSERT_GT(rows.size(), 100u);
  EXPECT_EQ(complaints_of(code(), [&](const Source& s) { return check_figure_words(s, rows); }),
            "");
  EXPECT_EQ(to_text(check_figures_said(code(), rows)), "");
}

TEST(Tidy, a_figure_by_its_word_is_seen) {
  const std::vector<FigureRow> rows = figure_rows(
      "FIGURE(step_time, training, seconds, lower, both, \"a\", \"b\")\n"
      "FIGURE(read, storage, bytes_per_s, higher, review, \"a\",\n");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].said, "both");
  const auto seen = [&](const char* path, const char* text) {
    return check_figure_words({path, text}, rows).size();
  };
  EXPECT_EQ(seen("src/plan/review/a.cpp", "f(\"step_time\");"), 1u);
  EXPECT_EQ(seen("src/plan/review/a.cpp", "f(\"read\"); g(\"step_time_s\");"), 0u);
  EXPECT_EQ(seen("src/model/figures/a.cpp", "f(\"step_time\");"), 0u);
  EXPECT_EQ(seen("src/plan/review/a_test.cpp", "f(\"step_time\");"), 0u);
  const Source review{"src/plan/review/a.cpp", "FigureId::step_time FigureId::read"};
  const Source run{"src/twin/run/a.cpp", "FigureId::step_time"};
  EXPECT_THAT(check_figures_said({review, run}, rows), IsEmpty());
  EXPECT_THAT(check_figures_said({review}, rows), SizeIs(1));
  EXPECT_THAT(check_figures_said({run}, rows), SizeIs(2));
}

TEST(Tidy, assumptions_are_in_their_table) {
  const std::string list = "tests/tidy/constants.txt";
  EXPECT_EQ(to_text(check_constants(code(), {list, read(kRoot / list)})), "");
}

TEST(Tidy, a_constant_with_a_unit_is_seen) {
  const auto complaints = [](const char* path, const char* text, const char* list = "") {
    return check_constants({{path, text}}, {"list", list}).size();
  };
  const char* wait = "constexpr Seconds kWait = minutes(10);\n";
  EXPECT_EQ(complaints("src/plan/review/a.cpp", wait), 1u);
  EXPECT_EQ(complaints("src/twin/run/a.h", "inline constexpr double kShare = 0.8;\n"), 1u);
  EXPECT_EQ(complaints("src/twin/run/a.h", "constexpr Bytes kRoom{1e9};\n"), 1u);
  EXPECT_EQ(complaints("src/layers/failure/a.cpp", wait), 0u) << "a layer's own physics";
  EXPECT_EQ(complaints("src/plan/review/a_test.cpp", wait), 0u);
  EXPECT_EQ(complaints("src/plan/review/a.cpp", "constexpr double kOther = kWait;\n"), 0u);
  EXPECT_EQ(complaints("src/plan/review/a.cpp", wait, "# why\nsrc/plan/review/a.cpp kWait | so\n"),
            0u);
  EXPECT_EQ(complaints("src/plan/review/a.cpp", "", "src/plan/review/a.cpp kWait | so\n"), 1u);
}

TEST(Tidy, code_has_a_caller) {
  const std::string list = "tests/tidy/unwired.txt";
  EXPECT_EQ(to_text(check_callers(code(), {list, read(kRoot / list)})), "");
}

TEST(Tidy, no_reminders_and_no_machine_paths) {
  std::vector<Source> all = sources_below(
      {"src", "tests", "bench", "tools", "cmake", "docs", "data", "examples", "web", ".ci"}, {""});
  for (const char* name : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
                           "CMakeLists.txt", "CMakePresets.json", "run", "test", "orrery"}) {
    all.push_back({name, read(kRoot / name)});
  }
  EXPECT_EQ(complaints_of(all, check_words), "");
}

TEST(Tidy, headers_that_are_named_are_there) {
  std::set<std::string> headers;
  for (const Source& s : sources_below({"src", "tests", "bench"}, {".h"})) headers.insert(s.path);
  headers.insert("src/app/cli/build_info.h");  // the build makes it
  std::vector<Source> all = sources_below({"src", "tests", "bench", "docs"}, {".h", ".cpp", ".md"});
  for (const char* name : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}) {
    all.push_back({name, read(kRoot / name)});
  }
  const auto check = [&](const Source& s) { return check_mentions(s, headers); };
  EXPECT_EQ(complaints_of(all, check), "");
}

TEST(Tidy, pages_and_code_name_files_that_exist) {
  std::set<std::string> files;
  for (const char* folder :
       {"docs", "src", "tests", "data", "examples", "tools", "packaging", "bench", "cmake"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      files.insert(fs::relative(entry.path(), kRoot).generic_string());
    }
  }
  std::vector<Source> all =
      sources_below({"src", "tests", "bench", "tools"}, {".h", ".cpp", ".def"});
  // This file shows the rules bad examples.
  std::erase_if(all, [](const Source& s) { return s.path == "tests/tidy_test.cpp"; });
  std::ranges::copy(sources_below({"docs"}, {".md"}), std::back_inserter(all));
  for (const char* name : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}) {
    all.push_back({name, read(kRoot / name)});
  }
  EXPECT_EQ(complaints_of(all, [&](const Source& s) { return check_paths(s, files); }), "");
}

TEST(Tidy, every_layer_has_its_page) {
  for (const char* layer : {"compute", "fabric", "storage", "training", "serving", "cluster",
                            "failure", "facility", "cost"}) {
    if (!fs::exists(kRoot / "src/layers" / layer)) continue;
    EXPECT_TRUE(fs::exists(kRoot / "docs/models" / (std::string(layer) + ".md"))) << layer;
  }
}

// Each rule can fail.

TEST(TidyRule, a_header_that_is_gone_is_seen_in_comments_and_pages) {
  const std::set<std::string> headers = {"src/layers/cluster/queue.h"};
  const std::string good =
      "// as cluster/queue.h and queue.h have it; <sysexits.h> too\nf(\"a.h\");\n";
  EXPECT_EQ(to_text(check_mentions({"src/a/b.cpp", good}, headers)), "");
  EXPECT_EQ(check_mentions({"src/a/b.cpp",
                            "int a;\n// see twin/qu"
                            "eue.h\n"},
                           headers)
                .at(0)
                .line,
            2);
  EXPECT_EQ(check_mentions({"docs/a.md", "`promises.h` says so"}, headers).size(), 1u);
}

TEST(TidyRule, a_path_that_is_gone_is_seen) {
  const std::set<std::string> files = {"docs/models/a.md", "src/b.cpp"};
  const std::string good = "`docs/models/a.md`, src/b.cpp, bench/NAME.cpp";
  EXPECT_EQ(to_text(check_paths({"docs/x.md", good}, files)), "");
  EXPECT_EQ(check_paths({"src/x.cpp", "f(\"docs/models/b.md\");\n"}, files).size(), 1u);
  EXPECT_EQ(check_paths({"src/x.cpp", "// src/c.cpp is not looked for\n"}, files).size(), 0u);
  EXPECT_EQ(check_paths({"docs/x.md", "see src/c.cpp"}, files).size(), 1u);
}

TEST(TidyRule, room_order_sees_a_layer_in_a_layer) {
  const Source bad{"src/layers/storage/tier.cpp",
                   "#include \"core/base/text.h\"\n#include \"layers/fabric/bill.h\"\n"};
  const Complaints found = check_room_order(bad, architecture());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().line, 2);
  EXPECT_THAT(check_room_order({"src/core/attic/x.cpp", ""}, architecture()), SizeIs(1));
  EXPECT_THAT(check_room_order({"src/plan/review/x.cpp", "#include \"layers/fabric/bill.h\"\n"},
                               architecture()),
              IsEmpty());
  EXPECT_THAT(check_room_order({"src/core/base/x.cpp", "#include \"plan/review/review.h\"\n"},
                               architecture()),
              SizeIs(1));
  const RoomTable tests = {{"base", {"review"}}};
  const std::string above = "#include \"plan/review/review.h\"\n";
  EXPECT_THAT(check_room_order({"src/core/base/x.cpp", above}, architecture(), tests), SizeIs(1));
  EXPECT_THAT(check_room_order({"src/core/base/x_test.cpp", above}, architecture(), tests),
              IsEmpty());
}

TEST(TidyRule, a_file_outside_its_rooms_namespace_is_seen) {
  const auto found = [](const char* path, const std::string& text) {
    return check_room_namespace({path, text}, architecture());
  };
  const std::string plain = "namespace orrery {\n}\n";
  const std::string fabric = "namespace orrery::fabric {\n}\n";
  EXPECT_THAT(found("src/layers/fabric/x.h", plain), SizeIs(1));
  EXPECT_THAT(found("src/layers/fabric/x.h", "namespace {\n}\n"), SizeIs(1));
  EXPECT_THAT(found("src/layers/fabric/x.h", "// namespace orrery::fabric {\n" + plain), SizeIs(1));
  EXPECT_THAT(found("src/plan/review/x.cpp", fabric), SizeIs(1));
  EXPECT_THAT(found("src/core/base/x.h", fabric), SizeIs(1));
  EXPECT_THAT(found("src/layers/fabric/x.h", "namespace orrery::helpers {\n}\n" + fabric),
              SizeIs(1));

  EXPECT_THAT(found("src/layers/fabric/x.h", fabric), IsEmpty());
  EXPECT_THAT(found("src/layers/fabric/x.h", "namespace orrery::fabric::detail {\n}\n"), IsEmpty());
  EXPECT_THAT(found("src/plan/review/x.h", fabric + "namespace orrery::review {\n}\n"), IsEmpty());
  EXPECT_THAT(found("src/core/base/x.h", plain), IsEmpty());
  EXPECT_THAT(found("src/core/base/x.h", "namespace orrery::math {\n}\n"), IsEmpty());
  EXPECT_THAT(found("src/app/cli/main.cpp", "int main() {}\n"), IsEmpty());
  EXPECT_THAT(found("tests/x.cpp", plain), IsEmpty());
}

TEST(TidyRule, the_build_table_is_read_with_its_loops) {
  const RoomTable rooms = rooms_of_build(
      "set(below a b)  # why\nforeach(x p q)\n orrery_room(${x} ROOMS ${below} LIBRARIES l)\n"
      "endforeach()\norrery_room(z ROOMS p TEST_ROOMS q)\n");
  const RoomTable expected = {{"p", {"a", "b"}}, {"q", {"a", "b"}}, {"z", {"p"}}};
  EXPECT_EQ(rooms, expected);
}

TEST(TidyRule, the_page_is_read_with_its_wings) {
  const RoomTable rooms = rooms_of_page(
      "| wing | rooms | may include | what |\n|---|---|---|---|\n| core | base sim | - | x |\n"
      "| twin | storage | core | y |\n| app | cli | twin sim | z |\n");
  const RoomTable expected = {
      {"base", {}}, {"sim", {}}, {"twin_storage", {"sim"}}, {"cli", {"sim", "twin_storage"}}};
  EXPECT_EQ(rooms, expected);
}

TEST(TidyRule, sizes_are_measured) {
  std::string long_file;
  for (int i = 0; i < 601; ++i) long_file += "\n";
  EXPECT_THAT(check_file_size({"src/core/base/x.cpp", long_file}), SizeIs(1));

  std::string body;
  for (int i = 0; i < 69; ++i) body += "  if (a) { b(); }\n";
  const std::string open = "namespace n {\nstruct S {\n  int x;\n};\nint f(int a) {\n";
  EXPECT_THAT(check_function_size({"x.cpp", open + body + "}\n}\n"}), SizeIs(1));
  EXPECT_THAT(check_function_size({"x.cpp", open + body.substr(18) + "}\n}\n"}), IsEmpty());
  // A brace inside a literal or a comment opens nothing.
  EXPECT_THAT(check_function_size({"x.cpp", "const char* k = \"f() {\"; // {\n" + body}),
              IsEmpty());
}

TEST(TidyRule, heavy_headers_are_seen_away_from_home) {
  EXPECT_THAT(check_heavy_headers({"src/plan/review/x.cpp", "#include <yaml-cpp/yaml.h>\n"}),
              SizeIs(1));
  EXPECT_THAT(check_heavy_headers({"src/model/design/x.h", "#include <yaml-cpp/yaml.h>\n"}),
              SizeIs(1));
  EXPECT_THAT(check_heavy_headers({"src/model/design_text/x.cpp", "#include <yaml-cpp/yaml.h>\n"}),
              IsEmpty());
  EXPECT_THAT(check_heavy_headers({"src/app/server/handlers.cpp", "#include <boost/asio.hpp>\n"}),
              SizeIs(1));
}

TEST(TidyRule, sockets_have_one_home) {
  for (const char* header : {"sys/socket.h", "netinet/in.h", "arpa/inet.h", "netdb.h", "sys/un.h",
                             "boost/beast/http.hpp", "curl/curl.h"}) {
    const std::string line = "#include <" + std::string(header) + ">\n";
    for (const char* path :
         {"src/live/agent/x.cpp", "src/live/net/x.h", "tests/x_test.cpp", "tests/x.h"}) {
      EXPECT_THAT(check_heavy_headers({path, line}), SizeIs(1)) << path << ' ' << header;
    }
  }
  EXPECT_THAT(check_heavy_headers({"src/live/net/x.cpp", "#include <sys/socket.h>\n"}), IsEmpty());
  EXPECT_THAT(check_heavy_headers({"src/live/net/test_socket.h", "#include <netinet/in.h>\n"}),
              IsEmpty());
}

TEST(TidyRule, pure_rooms_refuse_the_outside_world) {
  for (const char* bad :
       {"std::thread t;\n", "std::ifstream in(path);\n", "throw 1;\n", "static int count = 0;\n",
        "auto t = std::chrono::steady_clock::now();\n", "std::mt19937 g;\n", "#include <fstream>\n",
        "#include <iostream>\n", "thread_local int depth;\n"}) {
    EXPECT_THAT(check_pure_room({"src/layers/fabric/x.cpp", bad}), SizeIs(1)) << bad;
    EXPECT_THAT(check_pure_room({"src/app/server/x.cpp", bad}), IsEmpty()) << bad;
  }
  for (const char* fine :
       {"// never throw here\n", "static constexpr int kMax = 3;\n", "static int helper(int a) {\n",
        "const char* s = \"throw\";\n", "static const std::regex kWord(\"x\");\n"}) {
    EXPECT_THAT(check_pure_room({"src/layers/fabric/x.cpp", fine}), IsEmpty()) << fine;
  }
}

TEST(TidyRule, an_enumeration_written_twice_is_seen) {
  const Source first{"src/model/design/x.h", "enum class Shape { ring, tree, mesh };\n"};
  const auto with = [&first](const std::string& path, const std::string& text) {
    return check_enumerations({first, {path, text}});
  };
  EXPECT_THAT(with("src/layers/fabric/y.h", "\nenum class Shape { line };\n"), SizeIs(1));
  const Complaints same =
      with("src/layers/fabric/y.h", "\nenum class Form : int {\n  ring,\n  tree,\n  mesh\n};\n");
  ASSERT_THAT(same, SizeIs(1));
  EXPECT_EQ(same.front().line, 2);
  EXPECT_THAT(with("src/layers/fabric/y.h", "enum class Form { ring, tree };\n"), IsEmpty());
  EXPECT_THAT(with("tests/y.h", "enum class Shape { ring, tree, mesh };\n"), IsEmpty());
}

TEST(TidyRule, words_in_a_switch_are_seen) {
  const std::string bad = "const char* to_text(Shape s) {\n  switch (s) {\n  }\n}\n";
  EXPECT_THAT(check_word_tables({"src/model/design/x.cpp", bad}), SizeIs(1));
  EXPECT_THAT(
      check_word_tables({"src/model/design/x.cpp", "int area(Shape s) {\n  switch (s) {\n"}),
      IsEmpty());
}

TEST(TidyRule, a_loop_over_a_temporarys_part_is_seen) {
  for (const char* bad :
       {"for (const auto& n : slurm.look()->nodes) {", "for (auto x : f().value()) g(x);",
        "for (const Diagnostic& d : read(a, b).error()) {"}) {
    EXPECT_THAT(check_range_for({"src/plan/review/x.cpp", bad}), SizeIs(1)) << bad;
  }
  for (const char* fine : {"for (const auto& n : look->nodes) {", "for (auto x : f().items) g(x);",
                           "for (int i = 0; i < f()->size(); ++i) {", "for (auto x : *held) {"}) {
    EXPECT_THAT(check_range_for({"src/plan/review/x.cpp", fine}), IsEmpty()) << fine;
  }
}

TEST(TidyRule, a_position_computed_from_an_address_is_seen) {
  for (const char* bad :
       {"i = &fleet - fleets.data();", "return left[static_cast<int>(t - m.tiers.data())];",
        "at = view.workload - r.design().workloads.data();", "n = &p - machine->tiers.data();"}) {
    EXPECT_THAT(check_positions({"src/plan/review/x.cpp", bad}), SizeIs(1)) << bad;
    EXPECT_THAT(check_positions({"src/plan/review/x_test.cpp", bad}), IsEmpty()) << bad;
  }
  for (const char* fine :
       {"body.data = inflow->incoming.data();", "f(size - 1, into.data());", "p = v.data() + 3;"}) {
    EXPECT_THAT(check_positions({"src/plan/review/x.cpp", fine}), IsEmpty()) << fine;
  }
}

TEST(TidyRule, a_table_read_from_the_binary_is_seen) {
  const std::string bad = "// x\n#include \"core/catalog/embedded_table.h\"\n";
  for (const char* path :
       {"src/layers/fabric/x.cpp", "src/plan/review/x.cpp", "src/output/report/x.h"}) {
    const Complaints found = check_embedded({path, bad});
    ASSERT_THAT(found, SizeIs(1)) << path;
    EXPECT_EQ(found.front().line, 2);
  }
  for (const char* path :
       {"src/output/emit/x.cpp", "src/plan/review/x_test.cpp", "src/model/machine/known_fixture.h",
        "src/model/design_text/templates.cpp", "tests/x_test.cpp"}) {
    EXPECT_THAT(check_embedded({path, bad}), IsEmpty()) << path;
  }
}

TEST(TidyRule, libm_is_seen_outside_its_home) {
  for (const char* bad : {"x = std::exp(y);\n", "return log1p(-p);\n", "a = 2 * ::pow(b, 2);\n",
                          "const double c = (cosf(d));\n", "std::atan2(y, x);\n"}) {
    EXPECT_THAT(check_libm({"src/layers/cost/x.cpp", bad}), SizeIs(1)) << bad;
    EXPECT_THAT(check_libm({"src/layers/cost/x_test.cpp", bad}), IsEmpty()) << bad;
  }
  for (const char* fine : {"x = math::exp(y);\n", "setup.log(faults);\n", "std::sqrt(log2_k);\n",
                           "// 1 - exp(-t)\n", "journal->log(line);\n", "expand(x);\n"}) {
    EXPECT_THAT(check_libm({"src/layers/cost/x.cpp", fine}), IsEmpty()) << fine;
  }
}

TEST(TidyRule, headers_without_an_opening_are_seen) {
  EXPECT_THAT(check_header_opening({"src/a/x.h", "#pragma once\n"}), SizeIs(1));
  EXPECT_THAT(check_header_opening({"src/a/x.h", "// What.\nint x;\n"}), SizeIs(1));
  EXPECT_THAT(check_header_opening({"src/a/x.h", "// What.\n#pragma once\n"}), IsEmpty());
}

TEST(TidyRule, two_types_of_one_name_are_seen) {
  const auto header = [](const char* path, const std::string& line) {
    return Source{path, "namespace orrery {\n" + line + "\n}\n"};
  };
  const Source first = header("src/a/x.h", "struct Fleet {");
  for (const char* twin : {"class Fleet {", "enum class Fleet : int { a };", "using Fleet = int;",
                           "class Fleet : public Other {"}) {
    EXPECT_THAT(check_type_names({first, header("src/b/y.h", twin)}), SizeIs(1)) << twin;
  }
  for (const char* fine :
       {"struct Fleet;", "struct Fleets {", "  struct Fleet {", "// class Fleet {"}) {
    EXPECT_THAT(check_type_names({first, header("src/b/y.h", fine)}), IsEmpty()) << fine;
  }
  EXPECT_THAT(check_type_names({first, {"src/b/y.h", "namespace other {\nclass Fleet {\n"}}),
              IsEmpty());
  EXPECT_THAT(check_type_names({first, header("src/b/y.cpp", "struct Fleet {")}), IsEmpty());
}

TEST(TidyRule, code_without_a_caller_is_seen) {
  const std::vector<Source> tree = {
      {"src/a/used.h", "int used(int a);\nint lonely(int a);\nint inner();\n"},
      {"src/a/used.cpp",
       "#include \"a/used.h\"\nint used(int a) { return inner(); }\nint lonely(int a) {\n}\n"},
      {"src/a/used_test.cpp", "#include \"a/shelf.h\"\n  lonely(1);\n"},
      {"src/a/shelf.h", "int shelf();\n"},
      {"src/a/behind.h", "int behind();\n"},
      {"src/a/shelf.cpp", "#include \"a/shelf.h\"\n#include \"a/behind.h\"\n  behind();\n"},
      {"src/app/cli/main.cpp", "#include \"a/used.h\"\n  return used(0);  // lonely\n"},
      {"src/a/known_fixture.h", "int known();\n"}};
  const auto found = [&tree](const std::string& list) {
    std::string names;
    for (const Complaint& c : check_callers(tree, {"list", list})) {
      names += c.path + ":" + std::to_string(c.line) + " ";
    }
    return names;
  };
  EXPECT_EQ(found(""), "src/a/behind.h:1 src/a/shelf.h:1 src/a/used.h:2 ");
  EXPECT_EQ(found("# why\nsrc/a/behind.h | x\nsrc/a/shelf.h | y\nsrc/a/used.h lonely | z\n"), "");
  EXPECT_EQ(found("src/a/behind.h | x\nsrc/a/shelf.h | y\nsrc/a/used.h * | z\n"), "");
  // A row that nothing needs any more, and one that is none.
  EXPECT_THAT(found("src/a/used.h used | x\n"), HasSubstr("list:1 "));
  EXPECT_THAT(found("src/a/used.h lonely\n"), HasSubstr("list:1 "));
}

TEST(TidyRule, words_that_do_not_belong_are_seen) {
  EXPECT_THAT(check_words({"x.cpp", std::string("// TO") + "DO: later\n"}), SizeIs(1));
  EXPECT_THAT(check_words({"x.md", std::string("see /ho") + "me/someone/x\n"}), SizeIs(1));
  EXPECT_THAT(check_words({"x.cpp", std::string("// --") + "------ types\n"}), SizeIs(1));
  EXPECT_THAT(check_words({"x.md", "a toolbox, https://a.org/home/b, |----|\n"}), IsEmpty());
}

}  // namespace
}  // namespace orrery::tidy
