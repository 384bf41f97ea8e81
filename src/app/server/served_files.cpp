#include "app/server/served_files.h"

#include "core/base/digest.h"
#include "core/base/json_writer.h"
#include "core/catalog/named_file.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"

namespace orrery::server {
namespace {

constexpr std::size_t kMostFiles = 1000;

Result<std::string> refused(std::string_view name) {
  return fail({.code = std::string(catalog::kFileNotGiven),
               .what = std::string(name) + " is not a file of the served design"});
}

}  // namespace

ServedFiles::ServedFiles(const catalog::Catalog& catalog, std::function<Result<std::string>()> text,
                         catalog::ReadFile read_file)
    : catalog_(catalog), text_(std::move(text)), read_file_(std::move(read_file)) {
  look();
}

// Remembers the files that the served file names, unless this version was seen before.
void ServedFiles::look() {
  const Result<std::string> text = read_file_ ? text_() : refused("");
  if (!text || !seen_.insert(sha256_hex(*text)).second) return;
  const catalog::ReadFile note = [this](std::string_view name) {
    names_.emplace(name);
    return refused(name);
  };
  (void)design_text::read_design(*text, catalog_, {.read_file = note});
}

Result<std::string> ServedFiles::read(std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    look();
    if (!names_.contains(name)) return refused(name);
  }
  return read_file_(name);
}

catalog::ReadFile ServedFiles::reader() {
  return [this](std::string_view name) { return read(name); };
}

void ServedFiles::will_save(const std::string& text) {
  const std::lock_guard lock(mutex_);
  look();
  seen_.insert(sha256_hex(text));
}

catalog::ReadFile keeping_reader(const catalog::ReadFile& read, FileTexts& texts) {
  if (!read) return nullptr;
  return [&read, &texts](std::string_view name) {
    Result<std::string> text = read(name);
    if (text) texts.emplace(name, *text);
    return text;
  };
}

std::string with_files(const std::string& request, const FileTexts& texts) {
  const std::size_t end = request.rfind('}');
  if (texts.empty() || end == std::string::npos) return request;
  JsonWriter files(0);
  files.begin_object();
  for (const auto& [name, text] : texts) files.field(name, text);
  files.end_object();
  return request.substr(0, end) + ",\"files\":" + files.text() + '}';
}

catalog::ReadFile kept_files(JsonBody& request) {
  return [texts = request.plain_values("files", kMostFiles)](
             std::string_view name) -> Result<std::string> {
    const auto found = texts.find(std::string(name));
    return found != texts.end() ? found->second : refused(name);
  };
}

}  // namespace orrery::server
