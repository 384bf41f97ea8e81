#include "tidy/rules.h"

#include <algorithm>
#include <regex>

#include "core/base/text.h"

namespace orrery::tidy {
namespace {

constexpr int kFileLinesMax = 600;
constexpr int kFunctionLinesMax = 70;
// A line of data can be long, and std::regex recurses once per character.
constexpr std::size_t kLineBytesMax = 2000;

// Returns the room of a path WING/ROOM/FILE below src/; empty for a file outside the rooms. A room
// whose folder has the same name as another room's is called WING_ROOM.
std::string room_below_src(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() < 3) return {};
  if (parts[0] == "twin" && parts[1] == "storage") return "twin_storage";
  return std::string(parts[1]);
}

// Code that must run anywhere, including in a browser: no threads, files, sockets, clocks or
// exceptions.
bool is_pure(const std::string& path) {
  const std::vector<std::string> kPure = {"src/core/",          "src/layers/", "src/model/",
                                          "src/plan/",          "src/twin/",   "src/study/calc/",
                                          "src/study/rehearse/"};
  return std::ranges::any_of(kPure, [&](const std::string& at) { return path.starts_with(at); });
}

bool is_header(const Source& s) { return s.path.ends_with(".h"); }

// Returns the identifier at the end of the text; empty if it ends in something else.
std::string_view word_ending(std::string_view text) {
  constexpr std::string_view kIdentifier =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return text.substr(text.find_last_not_of(kIdentifier) + 1);  // npos + 1 is 0: the whole text
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) visit(++number, std::string(line));
}

// Returns one complaint for every line of the code that matches.
Complaints matching(const std::string& path, const std::string& code, const std::regex& pattern,
                    const std::string& what) {
  Complaints complaints;
  each_line(code, [&](int number, std::string line) {
    line.resize(std::min(line.size(), kLineBytesMax));
    std::smatch match;
    if (std::regex_search(line, match, pattern)) {
      complaints.push_back({path, number, match.str() + ": " + what});
    }
  });
  return complaints;
}

void append(Complaints& to, Complaints from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Returns the end (one past it) of a literal or comment that opens at `at`; returns `at` if none
// opens there.
std::size_t end_of_blank(std::string_view code, std::size_t at) {
  const auto upto = [&](std::string_view closing, std::size_t from) {
    const std::size_t end = code.find(closing, from);
    return end == std::string_view::npos ? code.size() : end + closing.size();
  };
  if (code.substr(at, 2) == "//") return std::min(code.find('\n', at), code.size());
  if (code.substr(at, 2) == "/*") return upto("*/", at + 2);
  if (code.substr(at, 2) == "R\"") {
    const std::size_t open = code.find('(', at);
    if (open == std::string_view::npos) return at;
    return upto(")" + std::string(code.substr(at + 2, open - at - 2)) + "\"", open);
  }
  const bool digit_separator =
      code[at] == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(code[at - 1])) != 0;
  if (code[at] != '"' && (code[at] != '\'' || digit_separator)) return at;
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != code[at] && code[end] != '\n') {
    end += code[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, code.size());
}

// What a '{' opens, according to the text before it.
enum class Block { scope, function, other };

Block block_after(std::string_view head) {
  static const std::regex kScope(R"(^\s*(inline\s+)?(namespace|extern)\b)");
  static const std::regex kType(
      R"(^\s*(template\s*<.*>\s*)?(typedef\s+)?(struct|class|union|enum)\b[^()]*$)");
  const std::string text(head);
  if (std::regex_search(text, kScope) || std::regex_search(text, kType)) return Block::scope;
  return text.find('(') != std::string::npos ? Block::function : Block::other;
}

