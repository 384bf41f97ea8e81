// Writes text of the design into other programs' files: quoted for each format, or refused.
//
// Descriptions and versions are free text and are quoted. The result is always one line of
// printable characters, so that no name can begin a line of its own. Names become identifiers
// (partitions, nodes, queues, resources) in the target's alphabet. A name that does not fit is
// refused and never altered, because two names altered to the same one would share a queue.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"

namespace orrery::emit {

// Quotes a name for a comment: printable ASCII in double quotes, all else as \uXXXX, at most `most`
// characters. A comment only needs the gist, and some readers have short line buffers.
inline constexpr std::size_t kCommentChars = 80;
std::string comment_text(std::string_view text, std::size_t most = kCommentChars);

// Returns words of our own for a comment: unchanged except for control characters, so that they
// stay on their line.
std::string comment_words(std::string_view text);

// Returns a YAML double-quoted scalar. Also escapes the line breaks of YAML 1.1 (U+0085, U+2028,
// U+2029).
std::string yaml_string(std::string_view text);
// Returns one word for bash: bare if that is safe, else '...', or $'...' if there are control
// characters. Omits NUL, which no argument can contain.
std::string shell_word(std::string_view text);
// Returns an HCL quoted template in which `${` and `%{` have no special meaning.
std::string hcl_string(std::string_view text);

// Alphabets of identifiers.
enum class NameRule {
  slurm,      // partitions, accounts, QOS, clusters: letters, digits, _ . -
  dns_label,  // Kubernetes objects and host names: RFC 1123, lower case, at most 63 characters
  hcl,        // Terraform resources: a letter or _, then letters, digits, _ -
};
bool is_name(std::string_view text, NameRule rule);

// The thing being named, for the message: {"the partition", place}.
struct NamedThing {
  std::string_view noun;
  Place place;
};
// Returns the name unchanged, or "emit.name": why it cannot be written, and a name that could.
Result<std::string> checked_name(std::string_view text, NameRule rule, const NamedThing& thing);

// Collects faults, so that all bad names of a design are reported at once.
inline void gather(Diagnostics& to, const Diagnostics& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Returns a name in the rule's alphabet similar to the given one, for fixes and for text that is
// not a reference.
std::string nearest_name(std::string_view text, NameRule rule);

}  // namespace orrery::emit
