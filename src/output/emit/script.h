// A script whose text is a file of data/: it stands there as it will be written, and what differs
// from design to design has a named place in it.
//
//   @name@     within a line: one value
//   #@name@    alone on a line: whole lines, or none
//
// Names are lower-case letters and _. There is no way to put in text as it is: words are quoted for
// bash by emit/escape.h, remarks keep to their line. A value is not searched for places again.
// Strict both ways: a place without a value, a value without a place and a place filled twice are
// "emit.script", a fault of this program that a test finds, since every script is filled there.
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
  static Script from_file(std::string_view path);  // below data/: "emit/slurm/health.sh"
  static Script from_text(std::string_view text);

  Script& word(std::string_view place, std::string_view text);
  Script& words(std::string_view place, const std::vector<std::string>& texts);
  Script& number(std::string_view place, std::int64_t value);
  Script& remark(std::string_view place, std::string_view text);  // within a comment
  Script& lines(std::string_view place, const std::vector<Script>& parts);
  Script& stamp(const EmitSource& source);  // at the place `stamp`

  Result<std::string> text() const;

 private:
  struct Value {
    std::string text;
    bool whole_lines = false;
  };
  Script& put(std::string_view place, Value value);
  Diagnostic fault(std::string what) const;

  std::string template_;
  std::string name_;  // for messages
  std::map<std::string, Value, std::less<>> values_;
  Diagnostics faults_;
};

}  // namespace orrery::emit