// Returns the words of a CMake call "name(a b c)" with ${variables} replaced.
std::vector<std::string> expanded(
    std::string_view words, const std::map<std::string, std::vector<std::string>>& variables) {
  std::vector<std::string> out;
  static const std::regex kWord(R"([^\s"]+)");
  const std::string text(words);
  for (std::sregex_iterator it(text.begin(), text.end(), kWord), end; it != end; ++it) {
    const std::string word = it->str();
    const std::size_t at = word.find("${");
    const bool is_variable = at != word.npos && word.ends_with('}');
    const auto found =
        is_variable ? variables.find(word.substr(at + 2, word.size() - at - 3)) : variables.end();
    if (found == variables.end()) {
      out.push_back(word);
      continue;
    }
    for (const std::string& value : found->second) out.push_back(word.substr(0, at) + value);
  }
  return out;
}

// Adds the rooms that follow the keyword `list` in the words of an orrery_room() call.
void add_room(RoomTable& table, const std::vector<std::string>& words, std::string_view list) {
  // With NAME the room has the name of its folder, WING/ROOM.
  const bool named = words.size() > 2 && words[1] == "NAME";
  std::set<std::string>& allowed =
      table[named ? words[2] : words.front().substr(words.front().find('/') + 1)];
  bool in_list = false;
  for (const std::string& word : words) {
    if (word == "ROOMS" || word == "TEST_ROOMS" || word == "LIBRARIES" || word == "SOURCES") {
      in_list = word == list;
    } else if (in_list) {
      allowed.insert(word);
    }
  }
}

// What a pure room must not use. The words are a cheap first check before the pattern decides.
struct Ban {
  std::vector<const char*> words;
  std::regex pattern;
  std::string what;
};

const std::vector<Ban>& bans() {
  static const std::vector<Ban> kBans = {
      {{"thread", "mutex", "atomic", "async", "condition_variable"},
       std::regex(R"(std::(jthread|thread|mutex|atomic|async|condition_variable)\b)"),
       "no threads here"},
      {{"fstream", "fopen", "filesystem"},
       std::regex(R"(\b(fstream|ifstream|ofstream|fopen|std::filesystem)\b)"),
       "no files here"},
      {{"iostream", "cout", "cerr", "printf"},
       std::regex(R"(\b(iostream|std::cout|std::cerr|printf)\b)"),
       "no printing here"},
      {{"_clock", "gettimeofday", "std::time"},
       std::regex(R"(\b(steady|system|high_resolution)_clock\b|\bgettimeofday\b|\bstd::time\b)"),
       "no clocks here"},
      {{"throw"}, std::regex(R"(\bthrow\b)"), "no exceptions here: return a Result"},
      {{"getenv"}, std::regex(R"(\bgetenv\b)"), "no environment here"},
      {{"mt19937", "random_device", "_distribution"},
       std::regex(R"(std::(mt19937|random_device|\w+_distribution)\b)"),
       "differs between compilers: use base/random.h"},
      {{"static ", "thread_local"},
       std::regex(
           R"(^\s*(static|thread_local)\s+(?!const\b|constexpr\b|inline\b)[\w:<>,\s*&]+[;={])"),
       "a static that changes"}};
  return kBans;
}

}  // namespace

std::string room_of(std::string_view path) {
  return path.starts_with("src/") ? room_below_src(path.substr(4)) : std::string();
}

std::string to_text(const Complaints& complaints) {
  std::string out;
  for (const auto& [path, line, what] : complaints)
    out += path + ':' + std::to_string(line) + ": " + what + '\n';
  return out;
}

RoomTable rooms_of_page(std::string_view page) {
  RoomTable table;
  std::map<std::string, std::vector<std::string>> wings;
  each_line(page, [&](int, const std::string& line) {
    const auto cells = split(line, '|');  // empty, wing, rooms, may include, what it is, empty
    if (cells.size() != 6) return;
    const std::string wing(trimmed(cells[1]));
    for (const std::string_view word : split(cells[2], ' ')) {
      if (word.empty() ||
          !std::ranges::all_of(word, [](char c) { return c == '_' || std::isalnum(c); })) {
        continue;
      }
      const std::string room = room_below_src(wing + '/' + std::string(word) + "/x");
      std::set<std::string>& allowed = table[room];
      for (const std::string_view other : split(cells[3], ' ')) {
        const auto whole = wings.find(std::string(other));
        if (whole != wings.end())
          allowed.insert(whole->second.begin(), whole->second.end());
        else if (!trimmed(other).empty() && other != "-")
          allowed.insert(std::string(other));
      }
      allowed.erase("base");
      wings[wing].push_back(room);
    }
  });
  table.erase("rooms");
  return table;
}

