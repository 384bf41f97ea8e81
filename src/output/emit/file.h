// The result of an emitter: files as values, and the stamp that says where they came from.
//
// An emitter is a pure function from a design and its review to files; cli/ compares them with the
// disk, shows the difference and writes them. Every file has a stamp, so that readers know which
// design it comes from, and a later run can tell a file that was edited by hand from one that is
// out of date.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::emit {

struct EmittedFile {
  std::string path;  // path below the target folder, with '/': "slurm.conf", "tests/gpu.yml"
  std::string text;
  bool executable = false;

  bool operator==(const EmittedFile&) const = default;
};

using EmittedFiles = std::vector<EmittedFile>;

// The design from which files are made.
struct EmitSource {
  std::string design;   // name of the design
  std::string version;  // version given by its author; may be empty
  std::string digest;   // SHA-256 of the design's canonical text
};

}  // namespace orrery::emit
