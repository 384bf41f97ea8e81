// What an emitter gives back: files as values, and the line that says where they came from.
//
// An emitter is a pure function from a design and its review to files; cli/ compares them with what
// is on disk, shows the difference and writes. Every file carries a stamp, so that a reader knows
// which design made it, and a later run can tell a file that was edited by hand from one that is
// merely old.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::emit {

struct EmittedFile {
  std::string path;  // below the target folder, with '/': "slurm.conf", "tests/gpu.yml"
  std::string text;
  bool executable = false;

  bool operator==(const EmittedFile&) const = default;
};

using EmittedFiles = std::vector<EmittedFile>;

// The design that files are made from.
struct EmitSource {
  std::string design;   // its name
  std::string version;  // the author's own; may be empty
  std::string digest;   // SHA-256 of the design's canonical text
};

}  // namespace orrery::emit
