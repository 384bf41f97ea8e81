// A script whose text is a file of data/, as it will be written, with named places for what differs
// between designs.
//
//   @name@     within a line: one value
//   #@name@    alone on a line: whole lines, or none
//
// Names have lower-case letters and _. Text cannot be inserted unquoted: emit/escape.h quotes words
// for bash, and remarks stay on their line. Values are not searched for places. A place without a
// value, a value without a place and a place filled twice are all "emit.script": a fault of this
// program, which a test finds because it fills every script.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"

namespace orrery::emit {

class Script {
 public:
  static Script from_file(std::string_view path);  // path below data/: "emit/slurm/health.sh"
  static Script from_text(std::string_view text);

  Script& word(std::string_view place, std::string_view text);
  Script& words(std::string_view place, const std::vector<std::string>& texts);
  Script& number(std::string_view place, std::int64_t value);
  Script& remark(std::string_view place, std::string_view text);  // inserts into a comment
  Script& lines(std::string_view place, const std::vector<Script>& parts);
  Script& stamp(const EmitSource& source);  // fills the place `stamp`

  Result<std::string> text() const;

 private:
  struct Value {
    std::string text;
    bool whole_lines = false;
  };
  Script& put(std::string_view place, Value value);
  Diagnostic fault(std::string what) const;

  std::string template_;
  std::string name_;  // used in messages
  std::map<std::string, Value, std::less<>> values_;
  Diagnostics faults_;
};

}  // namespace orrery::emit