RoomTable rooms_of_build(std::string_view cmake_text, std::string_view list) {
  RoomTable table;
  std::map<std::string, std::vector<std::string>> variables;
  std::vector<std::string> loop_values;
  std::string loop_name;
  static const std::regex kCall(R"((set|foreach|endforeach|orrery_room)\s*\(([^)]*)\))");
  const std::string text = std::regex_replace(std::string(cmake_text), std::regex("#[^\n]*"), "");
  for (std::sregex_iterator it(text.begin(), text.end(), kCall), end; it != end; ++it) {
    const std::string call = (*it)[1];
    const std::string inside = (*it)[2];
    const std::vector<std::string> words = expanded(inside, variables);
    if (call == "set") {
      variables[words.front()] = {words.begin() + 1, words.end()};
    } else if (call == "foreach") {
      loop_name = words.front();
      loop_values = {words.begin() + 1, words.end()};
    } else if (call == "endforeach") {
      loop_name.clear();
    } else if (loop_name.empty()) {
      add_room(table, words, list);
    } else {
      for (const std::string& value : loop_values) {
        variables[loop_name] = {value};
        add_room(table, expanded(inside, variables), list);
      }
    }
  }
  return table;
}

std::string blanked(std::string_view code) {
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = end_of_blank(code, at);
    if (end == at) {
      out += code[at++];
      continue;
    }
    for (; at < end; ++at) out += code[at] == '\n' ? '\n' : ' ';
  }
  return out;
}

bool is_product(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool ours = path.starts_with("src/") || path.starts_with("bench/");
  return ours && !name.ends_with("_test.cpp") && !name.contains("_fixture.") &&
         !name.starts_with("test_");
}

Complaints check_room_order(const Source& source, const RoomTable& rooms,
                            const RoomTable& test_rooms) {
  const std::string room = room_of(source.path);
  Complaints complaints;
  if (room.empty()) return complaints;
  if (!rooms.contains(room)) return {{source.path, 1, "'" + room + "' is no room of the table"}};
  std::set<std::string> allowed = rooms.at(room);
  if (!is_product(source.path) && test_rooms.contains(room)) {
    allowed.insert(test_rooms.at(room).begin(), test_rooms.at(room).end());
  }
  static const std::regex kInclude(R"rx(^\s*#include "([a-z_]+/[a-z0-9_]+/))rx");
  each_line(source.text, [&](int number, const std::string& line) {
    std::smatch match;
    if (!std::regex_search(line, match, kInclude)) return;
    const std::string other = room_below_src(match[1].str() + "x");
    const bool known = rooms.contains(other);
    if (!known || other == room || other == "base" || allowed.contains(other)) return;
    complaints.push_back({source.path, number, room + "/ may not include " + other + "/"});
  });
  return complaints;
}

Complaints check_room_namespace(const Source& source, const RoomTable& rooms) {
  const std::string room = room_of(source.path);
  // main() is outside any namespace.
  if (room.empty() || source.path.ends_with("/main.cpp")) return {};
  static const std::regex kOpening(R"(^namespace orrery(?:::(\w+))?(?:::\w+)* \{)");
  Complaints complaints;
  bool opens_own = false;
  each_line(blanked(source.text), [&](int number, const std::string& line) {
    std::smatch match;
    if (!std::regex_search(line, match, kOpening)) return;
    const std::string first = match[1];
    const bool own = room == "base" ? !rooms.contains(first) : first == room;
    opens_own = opens_own || own;
    // Another room's namespace may be opened for forward declarations; an unknown one belongs
    // inside ours.
    if (!own && !first.empty() && !rooms.contains(first)) {
      complaints.push_back(
          {source.path, number, "orrery::" + first + " is no room: put it into the room's"});
    }
  });
  if (!opens_own) {
    const std::string own = room == "base" ? "orrery" : "orrery::" + room;
    complaints.push_back({source.path, 1, "does not open namespace " + own});
  }
  return complaints;
}

