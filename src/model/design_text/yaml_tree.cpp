// The only file that includes yaml-cpp; the exceptions that it throws are caught here.
#include "model/design_text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/text.h"

namespace orrery::design_text {
namespace {

design::Mark mark_of(const YAML::Mark& m) { return {m.line + 1, m.column + 1}; }

// Thrown by the handler to leave the parser, caught in parse_yaml.
struct Refused {
  Diagnostic why;
};

struct Complaint {
  std::string_view code;
  std::string_view what;
  std::string_view why = {};
  std::string_view fix = {};
};

Diagnostic diagnostic(const std::string& file, design::Mark at, const Complaint& c) {
  return {.code = std::string(c.code),
          .place = {file, at.line, at.column},
          .what = std::string(c.what),
          .why = std::string(c.why),
          .fix = std::string(c.fix)};
}

// Checks that need no parser: control characters, tabs that indent, brackets too deep. One pass, no
// recursion; it tells strings from brackets well enough for a limit.
class Scan {
 public:
  Scan(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::optional<Diagnostic> run() {
    for (const char c : text_) {
      if (auto fault = look_at(c)) return fault;
      if (c == '\n') {
        at_ = {at_.line + 1, 1};
        indenting_ = true;
        comment_ = false;
        significant_ = '\n';
      } else if ((c & 0xc0) != 0x80) {
        ++at_.column;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> look_at(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f) {
      return diagnostic(file_, at_,
                        {"file.control-character", "the file has a control character",
                         "a design is plain text", "remove it, or save the file as plain text"});
    }
    if (indenting_ && c == '\t') {
      return diagnostic(file_, at_,
                        {"yaml.tab", "a tab indents this line",
                         "YAML allows only blanks for indentation", "replace the tab by blanks"});
    }
    if (c != ' ') indenting_ = false;
    return comment_ ? std::nullopt : follow_brackets(c);
  }

  std::optional<Diagnostic> follow_brackets(char c) {
    const char before = std::exchange(previous_, c);
    if (quote_ != 0) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\' && quote_ == '"') {
        escaped_ = true;
      } else if (c == quote_) {
        quote_ = 0;
      }
      return std::nullopt;
    }
    const bool starts_value = std::string_view("\n:,[{-?").find(significant_) != std::string::npos;
    if ((c == '"' || c == '\'') && starts_value) quote_ = c;
    if (c == '#' && (before == ' ' || before == '\n' || before == '\t')) comment_ = true;
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c != ' ' && c != '\t' && c != '\r') significant_ = c;
    if (depth_ <= kDeepestNesting) return std::nullopt;
    return diagnostic(file_, at_,
                      {"yaml.too-deep", "values are nested more than 32 deep",
                       "a design needs 7 levels", "check the brackets"});
  }

