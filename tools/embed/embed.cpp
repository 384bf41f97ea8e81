// embed DIR OUT.cpp [ROOM FUNCTION]: writes every file below DIR into OUT.cpp as string literals,
// sorted by path; the files may contain any bytes. The result defines orrery::ROOM::FUNCTION(), or
// embedded_files() of src/core/catalog/embedded.h if none is named. A DIR that does not exist
// counts as empty.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// Compilers must accept literals of 65,536 characters. Adjacent literals are joined, so each is
// kept short.
constexpr std::size_t kLiteralBytes = 8192;

std::string escaped(std::string_view text) {
  static constexpr char kOctal[] = "01234567";
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\' || c == '?') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u >= 0x7f) {
      out += '\\';
      out += kOctal[u >> 6];
      out += kOctal[(u >> 3) & 7];
      out += kOctal[u & 7];
    } else {
      out += c;
    }
  }
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  if (!fs::exists(root)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 3 && argc != 5) {
    std::cerr << "usage: embed DIR OUT.cpp [ROOM FUNCTION]\n";
    return 2;
  }
  const std::string room = argc == 5 ? argv[3] : "catalog";
  const std::string function = argc == 5 ? argv[4] : "embedded_files";
  const fs::path root = argv[1];
  const std::vector<fs::path> files = files_below(root);

  std::ofstream out(argv[2], std::ios::binary);
  out << "#include \"core/catalog/embedded.h\"\n\n#include <array>\n\n"
         // clang counts the joined literal; both compilers accept far longer ones.
         "#ifdef __clang__\n#pragma clang diagnostic ignored \"-Woverlength-strings\"\n#endif\n\n"
         "namespace orrery::"
      << room << " {\nstd::span<const catalog::EmbeddedFile> " << function << "();\nnamespace {\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string text = read(root / files[i]);
    out << "constexpr char kFile" << i << "[] =\n    \"\"";
    for (std::size_t at = 0; at < text.size(); at += kLiteralBytes) {
      out << "\n    \"" << escaped(std::string_view(text).substr(at, kLiteralBytes)) << '"';
    }
    out << ";\n";
  }
  out << "constexpr std::array<catalog::EmbeddedFile, " << files.size() << "> kFiles = {{\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    out << "    {\"" << escaped(files[i].generic_string()) << "\", {kFile" << i << ", sizeof(kFile"
        << i << ") - 1}},\n";
  }
  out << "}};\n}  // namespace\n\n"
         "std::span<const catalog::EmbeddedFile> "
      << function << "() { return kFiles; }\n\n}  // namespace orrery::" << room << "\n";
  out.flush();
  return out ? 0 : 1;
}
