// The documentation does what it says: its commands run and print what it shows, its designs read,
// its links lead somewhere, and it names only verbs that exist. doc_page.h describes the form.
//
// The commands of a page run by sh, in order, in a folder of the page's own with the repository's
// examples/ and data/, and `my.yaml`, a copy of the sample design. UPDATE_GOLDEN=1 rewrites the
// shown output of all pages, and docs/reference/verbs.md; the change is then reviewed as a diff.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "doc_page.h"
#include "golden_file.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ORRERY_SOURCE_DIR;

// Pages about the past; what they name may be gone.
bool is_history(const std::string& path) { return path == "CHANGELOG.md"; }

std::vector<std::string> page_paths() {
  std::vector<std::string> paths = {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md")
      paths.push_back(fs::relative(entry.path(), kRoot).generic_string());
  }
  std::ranges::sort(paths);
  return paths;
}

DocPage page_at(const std::string& path) { return parse_page(path, golden_text(kRoot / path)); }

bool has_steps(const std::string& path) { return !page_at(path).steps.empty(); }

std::vector<std::string> pages_with_commands() {
  std::vector<std::string> paths = page_paths();
  std::erase_if(paths, [](const std::string& path) { return !has_steps(path); });
  return paths;
}

struct Ran {
  int exit = -1;
  std::vector<std::string> said;  // stdout; stderr if stdout is empty
};

// A folder in which the commands of one page run.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = fs::temp_directory_path() / "orrery-docs-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder";
    folder_ = name;
    for (const char* shared : {"examples", "data"})
      fs::create_directory_symlink(kRoot / shared, folder_ / shared);
    fs::create_symlink(fs::path(ORRERY_BINARY_DIR) / "orrery", folder_ / "orrery");
    fs::copy_file(kRoot / "examples/superpod-h100-4su.yaml", folder_ / "my.yaml");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  void write(const DocFile& file) {
    std::ofstream(folder_ / file.name, std::ios::binary) << file.text;
  }

  Ran run(const std::string& command) {
    const std::string line = "cd '" + folder_.string() +
                             "' && export HOME=\"$PWD\" COLUMNS=100 PATH='" ORRERY_BINARY_DIR
                             "':\"$PATH\" && { " +
                             command + "\n} > .out 2> .err";
    const int status = std::system(line.c_str());
    const std::string out = golden_text(folder_ / ".out");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            lines_of(out.empty() ? golden_text(folder_ / ".err") : out)};
  }

 private:
  fs::path folder_;
};

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

// Replaces the shown output of commands, from the last to the first.
void rewrite(DocPage page, const std::map<std::size_t, std::vector<std::string>>& outputs) {
  for (auto at = outputs.rbegin(); at != outputs.rend(); ++at) {
    const DocCommand& command = page.commands[at->first];
    std::vector<std::string> fresh;
    for (const std::string& line : at->second)
      fresh.push_back(line.empty() ? "" : command.indent + line);
    const auto begin = page.lines.begin() + static_cast<std::ptrdiff_t>(command.output_begin);
    const auto end = page.lines.begin() + static_cast<std::ptrdiff_t>(command.output_end);
    page.lines.insert(page.lines.erase(begin, end), fresh.begin(), fresh.end());
  }
  std::ofstream(kRoot / page.path, std::ios::binary) << text_of(page.lines);
}

class Docs : public testing::TestWithParam<std::string> {};