  std::string_view text_;
  const std::string& file_;
  design::Mark at_;
  int depth_ = 0;
  char quote_ = 0;
  bool escaped_ = false;
  bool comment_ = false;
  bool indenting_ = true;
  char previous_ = '\n';
  char significant_ = '\n';
};

// Builds the tree from the parser's events, with its own stack.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, Diagnostics& faults) : file_(file), faults_(faults) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      refuse(mark_of(mark),
             {"yaml.documents", "a second document starts here", "a file holds one design",
              "put it into a separate file, or remove the `---`"});
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    open({.mark = mark_of(mark)}, anchor);
    close();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      refuse(mark_of(mark), {"yaml.alias", "an alias is inside the value that it names",
                             "its expansion would never end", "write out the value"});
    }
    count(found->second.second, mark_of(mark));
    YamlNode copy = found->second.first;
    copy.mark = mark_of(mark);
    open(std::move(copy), 0, 0);
    close();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    // The file is UTF-8, but yaml-cpp turns `\_` and `\N` into bytes that are not.
    if (!is_valid_utf8(value)) {
      refuse(mark_of(mark), {"yaml.escape", "an escape in this text is not understood",
                             "`\\_` and `\\N` are not supported", "write the character itself"});
    }
    open({.kind = YamlNode::Kind::scalar,
          .mark = mark_of(mark),
          .text = value,
          .quoted = tag == "!"},
         anchor);
    close();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = YamlNode::Kind::list, .mark = mark_of(mark)}, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = YamlNode::Kind::map, .mark = mark_of(mark)}, anchor);
  }
  void OnMapEnd() override { close(); }

  std::optional<YamlNode> take_root() { return std::move(root_); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::size_t first_value = 0;       // values before this one, to compute the size of an anchor
    std::optional<YamlNode::Key> key;  // read already; its value is still to come
    std::map<std::string, design::Mark> seen;  // keys of this map so far
    bool drop = false;                         // the value to come belongs to a duplicate key
  };

  [[noreturn]] void refuse(design::Mark at, const Complaint& c) const {
    throw Refused{diagnostic(file_, at, c)};
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(mark_of(mark), {"yaml.tag", "there is a YAML tag here",
                           "the key decides the type of its value", "remove the tag"});
  }

  void count(std::size_t more, design::Mark at) {
    values_ += more;
    if (values_ > kMostValues) {
      refuse(at, {"yaml.too-many-values", "the file has more than 50,000 values",
                  "aliases count each time that they are used", "split the design, or use counts"});
    }
  }

  void open(YamlNode node, YAML::anchor_t anchor, std::size_t values = 1) {
    count(values, node.mark);
    if (static_cast<int>(stack_.size()) >= kDeepestNesting) {
      refuse(node.mark, {"yaml.too-deep", "values are nested more than 32 deep",
                         "a design needs 7 levels", "check the indentation"});
    }
    stack_.push_back({.node = std::move(node), .anchor = anchor, .first_value = values_ - values});
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.anchor != 0) {
      anchored_[done.anchor] = {done.node, values_ - done.first_value};
      // The copy costs as much as the value itself; many nested anchors must not multiply that.
      count(values_ - done.first_value, done.node.mark);
    }
    if (stack_.empty()) {
      root_ = std::move(done.node);
    } else {
      add(stack_.back(), std::move(done.node));
    }
  }

  void add(Open& parent, YamlNode node) {
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      take_key(parent, node);
    } else if (std::exchange(parent.drop, false)) {
      parent.key.reset();
    } else {
      parent.node.keys.push_back(std::move(*parent.key));
      parent.key.reset();
      parent.node.items.push_back(std::move(node));
    }
  }

  void take_key(Open& parent, const YamlNode& node) {
    if (node.kind != YamlNode::Kind::scalar) {
      refuse(node.mark, {"yaml.key", "a key must be a plain word", {}, "write `key: value`"});
    }
    parent.key = {node.text, node.mark};
    const auto [first, fresh] = parent.seen.emplace(node.text, node.mark);
    if (fresh) return;
    parent.drop = true;
    faults_.push_back({.code = "yaml.duplicate-key",
                       .place = {file_, node.mark.line, node.mark.column},
                       .what = "`" + node.text + "` is given twice",
                       .why = "the first one is at line " + std::to_string(first->second.line) +
                              ", column " + std::to_string(first->second.column) +
                              "; it is not clear which one counts",
                       .fix = "keep only one of them"});
  }

  const std::string& file_;
  Diagnostics& faults_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, std::pair<YamlNode, std::size_t>> anchored_;
  std::optional<YamlNode> root_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

std::optional<Diagnostic> refused_at_sight(std::string_view text, const std::string& file) {
  if (text.size() > kMostDesignBytes) {
    return diagnostic(file, {0, 0},
                      {"file.too-large", "the file is larger than 1 MiB",
                       "no design needs that much", "check that this is a design file"});
  }
  if (!is_valid_utf8(text)) {
    return diagnostic(file, {0, 0},
                      {"file.not-utf8", "the file is not valid UTF-8",
                       "it may be binary, or in an older encoding", "save it as UTF-8"});
  }
  return Scan(text, file).run();
}

}  // namespace

std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                                   Diagnostics& faults) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (auto fault = refused_at_sight(text, file)) {
    faults.push_back(*std::move(fault));
    return std::nullopt;
  }
  TreeBuilder builder(file, faults);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take_root();
  } catch (const Refused& refused) {
    faults.push_back(refused.why);
  } catch (const YAML::Exception& e) {
    faults.push_back(diagnostic(file, mark_of(e.mark),
                                {"yaml.syntax",
                                 "this is not YAML: " + e.msg,
                                 {},
                                 "check indentation, colons and brackets around here"}));
  }
  return std::nullopt;
}

}  // namespace orrery::design_text