Complaints check_file_size(const Source& source) {
  const auto lines = std::ranges::count(source.text, '\n');
  if (lines <= kFileLinesMax) return {};
  return {{source.path, kFileLinesMax, std::to_string(lines) + " lines; 600 at the most"}};
}

Complaints check_function_size(const Source& source) {
  Complaints complaints;
  const std::string code = blanked(source.text);
  std::vector<Block> open;
  std::string head;  // the text since the last ';', '{' or '}'
  int line = 1;
  int started = 0;
  std::size_t function_depth = 0;
  for (const char c : code) {
    if (c == '\n') ++line;
    if (c == '{') {
      open.push_back(function_depth > 0 ? Block::other : block_after(head));
      if (function_depth == 0 && open.back() == Block::function) {
        function_depth = open.size();
        started = line;
      }
    } else if (c == '}' && !open.empty()) {
      if (open.size() == function_depth) {
        function_depth = 0;
        const int length = line - started + 1;
        if (length > kFunctionLinesMax) {
          complaints.push_back(
              {source.path, started,
               "a function of " + std::to_string(length) + " lines; 70 at the most"});
        }
      }
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else if (c != '\n' || !head.starts_with('#')) {
      head += c == '\n' ? ' ' : c;
    } else {
      head.clear();  // a preprocessor directive ends with its line
    }
    if (head == " ") head.clear();
  }
  return complaints;
}

Complaints check_pure_room(const Source& source) {
  if (!is_pure(source.path) || !is_product(source.path)) return {};
  const std::string code = blanked(source.text);
  // A parser with callbacks can be stopped only by throwing; the exception is caught in the same
  // file.
  const bool leaves_a_parser = includes_heavy(source) && code.find("catch (") != std::string::npos;
  Complaints complaints;
  for (const Ban& ban : bans()) {
    const bool named = std::ranges::any_of(
        ban.words, [&code](const char* word) { return code.find(word) != std::string::npos; });
    if (!named || (leaves_a_parser && ban.words.front() == std::string_view("throw"))) continue;
    append(complaints, matching(source.path, code, ban.pattern, ban.what));
  }
  return complaints;
}

Complaints check_embedded(const Source& source) {
  static const std::set<std::string> kReaders = {"catalog", "emit", "agent", "server", "cli"};
  const std::string room = room_of(source.path);
  const bool may = kReaders.contains(room) || source.path == "src/model/design_text/templates.cpp";
  if (room.empty() || may || !is_product(source.path)) return {};
  const std::size_t at = source.text.find("#include \"core/catalog/embedded");
  if (at == std::string::npos) return {};
  const auto line = 1 + std::ranges::count(source.text.substr(0, at), '\n');
  return {{source.path, static_cast<int>(line),
           "reads a file of the binary: take it from the Knowledge that is handed in"}};
}

Complaints check_libm(const Source& source) {
  static const std::set<std::string, std::less<>> kInexact = {
      "exp",    "exp2", "exp10", "expm1", "log",   "log2",  "log10", "log1p", "pow",
      "erf",    "erfc", "sin",   "cos",   "tan",   "asin",  "acos",  "atan",  "atan2",
      "sinh",   "cosh", "tanh",  "asinh", "acosh", "atanh", "cbrt",  "hypot", "lgamma",
      "tgamma", "beta", "expf",  "logf",  "powf",  "sinf",  "cosf",  "expint"};
  const bool home =
      source.path == "src/core/base/math.h" || source.path == "src/core/base/math.cpp";
  if (home || !is_product(source.path)) return {};
  Complaints complaints;
  const std::string code = blanked(source.text);
  for (std::size_t at = code.find('('); at != std::string::npos; at = code.find('(', at + 1)) {
    const std::string_view before = std::string_view(code).substr(0, at);
    const std::string_view name = word_ending(before);
    if (!kInexact.contains(name)) continue;
    // A member with that name (`journal.log(`) and math:: itself are not calls of libm.
    std::string_view owner = before.substr(0, before.size() - name.size());
    if (owner.ends_with('.') || owner.ends_with("->")) continue;
    if (owner.ends_with("::")) {
      owner.remove_suffix(2);
      const std::string_view scope = word_ending(owner);
      if (!scope.empty() && scope != "std") continue;
    }
    complaints.push_back(
        {source.path, 1 + static_cast<int>(std::ranges::count(before, '\n')),
         std::string(name) + ": its last digit is the library's: call it through base/math.h"});
  }
  return complaints;
}

Complaints check_range_for(const Source& source) {
  static const std::regex kGone(R"(\bfor \([^;]* : [^;]*\w\([^;]*\)(->|\.(value|error)\(\)\)))");
  Complaints complaints;
  each_line(blanked(source.text), [&](int number, const std::string& line) {
    if (line.size() > kLineBytesMax || !line.contains("for (")) return;
    if (std::regex_search(line, kGone)) {
      complaints.push_back(
          {source.path, number, "store the range of the loop in a variable first"});
    }
  });
  return complaints;
}

Complaints check_positions(const Source& source) {
  // Positions in a text.
  static const std::set<std::string> kAllowed = {"src/live/s3server/auth.cpp",
                                                 "src/live/upkeep/store_folder.cpp"};
  static const std::regex kSubtraction(R"( - [\w.:>\[\]-]*(\(\)[\w.>-]*)*\bdata\(\)|\(&\w+ [-+] )");
  if (!is_product(source.path) || kAllowed.contains(source.path)) return {};
  return matching(source.path, blanked(source.text), kSubtraction, "store an Index (base/index.h)");
}

Complaints check_one_resolver(const Source& source) {
  static const std::regex kResolving(
      R"(\b(serve_jobs|batch_job|stream_job|slice_job|name_job|fill_step|fill_costs|least_tp)"
      R"(|apart_size|settle_conversations|settle_prefixes)\()"
      R"(|\bserving::(capacity|replicas_needed)\()");
  const bool is_reader = source.path.starts_with("src/plan/") ||
                         source.path.starts_with("src/twin/") ||
                         source.path.starts_with("src/output/") ||
                         source.path.starts_with("src/app/");
  if (!is_product(source.path) || !is_reader) return {};
  return matching(source.path, blanked(source.text), kResolving,
                  "a workload is resolved by model/jobs/resolve_jobs.h alone");
}

Complaints check_header_opening(const Source& source) {
  if (!is_header(source)) return {};
  if (!source.text.starts_with("// ")) {
    return {{source.path, 1, "a header opens by saying what the thing is"}};
  }
  if (source.text.find("\n#pragma once\n") == std::string::npos) {
    return {{source.path, 1, "no #pragma once"}};
  }
  return {};
}

Complaints check_type_names(const std::vector<Source>& sources) {
  static const std::regex kNamespace(R"(^namespace ([\w:]+) \{)");
  // A forward declaration ends in a semicolon and has no body.
  static const std::regex kType(
      R"(^(?:(?:struct|class|enum class|enum) (\w+)(?:[^;]*|.*\{.*)|using (\w+) =.*)$)");
  Complaints complaints;
  std::map<std::string, std::string> homes;  // a qualified name -> file in which it was first found
  for (const Source& source : sources) {
    if (!is_header(source)) continue;
    std::string outer;
    each_line(blanked(source.text), [&](int number, const std::string& line) {
      std::smatch match;
      if (std::regex_search(line, match, kNamespace)) outer = match[1];
      if (!std::regex_match(line, match, kType)) return;
      const std::string name = outer + "::" + match[1].str() + match[2].str();
      const auto [home, is_new] = homes.try_emplace(name, source.path);
      if (is_new || home->second == source.path) return;
      complaints.push_back({source.path, number, name + " is also in " + home->second});
    });
  }
  return complaints;
}

Complaints check_enumerations(const std::vector<Source>& sources) {
  static const std::regex kEnumeration(R"(\benum class (\w+)[^{;]*\{([^}]*)\})");
  static const std::regex kEnumerator(R"((\w+)\s*(?:=[^,]*)?(?:,|$))");
  constexpr std::ptrdiff_t kTelling = 3;  // below this number, equal enumerators may be chance
                                          // (none, some)
  Complaints complaints;
  std::map<std::string, std::string> homes;  // a name, or a list of enumerators -> its header
  for (const Source& source : sources) {
    if (!is_header(source) || !source.path.starts_with("src/")) continue;
    const std::string code = blanked(source.text);
    for (std::sregex_iterator at(code.begin(), code.end(), kEnumeration), end; at != end; ++at) {
      const std::string name = (*at)[1], body = (*at)[2];
      std::string list;
      std::ptrdiff_t count = 0;
      for (std::sregex_iterator e(body.begin(), body.end(), kEnumerator), last; e != last; ++e) {
        list += (*e)[1].str() + ' ';
        ++count;
      }
      const auto line = 1 + std::ranges::count(code.substr(0, at->position()), '\n');
      std::vector<std::string> keys = {name};
      if (count >= kTelling) keys.push_back("{ " + list + "}");
      for (const std::string& key : keys) {
        const auto [home, is_new] = homes.try_emplace(key, source.path);
        if (is_new || home->second == source.path) continue;
        complaints.push_back({source.path, static_cast<int>(line),
                              "the enumeration " + key + " is also in " + home->second});
      }
    }
  }
  return complaints;
}

Complaints check_word_tables(const Source& source) {
  static const std::set<std::string> kRooms = {"base",        "catalog",  "design",
                                               "design_text", "training", "workload"};
  static const std::regex kSwitch(R"(\bto_text\(\w+ \w+\) \{\n\s*switch \()");
  if (!kRooms.contains(room_of(source.path))) return {};
  const std::string code = blanked(source.text);
  Complaints complaints;
  for (std::sregex_iterator at(code.begin(), code.end(), kSwitch), end; at != end; ++at) {
    const auto line = 1 + std::ranges::count(code.substr(0, at->position()), '\n');
    complaints.push_back({source.path, static_cast<int>(line),
                          "words in a switch: give them a table (base/words.h)"});
  }
  return complaints;
}

Complaints check_words(const Source& source) {
  // Written in pieces; otherwise this file would be the first complaint.
  static const std::regex kReminder(std::string(R"(\b(TO)") + "DO|FIX" + "ME|XX" + R"(X)\b)");
  static const std::regex kMachine(std::string(R"((^|[\s"'(=`]))") + "/(work|home|root|Users)" +
                                   R"(/\w)");
  static const std::regex kBanner(R"(^\s*//\s*[-=*#]{4,})");
  const auto find = [&source](const std::vector<std::string>& words, const std::regex& pattern,
                              const std::string& what) {
    const bool named = std::ranges::any_of(words, [&source](const std::string& word) {
      return source.text.find(word) != std::string::npos;
    });
    return named ? matching(source.path, source.text, pattern, what) : Complaints();
  };
  Complaints complaints = find({"TO"
                                "DO",
                                "FIX"
                                "ME",
                                "XX"
                                "X"},
                               kReminder, "a reminder: do it or drop it");
  append(complaints, find({"/wo"
                           "rk/",
                           "/home/", "/root/", "/Users/"},
                          kMachine, "a path of one machine"));
  append(complaints,
         find({"// --", "// ==", "// **", "// ##", "//--", "//=="}, kBanner, "a banner"));
  return complaints;
}

}  // namespace orrery::tidy