TEST_P(Docs, commands_print_what_the_page_shows) {
  const DocPage page = page_at(GetParam());
  if (!page.run_by.empty()) {
    EXPECT_TRUE(fs::exists(kRoot / page.run_by)) << page.path << " names " << page.run_by;
    return;
  }
  ScratchFolder folder;
  std::map<std::size_t, std::vector<std::string>> changed;
  for (const DocStep& step : page.steps) {
    if (step.is_file) {
      folder.write(page.files[step.index]);
      continue;
    }
    const DocCommand& command = page.commands[step.index];
    const std::string where =
        page.path + ':' + std::to_string(command.line + 1) + ": " + command.text;
    if (!command.not_run.empty()) continue;
    const Ran ran = folder.run(command.text);
    EXPECT_EQ(ran.exit, announced_exit(command.text)) << where << '\n' << text_of(ran.said);
    if (!command.shows_output) continue;
    const auto shown = shown_output(page, command);
    if (shown.empty() || matches(shown, ran.said)) continue;
    changed[step.index] = refreshed(shown, ran.said);
    if (std::getenv("UPDATE_GOLDEN") != nullptr) continue;
    ADD_FAILURE() << where << " prints something else:\n"
                  << differing_lines(text_of(shown), text_of(changed[step.index]))
                  << "If that is right, run this test with UPDATE_GOLDEN=1 and read the diff.";
  }
  if (!changed.empty() && std::getenv("UPDATE_GOLDEN") != nullptr) rewrite(page, changed);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(pages, Docs, testing::ValuesIn(pages_with_commands()), test_name);

TEST(DocsCommands, those_not_run_say_why) {
  std::size_t run = 0, left = 0;
  for (const std::string& path : pages_with_commands()) {
    const DocPage page = page_at(path);
    for (const DocCommand& command : page.commands) {
      if (command.not_run.empty()) {
        ++run;
        continue;
      }
      ++left;
      EXPECT_GE(command.not_run.size(), 10u) << path << ": " << command.text;
      std::cout << "not run: " << path << ':' << command.line + 1 << ": " << command.text << " ("
                << command.not_run << ")\n";
    }
  }
  std::cout << run << " commands are run, " << left << " are not\n";
  EXPECT_GT(run, 80u);
}

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST(DocsLinks, lead_somewhere) {
  static const std::regex kLink(R"rx(\]\(([^)\s]+)\))rx");
  std::map<std::string, std::set<std::string>> anchors;
  for (const std::string& path : page_paths()) {
    const auto found = anchors_of(page_at(path));
    anchors[path].insert(found.begin(), found.end());
  }
  for (const std::string& path : page_paths()) {
    const std::string text = golden_text(kRoot / path);
    for (std::sregex_iterator at(text.begin(), text.end(), kLink), end; at != end; ++at) {
      const std::string link = (*at)[1];
      if (link.find("://") != link.npos) continue;
      const std::size_t hash = std::min(link.find('#'), link.size());
      const fs::path beside = fs::path(path).parent_path() / link.substr(0, hash);
      const std::string target = hash == 0 ? path : beside.lexically_normal().generic_string();
      EXPECT_TRUE(fs::exists(kRoot / target)) << path << " links to " << link;
      if (hash < link.size() && anchors.contains(target)) {
        EXPECT_TRUE(anchors[target].contains(lowered(link.substr(hash + 1))))
            << path << " links to " << link;
      }
    }
  }
}

// Every page is in the table of contents, so that readers need not guess where to look.
TEST(DocsLinks, the_table_of_contents_has_every_page) {
  const std::string contents = golden_text(kRoot / "docs/README.md");
  for (const std::string& path : page_paths()) {
    if (!path.starts_with("docs/") || path == "docs/README.md") continue;
    EXPECT_NE(contents.find('(' + path.substr(5) + ')'), std::string::npos) << path;
  }
}

// A manual page's text without roff's escapes.
std::string plain(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '-') continue;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '&') {
      ++i;
    } else if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'e') {
      out += '\\';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct ManualPage {
  std::string command, summary;
  std::set<std::string> options;
  std::string body;  // as Markdown
};

std::string cell(std::string text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

ManualPage manual_page(const fs::path& path) {
  ManualPage page;
  std::string section, option, usage, rows, examples;
  for (const std::string& raw : lines_of(golden_text(path))) {
    const std::string line = plain(raw);
    if (line.starts_with(".SH ")) {
      section = line.substr(4);
    } else if (section == "NAME") {
      page.summary = line.substr(line.find(" - ") + 3);
    } else if (section == "SYNOPSIS" && line.starts_with(".B ")) {
      usage = page.command = line.substr(3);
    } else if (section == "SYNOPSIS" && line.starts_with(".I ")) {
      usage += ' ' + line.substr(3);
    } else if (section == "OPTIONS" && (line.starts_with(".B ") || line.starts_with(".I "))) {
      option = line.substr(3);
      if (line.starts_with(".B ")) page.options.insert(option.substr(0, option.find(' ')));
    } else if (section == "OPTIONS" && !line.starts_with(".TP") && !option.empty()) {
      rows += "| `" + cell(option) + "` | " + cell(line) + " |\n";
      option.clear();
    } else if (section == "EXAMPLES" && !line.starts_with('.')) {
      examples += line + '\n';
    }
  }
  page.body = page.summary + ".\n\n`" + usage + "`\n";
  if (!rows.empty()) page.body += "\n| option | meaning |\n|---|---|\n" + rows;
  if (!examples.empty()) {
    page.body +=
        "\n<!-- not run: examples of the help, which name files of the reader -->\n\n```text\n" +
        examples + "```\n";
  }
  return page;
}

// One entry per verb, by its command.
std::map<std::string, ManualPage> manual() {
  const fs::path folder = fs::temp_directory_path() / ("orrery-man-" + std::to_string(::getpid()));
  const std::string command =
      std::string(ORRERY_BINARY_DIR) + "/orrery man '" + folder.string() + "' 2> /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::map<std::string, ManualPage> pages;
  for (const auto& entry : fs::directory_iterator(folder)) {
    ManualPage page = manual_page(entry.path());
    pages[page.command] = std::move(page);
  }
  fs::remove_all(folder);
  return pages;
}

TEST(DocsVerbs, the_reference_is_what_the_manual_pages_say) {
  std::string text =
      "# Verbs and options\n\n"
      "Made from the manual pages that `orrery man DIR` writes, by `tests/docs_test.cpp` with\n"
      "`UPDATE_GOLDEN=1`. `orrery VERB --help` prints the same in the terminal.\n";
  for (const auto& [command, page] : manual()) {
    if (command != "orrery") text += "\n## " + command + "\n\n" + page.body;
  }
  expect_golden(kRoot / "docs/reference/verbs.md", text);
}

// The longest verb that the words of a mention begin with; empty if there is none.
std::string verb_of(const std::string& mention, const std::map<std::string, ManualPage>& verbs) {
  std::string found, command;
  for (std::istringstream words(mention); words >> command;) {
    const std::string longer = found.empty() ? command : found + ' ' + command;
    if (longer != "orrery" && !verbs.contains(longer)) break;
    found = longer;
  }
  return found;
}

// `orrery VERB --option` in running text names what the binary has.
TEST(DocsVerbs, pages_name_verbs_and_options_that_exist) {
  static const std::regex kMention(R"rx(`(orrery [^`\n]+)`)rx");
  static const std::regex kOption(R"rx((?:^|\s)(--[a-z][a-z0-9-]*))rx");
  const auto verbs = manual();
  const std::set<std::string> everywhere = {"--help", "--version"};
  for (const std::string& path : page_paths()) {
    if (is_history(path)) continue;
    const std::string text = golden_text(kRoot / path);
    for (std::sregex_iterator at(text.begin(), text.end(), kMention), end; at != end; ++at) {
      const std::string mention = (*at)[1];
      const std::string verb = verb_of(mention, verbs);
      const char next = mention.size() > 7 ? mention[7] : ' ';
      // `orrery VERB` is a placeholder, `orrery --help` has no verb.
      const bool has_no_verb = std::isupper(static_cast<unsigned char>(next)) || next == '-';
      if (verb == "orrery" && has_no_verb) continue;
      EXPECT_NE(verb, "orrery") << path << " names `" << mention << '`';
      if (!verbs.contains(verb) || verb == "orrery") continue;
      for (std::sregex_iterator o(mention.begin(), mention.end(), kOption), last; o != last; ++o) {
        const std::string option = (*o)[1];
        EXPECT_TRUE(verbs.at(verb).options.contains(option) || everywhere.contains(option))
            << path << " names `" << mention << '`';
      }
    }
  }
}

// Lines of code blocks.
std::vector<std::string> code_of(const DocPage& page) {
  std::vector<std::string> code;
  bool in_fence = false;
  for (const std::string& line : page.lines) {
    if (line.starts_with("```")) in_fence = !in_fence;
    if (in_fence || line.starts_with("    ")) code.push_back(line);
  }
  return code;
}

// Ids of the catalog that designs in pages use.
TEST(DocsCatalog, designs_in_pages_use_parts_that_exist) {
  static const std::regex kPart(
      R"rx((?:^ *(?:- )?|[{,] )(node|switch|region|model|device): ([a-z][a-z0-9.-]*[a-z0-9]))rx");
  std::set<std::string> known = {"auto"};
  for (const auto& entry : fs::directory_iterator(kRoot / "data/catalog")) {
    for (const std::string& line : lines_of(golden_text(entry.path())))
      known.insert(line.substr(0, line.find(',')));
  }
  for (const std::string& path : page_paths()) {
    for (const std::string& line : code_of(page_at(path))) {
      for (std::sregex_iterator at(line.begin(), line.end(), kPart), end; at != end; ++at) {
        const std::string id = (*at)[2];
        EXPECT_TRUE(known.contains(id) || line.find("# no such") != line.npos)
            << path << " names " << (*at)[0];
      }
    }
  }
}

// The parser itself.

TEST(DocPage, finds_commands_output_files_and_reasons) {
  const DocPage page = parse_page("a.md",
                                  "text\n\n    $ orrery a \\\n        b\n    one\n\n    two\n"
                                  "    $ orrery c\n\n<!-- not run: needs a server -->\n\n"
                                  "    orrery d   # x\n    mkdir e\n    curl f\n\n"
                                  "<!-- file: my.yaml -->\n```yaml\norrery: 1\n```\n");
  ASSERT_EQ(page.commands.size(), 4u);
  EXPECT_EQ(page.commands[0].text, "orrery a b");
  EXPECT_EQ(shown_output(page, page.commands[0]), (std::vector<std::string>{"one", "", "two"}));
  EXPECT_TRUE(shown_output(page, page.commands[1]).empty());
  EXPECT_EQ(page.commands[2].not_run, "needs a server");
  EXPECT_EQ(page.commands[3].text, "mkdir e");
  ASSERT_EQ(page.files.size(), 1u);
  EXPECT_EQ(page.files[0].text, "orrery: 1\n");
}

TEST(DocPage, a_cut_matches_any_lines_and_survives_a_refresh) {
  const std::vector<std::string> now = {"a", "b", "c", "d", ""};
  EXPECT_TRUE(matches({"a", "...", "d"}, now));
  EXPECT_TRUE(matches({"a", "..."}, now));
  EXPECT_FALSE(matches({"a", "...", "x"}, now));
  EXPECT_FALSE(matches({"a", "b"}, now));
  EXPECT_EQ(refreshed({"x", "...", "y"}, now), (std::vector<std::string>{"a", "...", "d"}));
  EXPECT_EQ(refreshed({"a", "...", "cx", "..."}, now),
            (std::vector<std::string>{"a", "...", "c", "..."}));
  EXPECT_EQ(refreshed({"x"}, now), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(announced_exit("orrery plan x  # exits with 2"), 2);
}

}  // namespace
}  // namespace orrery
