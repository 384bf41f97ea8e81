#include "model/design_text/edit.h"

#include <optional>
#include <vector>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design_text/edit_path.h"
#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "model/design_text/write_value.h"

namespace orrery::design_text {
namespace {

using Kind = YamlNode::Kind;
constexpr std::size_t kNone = std::string_view::npos;

// Finds where values begin and end in the text. An end that cannot be found (aliases, block texts)
// is kNone; the caller then gives up editing the text.
class Spans {
 public:
  explicit Spans(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  std::size_t begin(design::Mark mark) const {
    const auto line = static_cast<std::size_t>(mark.line - 1);
    if (mark.line < 1 || line >= lines_.size()) return kNone;
    const std::size_t at = lines_[line] + static_cast<std::size_t>(mark.column - 1);
    return at <= text_.size() ? at : kNone;
  }

  bool is_flow(const YamlNode& node) const {
    const std::size_t at = begin(node.mark);
    return node.kind != Kind::scalar && at < text_.size() && (text_[at] == '{' || text_[at] == '[');
  }

  // `flow` is true if the value is inside brackets, where commas end it too.
  std::size_t end(const YamlNode& node, bool flow) const {
    const std::size_t at = begin(node.mark);
    if (at >= text_.size()) return kNone;
    const char c = text_[at];
    if (c == '&' || c == '*' || c == '!') return kNone;
    if (is_flow(node)) return end_of_brackets(at);
    if (node.kind == Kind::scalar) return end_of_scalar(node, at, flow);
    if (node.kind == Kind::null) return kNone;
    return end_of_last_item(node, flow);
  }

  // Returns the position after the colon of a map's key.
  std::size_t after_colon(const YamlNode& map, std::size_t i) const {
    std::size_t at = begin(map.keys[i].mark);
    if (at >= text_.size()) return kNone;
    const char c = text_[at];
    at = c == '"' || c == '\'' ? end_of_quotes(at) : at + map.keys[i].text.size();
    while (at < text_.size() && text_[at] == ' ') ++at;
    return at < text_.size() && text_[at] == ':' ? at + 1 : kNone;
  }

  // Returns the end of the item, or of its key if no value follows.
  std::size_t end_of_item(const YamlNode& parent, std::size_t i, bool flow) const {
    const YamlNode& item = parent.items[i];
    if (item.kind != Kind::null) return end(item, flow);
    if (parent.kind != Kind::map) return kNone;
    std::size_t at = after_colon(parent, i);
    if (at == kNone) return kNone;
    const std::size_t blanks = text_.find_first_not_of(' ', at);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (blanks != kNone && text_.substr(blanks).starts_with(word)) return blanks + word.size();
    }
    return at;
  }

  std::size_t line_end(std::size_t at) const {
    const std::size_t end = text_.find('\n', at);
    return end == kNone ? text_.size() : end;
  }
  std::size_t line_begin(std::size_t at) const {
    const std::size_t before = at == 0 ? kNone : text_.rfind('\n', at - 1);
    return before == kNone ? 0 : before + 1;
  }
  // Returns true if only blanks and perhaps a comment follow until the line ends.
  bool ends_line(std::size_t at) const {
    const std::string_view rest = trimmed(text_.substr(at, line_end(at) - at));
    return rest.empty() || rest.front() == '#';
  }
  bool begins_line(std::size_t at) const {
    const std::size_t first = line_begin(at);
    return trimmed(text_.substr(first, at - first)).empty();
  }

  std::string_view text() const { return text_; }

 private:
  std::size_t end_of_quotes(std::size_t at) const {
    const char quote = text_[at];
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\' && quote == '"') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 >= text_.size() || text_[i + 1] != '\'') return i + 1;
        ++i;
      }
    }
    return kNone;
  }

