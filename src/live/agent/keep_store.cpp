#include "live/agent/keep_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "live/files/folder.h"
#include "live/files/lock.h"
#include "live/files/path.h"

namespace orrery::agent {
namespace {

std::string owner_field(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return std::string(line.substr(name.size() + 1));
    }
  }
  return {};
}

}  // namespace

const KeptFile* KeptItem::file(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &KeptFile::path);
  return found == files.end() ? nullptr : &*found;
}

std::string text_of(const KeepOwner& owner) {
  return fmt::format("host {}\nprocess {}\njournal {}\nid {}\n", owner.host, owner.process,
                     owner.journal, owner.id);
}

std::string id_of_owner(std::string_view text) { return owner_field(text, "id"); }

std::string told_of_owner(std::string_view text) {
  const std::string host = owner_field(text, "host");
  if (host.empty()) return "it left no details";
  return printable(fmt::format("host {}, process {}, journal {}", host,
                               owner_field(text, "process"), owner_field(text, "journal")));
}

std::string kept_path_fault(std::string_view path) {
  if (std::string fault = files::path_fault(path); !fault.empty()) return fault;
  for (const std::string_view part : split(path, '/')) {
    const bool is_own = part == files::kLockName || part == kAsideFolder ||
                        part == kIncomingFolder || part == kLeaseFolder;
    if (is_own) return "it is a place of its own, or holds one";
    if (part == files::kPartName || part == kBegunMark) {
      return "an agent uses this name while it copies";
    }
  }
  if (!is_valid_utf8(path)) return "the name is not UTF-8";
  const bool has_control =
      std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  return has_control ? "the name contains a control character" : "";
}

}  // namespace orrery::agent
