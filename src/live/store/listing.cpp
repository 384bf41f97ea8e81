#include "live/store/listing.h"

namespace orrery::store {
namespace {

// Returns the first text that sorts after all texts that begin with `prefix`. Keys are UTF-8, so no
// byte is 0xff.
std::string behind(std::string prefix) {
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::optional<std::string> common_prefix(const PageRequest& request, std::string_view key) {
  if (request.delimiter.empty()) return std::nullopt;
  const auto at = key.find(request.delimiter, request.prefix.size());
  if (at == key.npos) return std::nullopt;
  return std::string(key.substr(0, at + request.delimiter.size()));
}

// Adds the versions of a key that follow the marker, newest first. Returns false if the page is
// full.
Answer<bool> add_versions(rows::Cursor& cursor, const PageRequest& request, const std::string& key,
                          rows::Version head, Page& page) {
  bool behind_marker = key != request.after || request.after_version.empty();
  if (key == request.after && request.after_version.empty()) return true;
  const auto add = [&](rows::Version version, bool newest) {
    if (!behind_marker) {
      behind_marker = version.id == request.after_version;
      return true;
    }
    if (page.entries.size() == request.most) {
      page.truncated = true;
      return false;
    }
    page.entries.push_back({key, false, std::move(version), newest});
    return true;
  };
  if (!add(std::move(head), true)) return false;
  const std::string from = rows::row::versions(request.bucket, key);
  for (cursor.seek(from); cursor.valid() && cursor.key().starts_with(from); cursor.next()) {
    auto version = rows::decode_version(cursor.value());
    if (!version) return refused("InternalError", "the row of a version is unreadable");
    if (!add(std::move(*version), false)) return false;
  }
  if (auto state = cursor.state(); !state) return refused(state.error());
  return true;
}

using AddKey =
    std::function<Answer<bool>(const std::string& key, rows::Version version, Page& page)>;

Answer<Page> walk(rows::Metadata& metadata, const PageRequest& request, const AddKey& add) {
  Page page;
  if (request.most == 0) return page;
  const std::string base = rows::row::objects(request.bucket);
  const auto cursor = metadata.cursor();
  cursor->seek(base + std::max(request.prefix, request.after));
  while (cursor->valid() && cursor->key().starts_with(base)) {
    const std::string key(cursor->key().substr(base.size()));
    if (!key.starts_with(request.prefix))
      break;  // all keys with the prefix come first, so the
              // walk is done
    if (const auto common = common_prefix(request, key)) {
      // Objects whose newest version is a delete marker do not form a common prefix.
      const bool seen =
          *common <= request.after || (!page.entries.empty() && page.entries.back().common &&
                                       page.entries.back().key == *common);
      if (seen) {
        cursor->seek(base + behind(*common));
        continue;
      }
    }
    auto version = rows::decode_version(cursor->value());
    if (!version) return refused("InternalError", "the row of a version is unreadable");
    const auto more = add(key, std::move(*version), page);
    if (!more) return std::unexpected(more.error());
    if (!*more) return page;
    cursor->next();
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return page;
}

}  // namespace

Answer<Page> page_of_objects(rows::Metadata& metadata, const PageRequest& request) {
  return walk(metadata, request,
              [&](const std::string& key, rows::Version version, Page& page) -> Answer<bool> {
                if (version.marker) return true;
                const auto common = common_prefix(request, key);
                if (!common && key <= request.after) return true;
                if (page.entries.size() == request.most) {
                  page.truncated = true;
                  return false;
                }
                if (common) {
                  page.entries.push_back({*common, true});
                } else {
                  page.entries.push_back({key, false, std::move(version), true});
                }
                return true;
              });
}

Answer<Page> page_of_versions(rows::Metadata& metadata, const PageRequest& request) {
  const auto olds = metadata.cursor();
  return walk(metadata, request,
              [&](const std::string& key, rows::Version version, Page& page) -> Answer<bool> {
                const auto common = common_prefix(request, key);
                if (!common) {
                  if (key < request.after) return true;
                  return add_versions(*olds, request, key, std::move(version), page);
                }
                if (page.entries.size() == request.most) {
                  page.truncated = true;
                  return false;
                }
                page.entries.push_back({*common, true});
                return true;
              });
}

}  // namespace orrery::store
