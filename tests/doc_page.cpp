#include "doc_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>

namespace orrery {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr std::string_view kCut = "...";
constexpr std::array<std::string_view, 4> kPrograms = {"orrery", "./orrery", "./run", "./test"};
constexpr std::array<std::string_view, 7> kShellWords = {"mkdir ", "cp ",   "cat ",   "printf ",
                                                         "echo ",  "head ", "touch "};

bool is_orrery(std::string_view line) {
  return std::ranges::any_of(kPrograms, [line](std::string_view program) {
    return line == program || (line.starts_with(program) && line[program.size()] == ' ');
  });
}

bool is_shell(std::string_view line) {
  return std::ranges::any_of(kShellWords,
                             [line](std::string_view word) { return line.starts_with(word); });
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  return line;
}

// Returns VALUE of `<!-- KEY: VALUE -->`.
std::optional<std::string> directive(std::string_view line, std::string_view key) {
  const std::string open = "<!-- " + std::string(key) + ": ";
  if (!line.starts_with(open) || !line.ends_with(" -->")) return std::nullopt;
  return std::string(line.substr(open.size(), line.size() - open.size() - 4));
}

struct Block {
  std::size_t begin = 0, end = 0;  // lines of the page, fences left out
  std::string indent;
};

class Parser {
 public:
  explicit Parser(DocPage& page) : page_(page) {}

  void parse() {
    std::size_t at = 0;
    while (at < page_.lines.size()) at = step(at);
  }

 private:
  std::string_view line(std::size_t at) const { return page_.lines[at]; }

  // Reads a line or a whole block, and returns the line after it.
  std::size_t step(std::size_t at) {
    const std::string_view text = line(at);
    if (text.starts_with("```")) return fenced(at);
    const bool may_begin = at == 0 || trimmed(line(at - 1)).empty() || is_comment(at - 1);
    if (text.starts_with(kIndent) && may_begin) return indented(at);
    if (const auto reason = directive(text, "not run")) {
      not_run_ = *reason;
    } else if (const auto test = directive(text, "run by")) {
      page_.run_by = *test;
    } else if (const auto name = directive(text, "file")) {
      file_ = *name;
    } else if (!trimmed(text).empty()) {
      not_run_.clear();
      file_.clear();
    }
    return at + 1;
  }

  bool is_comment(std::size_t at) const { return line(at).starts_with("<!--"); }

  std::size_t fenced(std::size_t at) {
    std::size_t end = at + 1;
    while (end < page_.lines.size() && !line(end).starts_with("```")) ++end;
    take({at + 1, end, ""});
    return end + 1;
  }

  std::size_t indented(std::size_t at) {
    std::size_t end = at;
    for (std::size_t i = at; i < page_.lines.size(); ++i) {
      if (line(i).starts_with(kIndent)) {
        end = i + 1;
      } else if (!trimmed(line(i)).empty()) {
        break;
      }
    }
    take({at, end, std::string(kIndent)});
    return end;
  }

  std::string_view inside(const Block& block, std::size_t at) const {
    const std::string_view text = line(at);
    return text.starts_with(block.indent) ? text.substr(block.indent.size()) : std::string_view{};
  }

  void take(const Block& block) {
    if (!file_.empty()) {
      DocFile file{.name = file_, .text = {}};
      for (std::size_t i = block.begin; i < block.end; ++i)
        file.text += std::string(inside(block, i)) + '\n';
      page_.steps.push_back({true, page_.files.size()});
      page_.files.push_back(std::move(file));
    } else {
      take_commands(block);
    }
    file_.clear();
    not_run_.clear();
  }

  void take_commands(const Block& block) {
    bool has_prompt = false, has_orrery = false;
    for (std::size_t i = block.begin; i < block.end; ++i) {
      has_prompt = has_prompt || inside(block, i).starts_with("$ ");
      has_orrery = has_orrery || is_orrery(inside(block, i));
    }
    if (!has_prompt && !has_orrery) return;
    for (std::size_t i = block.begin; i < block.end;) i = take_line(block, i, has_prompt);
  }

