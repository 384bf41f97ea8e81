#include "live/drives/file_text.h"

#include <fstream>
#include <iterator>

#include "live/files/replace.h"

namespace orrery::drives {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool write_durably(const std::string& path, std::string_view text, int mode) {
  return files::replace_file(path, text, static_cast<mode_t>(mode));
}

}  // namespace orrery::drives