  std::size_t end_of_brackets(std::size_t at) const {
    int depth = 0;
    for (std::size_t i = at; i < text_.size(); ++i) {
      const char c = text_[i];
      const char before = i == 0 ? '\n' : text_[i - 1];
      if (c == '#' && (before == ' ' || before == '\n' || before == '\t')) {
        i = line_end(i);
      } else if ((c == '"' || c == '\'') && std::string_view(" ,:[{\n").contains(before)) {
        i = end_of_quotes(i);
        if (i == kNone) return kNone;
        --i;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if ((c == ']' || c == '}') && --depth == 0) {
        return i + 1;
      }
    }
    return kNone;
  }

  std::size_t end_of_scalar(const YamlNode& node, std::size_t at, bool flow) const {
    const char c = text_[at];
    if (c == '"' || c == '\'') return end_of_quotes(at);
    // A plain scalar is in the text character for character, unless it spans lines.
    if (!text_.substr(at).starts_with(node.text) || node.text.empty()) return kNone;
    const std::size_t end = at + node.text.size();
    if (flow) {
      const std::size_t next = text_.find_first_not_of(" \t\r\n", end);
      return next != kNone && std::string_view(",]}#").contains(text_[next]) ? end : kNone;
    }
    return ends_line(end) ? end : kNone;
  }

  std::size_t end_of_last_item(const YamlNode& node, bool flow) const {
    return node.items.empty() ? kNone : end_of_item(node, node.items.size() - 1, flow);
  }

  std::string_view text_;
  std::vector<std::size_t> lines_;
};

std::string spliced(std::string_view text, std::size_t from, std::size_t to,
                    std::string_view with) {
  std::string out(text.substr(0, from));
  out += with;
  out += text.substr(to);
  return out;
}

// How far the file has the path.
struct Reached {
  const YamlNode* parent = nullptr;  // the parent of `node`
  const YamlNode* node = nullptr;
  std::size_t place = 0;  // index of `node` in `parent`
  bool flow = false;      // `node` is inside brackets
  std::size_t steps = 0;  // path steps taken to reach `node`
};

Reached reach(const Spans& spans, const YamlNode& root, std::span<const PathStep> path) {
  Reached r{.node = &root};
  for (const PathStep& step : path) {
    const YamlNode* next = child_of(*r.node, step);
    if (next == nullptr) break;
    r.flow = r.flow || spans.is_flow(*r.node);
    r.parent = r.node;
    r.place = place_in(*r.node, step);
    r.node = next;
    ++r.steps;
  }
  return r;
}

using Edited = std::optional<std::string>;

Edited replace(const Spans& s, const Reached& r, const std::string& value) {
  const std::size_t end = s.end_of_item(*r.parent, r.place, r.flow);
  if (end == kNone) return std::nullopt;
  if (r.parent->kind == Kind::list) {
    return spliced(s.text(), s.begin(r.node->mark), end, value);
  }
  const std::size_t colon = s.after_colon(*r.parent, r.place);
  if (colon == kNone) return std::nullopt;
  if (r.node->kind == Kind::null) return spliced(s.text(), colon, end, " " + value);
  const std::size_t begin = s.begin(r.node->mark);
  const std::string_view gap = s.text().substr(colon, begin - colon);
  if (gap.find('\n') == kNone) return spliced(s.text(), begin, end, value);
  // The value is a block below its key: it moves up to the key's line, and a comment on that line
  // stays.
  const std::string_view kept = gap.substr(0, gap.find('\n'));
  return spliced(s.text(), colon, end, " " + value + std::string(kept));
}

// Appends `key: value` or `- value` after the last item of a container that has items.
Edited append(const Spans& s, const YamlNode& at, bool flow, const std::string& item) {
  const std::size_t last = at.items.size() - 1;
  const bool inner_flow = flow || s.is_flow(at);
  const std::size_t end = s.end_of_item(at, last, inner_flow);
  if (end == kNone) return std::nullopt;
  if (inner_flow) return spliced(s.text(), end, end, ", " + item);
  const std::size_t line = s.line_end(end);
  std::size_t column = static_cast<std::size_t>(at.mark.column - 1);
  std::string_view dash;
  if (at.kind == Kind::list) {
    const std::size_t first = s.begin(at.items.front().mark);
    const std::size_t begin = s.line_begin(first);
    const std::size_t found = s.text().find_first_not_of(' ', begin);
    if (found >= first || s.text()[found] != '-') return std::nullopt;
    column = found - begin;
    dash = "- ";
  } else {
    const std::size_t first = s.begin(at.keys.front().mark);
    column = first - s.line_begin(first);
  }
  return spliced(s.text(), line, line, "\n" + std::string(column, ' ') + std::string(dash) + item);
}

Edited insert(const Spans& s, const Reached& r, const PathStep& step, const std::string& value) {
  const std::string item = step.index ? value : step.key + ": " + value;
  if (!r.node->items.empty()) return append(s, *r.node, r.flow, item);
  const std::string whole = step.index ? "[" + item + "]" : "{ " + item + " }";
  if (r.parent == nullptr) return std::nullopt;
  return replace(s, r, whole);
}

Edited remove_from_flow(const Spans& s, const Reached& r, std::size_t begin, std::size_t end) {
  if (r.place + 1 < r.parent->items.size()) {
    const YamlNode& p = *r.parent;
    const design::Mark next =
        p.kind == Kind::map ? p.keys[r.place + 1].mark : p.items[r.place + 1].mark;
    return spliced(s.text(), begin, s.begin(next), "");
  }
  if (r.place == 0) return spliced(s.text(), begin, end, "");
  const std::size_t comma = s.end_of_item(*r.parent, r.place - 1, true);
  if (comma == kNone) return std::nullopt;
  return spliced(s.text(), comma, end, "");
}

Edited remove(const Spans& s, const Reached& r) {
  const YamlNode& p = *r.parent;
  const std::size_t end = s.end_of_item(p, r.place, r.flow);
  const std::size_t begin = s.begin(p.kind == Kind::map ? p.keys[r.place].mark : r.node->mark);
  if (end == kNone || begin == kNone) return std::nullopt;
  if (r.flow) return remove_from_flow(s, r, begin, end);
  if (p.items.size() == 1 || !s.ends_line(end)) return std::nullopt;
  const std::size_t next_line = std::min(s.text().size(), s.line_end(end) + 1);
  if (p.kind == Kind::map && !s.begins_line(begin)) {
    // The first key after a dash is removed: the next key takes its place.
    if (r.place + 1 >= p.items.size()) return std::nullopt;
    return spliced(s.text(), begin, s.begin(p.keys[r.place + 1].mark), "");
  }
  return spliced(s.text(), s.line_begin(begin), next_line, "");
}

// Wraps the value for the first missing step into the maps and lists that the later steps need.
std::string wrapped(std::span<const PathStep> rest, const std::string& value) {
  std::string out = value;
  for (std::size_t i = rest.size(); i-- > 1;) {
    out = rest[i].index ? "[" + out + "]" : "{ " + rest[i].key + ": " + out + " }";
  }
  return out;
}

Edited in_place(const Spans& s, const YamlNode& root, std::span<const PathStep> path,
                const std::string& value) {
  const Reached r = reach(s, root, path);
  const bool there = r.steps == path.size();
  if (value.empty()) return there ? remove(s, r) : Edited(s.text());
  if (there) return replace(s, r, value);
  return insert(s, r, path[r.steps], wrapped(path.subspan(r.steps), value));
}

// Quotes a value that brackets would break: a text with a comma becomes "a, b".
std::string guarded(const YamlNode& value) {
  return value.kind == Kind::scalar ? json_escaped(value.text) : std::string();
}

std::optional<YamlNode> parsed(std::string_view text) {
  Diagnostics faults;
  auto tree = parse_yaml(text, "value", faults);
  return faults.empty() ? std::move(tree) : std::nullopt;
}

bool comes_to(const Edited& edited, const YamlNode& expected) {
  if (!edited) return false;
  const auto tree = parsed(*edited);
  return tree && same_content(*tree, expected);
}

Result<EditedText> rewrite(const YamlNode& tree, const catalog::Catalog& catalog,
                           const ReadDesignOptions& options) {
  const auto design = read_design(yaml_text(tree), catalog, options);
  if (!design) return std::unexpected(design.error());
  return EditedText{write_design(*design), true};
}

Result<std::optional<YamlNode>> read_value(const std::string& value) {
  if (trimmed(value).empty()) return std::optional<YamlNode>();
  auto tree = value.find('\n') == kNone ? parsed(value) : std::nullopt;
  if (tree) return tree;
  return fail({.code = "edit.value",
               .what = "the value is not YAML on one line",
               .why = "an edit puts one value into the file",
               .fix = "write it as in the file: 44 kW, [node-nvme, hot], { tp: 8, pp: 1 }"});
}

}  // namespace

