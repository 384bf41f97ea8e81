#include "live/s3server/lineage.h"

#include <fmt/core.h>

#include <set>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/storage_class.h"
#include "live/upkeep/tier_places.h"

namespace orrery::s3server {
namespace {

constexpr std::string_view kFromTag = "orrery-from";
constexpr int kDepthMax = 64;

bool is_missing(const Refused& refusal) { return refusal.code.starts_with("NoSuch"); }

class LineageWalk {
 public:
  LineageWalk(Store& store, const MaySee& may_see) : store_(store), may_see_(may_see) {}

  Answer<void> visit(const std::string& bucket, const std::string& key, int depth) {
    LineageNode node{.bucket = bucket, .key = key, .depth = depth};
    node.seen = !seen_.insert({bucket, key}).second;
    const auto holder = store_.bucket(bucket);
    const auto version = store_.find(bucket, key, std::nullopt);
    // An object that cannot be read at the moment must not be shown as missing.
    if (!holder && !is_missing(holder.error())) return std::unexpected(holder.error());
    if (!version && !is_missing(version.error())) return std::unexpected(version.error());
    const bool gone = !holder || !may_see_(*holder, key) || !version || version->marker;
    node.missing = gone;
    if (!gone) {
      node.role = net::header_of(version->tags, kRoleTag);
      node.run = net::header_of(version->tags, kRunTag);
      node.step = net::header_of(version->tags, kStepTag);
      node.etag = version->etag;
      node.tier = tier_of(*version);
    }
    const bool goes_on = !gone && !node.seen && depth < kDepthMax;
    nodes_.push_back(std::move(node));
    if (!goes_on) return {};
    for (const auto& [name, value] : version->tags) {
      if (!name.starts_with(kFromTag)) continue;
      if (auto good = visit_sources(bucket, value, depth + 1); !good) return good;
    }
    return {};
  }
  std::vector<LineageNode> nodes() { return std::move(nodes_); }

 private:
  Answer<void> visit_sources(const std::string& bucket, std::string_view sources, int depth) {
    for (const std::string_view one : split_at_blanks(sources)) {
      const std::string source = percent_decoded(one, false).value_or(std::string(one));
      const auto slashes = source.find("//");
      const bool other = slashes != source.npos;
      auto good = visit(other ? source.substr(0, slashes) : bucket,
                        other ? source.substr(slashes + 2) : source, depth);
      if (!good) return good;
    }
    return {};
  }

  Store& store_;
  const MaySee& may_see_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<LineageNode> nodes_;
};

}  // namespace

Answer<std::vector<LineageNode>> lineage_of(Store& store, const std::string& bucket,
                                            const std::string& key, const MaySee& may_see) {
  LineageWalk walk(store, may_see);
  if (auto good = walk.visit(bucket, key, 0); !good) return std::unexpected(good.error());
  std::vector<LineageNode> nodes = walk.nodes();
  if (nodes.front().missing) return refused("NoSuchKey");
  return nodes;
}

Answered get_lineage(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const auto may_see = [&](const Bucket& of, const std::string& key) {
    return check_right(call, of, "s3:GetObjectTagging", key, Need::list).has_value();
  };
  const auto nodes = lineage_of(call.store, call.s3.bucket, call.s3.key, may_see);
  if (!nodes) return std::unexpected(hidden(call, *bucket, nodes.error()));
  return net::Response{.body = lineage_text(*nodes)};
}

std::string lineage_text(const std::vector<LineageNode>& nodes) {
  std::string text;
  for (const LineageNode& node : nodes) {
    text += std::string(static_cast<std::size_t>(2 * node.depth), ' ');
    text += printable(node.bucket + '/' + node.key);
    if (node.missing) {
      text += "  does not exist\n";
      continue;
    }
    if (!node.role.empty()) text += "  " + printable(node.role);
    if (!node.run.empty()) text += "  of run " + printable(node.run);
    if (!node.step.empty()) text += " step " + printable(node.step);
    text +=
        fmt::format("  etag {}  in {}{}\n", node.etag, node.tier, node.seen ? "  (see above)" : "");
  }
  return text;
}

}  // namespace orrery::s3server