  std::size_t take_line(const Block& block, std::size_t at, bool has_prompt) {
    const std::string_view text = inside(block, at);
    const bool is_command = has_prompt ? text.starts_with("$ ") : is_orrery(text) || is_shell(text);
    if (!is_command) return at + 1;
    DocCommand command{.line = at,
                       .text = std::string(has_prompt ? text.substr(2) : text),
                       .shows_output = has_prompt,
                       .indent = block.indent,
                       .not_run = not_run_};
    std::size_t next = at + 1;
    while (command.text.ends_with('\\') && next < block.end) {
      command.text.pop_back();
      command.text += trimmed(inside(block, next++));
    }
    command.output_begin = command.output_end = next;
    if (has_prompt) {
      while (next < block.end && !inside(block, next).starts_with("$ ")) {
        if (!trimmed(inside(block, next)).empty()) command.output_end = next + 1;
        ++next;
      }
    }
    page_.steps.push_back({false, page_.commands.size()});
    page_.commands.push_back(std::move(command));
    return next;
  }

  DocPage& page_;
  std::string not_run_, file_;
};

bool is_cut(std::string_view line) { return trimmed(line) == kCut; }

using Lines = const std::vector<std::string>&;

bool matches_from(Lines shown, std::size_t s, Lines now, std::size_t n) {
  for (; s < shown.size(); ++s, ++n) {
    if (is_cut(shown[s])) {
      for (std::size_t skip = n; skip <= now.size(); ++skip)
        if (matches_from(shown, s + 1, now, skip)) return true;
      return false;
    }
    if (n >= now.size() || shown[s] != now[n]) return false;
  }
  return n == now.size();
}

// Returns the first line, from `begin` on, that shares its longest beginning with `wanted`.
std::size_t likest(std::string_view wanted, Lines lines, std::size_t begin) {
  std::size_t best = begin, shared_most = 0;
  for (std::size_t i = begin; i < lines.size(); ++i) {
    const auto differs = std::ranges::mismatch(wanted, lines[i]);
    const auto shared = static_cast<std::size_t>(differs.in1 - wanted.begin());
    if (shared <= shared_most) continue;
    best = i;
    shared_most = shared;
  }
  return best;
}

void drop_blank_end(std::vector<std::string>& lines) {
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

DocPage parse_page(std::string path, std::string_view text) {
  DocPage page{.path = std::move(path), .lines = lines_of(text)};
  Parser(page).parse();
  return page;
}

std::vector<std::string> shown_output(const DocPage& page, const DocCommand& command) {
  std::vector<std::string> shown;
  for (std::size_t i = command.output_begin; i < command.output_end; ++i) {
    const std::string& line = page.lines[i];
    shown.push_back(line.starts_with(command.indent) ? line.substr(command.indent.size()) : "");
  }
  return shown;
}

bool matches(const std::vector<std::string>& shown, const std::vector<std::string>& now) {
  std::vector<std::string> end_cut = now;
  drop_blank_end(end_cut);
  return matches_from(shown, 0, end_cut, 0);
}

std::vector<std::string> refreshed(const std::vector<std::string>& shown,
                                   const std::vector<std::string>& now) {
  std::vector<std::string> whole = now;
  drop_blank_end(whole);
  std::vector<std::string> fresh;
  std::size_t next = 0;  // line of `whole` that is not yet shown
  for (std::size_t s = 0; s < shown.size();) {
    if (is_cut(shown[s])) {
      fresh.push_back(shown[s++]);
      continue;
    }
    std::size_t end = s;
    while (end < shown.size() && !is_cut(shown[end])) ++end;
    if (s == 0 && end == shown.size()) return whole;
    const std::size_t length = end - s;
    if (end == shown.size() && length <= whole.size()) {
      next = std::max(next, whole.size() - length);
    } else if (s > 0) {
      next = likest(shown[s], whole, next);
    }
    for (std::size_t i = 0; i < length && next < whole.size(); ++i) fresh.push_back(whole[next++]);
    s = end;
  }
  return fresh;
}

int announced_exit(std::string_view command) {
  constexpr std::string_view kWords = "# exits with ";
  const std::size_t at = command.find(kWords);
  if (at == command.npos) return 0;
  return std::atoi(std::string(command.substr(at + kWords.size())).c_str());
}

std::vector<std::string> anchors_of(const DocPage& page) {
  std::vector<std::string> anchors;
  bool in_fence = false;
  for (const std::string& line : page.lines) {
    if (line.starts_with("```")) in_fence = !in_fence;
    if (in_fence || !line.starts_with('#')) continue;
    std::string anchor;
    std::string_view heading = line;
    while (heading.starts_with('#')) heading.remove_prefix(1);
    for (const char c : trimmed(heading)) {
      const auto u = static_cast<unsigned char>(c);
      if (std::isalnum(u) || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(u));
      if (c == ' ') anchor += '-';
    }
    anchors.push_back(anchor);
  }
  return anchors;
}

}  // namespace orrery