Result<EditedText> edit_text(std::string_view text, const Change& change,
                             const catalog::Catalog& catalog, const ReadDesignOptions& options) {
  Diagnostics faults;
  const auto root = parse_yaml(text, options.file, faults);
  if (has_errors(faults)) return std::unexpected(std::move(faults));
  if (!root || root->kind != Kind::map) {
    return fail({.code = "design.empty",
                 .place = {options.file, 0, 0},
                 .what = "there is no design to edit",
                 .fix = "start from a template: orrery init --template single-node"});
  }
  const auto path = steps_of(change.path, *root);
  if (!path) return std::unexpected(path.error());
  const auto value = read_value(change.value);
  if (!value) return std::unexpected(value.error());
  auto expected = tree_with(*root, *path, *value);
  if (!expected) return std::unexpected(expected.error());

  const Spans spans(text);
  Edited edited = in_place(spans, *root, *path, std::string(trimmed(change.value)));
  if (comes_to(edited, *expected)) return EditedText{*std::move(edited), false};
  if (*value && (*value)->kind == Kind::scalar) {
    const std::string quoted = guarded(**value);
    auto same = tree_with(*root, *path, parsed(quoted));
    edited = in_place(spans, *root, *path, quoted);
    if (same && comes_to(edited, *same)) return EditedText{*std::move(edited), false};
  }
  return rewrite(*expected, catalog, options);
}

}  // namespace orrery::design_text
