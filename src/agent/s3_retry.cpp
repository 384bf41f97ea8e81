#include "agent/s3_retry.h"

#include <algorithm>

#include "base/math.h"
#include "base/text.h"

namespace orrery {
namespace {

struct Entity {
  std::string_view name;
  char character;
};
constexpr Entity kEntities[] = {
    {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

// &#xD; and &#13; as S3 writes them in keys; code points above 127 come as UTF-8 already.
std::optional<char> numbered(std::string_view entity) {
  if (!entity.starts_with("&#") || !entity.ends_with(';')) return std::nullopt;
  std::string_view digits = entity.substr(2, entity.size() - 3);
  const bool hex = digits.starts_with('x') || digits.starts_with('X');
  if (hex) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 4) return std::nullopt;
  int value = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'          ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : -1;
    if (digit < 0) return std::nullopt;
    value = value * (hex ? 16 : 10) + digit;
  }
  return value < 128 ? std::optional(static_cast<char>(value)) : std::nullopt;
}

std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.front() == '&' ? text.find(';') : text.npos;
    const std::string_view entity = end == text.npos ? "" : text.substr(0, end + 1);
    const auto* known = std::ranges::find(kEntities, entity, &Entity::name);
    if (known != std::end(kEntities)) {
      out += known->character;
      text.remove_prefix(entity.size());
    } else if (const auto c = numbered(entity)) {
      out += *c;
      text.remove_prefix(entity.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

double backoff_s(const RetryPolicy& policy, int failures, RandomStream& jitter) {
  const double full = std::min(policy.cap_s, policy.base_s * math::exp2(std::min(failures, 30)));
  return full * (0.5 + 0.5 * jitter.uniform());
}

std::optional<double> retry_after_s(const HttpReply& reply) {
  const auto seconds = parse_number(reply.header("retry-after"));
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

Fate fate_of(const HttpReply& reply) {
  switch (reply.fault) {
    case HttpFault::not_sent:
      return Fate::not_acted;
    case HttpFault::broken:
    case HttpFault::timed_out:
      return Fate::unknown;
    case HttpFault::none:
      break;
  }
  if (reply.status >= 200 && reply.status < 300) return Fate::done;
  if (reply.status == 429 || reply.status == 503) return Fate::not_acted;
  if (reply.status >= 500 || reply.status == 408 || reply.status < 200) return Fate::unknown;
  // S3 says RequestTimeout when the body did not come in time, and ConditionalRequestConflict when
  // two conditional writers met: nothing was stored.
  const std::string code = error_code(reply.body);
  const bool harmless = code == "RequestTimeout" || code == "ConditionalRequestConflict";
  return harmless ? Fate::not_acted : Fate::refused;
}

std::string error_code(std::string_view body) {
  if (body.find("<Error>") == body.npos) return {};
  return xml_text(body, "Code").value_or("");
}

std::optional<std::string_view> next_element(std::string_view xml, std::string_view name,
                                             std::size_t& from) {
  const std::string open = '<' + std::string(name) + '>';
  const std::string close = "</" + std::string(name) + '>';
  const std::size_t begin = xml.find(open, from);
  if (begin == xml.npos) return std::nullopt;
  const std::size_t end = xml.find(close, begin);
  if (end == xml.npos) return std::nullopt;
  from = end + close.size();
  return xml.substr(begin + open.size(), end - begin - open.size());
}

std::optional<std::string> xml_text(std::string_view xml, std::string_view name) {
  std::size_t from = 0;
  const auto inner = next_element(xml, name, from);
  return inner ? std::optional(unescaped(*inner)) : std::nullopt;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto* known = std::ranges::find(kEntities, c, &Entity::character);
    if (known != std::end(kEntities)) {
      out += known->name;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace orrery
