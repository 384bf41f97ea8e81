// Text of the design on its way into other programs' files: quoted for each format, or refused.
//
// Descriptions and versions are free text and are quoted; what comes out is always one line of
// printable characters, so that no name can open a line of its own. Names become identifiers
// (partitions, nodes, queues, resources) whose alphabet the target fixes: one that does not fit is
// refused and never bent, because two names bent to one would share a queue.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"

namespace orrery::emit {

// For comments: printable ASCII within double quotes, the rest as \uXXXX, at most `most` characters
// of it. A comment needs the name's gist, and some readers have short line buffers.
inline constexpr std::size_t kCommentChars = 80;
std::string comment_text(std::string_view text, std::size_t most = kCommentChars);

// For comments too, but a few words of our own rather than a name: as they are, without control
// characters, so that they stay on their line.
std::string comment_words(std::string_view text);

// A YAML double-quoted scalar. Line breaks of YAML 1.1 (U+0085, U+2028, U+2029) are escaped too.
std::string yaml_string(std::string_view text);
// One word for bash: bare where that is safe, else '...', or $'...' where there are control
// characters. A NUL, which no argument can hold, is left out.
std::string shell_word(std::string_view text);
// An HCL quoted template; `${` and `%{` lose their meaning.
std::string hcl_string(std::string_view text);

// Alphabets of identifiers.
enum class NameRule {
  slurm,      // partitions, accounts, QOS, clusters: letters, digits, _ . -
  dns_label,  // Kubernetes objects and host names: RFC 1123, lower case, at most 63
  hcl,        // Terraform resources: a letter or _, then letters, digits, _ -
};
bool is_name(std::string_view text, NameRule rule);

// What is being named, for the message: {"the partition", place}.
struct NamedThing {
  std::string_view noun;
  Place place;
};
// The name as it is, or "emit.name": why it cannot be written and what could.
Result<std::string> checked_name(std::string_view text, NameRule rule, const NamedThing& thing);

// All of a design's bad names are told at once.
inline void gather(Diagnostics& to, const Diagnostics& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A name of the rule's alphabet near the given one, for fixes and for text that is not a reference.
std::string nearest_name(std::string_view text, NameRule rule);

}  // namespace orrery::emit
